"""Which intended occurrence of an operation counts now."""

import pytest

from ledger.approval import ApprovalState
from ledger.idempotency import approval_id_for, effect_id_for
from ledger.instance import approved_since, current_effect, instance_of, is_done, is_stuck
from ledger.run import RunLedger
from ledger.transitions import EffectState
from tests.builders import NOW_MS, a_checkpoint, a_run, an_approval, an_effect, evidence
from tests.unit.ledger.sample import BOUND, DEFINITION, RUN_ID, a_refund

FIRST, SECOND = approval_id_for(RUN_ID, 1), approval_id_for(RUN_ID, 2)
PAYLOAD = {"refund": BOUND}
REFUND = DEFINITION.operation("refund")


def a_ledger(
    state: EffectState,
    newest: ApprovalState | None = None,
    payload: dict[str, dict[str, str | int | bool]] | None = None,
    **effect: object,
) -> RunLedger:
    """Return a run whose first refund used the first approval, and perhaps a newer request."""
    approvals = [
        an_approval(approval_id=FIRST, state=ApprovalState.APPROVED, payload=PAYLOAD),
    ]
    if newest is not None:
        approvals.append(
            an_approval(
                approval_id=SECOND,
                state=newest,
                payload=PAYLOAD if payload is None else payload,
                requested_at_ms=NOW_MS + 1,
            )
        )
    refund = a_refund(state, **{"approval_id": FIRST, **effect})
    return RunLedger(run=a_run(), effects=(refund,), approvals=tuple(approvals))


def test_before_any_effect_the_first_instance_is_wanted() -> None:
    assert instance_of(RunLedger(run=a_run()), REFUND) == 1


@pytest.mark.parametrize("state", EffectState)
def test_without_a_newer_yes_the_same_instance_stays_wanted(state: EffectState) -> None:
    assert instance_of(a_ledger(state), REFUND) == 1


@pytest.mark.parametrize("state", EffectState)
def test_a_newer_yes_asks_for_another_instance_only_after_a_definite_no(
    state: EffectState,
) -> None:
    ledger = a_ledger(state, ApprovalState.APPROVED)

    assert instance_of(ledger, REFUND) == (2 if state is EffectState.REJECTED else 1)


@pytest.mark.parametrize("state", [ApprovalState.PENDING, ApprovalState.DECLINED])
def test_a_request_that_was_not_approved_asks_for_nothing(state: ApprovalState) -> None:
    assert instance_of(a_ledger(EffectState.REJECTED, state), REFUND) == 1


def test_a_yes_to_something_else_asks_for_nothing() -> None:
    ledger = a_ledger(EffectState.REJECTED, ApprovalState.APPROVED, payload={"other": BOUND})

    assert instance_of(ledger, REFUND) == 1


def test_an_effect_that_used_no_approval_gets_no_other_by_one() -> None:
    ledger = a_ledger(EffectState.REJECTED, ApprovalState.APPROVED, approval_id=None)

    assert not approved_since(ledger, ledger.effects[0])
    assert instance_of(ledger, REFUND) == 1


def test_without_any_approval_nothing_was_approved_since() -> None:
    ledger = RunLedger(run=a_run(), effects=(a_refund(EffectState.REJECTED, approval_id=FIRST),))

    assert not approved_since(ledger, ledger.effects[0])


@pytest.mark.parametrize("state", [EffectState.CONFLICT, EffectState.REJECTED])
def test_a_person_who_lets_another_take_its_place_asks_for_the_next(state: EffectState) -> None:
    ledger = a_ledger(state, superseded=True)

    assert instance_of(ledger, REFUND) == 2
    assert not is_stuck(ledger, ledger.effects[0])


