"""What is fixed when a write is planned: its limits, its deadlines, and what was tried before."""

import pytest

from ledger.attempt import AttemptOutcome
from ledger.canonical import canonical_bytes
from ledger.effect import MAX_REQUEST_BYTES
from ledger.errors import ProviderUnavailable, ReviewRequired
from ledger.idempotency import idempotency_key_for
from ledger.plan import existing_or_planned
from ledger.transitions import EffectState
from tests.builders import an_attempt
from tests.unit.ledger.sample import DEFINITION, NEVER_SENT, PAYMENTS, RECEIPT_ID, RUN_ID
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world, given
from tests.unit.ledger.test_plan import quote_another_refund

REFUND, RECEIPT = DEFINITION.operations


def request_of(world: World, padding: int) -> dict[str, object]:
    """Let the provider compose a request with so much padding, and return what is planned."""
    world.payments.composed_extras = {"padding": "x" * padding}
    planned = existing_or_planned(world.ports, DEFINITION, REFUND, world.ledger)
    return planned.request.stored_params()


def test_given_a_request_of_the_largest_size_when_planned_then_it_is_kept() -> None:
    world = an_approved_world()
    rest_bytes = len(canonical_bytes(request_of(world, 0)))

    assert request_of(world, MAX_REQUEST_BYTES - rest_bytes)

    with pytest.raises(ReviewRequired, match="too large"):
        request_of(world, MAX_REQUEST_BYTES - rest_bytes + 1)


def test_given_a_contract_when_planned_then_its_times_are_fixed_with_the_effect() -> None:
    world = an_approved_world()
    times = {
        "recovery_deadline_seconds": 11,
        "pending_deadline_seconds": 12,
        "key_notice_seconds": 13,
        "rechecks_after_seconds": (14, 15),
    }
    world.payments.contract = PAYMENTS.model_copy(update=times)

    planned = existing_or_planned(world.ports, DEFINITION, REFUND, world.ledger)

    assert {name: getattr(planned, name) for name in times} == times
    assert (planned.provider, planned.checkpoint) == ("payments", "refund_confirmed")
    assert (planned.generation, planned.instance) == (1, 1)


def test_given_a_write_when_planned_then_its_key_is_of_this_run_this_write_and_this_instance() -> (
    None
):
    world = an_approved_world()

    planned = existing_or_planned(world.ports, DEFINITION, REFUND, world.ledger)

    of_it = idempotency_key_for(RUN_ID, "refund", planned.bound, 1, 1)
    assert planned.idempotency_key == of_it
    assert of_it not in {
        idempotency_key_for("run_other", "refund", planned.bound, 1, 1),
        idempotency_key_for(RUN_ID, "fee", planned.bound, 1, 1),
        idempotency_key_for(RUN_ID, "refund", planned.bound, 2, 1),
        idempotency_key_for(RUN_ID, "refund", planned.bound, 1, 2),
    }


def test_given_a_receipt_that_never_left_when_tried_at_once_then_its_pause_still_counts() -> None:
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(None, NEVER_SENT)]
    with pytest.raises(ProviderUnavailable, match="never reached"):
        world.perform("receipt")

    with pytest.raises(ProviderUnavailable, match="next attempt waits"):
        world.perform("receipt")

    assert len(world.post.calls) == 1


@pytest.mark.parametrize("state", [EffectState.REJECTED, EffectState.CONFLICT])
def test_given_a_receipt_a_person_has_to_look_at_when_its_evidence_changes_then_it_waits_for_them(
    state: EffectState,
) -> None:
    world = an_approved_world()
    world.perform()
    world.perform("receipt")
    refused = an_attempt(outcome=AttemptOutcome.REFUSED)
    receipt = world.effect(RECEIPT_ID)
    given(world, receipt.model_copy(update={"state": state, "attempts": (refused,)}))
    quote_another_refund(world)

    with pytest.raises(ReviewRequired, match=f"receipt is {state}"):
        world.perform("receipt")

    assert len(world.post.calls) == 1
