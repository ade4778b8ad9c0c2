"""The audit begins at the provider: what carries our mark, and whether the ledger knows of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO

import pytest

from adapters.memory_store import MemoryStore
from ledger.contract import FaultKind
from ledger.effect import Effect
from ledger.errors import InvariantBroken
from ledger.idempotency import effect_id_for, run_id_for
from ledger.provider import ProviderFault
from ledger.run import RunLedger
from ledger.transitions import EffectState
from providers.stripe_audit import StripeRefundAudit
from providers.stripe_client import StripeLibrary
from providers.stripe_transport import Answer, Transport
from reconciler.audit import (
    MAX_LOGGED,
    MAX_PAGES,
    MIN_REMAINING_MS,
    PAUSE_SECONDS,
    WINDOW_SECONDS,
    Auditor,
    AuditResult,
    report,
)
from runtime import metrics
from tests.builders import a_change, a_run, an_attempt, an_effect, evidence
from tests.fakes.clock import FakeClock, FakeTimeLeft
from tests.fakes.stripe import FakeStripe, Fault
from tests.fakes.stripe_world import Refund
from tests.recovery.logs import log_into

RUN = run_id_for("tenant-1", "agent-1", "first")
EFFECT = effect_id_for(RUN, "refund", 1)
OTHER_EFFECT = effect_id_for(RUN, "refund", 2)
OTHER_RUN = run_id_for("tenant-1", "agent-1", "second")
CHARGE = "ch_1"
PLENTY_MS = 60_000


@dataclass
class World:
    """A Stripe account, a ledger, and what one audit makes of both."""

    clock: FakeClock = field(default_factory=FakeClock)
    store: MemoryStore = field(default_factory=MemoryStore)
    pauses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stripe = FakeStripe(self.clock)
        self.transport: Transport = self.stripe
        self.stripe.world.add_charge(CHARGE, "cus_1", 10_000_000)

    def refund(self, effect_id: str | None = EFFECT, run_id: str = RUN) -> Refund:
        """Let a refund be made, with our marks unless there is no effect."""
        marks = {"effect_id": effect_id, "run_id": run_id} if effect_id else {}
        return self.stripe.world.make_refund(CHARGE, 100, marks)

    def record(self, *effects: Effect, run_id: str = RUN) -> None:
        """Let the ledger know a run with these effects."""
        self.store.commit(a_change(f"of {run_id}", run=a_run(run_id=run_id), effects=effects))

    def put_first(self, entry: object) -> None:
        """Let Stripe show ``entry`` before all other refunds of the account."""
        answer = self.stripe.__call__

        def with_entry(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
            shown = answer(method, path, headers, body)
            page = json.loads(shown.body)
            page["data"].insert(0, entry)
            return Answer(shown.status, shown.headers, json.dumps(page).encode())

        self.transport = with_entry

    def audit(self, remaining_ms: int = PLENTY_MS) -> AuditResult:
        library = StripeLibrary("sk_test_x", "http://127.0.0.1:1", self.transport)
        refunds = StripeRefundAudit(library)
        left = FakeTimeLeft(self.clock, self.clock.now_ms() + remaining_ms)
        auditor = Auditor(
            {"stripe_refunds": refunds}, self.store, self.clock, left, self.pauses.append
        )
        return auditor.audit()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(autouse=True)
def _nothing_measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "some-deployment")
    metrics._unsaid.clear()
    yield
    metrics._unsaid.clear()


def a_refund_effect(effect_id: str = EFFECT, record_id: str | None = None) -> Effect:
    return an_effect(
        effect_id=effect_id,
        state=EffectState.CONFIRMED if record_id else EffectState.UNKNOWN,
        attempts=(an_attempt(),),
        evidence=evidence(record_id=record_id) if record_id else None,
    )


def another_refund_effect(record_id: str | None = None) -> Effect:
    return a_refund_effect(OTHER_EFFECT, record_id).model_copy(update={"instance": 2})


class DamagedStore(MemoryStore):
    """A store in which one run cannot be read."""

    def __init__(self, damaged: str) -> None:
        super().__init__()
        self._damaged = damaged

    def load(self, run_id: str) -> RunLedger | None:
        if run_id == self._damaged:
            raise InvariantBroken("A record is damaged, or newer than this code.")
        return super().load(run_id)


def measured() -> dict[str, float]:
    return {found.metric.name: found.value for found in metrics._unsaid}


def reported(result: AuditResult) -> list[str]:
    """Report, and return the lines of the log."""
    lines = StringIO()
    with log_into(lines):
        report(result)
    return lines.getvalue().splitlines()


def test_effects_that_were_made_once_are_compared_and_nothing_is_found(world: World) -> None:
    for run_id in (RUN, OTHER_RUN):
        effect_id = effect_id_for(run_id, "refund", 1)
        made = world.refund(effect_id, run_id)
        world.record(a_refund_effect(effect_id, made.id), run_id=run_id)

    result = world.audit()

    assert (result.records, result.duplicates, result.unledgered) == (2, [], [])
    assert result.complete


def test_two_refunds_of_one_effect_are_a_duplicate_whatever_the_ledger_says(world: World) -> None:
    first, second = world.refund(), world.refund()
    world.record(a_refund_effect(record_id=first.id))

    (found,) = world.audit().duplicates

    assert (found.run_id, found.effect_id) == (RUN, EFFECT)
    assert set(found.record_ids) == {first.id, second.id}


def test_a_duplicate_of_an_effect_that_is_still_unknown_is_found(world: World) -> None:
    world.refund()
    world.refund()
    world.record(a_refund_effect())

    assert len(world.audit().duplicates) == 1


def test_a_twin_from_before_the_window_is_known_from_the_ledgers_evidence(world: World) -> None:
    first = world.refund()
    world.clock.pass_ms((WINDOW_SECONDS + 60) * 1000)
    second = world.refund()
    world.record(a_refund_effect(record_id=first.id))

    result = world.audit()

    assert result.records == 1
    assert set(result.duplicates[0].record_ids) == {first.id, second.id}


def test_a_refund_from_before_the_window_is_not_read_again(world: World) -> None:
    made = world.refund()
    world.record(a_refund_effect(record_id=made.id))
    world.clock.pass_ms((WINDOW_SECONDS + 60) * 1000)

    assert world.audit().records == 0


def test_two_honest_refunds_of_one_charge_are_no_duplicate(world: World) -> None:
    other_effect = effect_id_for(OTHER_RUN, "refund", 1)
    world.refund()
    world.refund(other_effect, OTHER_RUN)
    world.record(a_refund_effect())
    world.record(a_refund_effect(other_effect), run_id=OTHER_RUN)

    assert world.audit().duplicates == []


def test_two_refunds_that_one_run_has_both_proven_are_a_duplicate(world: World) -> None:
    first, second = world.refund(), world.refund(OTHER_EFFECT)
    world.record(a_refund_effect(EFFECT, first.id), another_refund_effect(record_id=second.id))

    result = world.audit()

    assert [found.effect_id for found in result.duplicates] == [OTHER_EFFECT]
    assert set(result.duplicates[0].record_ids) == {first.id, second.id}
    assert result.complete


def test_a_refund_beside_one_that_was_proven_before_the_window_is_a_duplicate(
    world: World,
) -> None:
    first = world.refund()
    world.clock.pass_ms((WINDOW_SECONDS + 60) * 1000)
    second = world.refund(OTHER_EFFECT)
    world.record(a_refund_effect(EFFECT, first.id), another_refund_effect())

    (found,) = world.audit().duplicates

    assert set(found.record_ids) == {first.id, second.id}


@pytest.mark.parametrize(
    "harmless",
    [
        {"state": EffectState.REJECTED},
        {"superseded": True},
        {"approval_id": None},
        {"provider": "stripe_billing"},
        {"operation": "another"},
    ],
    ids=str,
)
def test_a_second_write_in_the_place_of_another_or_of_another_kind_is_no_duplicate(
    world: World, harmless: dict[str, object]
) -> None:
    first, second = world.refund(), world.refund(OTHER_EFFECT)
    before = a_refund_effect(EFFECT, first.id).model_copy(update=harmless)
    world.record(before, another_refund_effect(record_id=second.id))

    assert world.audit().duplicates == []


@pytest.mark.parametrize("status", ["failed", "canceled"])
def test_a_refund_that_failed_beside_another_is_no_duplicate(world: World, status: str) -> None:
    first, second = world.refund(), world.refund(OTHER_EFFECT)
    first.script = ((0, status),)
    world.record(a_refund_effect(EFFECT, first.id), another_refund_effect(record_id=second.id))

    assert world.audit().duplicates == []


def test_a_write_that_left_no_record_beside_another_is_no_duplicate(world: World) -> None:
    second = world.refund(OTHER_EFFECT)
    world.record(a_refund_effect(), another_refund_effect(record_id=second.id))

    assert world.audit().duplicates == []


def test_somebody_elses_refund_without_a_charge_hides_nothing(world: World) -> None:
    first, second = world.refund(), world.refund()
    world.record(a_refund_effect(record_id=first.id))
    world.put_first({"id": "re_theirs", "object": "refund", "charge": None, "metadata": {}})

    (found,) = world.audit().duplicates

    assert set(found.record_ids) == {first.id, second.id}


def test_a_refund_without_a_charge_leaves_the_audit_complete(world: World) -> None:
    world.put_first({"id": "re_theirs", "object": "refund", "charge": None, "metadata": {}})

    result = world.audit()

    assert (result.complete, result.unreadable) == (True, 0)


@pytest.mark.parametrize("entry", [{"object": "refund"}, None, {"id": "re_1", "metadata": 7}])
def test_an_entry_that_cannot_be_read_hides_no_other_and_is_not_taken_for_nothing(
    world: World, entry: object
) -> None:
    world.refund()
    world.refund()
    world.record(a_refund_effect())
    world.put_first(entry)

    result = world.audit()

    assert len(result.duplicates) == 1
    assert (result.complete, result.unreadable) == (False, 1)


def test_a_run_that_cannot_be_read_hides_no_other_and_no_duplicate_of_its_own(
    world: World,
) -> None:
    other_effect = effect_id_for(OTHER_RUN, "refund", 1)
    world.refund(other_effect, OTHER_RUN)
    world.refund(other_effect, OTHER_RUN)
    world.refund()
    world.refund()
    world.store = DamagedStore(OTHER_RUN)
    world.record(a_refund_effect())

    result = world.audit()

    assert {found.run_id for found in result.duplicates} == {RUN, OTHER_RUN}
    assert result.unledgered == []
    assert (result.complete, result.unreadable) == (False, 1)


def test_a_refund_made_at_the_dashboard_is_none_of_ours(world: World) -> None:
    world.refund(None)
    world.refund(None)

    result = world.audit()

    assert (result.records, result.unledgered, result.complete) == (0, [], True)


@pytest.mark.parametrize("known", ["no run", "no effect", "no attempt"])
def test_a_mark_that_no_attempt_of_the_ledger_explains_is_found(world: World, known: str) -> None:
    world.refund()
    if known == "no effect":
        world.record()
    if known == "no attempt":
        world.record(an_effect(effect_id=EFFECT))

    (found,) = world.audit().unledgered

    assert found.effect_id == EFFECT


def test_an_effect_of_another_provider_does_not_explain_a_refund(world: World) -> None:
    world.refund()
    world.record(a_refund_effect().model_copy(update={"provider": "stripe_billing"}))

    assert len(world.audit().unledgered) == 1


def test_every_page_of_the_window_is_read_with_a_pause_between_two(world: World) -> None:
    for _ in range(250):
        world.refund(None)
    first = world.refund()
    world.record(a_refund_effect(record_id=first.id))
    for _ in range(250):
        world.refund(None)
    world.refund()

    result = world.audit()

    assert len(result.duplicates) == 1
    assert len(world.stripe.requests) == 6
    assert world.pauses == [PAUSE_SECONDS] * 5


def test_a_window_that_never_ends_is_read_to_a_bound_and_said_to_be_incomplete(
    world: World,
) -> None:
    for _ in range(100 * MAX_PAGES + 1):
        world.refund(None)

    result = world.audit()

    assert not result.complete
    assert len(world.stripe.requests) == MAX_PAGES


def test_a_provider_that_cannot_be_read_leaves_the_audit_incomplete(world: World) -> None:
    world.refund()
    world.stripe.fail_next(Fault.UNAVAILABLE, method="GET")

    result = world.audit()

    assert (result.records, result.complete) == (0, False)


def test_what_was_read_before_the_provider_failed_counts(world: World) -> None:
    for _ in range(100):
        world.refund(None)
    world.refund()
    world.refund()
    world.record(a_refund_effect())
    answer = world.stripe.__call__

    def second_fails(method: str, path: str, *rest: object) -> object:
        if "starting_after" in path:
            raise ProviderFault(FaultKind.NO_ANSWER)
        return answer(method, path, *rest)  # type: ignore[arg-type]

    library = StripeLibrary("sk_test_x", "http://127.0.0.1:1", second_fails)  # type: ignore[arg-type]
    left = FakeTimeLeft(world.clock, world.clock.now_ms() + PLENTY_MS)
    auditor = Auditor(
        {"stripe_refunds": StripeRefundAudit(library)},
        world.store,
        world.clock,
        left,
        lambda _: None,
    )

    result = auditor.audit()

    assert (len(result.duplicates), result.complete) == (1, False)


def test_no_page_is_begun_when_there_is_no_time_for_it(world: World) -> None:
    world.refund()

    result = world.audit(MIN_REMAINING_MS - 1)

    assert not result.complete
    assert world.stripe.requests == []


class SlowStore(MemoryStore):
    """A store that takes time to read."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self.read: list[str] = []

    def load(self, run_id: str) -> RunLedger | None:
        self._clock.pass_ms(PLENTY_MS)
        self.read.append(run_id)
        return super().load(run_id)


