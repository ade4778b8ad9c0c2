"""What a version rests on, what is read again before a write, and a digest that stays the same."""

import pytest
from pydantic import ValidationError

from ledger.workflow import WorkflowDefinition
from tests.unit.ledger.sample import DEFINITION, RefundRequest

REFUND, RECEIPT = DEFINITION.operations


class LongerRequest(RefundRequest):
    """A request that asks for one thing more."""

    reason: str


def test_given_a_write_when_asked_what_it_rests_on_then_all_it_requires_and_all_it_quotes() -> None:
    assert REFUND.rests_on == {"request_approved"}
    assert RECEIPT.model_copy(update={"evidence_fields": ()}).rests_on == {"refund_confirmed"}
    assert RECEIPT.model_copy(update={"requires": ("account_confirmed",)}).rests_on == {
        "account_confirmed",
        "refund_confirmed",
    }


@pytest.mark.parametrize(
    ("stage", "providers"),
    [("ask_customer", ()), ("issue_refund", ()), ("send_receipt", ("payments",))],
)
def test_given_a_stage_when_asked_what_is_read_again_then_the_owners_of_what_its_write_rests_on(
    stage: str, providers: tuple[str, ...]
) -> None:
    assert DEFINITION.read_again_in(DEFINITION.stage(stage)) == providers


def test_given_several_mistakes_when_defined_then_each_is_told() -> None:
    nowhere = REFUND.model_copy(update={"checkpoint": "never_reached"})
    too_early = RECEIPT.model_copy(update={"requires": ("receipt_sent",)})

    with pytest.raises(ValidationError) as refused:
        WorkflowDefinition.model_validate({**dict(DEFINITION), "operations": (nowhere, too_early)})

    assert "no stage reaches never_reached" in str(refused.value)
    assert "receipt needs receipt_sent, which no earlier stage reaches" in str(refused.value)


def test_given_a_released_version_when_its_consequence_is_taken_by_any_release_then_it_is_one() -> (
    None
):
    # What a release guards: were it taken in another way, every version would seem changed.
    assert (
        DEFINITION.consequence_digest()
        == "sha256:3f6225343d9747e91ef19ab7a0c6a3a3d53a81e4e85d81629d4a1de9ce699000"
    )


def test_given_another_request_when_its_consequence_is_taken_then_it_differs() -> None:
    changed = DEFINITION.model_copy(update={"request_type": LongerRequest})

    assert changed.consequence_digest() != DEFINITION.consequence_digest()


def test_given_a_version_that_is_retired_when_its_consequence_is_taken_then_it_is_the_same() -> (
    None
):
    retired = DEFINITION.model_copy(update={"retired": True})

    assert retired.consequence_digest() == DEFINITION.consequence_digest()
