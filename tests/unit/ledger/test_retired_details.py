"""What is still known of a version that is gone: its name, its writes and their words."""

import pytest

from ledger.idempotency import effect_id_for
from ledger.retired import retired_definition
from ledger.run import RunLedger
from ledger.transitions import EffectState
from tests.builders import a_run
from tests.unit.ledger.sample import RUN_ID, a_refund

REFUND_1 = a_refund(
    EffectState.REJECTED, operation="issue_refund", key_first_used_at_ms=3, approval_id="apr_1"
)
REFUND_2 = REFUND_1.model_copy(
    update={
        "effect_id": effect_id_for(RUN_ID, "issue_refund", 2),
        "instance": 2,
        "key_first_used_at_ms": 7,
    }
)
RECEIPT = a_refund(
    EffectState.CONFIRMED,
    effect_id="eff_receipt",
    operation="send_receipt",
    provider="post",
    checkpoint="receipt_sent",
    key_first_used_at_ms=5,
    approval_id=None,
)


def ledger_of(workflow: str) -> RunLedger:
    """Return a run of a version that is gone, with three effects."""
    run = a_run(run_id=RUN_ID, workflow=workflow)
    return RunLedger(run=run, effects=(RECEIPT, REFUND_2, REFUND_1))


@pytest.mark.parametrize(
    ("workflow", "version"),
    [
        ("give-back@2", "give-back@2"),
        ("give@back@12", "give@back@12"),
        ("odd", "unknown@1"),
        ("odd@0", "odd@1"),
        ("odd@x", "odd@1"),
    ],
)
def test_given_a_version_that_is_gone_when_asked_then_it_goes_by_the_runs_name_for_it(
    workflow: str, version: str
) -> None:
    assert retired_definition(ledger_of(workflow)).version == version


def test_given_effects_in_any_order_when_asked_then_their_writes_are_in_order_of_first_use() -> (
    None
):
    definition = retired_definition(ledger_of("give-back@2"))

    assert [found.operation for found in definition.stages] == ["issue_refund", "send_receipt"]
    assert [found.providers for found in definition.stages] == [("payments",), ("post",)]
    assert [found.label for found in definition.operations] == ["Issue refund", "Send receipt"]
    assert [found.claim for found in definition.contracts] == ["Refund confirmed.", "Receipt sent."]
    assert definition.retired


@pytest.mark.parametrize(
    ("changed", "moves_money"),
    [
        ({}, True),
        ({"approval_id": None}, False),
        ({"bound": {"charge_id": "ch_1"}}, False),
    ],
    ids=["an approved amount", "an amount nobody approved", "no amount"],
)
def test_given_a_write_when_asked_whether_it_moves_money_then_an_approved_amount_says_so(
    changed: dict[str, object], moves_money: bool
) -> None:
    effect = REFUND_1.model_copy(update=changed)
    ledger = RunLedger(run=a_run(run_id=RUN_ID), effects=(effect,))

    (operation,) = retired_definition(ledger).operations

    assert operation.moves_money is moves_money
