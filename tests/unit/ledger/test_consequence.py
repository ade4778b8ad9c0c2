"""A yes is bound to what is done: not to the words, and not to the version's name."""

from typing import Any

import pytest

from ledger.approval import Approval
from ledger.checkpoint import CompletionContract
from ledger.consequence import (
    CONTRACT_PARTS,
    DEFINITION_PARTS,
    OPERATION_PARTS,
    STAGE_PARTS,
    Part,
    consequence_of,
    what_changed,
)
from ledger.errors import ApprovalNeeded
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from ledger.workflow import Compensation, Operation, Stage, WorkflowDefinition
from tests.builders import a_run
from tests.unit.ledger.sample import (
    CONSEQUENCES,
    DEFINITION,
    DIGEST,
    PAYLOAD,
    REQUEST,
    RUN_ID,
    RefundRequest,
    a_refund,
)
from tests.unit.ledger.support import World, a_world, an_approved_world, given
from tests.unit.ledger.versions import FEE, RECEIPT, REFUND, altered, renumbered, with_fee


class OtherRequest(RefundRequest):
    """A request that asks for one thing more."""

    reason: str = ""


# One change of each field of the write that is approved, of its stage and of its proof. A field
# without one here is a field that nobody has decided about.
OPERATION_CHANGES: dict[str, Any] = {
    "name": "give_back",
    "label": "Money back",
    "provider": "post",
    "checkpoint": "paid_back",
    "request_fields": ("charge_id", "amount_minor"),
    "fixed": {"speed": "instant"},
    "evidence_fields": (("approval_id", "request_approved", "record_id"),),
    "requires": (),
    "needs_approval": False,
    "moves_money": False,
    "compensates": Compensation(operation="receipt", offer="take it back"),
}
STAGE_CHANGES: dict[str, Any] = {
    "name": "pay_back",
    "checkpoint": "paid_back",
    "timeout_seconds": 10,
    "operation": None,
    "providers": ("payments", "post"),
    "rings_doorbell": True,
}
CONTRACT_CHANGES: dict[str, Any] = {
    "checkpoint": "paid_back",
    "claim": "The money is on its way back.",
    "owner": "post",
    "evidence_fields": ("charge_id",),
}
DEFINITION_CHANGES: dict[str, object] = {
    "name": "give-more-back",
    "number": 3,
    "summary": "Give the money back.",
    "request_type": OtherRequest,
    "stages": (DEFINITION.stages[0], DEFINITION.stages[2]),
    "operations": (RECEIPT,),
    "contracts": DEFINITION.contracts[:1],
    "approval_lifetime_seconds": 60,
    "progress_deadline_seconds": 60,
    "max_executions": 1,
    "retired": True,
}
TABLES = [
    pytest.param(Operation, OPERATION_PARTS, OPERATION_CHANGES, id="operation"),
    pytest.param(Stage, STAGE_PARTS, STAGE_CHANGES, id="stage"),
    pytest.param(CompletionContract, CONTRACT_PARTS, CONTRACT_CHANGES, id="contract"),
    pytest.param(WorkflowDefinition, DEFINITION_PARTS, DEFINITION_CHANGES, id="definition"),
]


def a_yes(**changes: object) -> Approval:
    """Return a customer's yes to what the sample workflow does."""
    yes = Approval(
        approval_id="apr_1",
        workflow=DEFINITION.version,
        checkpoint="request_approved",
        payload=PAYLOAD,
        consequences=CONSEQUENCES,
        digest=DIGEST,
        requested_at_ms=1,
        expires_at_ms=2,
    )
    return yes.model_copy(update=changes)


def changed_for(definition: WorkflowDefinition, approval: Approval | None = None) -> str:
    """Return how a definition differs from what was approved, for a run with nothing done."""
    ledger = RunLedger(run=a_run(request=REQUEST, workflow=definition.version))
    return what_changed(definition, ledger, approval or a_yes())