def test_no_run_is_read_when_there_is_no_time_for_it(world: World) -> None:
    slow = world.store = SlowStore(world.clock)
    world.refund()
    world.refund(EFFECT, run_id_for("tenant-1", "agent-1", "second"))

    result = world.audit()

    assert len(slow.read) == 1
    assert not result.complete


def test_a_complete_audit_says_zero(world: World) -> None:
    report(world.audit())

    assert measured() == {"DuplicateEffects": 0, "UnledgeredEffects": 0, "RecordsAudited": 0}


def test_an_incomplete_audit_never_says_zero(world: World) -> None:
    report(world.audit(MIN_REMAINING_MS - 1))

    assert measured() == {}


def test_what_an_incomplete_audit_found_is_said_all_the_same() -> None:
    world = World()
    world.refund()
    world.refund()
    result = world.audit()
    result.complete = False

    report(result)

    assert measured() == {"DuplicateEffects": 1, "UnledgeredEffects": 1}


def test_a_duplicate_is_logged_with_all_that_a_person_needs_to_begin(
    world: World,
) -> None:
    first, second = world.refund(), world.refund()
    world.record(a_refund_effect(record_id=first.id))

    (line,) = [json.loads(text) for text in reported(world.audit())]

    assert line["message"] == "an effect was made more than once"
    assert (line["run_id"], line["effect_id"], line["count"]) == (RUN, EFFECT, 2)
    assert line["records"] == f"{first.id}, {second.id}"


def test_what_somebody_wrote_into_a_mark_is_not_logged(
    world: World,
) -> None:
    world.refund("ada@example.com", "Ada Lovelace")

    result = world.audit()
    lines = reported(result)

    assert len(result.unledgered) == 1
    assert lines
    assert "ada" not in "".join(lines).lower()


def test_a_flood_of_findings_is_counted_in_full_and_logged_in_part(
    world: World,
) -> None:
    for number in range(MAX_LOGGED + 5):
        world.refund(effect_id_for(RUN, "refund", number + 1))

    lines = reported(world.audit())

    assert measured()["UnledgeredEffects"] == MAX_LOGGED + 5
    assert len(lines) == MAX_LOGGED
