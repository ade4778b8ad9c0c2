"""What stands beside an approval, whether something is being taken back, and what is to come."""

import pytest

from ledger.approval import ApprovalState
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from tests.builders import a_checkpoint, a_run, an_approval
from tests.unit.ledger.sample import REFUND_ID, a_refund


def test_given_a_checkpoint_when_an_approval_is_put_beside_it_then_both_are_there() -> None:
    ledger = RunLedger(run=a_run(), checkpoints=(a_checkpoint(),))

    assert ledger.with_approval(an_approval()) == ledger._replace(approvals=(an_approval(),))


@pytest.mark.parametrize(
    ("run_state", "state", "is_being_taken_back"),
    [
        (RunState.AWAITING_APPROVAL, ApprovalState.PENDING, True),
        (RunState.ACTIVE, ApprovalState.PENDING, False),
        (RunState.AWAITING_APPROVAL, ApprovalState.DECLINED, False),
        (RunState.ACTIVE, ApprovalState.DECLINED, False),
        (RunState.ACTIVE, ApprovalState.APPROVED, True),
    ],
)
def test_given_a_counter_effect_when_asked_for_or_agreed_then_something_is_being_taken_back(
    run_state: RunState, state: ApprovalState, *, is_being_taken_back: bool
) -> None:
    approval = an_approval(compensates=REFUND_ID, state=state)
    ledger = RunLedger(run=a_run(state=run_state), approvals=(approval,))

    assert ledger.counter_approval() == (approval if is_being_taken_back else None)


def test_given_writes_when_asked_what_an_execution_makes_next_then_only_its_own_planned_ones() -> (
    None
):
    own = a_refund()
    others = (
        a_refund(effect_id="eff_counter", compensates=REFUND_ID),
        a_refund(effect_id="eff_superseded", superseded=True),
        a_refund(EffectState.CONFIRMED, effect_id="eff_done"),
    )

    assert RunLedger(run=a_run(), effects=(own, *others)).to_be_made() == (own,)
