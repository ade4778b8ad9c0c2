"""Several instances of one write: which of them counts, and which forbids another."""

import pytest

from ledger.effect import Effect
from ledger.errors import EffectUnknown, ReviewRequired
from ledger.idempotency import effect_id_for
from ledger.instance import check_no_other, current_effect, instance_of, is_done
from ledger.run import RunLedger
from ledger.transitions import EffectState
from tests.builders import a_checkpoint, a_run
from tests.unit.ledger.sample import DEFINITION, RUN_ID, a_refund

REFUND, RECEIPT = DEFINITION.operations
STAGE = DEFINITION.stage("issue_refund")


def instance(number: int, state: EffectState, **overrides: object) -> Effect:
    """Return one instance of the refund, which an approval allowed."""
    return a_refund(
        state,
        instance=number,
        effect_id=effect_id_for(RUN_ID, "refund", number),
        approval_id=f"apr_{number}",
        **overrides,
    )


def ledger_of(*effects: Effect) -> RunLedger:
    """Return a run with these effects."""
    return RunLedger(run=a_run(run_id=RUN_ID), effects=effects)


def test_given_two_that_are_there_after_all_when_a_third_was_refused_then_the_later_counts() -> (
    None
):
    ledger = ledger_of(
        instance(1, EffectState.CONFIRMED),
        instance(2, EffectState.CONFIRMED),
        instance(3, EffectState.REJECTED),
    )

    assert instance_of(ledger, REFUND) == 2
    current = current_effect(ledger, REFUND)
    assert current is not None
    assert current.instance == 2


@pytest.mark.parametrize(
    "state", [EffectState.CONFIRMED, EffectState.CONFLICT, EffectState.CONTRADICTED]
)
def test_given_an_earlier_one_that_is_there_when_another_is_claimed_then_a_person_decides(
    state: EffectState,
) -> None:
    second = instance(2, EffectState.PLANNED)

    with pytest.raises(ReviewRequired, match=f"is {state}"):
        check_no_other(ledger_of(instance(1, state), second), REFUND, second)


@pytest.mark.parametrize("state", [EffectState.UNKNOWN, EffectState.ATTEMPTING])
def test_given_an_earlier_one_in_doubt_when_another_is_claimed_then_it_is_read_first(
    state: EffectState,
) -> None:
    second = instance(2, EffectState.PLANNED)

    with pytest.raises(EffectUnknown):
        check_no_other(ledger_of(instance(1, state), second), REFUND, second)


@pytest.mark.parametrize(
    "earlier",
    [
        instance(1, EffectState.REJECTED),
        instance(1, EffectState.CONFLICT, superseded=True),
        instance(1, EffectState.CONFIRMED, operation="fee"),
    ],
    ids=["refused", "given up by a person", "of another write"],
)
def test_given_an_earlier_one_that_is_no_second_payment_when_another_is_claimed_then_it_may(
    earlier: Effect,
) -> None:
    second = instance(2, EffectState.PLANNED)

    check_no_other(ledger_of(earlier, second), REFUND, second)


def test_given_a_proof_that_names_no_effect_when_asked_then_it_holds_for_its_stage() -> None:
    proof = a_checkpoint(name=STAGE.checkpoint, effect_id=None)

    assert is_done(DEFINITION, RunLedger(run=a_run(), checkpoints=(proof,)), STAGE)
