"""What is asked of a target before a write, and which write a stage makes."""

from collections.abc import Mapping

import pytest

from ledger.claim import LEDGER_WRITE_MARGIN_SECONDS
from ledger.contract import ErrorClass, ErrorRule, FaultKind
from ledger.errors import ProviderUnavailable, ReviewRequired
from ledger.perform import perform_stage
from ledger.provider import Authority, Findings, ProviderCall, ProviderFault
from ledger.record import Scalar
from ledger.transitions import EffectState
from tests.fakes.clock import FakeTimeLeft
from tests.unit.ledger.sample import (
    BOUND,
    CALL_TIMEOUT_SECONDS,
    DEFINITION,
    OF_ANOTHER_RUN,
    PAYMENTS,
    TASK,
    a_record,
)
from tests.unit.ledger.scripted_provider import ScriptedProvider, Step
from tests.unit.ledger.support import World, an_approved_world


def asked_of(
    provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[dict[str, Scalar], dict[str, str]]]:
    """Return the list to which every question about authority will be added."""
    asked: list[tuple[dict[str, Scalar], dict[str, str]]] = []

    def authority(bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        asked.append((dict(bound), dict(personal)))
        return provider.allowed

    monkeypatch.setattr(provider, "authority", authority)
    return asked


def stage(world: World, name: str) -> EffectState:
    """Run a stage by its name."""
    time_left = FakeTimeLeft(world.clock, world.clock.now_ms() + 60_000)
    return perform_stage(world.ports, time_left, DEFINITION, TASK, name).state


def test_given_stages_when_run_by_name_then_each_makes_the_write_that_the_definition_gives_it() -> (
    None
):
    world = an_approved_world()

    assert stage(world, "issue_refund") is EffectState.CONFIRMED
    assert (len(world.payments.calls), len(world.post.calls)) == (1, 0)
    assert stage(world, "send_receipt") is EffectState.CONFIRMED
    assert (len(world.payments.calls), len(world.post.calls)) == (1, 1)


def test_given_a_stage_without_a_write_when_run_then_it_is_a_mistake_of_the_code() -> None:
    with pytest.raises(KeyError, match="performs no operation"):
        stage(an_approved_world(), "ask_customer")


def test_given_a_write_when_its_target_is_asked_then_about_exactly_this(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()
    refunds = asked_of(world.payments, monkeypatch)
    mails = asked_of(world.post, monkeypatch)

    world.perform()
    receipt = world.perform("receipt")

    assert refunds == [(BOUND, {})]
    assert mails == [(receipt.bound, {"email": "ada@example.com"})]


# The call and the write of its answer, for which there has to be time when the call begins.
ANSWER_SECONDS = CALL_TIMEOUT_SECONDS + LEDGER_WRITE_MARGIN_SECONDS
ENOUGH_MS = 10 * 60_000


def held_up(world: World, *, before_claim_ms: int, in_claim_ms: int, left_ms: int) -> int:
    """Return how many calls a worker makes that is held up around its claim."""

    def after_the_check() -> None:
        world.payments.during_authority = None
        world.clock.pass_ms(before_claim_ms)
        world.store.rivals = [lambda: world.clock.pass_ms(in_claim_ms)]

    world.payments.during_authority = after_the_check
    try:
        world.perform(remaining_ms=left_ms)
    except ProviderUnavailable:
        assert world.effect().state is EffectState.PLANNED
    return len(world.payments.calls)


@pytest.mark.parametrize(
    ("before_claim_ms", "in_claim_ms", "left_ms"),
    [
        (0, ANSWER_SECONDS * 1000, ENOUGH_MS),
        (ANSWER_SECONDS * 1000, 0, ENOUGH_MS),
        (0, 24_000, 24_000 + ANSWER_SECONDS * 1000),
    ],
    ids=["the claim just holds", "the check just counts", "the invocation just lives"],
)
def test_given_a_worker_that_was_held_up_and_is_just_in_time_when_it_goes_on_then_it_calls(
    before_claim_ms: int, in_claim_ms: int, left_ms: int
) -> None:
    world = an_approved_world()

    calls = held_up(
        world, before_claim_ms=before_claim_ms, in_claim_ms=in_claim_ms, left_ms=left_ms
    )

    assert calls == 1


@pytest.mark.parametrize(
    ("before_claim_ms", "in_claim_ms", "left_ms"),
    [
        (0, ANSWER_SECONDS * 1000 + 1, ENOUGH_MS),
        (20_000, ANSWER_SECONDS * 1000 - 20_000 + 1, ENOUGH_MS),
        (0, 24_000, 24_000 + ANSWER_SECONDS * 1000 - 1),
    ],
    ids=["the claim would lapse", "the check is too old", "the invocation would end"],
)
def test_given_a_worker_that_was_held_up_too_long_when_it_goes_on_then_it_calls_nobody(
    before_claim_ms: int, in_claim_ms: int, left_ms: int
) -> None:
    world = an_approved_world()

    calls = held_up(
        world, before_claim_ms=before_claim_ms, in_claim_ms=in_claim_ms, left_ms=left_ms
    )

    assert calls == 0


def test_given_a_call_that_was_answered_when_read_back_then_the_same_write_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()
    asked: list[ProviderCall] = []

    def look_up(call: ProviderCall) -> Findings:
        asked.append(call)
        return Findings(records=tuple(world.payments.held), complete=True)

    monkeypatch.setattr(world.payments, "look_up", look_up)

    world.perform()

    assert asked == world.payments.calls


def test_given_a_refusal_that_only_its_code_tells_when_met_then_what_explains_it_is_read() -> None:
    world = an_approved_world()
    rule = ErrorRule(error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, code="too_much")
    world.payments.contract = PAYMENTS.model_copy(update={"errors": (rule,)})
    world.payments.script = [Step(None, ProviderFault(FaultKind.ANSWERED, 422, "too_much"))]
    world.payments.held.append(a_record(record_id="re_dashboard", mark=OF_ANOTHER_RUN))

    with pytest.raises(ReviewRequired):
        world.perform()

    assert world.effect().state is EffectState.REJECTED
    assert [found.record_id for found in world.effect().candidates] == ["re_dashboard"]
