"""What the operations are made of: values that two stores could keep in two ways."""

from collections.abc import Mapping
from itertools import count

from adapters.due_shards import due_shard
from tests.builders import NOW_MS


def _names_of_one_shard() -> tuple[str, ...]:
    """Return ids that are alike and share a shard, so that their order in it matters.

    They differ in case, in how an accent is written, and by being the beginning of another.
    """
    for number in count():
        names = (
            f"run-{number}",
            f"RUN-{number}",
            f"run-{number}\u00e9",
            f"run-{number}e\u0301",
        )
        if len({due_shard(name) for name in names}) == 1:
            return names
    raise AssertionError


ALIKE = _names_of_one_shard()
# The first is the simplest, and what a failing script is shrunk to.
RUN_IDS = (*ALIKE, "", 'run#\U0001d4b6 /\\"\x00', "r" * 2_000, "r" * 2_100)
NAMES = ("a", "A", "\u00e9", "e\u0301", "\U0001f9fe", "", "a#b", "n" * 900)
TOO_LONG_NAMES = ("n" * 1_100,)
TENANTS = ("tenant-1", "tenant-2", "Tenant-1", "t" * 2_100, "")
TEXTS = (
    "",
    "plain",
    "\u00e9",
    "e\u0301",
    "\U0001d4b6\u200d\x00",
    '"\\\n',
    "1",
    "null",
    "t" * 3_000,
)
COMMIT_IDS = ("", "C", "c", "\u00e9", "i" * 3_000)

LARGEST = 10**38 - 1
NUMBERS = (0, 1, -1, True, False, 10, 2**53 + 1, -(2**63) - 1, 2**64, LARGEST, -LARGEST)
TOO_BIG = (LARGEST + 1, -LARGEST - 1)


def _nested(levels: int) -> object:
    return [] if levels == 0 else {"in": _nested(levels - 1)}


# Fields of newer code: whatever JSON can say.
EXTRAS: tuple[Mapping[str, object], ...] = (
    {},
    {"newer": None},
    {"newer": {"list": [1, True, "1", {}, [], None]}},
    {"Newer": 0, "newer": False, "ne\u0301wer": "", "n\u00e9wer": []},
    {"pk": "RUN#", "record": {}, "erased": True, "due_shard": "due#0"},
    {"newer": LARGEST, "newest": -LARGEST},
    {"n" * 300: "t" * 300},
    {"newer": _nested(20)},
)
UNKEEPABLE: tuple[Mapping[str, object], ...] = ({"newer": 0.5}, {"newer": [LARGEST + 1]})

TIMES_MS = (
    NOW_MS,
    NOW_MS - 1,
    NOW_MS + 1,
    NOW_MS + 60_000,
    9,
    10,
    0,
    -1,
    -NOW_MS,
    10**30,
)