@pytest.mark.parametrize(("model", "parts", "changes"), TABLES)
def test_somebody_has_decided_what_a_change_of_each_field_means(
    model: type[Operation], parts: dict[str, Part], changes: dict[str, object]
) -> None:
    assert set(parts) == set(changes) == set(model.model_fields)


def altered_field(kind: str, field: str) -> WorkflowDefinition:
    """Return the sample workflow with one field changed, of the refund where it is one of it."""
    match kind:
        case "operation":
            return altered("operations", 0, **{field: OPERATION_CHANGES[field]})
        case "stage":
            return altered("stages", 1, **{field: STAGE_CHANGES[field]})
        case "contract":
            return altered("contracts", 1, **{field: CONTRACT_CHANGES[field]})
    return DEFINITION.model_copy(update={field: DEFINITION_CHANGES[field]})


FIELDS = [
    *(("operation", field, part) for field, part in OPERATION_PARTS.items()),
    *(("stage", field, part) for field, part in STAGE_PARTS.items()),
    *(("contract", field, part) for field, part in CONTRACT_PARTS.items()),
    *(("definition", field, part) for field, part in DEFINITION_PARTS.items()),
]


@pytest.mark.parametrize(("kind", "field", "part"), FIELDS)
def test_only_a_change_of_what_is_done_asks_for_a_new_decision(
    kind: str, field: str, part: Part
) -> None:
    changed = changed_for(altered_field(kind, field))

    assert bool(changed) == (part is Part.CONSEQUENCE)
    assert ("refund" in changed) == (part is Part.CONSEQUENCE)


def test_the_order_in_which_fields_are_listed_is_no_consequence() -> None:
    turned = REFUND.model_copy(update={"request_fields": REFUND.request_fields[::-1]})

    assert consequence_of(turned) == consequence_of(REFUND)


def test_the_digest_of_a_consequence_is_made_alike_by_any_release() -> None:
    # Taken in another way, it would ask every customer who has said yes for another yes.
    assert (
        consequence_of(REFUND)
        == "sha256:b57fecbda4aa10d74b18e17aae286bc776961cd714f074a44044cfb3ee3e39d9"
    )


def test_another_write_that_needs_a_yes_asks_for_a_new_decision() -> None:
    assert "fee" in changed_for(with_fee())


def test_another_write_that_needs_none_disturbs_nobody() -> None:
    free = FEE.model_copy(update={"needs_approval": False})

    assert changed_for(with_fee(fee=free)) == ""


def test_the_order_of_the_writes_is_no_consequence() -> None:
    before = with_fee()
    ask, refund, fee, receipt = before.stages
    turned = before.model_copy(update={"stages": (ask, fee, refund, receipt)})
    asked = a_yes(
        payload={**PAYLOAD, "fee": {"charge_id": "ch_1"}},
        consequences={**CONSEQUENCES, "fee": consequence_of(FEE)},
    )

    assert changed_for(before, asked) == changed_for(turned, asked) == ""


def test_what_is_done_is_no_longer_to_be_decided() -> None:
    dearer = altered("operations", 0, fixed={"speed": "instant"})
    refunded = RunLedger(run=a_run(), effects=(a_refund(EffectState.CONFIRMED),))
    in_doubt = RunLedger(run=a_run(), effects=(a_refund(EffectState.CONTRADICTED),))

    assert what_changed(dearer, refunded, a_yes()) == ""
    assert "refund" in what_changed(dearer, in_doubt, a_yes())


def test_a_yes_stored_before_consequences_were_kept_stands_for_its_own_version_alone() -> None:
    old = a_yes(consequences={}, digest=Approval.version_digest(DEFINITION.version, PAYLOAD))

    assert changed_for(DEFINITION, old) == ""
    assert "give-back@2" in changed_for(renumbered(), old)
    assert "fee" in changed_for(with_fee(), old)


# The same from the outside: a run is under way, and its version does something else from now on.


def goes_on_as(world: World, definition: WorkflowDefinition) -> None:
    """Let the run's own version be ``definition`` from now on."""
    world.definition = definition