def test_the_newest_instance_decides() -> None:
    first = a_refund(EffectState.REJECTED, approval_id=FIRST)
    second = a_refund(
        EffectState.CONFIRMED,
        effect_id=effect_id_for(RUN_ID, "refund", 2),
        instance=2,
        approval_id=SECOND,
    )
    for effects in ((first, second), (second, first)):
        ledger = RunLedger(run=a_run(), effects=effects)
        assert instance_of(ledger, REFUND) == 2
        assert not is_stuck(ledger, first)
        assert not is_stuck(ledger, second)


@pytest.mark.parametrize("state", EffectState)
def test_only_what_a_person_has_to_decide_is_stuck(state: EffectState) -> None:
    ledger = a_ledger(state)

    stuck = {EffectState.REJECTED, EffectState.CONFLICT, EffectState.CONTRADICTED}
    assert is_stuck(ledger, ledger.effects[0]) == (state in stuck)


def test_a_refusal_is_no_longer_stuck_once_the_customer_has_said_yes_again() -> None:
    ledger = a_ledger(EffectState.REJECTED, ApprovalState.APPROVED)

    assert not is_stuck(ledger, ledger.effects[0])


RECEIPT = DEFINITION.operation("receipt")


def a_receipted_ledger(quoted: str, proven: str, state: EffectState) -> RunLedger:
    """Return a run with a receipt that quotes one refund, while another may be the proven one."""
    refund = a_refund(EffectState.CONFIRMED)
    receipt = an_effect(
        effect_id=effect_id_for(RUN_ID, "receipt", 1),
        operation="receipt",
        state=state,
        checkpoint="receipt_sent",
        approval_id=None,
        bound={"refund_id": quoted, "amount_minor": 7900},
    )
    proof = a_checkpoint(
        name="refund_confirmed",
        effect_id=refund.effect_id,
        evidence=evidence(record_id=proven, fields=BOUND),
    )
    sent = a_checkpoint(name="receipt_sent", effect_id=receipt.effect_id)
    return RunLedger(run=a_run(), effects=(refund, receipt), checkpoints=(proof, sent))


@pytest.mark.parametrize("state", EffectState)
def test_a_sent_receipt_of_a_refund_that_was_replaced_asks_for_another(state: EffectState) -> None:
    ledger = a_receipted_ledger("re_1", "re_2", state)

    wanted = 2 if state is EffectState.CONFIRMED else 1
    assert instance_of(ledger, RECEIPT) == wanted
    assert (current_effect(ledger, RECEIPT) is None) == (wanted == 2)
    assert not is_done(DEFINITION, ledger, DEFINITION.stage("send_receipt"))


def test_a_sent_receipt_of_the_proven_refund_is_done() -> None:
    ledger = a_receipted_ledger("re_1", "re_1", EffectState.CONFIRMED)

    assert instance_of(ledger, RECEIPT) == 1
    assert is_done(DEFINITION, ledger, DEFINITION.stage("send_receipt"))


def test_a_receipt_whose_refund_is_in_doubt_is_not_repeated_before_another_is_proven() -> None:
    ledger = a_receipted_ledger("re_1", "re_2", EffectState.CONFIRMED)
    doubted = a_refund(EffectState.CONTRADICTED)
    ledger = ledger._replace(effects=(doubted, ledger.effects[1]))

    assert instance_of(ledger, RECEIPT) == 1


@pytest.mark.parametrize("state", [EffectState.PLANNED, EffectState.ATTEMPTING])
def test_proof_of_an_earlier_receipt_is_none_of_the_one_that_is_under_way(
    state: EffectState,
) -> None:
    ledger = a_receipted_ledger("re_1", "re_2", EffectState.CONFIRMED)
    second = an_effect(
        effect_id=effect_id_for(RUN_ID, "receipt", 2),
        operation="receipt",
        instance=2,
        state=state,
        checkpoint="receipt_sent",
        bound={"refund_id": "re_2", "amount_minor": 7900},
    )
    ledger = ledger._replace(effects=(*ledger.effects, second))

    assert instance_of(ledger, RECEIPT) == 2
    assert not is_done(DEFINITION, ledger, DEFINITION.stage("send_receipt"))
