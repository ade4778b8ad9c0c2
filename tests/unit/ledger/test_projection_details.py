"""Which claims are told, and which writes are over, when another approval or instance is there."""

import pytest

from ledger.approval import ApprovalState
from ledger.effect import Effect
from ledger.idempotency import effect_id_for
from ledger.projection import project
from ledger.run import RunLedger
from ledger.transitions import EffectState
from tests.builders import NOW_MS, a_checkpoint, a_run, an_approval
from tests.unit.ledger.sample import DEFINITION, RUN_ID, a_refund

CLAIM = "The payment provider confirms the refund."


def receipt(number: int, state: EffectState, refund_id: str) -> Effect:
    """Return one instance of the receipt, which quotes a refund."""
    return a_refund(
        state,
        operation="receipt",
        effect_id=effect_id_for(RUN_ID, "receipt", number),
        instance=number,
        checkpoint="receipt_sent",
        bound={"refund_id": refund_id, "amount_minor": 7900},
    )


@pytest.mark.parametrize("state", [ApprovalState.PENDING, ApprovalState.DECLINED])
def test_given_a_confirmed_refund_when_something_else_is_asked_then_its_claim_is_told(
    state: ApprovalState,
) -> None:
    refund = a_refund(EffectState.CONFIRMED)
    proof = a_checkpoint(effect_id=refund.effect_id)
    ledger = RunLedger(
        run=a_run(run_id=RUN_ID),
        effects=(refund,),
        approvals=(an_approval(state=state),),
        checkpoints=(proof,),
    )

    facts = project(DEFINITION, ledger, NOW_MS)

    assert CLAIM in facts.claims


def test_given_a_receipt_of_an_earlier_refund_when_shown_then_only_the_one_sent_is_over() -> None:
    refund = a_refund(EffectState.CONFIRMED)
    ledger = RunLedger(
        run=a_run(run_id=RUN_ID),
        effects=(
            refund,
            receipt(1, EffectState.CONFIRMED, "re_0"),
            receipt(2, EffectState.UNKNOWN, "re_0"),
            receipt(3, EffectState.CONFIRMED, "re_1"),
        ),
        checkpoints=(a_checkpoint(effect_id=refund.effect_id),),
    )

    facts = project(DEFINITION, ledger, NOW_MS)

    over = {found.instance: found.over for found in facts.effects if found.operation == "receipt"}
    assert over == {1: True, 2: False, 3: False}


def test_given_an_effect_without_attempts_when_shown_then_it_has_no_fault() -> None:
    ledger = RunLedger(run=a_run(run_id=RUN_ID), effects=(a_refund(),))

    (refund,) = project(DEFINITION, ledger, NOW_MS).effects

    assert (refund.attempts, refund.last_fault) == (0, "")
