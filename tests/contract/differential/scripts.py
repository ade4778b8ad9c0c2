"""Random scripts, and the search for one that tells two stores apart."""

from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from adapters.due_shards import DUE_SHARDS, due_shard
from ledger.store import ReviewPlace
from ledger.transitions import RunState
from tests.builders import NOW_MS
from tests.contract.differential import values
from tests.contract.differential.calls import Erase, Events, Load, Personal
from tests.contract.differential.flaws import Flaw
from tests.contract.differential.listings import Due, InReview, Listing
from tests.contract.differential.operations import (
    Ask,
    At,
    Commit,
    Grown,
    Head,
    List,
    Operation,
    Repeat,
    TurnPage,
)
from tests.contract.differential.play import DifferenceError, Script
from tests.contract.differential.records import Filling, Kind, Plan
from tests.contract.differential.shrink import shortest

# Behind its first ten examples Hypothesis plays each one again with small changes, over and over:
# many short rounds see more than a long one.
SCRIPTS_OF_A_ROUND = 10
MAX_GROUPS = 12
MAX_OPERATIONS_OF_A_GROUP = 12
SHARD = due_shard(values.RUN_IDS[0])
# Places between those of the runs: on AWS, a place among runs of one time has no order.
LATE_MS = 10**31
BETWEEN_MS = (-5, 5, NOW_MS + 30_000, 10**12)


def mostly[T](usual: Sequence[T], rare: Sequence[T], times: int) -> st.SearchStrategy[T]:
    """Return values of which the ``usual`` come up ``times`` as often."""
    return st.sampled_from([*[value for value in usual for _ in range(times)], *rare])


RUN_IDS = mostly(values.ALIKE, values.RUN_IDS, 20)
TIMES = mostly([None, *values.TIMES_MS[:6]], values.TIMES_MS, 2)
HEADS = st.builds(
    Head,
    tenant_id=mostly(values.TENANTS[:1], values.TENANTS, 50),
    state=st.sampled_from([RunState.ACTIVE, RunState.REVIEW]),
    due_at_ms=TIMES,
    review_since_ms=TIMES,
)
ODD_LIMITS = (0, -1, 100, 2**31, 2**70)
LIMITS = mostly([1, 2, 3], ODD_LIMITS, 10)
# A refused limit stands alone: whether there is a further, empty page to ask for is no promise.
PAGES = st.one_of(
    st.lists(st.sampled_from([1, 2, 3, 100]), min_size=1, max_size=3).map(tuple),
    st.builds(lambda limit: (limit,), st.sampled_from(ODD_LIMITS)),
)
LISTINGS: st.SearchStrategy[Listing] = st.one_of(
    st.builds(
        Due,
        shard=mostly([SHARD], [*DUE_SHARDS, "unknown"], 20),
        now_ms=st.sampled_from([LATE_MS, NOW_MS, NOW_MS - 1, 9, -2]),
    ),
    st.builds(
        InReview,
        tenant_id=mostly(values.TENANTS[:1], values.TENANTS, 10),
        after=st.none()
        | st.builds(
            ReviewPlace,
            since_ms=st.sampled_from(BETWEEN_MS),
            run_id=st.sampled_from([*values.ALIKE, "", "unknown"]),
        ),
    ),
)
# Few, so that the pages of one listing meet.
OPEN_LISTINGS: st.SearchStrategy[Listing] = st.sampled_from(
    [Due(SHARD, LATE_MS), InReview(values.TENANTS[0])]
)


def fillings(odd: int) -> st.SearchStrategy[Filling]:
    """Return fillings of which one in ``odd`` holds what could never be stored."""
    return st.builds(
        Filling,
        text=mostly(["plain"], values.TEXTS, 6),
        number=mostly(values.NUMBERS, values.TOO_BIG, odd),
        extra=mostly([{}, *values.EXTRAS], values.UNKEEPABLE, odd),
    )


def plans(odd: int) -> st.SearchStrategy[Plan]:
    """Return plans, one in ``odd`` with an id that could never be stored."""
    names = mostly([*values.NAMES[:2], *values.NAMES], values.TOO_LONG_NAMES, odd)
    return st.builds(Plan, st.sampled_from(Kind), names, fillings(odd))


