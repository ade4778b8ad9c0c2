"""A workflow version as data: names that follow from it, and mistakes it refuses."""

import pytest
from pydantic import ValidationError

from ledger.record import Record
from ledger.workflow import Operation, Stage, WorkflowDefinition
from tests.unit.ledger.sample import DEFINITION


def test_a_version_names_its_slice_and_its_state_machine() -> None:
    assert DEFINITION.version == "give-back@2"
    assert DEFINITION.slice_package == "workflows.give_back.v2"
    assert DEFINITION.asl_path == "statemachines/give_back/v2.asl.json"


def test_a_stage_names_its_state() -> None:
    assert Stage(name="issue_refund", checkpoint="x", timeout_seconds=1).state_name == "IssueRefund"


def test_what_a_version_does_not_have_cannot_be_asked_for() -> None:
    with pytest.raises(KeyError):
        DEFINITION.operation("give_a_car")
    with pytest.raises(KeyError):
        DEFINITION.contract("car_given")


def test_a_version_number_starts_at_one() -> None:
    with pytest.raises(ValidationError):
        WorkflowDefinition.model_validate({**dict(DEFINITION), "number": 0})


def test_nobody_can_be_asked_to_approve_what_is_read_only_later() -> None:
    undecidable = Operation(
        name="receipt",
        label="Write",
        provider="post",
        checkpoint="receipt_sent",
        request_fields=("customer_id",),
        evidence_fields=(("refund_id", "refund_confirmed", "record_id"),),
    )

    with pytest.raises(ValidationError, match="read only later"):
        WorkflowDefinition.model_validate({**dict(DEFINITION), "operations": (undecidable,)})


def test_words_may_change_without_changing_the_consequence() -> None:
    reworded = DEFINITION.model_copy(update={"summary": "Give the money back."})

    assert reworded.consequence_digest() == DEFINITION.consequence_digest()


@pytest.mark.parametrize(
    "change",
    [
        {"request_fields": ("charge_id", "amount_minor")},
        {"fixed": {"speed": "instant"}},
        {"provider": "post"},
        {"requires": ()},
        {"needs_approval": False},
        {"checkpoint": "paid"},
    ],
    ids=str,
)
def test_a_change_of_what_is_done_changes_the_consequence(change: dict[str, object]) -> None:
    refund, receipt = DEFINITION.operations
    changed = DEFINITION.model_copy(
        update={"operations": (refund.model_copy(update=change), receipt)}
    )

    assert changed.consequence_digest() != DEFINITION.consequence_digest()


def altered(part: str, index: int, **changes: object) -> dict[str, object]:
    """Return the sample's fields with one stage, operation or contract changed."""
    parts = list(getattr(DEFINITION, part))
    parts[index] = parts[index].model_copy(update=changes)
    return {**dict(DEFINITION), part: tuple(parts)}


class NamesNobody(Record):
    """A request without a customer."""

    charge_id: str
    amount_minor: int
    currency: str


ASK, REFUND_STAGE, RECEIPT_STAGE = DEFINITION.stages
CONFIRM = Stage(name="confirm", checkpoint="targets_confirmed", timeout_seconds=60)
UNPERFORMED = DEFINITION.operation("refund").model_copy(update={"name": "second_refund"})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {**dict(DEFINITION), "stages": (CONFIRM, *DEFINITION.stages)},
            "confirm is not given payments, which says whether the request is allowed",
        ),
        (altered("stages", 0, rings_doorbell=False), "ask_customer asks a person, and wakes no"),
        (altered("stages", 1, rings_doorbell=True), "issue_refund waits for a person, whose yes"),
        (altered("contracts", 0, owner="payments"), "ask_customer waits for a person, whose yes"),
        (altered("contracts", 0, evidence_fields=("place",)), "more than an approval leaves"),
        (
            {**dict(DEFINITION), "stages": (REFUND_STAGE, ASK, RECEIPT_STAGE)},
            "refund needs a yes, and no earlier stage asks for one",
        ),
        (
            {**dict(DEFINITION), "stages": (REFUND_STAGE, RECEIPT_STAGE)},
            "refund needs a yes, and no earlier stage asks for one",
        ),
        (
            {**dict(DEFINITION), "operations": (*DEFINITION.operations, UNPERFORMED)},
            "no stage performs second_refund",
        ),
        (altered("contracts", 1, owner="post"), "refund is made at payments, not at post"),
        (
            altered("contracts", 1, evidence_fields=("charge_id",)),
            "receipt quotes amount_minor, which refund_confirmed need not show",
        ),
        (altered("stages", 1, name="send_receipt"), "several stages are called send_receipt"),
        (altered("stages", 1, checkpoint="receipt_sent"), "several stages reach receipt_sent"),
        (altered("operations", 1, name="refund"), "several operations are called refund"),
        ({**dict(DEFINITION), "request_type": NamesNobody}, "names no customer_id"),
        (altered("operations", 0, request_fields=("car",)), "takes car, which the request"),
        ({**dict(DEFINITION), "contracts": ()}, "needs one completion contract"),
        (altered("stages", 1, operation="give_a_car"), "performs give_a_car, which there is not"),
        (altered("stages", 1, operation="receipt"), "reach different checkpoints"),
        (altered("stages", 1, providers=()), "is not given payments"),
        (altered("operations", 0, checkpoint="car_given"), "no stage reaches car_given"),
        (altered("operations", 0, requires=("car_given",)), "needs car_given, which no earlier"),
        (altered("operations", 0, requires=("receipt_sent",)), "needs receipt_sent, which no ear"),
        (
            altered("operations", 1, evidence_fields=(("refund_id", "car_given", "record_id"),)),
            "needs car_given, which no earlier",
        ),
    ],
)
def test_a_definition_that_no_run_could_finish_is_refused(
    fields: dict[str, object], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        WorkflowDefinition.model_validate(fields)


def test_a_stage_that_performs_nothing_has_no_write() -> None:
    assert DEFINITION.stage("issue_refund").write == "refund"
    with pytest.raises(KeyError, match="performs no operation"):
        _ = DEFINITION.stage("ask_customer").write
