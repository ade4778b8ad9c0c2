"""A provider's contract: what its answers mean, and what its reads can prove."""

import pytest

from ledger.checkpoint import Checkpoint
from ledger.contract import Consistency, ErrorClass, ErrorRule, FaultKind, LookUp
from ledger.errors import InvariantBroken
from ledger.provider import ProviderFault
from tests.builders import a_checkpoint, evidence
from tests.unit.ledger.sample import BOUND, DEFINITION, PAYMENTS, POST


@pytest.mark.parametrize(
    ("kind", "status", "code", "meaning"),
    [
        (FaultKind.NEVER_SENT, None, None, ErrorClass.NOT_REACHED),
        (FaultKind.NO_ANSWER, None, None, ErrorClass.UNKNOWN),
        (FaultKind.UNREADABLE, 200, None, ErrorClass.UNKNOWN),
        (FaultKind.ANSWERED, 402, "card_declined", ErrorClass.REFUSED),
        (FaultKind.ANSWERED, 402, None, ErrorClass.REFUSED),
        (FaultKind.ANSWERED, 409, "key_in_use", ErrorClass.SAME_KEY_AGAIN),
        (FaultKind.ANSWERED, 400, "idempotency_error", ErrorClass.KEY_CONFLICT),
        (FaultKind.ANSWERED, 400, "charge_already_refunded", ErrorClass.COMPARE),
        (FaultKind.ANSWERED, 400, "something_new", ErrorClass.UNKNOWN),
        (FaultKind.ANSWERED, 500, None, ErrorClass.UNKNOWN),
        (FaultKind.NO_ANSWER, 402, "card_declined", ErrorClass.UNKNOWN),
    ],
)
def test_a_fault_means_what_its_row_says_and_an_unlisted_one_is_unknown(
    kind: FaultKind, status: int | None, code: str | None, meaning: ErrorClass
) -> None:
    assert PAYMENTS.classify(kind, status, code) is meaning


def test_the_first_matching_row_wins() -> None:
    contract = PAYMENTS.model_copy(
        update={
            "errors": (
                ErrorRule(error_class=ErrorClass.COMPARE, kind=FaultKind.ANSWERED, code="exists"),
                ErrorRule(error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, status=400),
            )
        }
    )

    assert contract.classify(FaultKind.ANSWERED, 400, "exists") is ErrorClass.COMPARE
    assert contract.classify(FaultKind.ANSWERED, 400, "other") is ErrorClass.REFUSED


def test_absence_can_be_proven_by_complete_strong_reads() -> None:
    assert PAYMENTS.absence_can_be_proven


@pytest.mark.parametrize(
    "weaker",
    [
        {"look_up": LookUp.NONE},
        {"look_up_consistency": Consistency.EVENTUAL},
        {"absence_reads": 0},
    ],
    ids=str,
)
def test_absence_cannot_be_proven_by_less(weaker: dict[str, object]) -> None:
    assert not PAYMENTS.model_copy(update=weaker).absence_can_be_proven
    assert not POST.absence_can_be_proven


def test_a_fault_carries_typed_facts_and_none_of_the_providers_words() -> None:
    fault = ProviderFault(FaultKind.ANSWERED, 402, "card_declined")

    assert str(fault) == "answered status=402 code=card_declined"


def test_evidence_that_shows_every_named_field_meets_its_completion_contract() -> None:
    proof = a_checkpoint(evidence=evidence(source="payments"))

    proof.check(DEFINITION.contract("refund_confirmed"))


@pytest.mark.parametrize(
    "proof",
    [
        pytest.param(a_checkpoint(evidence=evidence(source="a_guess")), id="another system"),
        pytest.param(
            a_checkpoint(evidence=evidence(source="payments", fields={"charge_id": "ch_1"})),
            id="fields missing",
        ),
        pytest.param(
            a_checkpoint(name="receipt_sent", evidence=evidence(source="payments", fields=BOUND)),
            id="another claim",
        ),
    ],
)
def test_evidence_that_falls_short_proves_nothing(proof: Checkpoint) -> None:
    with pytest.raises(InvariantBroken):
        proof.check(DEFINITION.contract("refund_confirmed"))
