"""What stops a write before it begins: nothing is sent, and the run is not left in a loop."""

import pytest

from ledger.approve import Decision
from ledger.claim import LEDGER_WRITE_MARGIN_SECONDS
from ledger.effect import FrozenRequest
from ledger.errors import (
    ApprovalNeeded,
    ProviderUnavailable,
    RequestRefused,
    ReviewRequired,
    StaleExecution,
    TooLittleTime,
)
from ledger.provider import Authority
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    CALL_TIMEOUT_SECONDS,
    NO_ANSWER,
    a_refund,
)
from tests.unit.ledger.support import a_world, an_approved_world, given

NEEDED_MS = (3 * CALL_TIMEOUT_SECONDS + LEDGER_WRITE_MARGIN_SECONDS) * 1000


@pytest.mark.parametrize("remaining_ms", [0, NEEDED_MS - 1])
def test_too_little_time_left_begins_nothing_and_sticks_nowhere(remaining_ms: int) -> None:
    world = an_approved_world()

    with pytest.raises(TooLittleTime):
        world.perform(remaining_ms=remaining_ms)

    assert world.payments.calls == []
    assert world.ledger.effects == ()
    assert world.perform(remaining_ms=NEEDED_MS).state is EffectState.CONFIRMED


def test_authority_withdrawn_since_the_yes_sends_nothing_and_asks_a_person() -> None:
    world = an_approved_world()
    world.payments.allowed = Authority(allowed=False, reason="charge disputed", snapshot={})

    with pytest.raises(ReviewRequired, match="charge disputed"):
        world.perform()

    assert world.payments.calls == []
    assert world.run().state is RunState.REVIEW
    assert "charge disputed" in world.run().review_reason


def test_an_owner_that_only_sees_our_own_duplicates_write_stops_no_healthy_run() -> None:
    world = an_approved_world()

    def duplicate_is_faster() -> None:
        world.payments.during_authority = None
        world.perform()
        world.payments.allowed = Authority(allowed=False, reason="already refunded", snapshot={})

    world.payments.during_authority = duplicate_is_faster
    with pytest.raises(ReviewRequired, match="already refunded"):
        world.perform()

    assert len(world.payments.calls) == 1
    assert world.run().state is RunState.ACTIVE
    assert world.resume() == "SendReceipt"


def test_an_owner_that_cannot_be_read_sends_nothing_and_leaves_the_stage_repeatable() -> None:
    world = an_approved_world()
    world.payments.authority_fault = NO_ANSWER

    with pytest.raises(ProviderUnavailable):
        world.perform()

    assert world.payments.calls == []
    world.payments.authority_fault = None
    assert world.perform().state is EffectState.CONFIRMED


def test_bytes_that_would_do_something_else_are_not_sent() -> None:
    world = an_approved_world()
    world.payments.consequence_changes = {"amount_minor": 79000}

    with pytest.raises(ReviewRequired, match="differs from its approved fields"):
        world.perform()

    assert world.payments.calls == []
    assert world.resume() == "Review"


def test_bytes_altered_in_the_ledger_are_not_sent() -> None:
    world = an_approved_world()
    frozen = a_refund().request
    altered = FrozenRequest(body=frozen.body.replace("7900", "79000"), digest=frozen.digest)
    given(world, a_refund(request=altered))

    with pytest.raises(ReviewRequired, match="no longer matches its digest"):
        world.perform()

    assert world.payments.calls == []
    assert world.resume() == "Review"


def test_a_request_too_large_to_be_kept_is_not_sent() -> None:
    world = an_approved_world()
    world.payments.composed_extras = {"note": "x" * 65_536}

    with pytest.raises(ReviewRequired, match="too large"):
        world.perform()

    assert world.payments.calls == []
    assert world.resume() == "Review"


def test_a_replaced_execution_may_not_act() -> None:
    world = an_approved_world()
    given(world, epoch=2)

    with pytest.raises(StaleExecution):
        world.perform()

    assert world.payments.calls == []


def test_nobody_acts_for_a_run_in_review() -> None:
    world = an_approved_world()
    world.change(lambda draft: draft.send_to_review("a person asked"))

    with pytest.raises(ReviewRequired, match="a person asked"):
        world.perform()

    assert world.payments.calls == []


def test_a_repeated_stage_call_leaves_a_review_that_can_end_by_itself_as_it_is() -> None:
    world = an_approved_world()
    given(world, a_refund(EffectState.UNKNOWN))
    world.change(lambda draft: draft.send_to_review("overdue", recovers=True))

    with pytest.raises(ReviewRequired):
        world.perform()

    assert world.run().review_recovers
    assert world.run().review_reason == "overdue"


def test_nobody_acts_for_a_closed_run() -> None:
    world = a_world()
    world.ask()
    world.decide(Decision.DECLINE)

    with pytest.raises(StaleExecution):
        world.perform()

    assert world.payments.calls == []


def test_nobody_acts_for_a_run_that_is_not_there() -> None:
    world = an_approved_world()

    with pytest.raises(RequestRefused) as refused:
        world.perform(task=Task(run_id="run_b", epoch=1))

    assert refused.value.problem == "run-not-found"


@pytest.mark.parametrize(
    "state", [EffectState.REJECTED, EffectState.CONFLICT, EffectState.CONTRADICTED]
)
def test_an_effect_that_a_person_has_to_look_at_is_not_attempted(state: EffectState) -> None:
    world = an_approved_world()
    given(world, a_refund(state))

    with pytest.raises(ReviewRequired, match=state):
        world.perform()

    assert world.payments.calls == []


def test_without_an_approval_nothing_is_sent() -> None:
    world = a_world()

    with pytest.raises(ApprovalNeeded, match="nothing was approved yet"):
        world.perform()

    assert world.payments.calls == []
    assert world.ledger.effects == ()