PLAIN_COMMITS = st.builds(
    Commit,
    run_id=RUN_IDS,
    head=HEADS,
    filling=fillings(odd=100),
    event_count=mostly([1, 2], [3, 7], 3),
    plans=st.lists(plans(odd=100), max_size=3).map(tuple),
    personal=mostly([False], [True], 2),
)
ODD_COMMITS = st.builds(
    Commit,
    run_id=RUN_IDS,
    head=HEADS,
    filling=fillings(odd=20),
    at=mostly([At.HEAD, At.BEHIND, At.NEW], list(At), 2),
    event_count=st.sampled_from([1, 2]),
    plans=st.lists(plans(odd=10), max_size=2).map(tuple),
    personal=st.booleans(),
    commit_id=st.none() | st.integers(0, 3) | st.sampled_from(values.COMMIT_IDS),
    flaw=mostly([Flaw.NONE], [*Flaw, Flaw.AS_MANY_AS_FIT], 12),
)
LARGE_COMMITS = st.builds(
    Commit,
    run_id=RUN_IDS,
    head=HEADS,
    filling=st.just(Filling()),
    plans=st.just((Plan(Kind.EFFECT, values.NAMES[0], Filling()),)),
    personal=st.just(True),
    grown=st.sampled_from(Grown),
    beyond_bytes=st.sampled_from([-1_000, -300, 300, 12_000]),
)
PAGES_OF_EVENTS = st.builds(
    Events,
    st.sampled_from(values.ALIKE),
    mostly([0, 1, 2], [-1, -1, -2, 9, 10**20], 2),
    mostly([1, 2, 3], ODD_LIMITS, 2),
)
ASKED = st.one_of(
    st.builds(Load, RUN_IDS),
    st.builds(Erase, RUN_IDS),
    st.builds(Erase, RUN_IDS),
    st.builds(Personal, RUN_IDS),
    PAGES_OF_EVENTS,
    PAGES_OF_EVENTS,
)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    PLAIN_COMMITS,
    PLAIN_COMMITS,
    PLAIN_COMMITS,
    PLAIN_COMMITS,
    ODD_COMMITS,
    ODD_COMMITS | LARGE_COMMITS,
    st.builds(Repeat, st.integers(0, 6), st.booleans()),
    st.builds(Ask, ASKED),
    st.builds(Ask, ASKED),
    st.builds(List, LISTINGS, PAGES),
    st.builds(TurnPage, OPEN_LISTINGS, LIMITS),
)
# Two lists, of which each may be shortened to nothing: one long list begins with a few at most.
GROUPS = st.lists(
    st.lists(OPERATIONS, max_size=MAX_OPERATIONS_OF_A_GROUP), min_size=3, max_size=MAX_GROUPS
)


def _script(groups: list[list[Operation]], limits: list[int]) -> Script:
    operations = tuple(operation for group in groups for operation in group)
    everything: list[Listing] = [Due(shard, LATE_MS) for shard in DUE_SHARDS]
    everything += [InReview(tenant) for tenant in values.TENANTS]
    return Script(operations, tuple(limits), (Due(SHARD, NOW_MS), *everything))


SCRIPTS = st.builds(
    _script, GROUPS, st.lists(st.sampled_from([2, 3, 5, 100]), min_size=1, max_size=3)
)


def search(play: Callable[[Script], object], round_number: int) -> None:
    """Play a round of scripts, for one number always the same ones.

    Raises the DifferenceError of the shortest script that was found to lead to one.
    """

    # Hypothesis would shrink every value as well, which takes it minutes at a store's speed.
    @settings(
        max_examples=SCRIPTS_OF_A_ROUND,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @seed(round_number)
    @given(SCRIPTS)
    def play_one(script: Script) -> None:
        # Not raised here: Hypothesis would write the whole script out, and warn of its length.
        if not found:
            try:
                play(script)
            except DifferenceError as difference:
                found.append(difference)

    found: list[DifferenceError] = []
    play_one()
    if found:
        raise shortest(found[0], play) from None
