"""What providers tell: it gets lost, late, twice and overtaken, and comes again a few times."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise, repeat

import pytest

from ledger import sweep
from ledger.errors import InvariantBroken, LedgerUnavailable
from tests.simulation import quiet
from tests.simulation.faults import Fault
from tests.simulation.feeds import LATE_MS, MAIL_AGAIN_MS, SOON_MS, Feed, Mishaps
from tests.simulation.process import Process, ProcessDied
from tests.simulation.shrink import failure_of
from tests.simulation.tampering import everywhere
from tests.simulation.world import START_MS, World

MISHAPS = Mishaps(
    Fault.MAIL_EVENT_LOST,
    Fault.MAIL_EVENT_TWICE,
    Fault.MAIL_EVENT_LATE,
    Fault.MAIL_EVENT_OVERTAKEN,
)
type Heard = list[tuple[int, str]]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet.many_schedules():
        yield


def heard_of(
    monkeypatch: pytest.MonkeyPatch,
    *struck: Fault,
    messages: tuple[str, ...] = ("first",),
    dies: BaseException | None = None,
) -> Heard:
    """Return when each message was heard; the first ones are struck by these faults."""
    world = World(1)
    heard: Heard = []
    strikes = chain(struck, repeat(None))
    monkeypatch.setattr(world.plan, "pick", lambda *_call: next(strikes))

    def hear(_process: Process, what: str) -> None:
        heard.append((world.scheduler.now_ms - START_MS, what))
        if dies is not None:
            raise dies

    feed = Feed(world, "mail event", MISHAPS, MAIL_AGAIN_MS, hear)
    for message in messages:
        feed.tell(message)
    while world.scheduler.step():
        pass
    return heard


def test_a_message_is_heard_once_and_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    ((at_ms, what),) = heard_of(monkeypatch)
    assert what == "first"
    assert SOON_MS[0] <= at_ms < SOON_MS[1]


def test_a_lost_message_is_never_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heard_of(monkeypatch, Fault.MAIL_EVENT_LOST) == []


def test_a_late_message_takes_minutes_or_days(monkeypatch: pytest.MonkeyPatch) -> None:
    ((at_ms, _),) = heard_of(monkeypatch, Fault.MAIL_EVENT_LATE)
    assert LATE_MS[0] <= at_ms < LATE_MS[1]


def test_a_doubled_message_is_heard_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    (once_ms, _), (again_ms, what) = heard_of(monkeypatch, Fault.MAIL_EVENT_TWICE)
    assert what == "first"
    assert again_ms >= once_ms + LATE_MS[0]


def test_an_overtaken_message_comes_after_the_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = heard_of(monkeypatch, Fault.MAIL_EVENT_OVERTAKEN, messages=("first", "second"))
    assert [what for _, what in heard] == ["second", "first"]


def test_an_overtaken_message_comes_though_nothing_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heard_of(monkeypatch, Fault.MAIL_EVENT_OVERTAKEN) == [(LATE_MS[1], "first")]


@pytest.mark.parametrize("dies", [ProcessDied(), LedgerUnavailable("no answer")])
def test_a_message_that_nobody_could_take_comes_again_a_bounded_number_of_times(
    monkeypatch: pytest.MonkeyPatch, dies: BaseException
) -> None:
    heard = heard_of(monkeypatch, dies=dies)
    times_ms = [at_ms for at_ms, _ in heard]
    apart_ms = [later - earlier for earlier, later in pairwise(times_ms)]
    assert apart_ms == list(MAIL_AGAIN_MS)


def test_half_of_the_seeds_hear_both_feeds_and_the_others_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = set[str]()
    begin = Process.begin

    def noted(process: Process, kind: str, name: str, limit_ms: int) -> None:
        kinds.add(kind)
        begin(process, kind, name, limit_ms)

    monkeypatch.setattr(Process, "begin", noted)
    listening = Counter[bool]()
    heard = Counter[str]()
    for seed in range(1, 101):
        kinds.clear()
        world = World(seed)
        world.run()
        listening[world.listens] += 1
        told = kinds & {"stripe notice", "mail event"}
        assert world.listens or not told
        heard.update(told)
    assert listening[True] > 30
    assert listening[False] > 30
    assert heard["stripe notice"] > 20
    assert heard["mail event"] > 20


@pytest.mark.parametrize("bug", [KeyError("gone"), InvariantBroken("no such order")])
def test_a_failure_that_a_sweeper_would_only_log_is_a_violation(bug: Exception) -> None:
    def broken(*_run: object) -> None:
        raise bug

    with everywhere(sweep, "_look_after", lambda _: broken):
        failure = next(filter(None, (failure_of(seed, traced=False) for seed in range(1, 40))))
    assert failure.violation.rule == "swallowed"
    assert type(bug).__name__ in str(failure.violation)


def test_what_the_ledger_means_by_its_failures_may_be_logged() -> None:
    quiet._not_swallowed("this run was not swept", LedgerUnavailable("no answer"))