@pytest.mark.parametrize(
    "definition",
    [
        altered("operations", 0, label="Money back"),
        altered("contracts", 0, claim="You said yes."),
        altered("stages", 1, timeout_seconds=5),
        DEFINITION.model_copy(update={"summary": "Give back.", "approval_lifetime_seconds": 1}),
    ],
    ids=["label", "claim", "timeout", "summary"],
)
def test_given_a_yes_when_only_words_change_then_the_write_is_made(
    definition: WorkflowDefinition,
) -> None:
    world = an_approved_world()
    goes_on_as(world, definition)

    assert world.perform().state is EffectState.CONFIRMED
    assert len(world.ledger.approvals) == 1


@pytest.mark.parametrize(
    "definition",
    [altered("operations", 0, moves_money=False), with_fee()],
    ids=["another consequence", "another write"],
)
def test_given_a_yes_when_something_else_would_be_done_then_the_customer_is_asked_again(
    definition: WorkflowDefinition,
) -> None:
    # Given a yes to the refund.
    world = an_approved_world()
    goes_on_as(world, definition)

    # When the write is about to be made by a version that would do something else.
    with pytest.raises(ApprovalNeeded, match="would be done differs"):
        world.perform()

    # Then nothing was sent, and the customer is asked for exactly what would be done now.
    assert world.payments.calls == []
    asked = world.ask("token-2").pending_approval()
    assert asked is not None
    assert set(asked.payload) == {found.name for found in definition.approved_operations}
    world.decide(ordinal=2, digest=asked.digest)
    assert world.perform().state is EffectState.CONFIRMED


def test_given_an_open_question_when_another_write_is_added_then_another_takes_its_place() -> None:
    # Given a customer who was asked and has not answered.
    world = a_world()
    first = world.ask().pending_approval()
    goes_on_as(world, with_fee())

    # When the stage that asks is run again.
    second = world.ask("token-2").pending_approval()

    # Then they are asked about both writes, and the run still waits.
    assert first is not None
    assert second is not None
    assert second.approval_id != first.approval_id
    assert set(second.payload) == {"refund", "fee"}
    assert world.run().state is RunState.AWAITING_APPROVAL
    (event,) = [found for found in world.events if found.subject == second.approval_id]
    assert event.kind == "approval_requested"


def test_given_an_open_question_when_only_words_change_then_it_stays_the_only_one() -> None:
    world = a_world()
    world.ask()
    goes_on_as(world, altered("operations", 0, label="Money back"))

    world.ask("token-2")

    assert len(world.ledger.approvals) == 1


def test_given_a_yes_stored_before_consequences_were_kept_when_used_then_it_covers_the_write() -> (
    None
):
    world = an_approved_world()
    approval = world.ledger.newest_approval()
    assert approval is not None
    old = {"consequences": {}, "digest": Approval.version_digest(DEFINITION.version, PAYLOAD)}
    given(world, approval.model_copy(update=old))

    assert world.perform().approval_id == approval.approval_id


def test_given_a_question_stored_before_consequences_were_kept_when_answered_then_it_counts() -> (
    None
):
    world = a_world()
    pending = world.ask().pending_approval()
    assert pending is not None
    digest = Approval.version_digest(DEFINITION.version, PAYLOAD)
    given(world, pending.model_copy(update={"consequences": {}, "digest": digest}))

    world.decide(digest=digest)

    assert world.ledger.proven("request_approved") is not None
    assert world.perform().state is EffectState.CONFIRMED
    assert world.run().run_id == RUN_ID


def test_the_words_in_which_a_counter_effect_is_offered_are_text() -> None:
    one, other = (
        REFUND.model_copy(update={"compensates": Compensation(operation="fee", offer=words)})
        for words in ("take the fee back", "give the fee back")
    )

    elsewhere = one.model_copy(update={"compensates": Compensation(operation="x", offer="take")})

    assert consequence_of(one) == consequence_of(other) != consequence_of(REFUND)
    assert consequence_of(elsewhere) != consequence_of(one)
