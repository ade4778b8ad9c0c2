"""An approval as a record: what it covers and until when."""

import pytest

from ledger.approval import Approval, ApprovalState
from ledger.record import Scalar
from ledger.run import RunLedger
from tests.builders import NOW_MS, a_run
from tests.unit.ledger.sample import (
    BOUND,
    CONSEQUENCES,
    DEFINITION,
    DIGEST,
    PAYLOAD,
    REFUND_ID,
)

VERSION = DEFINITION.version


def a_yes(**changes: object) -> Approval:
    """Return a customer's yes to the sample refund."""
    yes = Approval(
        approval_id="apr_1",
        workflow=VERSION,
        checkpoint="request_approved",
        payload=PAYLOAD,
        consequences=CONSEQUENCES,
        digest=DIGEST,
        requested_at_ms=NOW_MS,
        expires_at_ms=NOW_MS + 1000,
        state=ApprovalState.APPROVED,
    )
    return yes.model_copy(update=changes)


def refusal(
    approval: Approval,
    bound: dict[str, Scalar] = BOUND,
    operation: str = "refund",
    now_ms: int = NOW_MS,
) -> str | None:
    """Return why the approval does not cover the sample write."""
    return approval.refusal(operation, bound, REFUND_ID, now_ms)


def test_a_yes_covers_exactly_what_was_shown() -> None:
    assert refusal(a_yes()) is None


def test_a_yes_covers_the_effect_that_it_was_spent_on_already() -> None:
    assert refusal(a_yes(spent_on={"refund": REFUND_ID})) is None


@pytest.mark.parametrize(
    ("approval", "reason"),
    [
        (a_yes(state=ApprovalState.PENDING), "pending"),
        (a_yes(state=ApprovalState.DECLINED), "declined"),
        (a_yes(expires_at_ms=NOW_MS), "expired"),
        (a_yes(digest="sha256:00"), "another payload"),
        (a_yes(payload={"refund": {**BOUND, "amount_minor": 79000}}), "another payload"),
        (a_yes(consequences={"refund": "sha256:00"}), "another payload"),
        (a_yes(spent_on={"refund": "eff_other"}), "spent on another effect"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_yes_that_does_not_hold_says_why(approval: Approval, reason: str) -> None:
    assert reason in (refusal(approval) or "")


@pytest.mark.parametrize(
    "bound",
    [
        {**BOUND, "amount_minor": 79000},
        {**BOUND, "amount_minor": 1},
        {**BOUND, "extra": True},
        {"charge_id": "ch_1"},
        {},
    ],
    ids=str,
)
def test_any_other_write_is_not_covered(bound: dict[str, Scalar]) -> None:
    assert "differs from what was approved" in (refusal(a_yes(), bound) or "")


def test_an_operation_that_was_not_shown_is_not_covered() -> None:
    assert "differs from what was approved" in (refusal(a_yes(), operation="cancel") or "")


def test_a_lifetime_ends_at_its_exact_millisecond() -> None:
    assert refusal(a_yes(), now_ms=NOW_MS + 999) is None
    assert "expired" in (refusal(a_yes(), now_ms=NOW_MS + 1000) or "")


def test_the_digest_binds_the_payload_and_what_its_writes_do() -> None:
    other = {"refund": {**BOUND, "amount_minor": 1}}

    assert Approval.payload_digest(PAYLOAD, CONSEQUENCES) == DIGEST
    assert Approval.payload_digest(other, CONSEQUENCES) != DIGEST
    assert Approval.payload_digest(PAYLOAD, {"refund": "sha256:00"}) != DIGEST


def test_the_digest_does_not_depend_on_the_name_of_the_version() -> None:
    assert refusal(a_yes(workflow="give-back@3")) is None


def test_a_yes_stored_before_consequences_were_kept_is_read_by_its_own_digest() -> None:
    old = a_yes(consequences={}, digest=Approval.version_digest(VERSION, PAYLOAD))

    assert refusal(old) is None
    assert "another payload" in (refusal(old.model_copy(update={"workflow": "give-back@1"})) or "")


def test_the_digest_of_a_yes_stored_before_consequences_were_kept_is_still_made_alike() -> None:
    assert (
        Approval.version_digest(VERSION, PAYLOAD)
        == "sha256:cd7655f9b7c99d2fb69252738b807f2cedd10a72d6b00a096926ec4edc32d7c2"
    )


def test_the_newest_request_is_the_one_that_counts() -> None:
    older = a_yes(approval_id="apr_2", requested_at_ms=NOW_MS - 1)
    newer = a_yes(approval_id="apr_1", state=ApprovalState.PENDING)

    for approvals in ((older, newer), (newer, older)):
        ledger = RunLedger(run=a_run(), approvals=approvals)
        assert ledger.newest_approval() == newer
        assert ledger.pending_approval() == newer


def test_an_older_request_does_not_wait_once_a_newer_one_was_decided() -> None:
    older = a_yes(approval_id="apr_2", requested_at_ms=NOW_MS - 1, state=ApprovalState.PENDING)

    ledger = RunLedger(run=a_run(), approvals=(older, a_yes()))

    assert ledger.pending_approval() is None
