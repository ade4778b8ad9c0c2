"""The approval is checked again before every write: each way of not covering it sends nothing."""

import pytest

from ledger.approval import Approval, ApprovalState
from ledger.approve import Decision
from ledger.authorise import (
    approval_payload,
    bound_fields,
    bound_from_request,
    check_consequence,
)
from ledger.errors import ApprovalNeeded, ReviewRequired
from ledger.idempotency import approval_id_for
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.workflow import Operation
from tests.builders import a_checkpoint, a_run, evidence
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    BOUND,
    CONSEQUENCES,
    DEFINITION,
    DIGEST,
    REFUND_ID,
    REQUEST,
    RUN_ID,
    a_refund,
)
from tests.unit.ledger.support import World, a_world, an_approved_world, given


def the_approval(world: World) -> Approval:
    """Return the sample run's approval."""
    found = world.ledger.approval(approval_id_for(RUN_ID, 1))
    assert found is not None
    return found


def assert_refused(world: World, reason: str) -> None:
    """Check that the refund is refused with this reason and that nothing was sent."""
    with pytest.raises(ApprovalNeeded, match=reason):
        world.perform()
    assert world.payments.calls == []
    assert world.ledger.effect(REFUND_ID) is None


def test_a_request_that_nobody_answered_covers_nothing() -> None:
    world = a_world()
    world.ask()

    assert_refused(world, "the approval is pending")


def test_a_no_covers_nothing() -> None:
    world = an_approved_world()
    given(world, the_approval(world).model_copy(update={"state": ApprovalState.DECLINED}))

    assert_refused(world, "the approval is declined")


def test_a_yes_holds_until_the_last_millisecond_of_its_lifetime() -> None:
    world = an_approved_world()
    world.clock.pass_ms(APPROVAL_LIFETIME_SECONDS * 1000 - 1)

    assert world.perform().state is EffectState.CONFIRMED


def test_a_yes_has_expired_at_the_exact_millisecond_of_its_end() -> None:
    world = an_approved_world()
    world.clock.pass_ms(APPROVAL_LIFETIME_SECONDS * 1000)

    assert_refused(world, "the approval has expired")


def test_a_yes_to_a_payload_that_was_altered_afterwards_covers_nothing() -> None:
    world = an_approved_world()
    bigger = {"refund": {**BOUND, "amount_minor": 79000}}
    given(world, the_approval(world).model_copy(update={"payload": bigger}))

    assert_refused(world, "was given for another payload")


@pytest.mark.parametrize(
    "change",
    [{"amount_minor": 79000}, {"charge_id": "ch_2"}, {"currency": "EUR"}, {"speed": "instant"}],
    ids=str,
)
def test_a_yes_to_another_payload_does_not_cover_this_write(change: dict[str, Scalar]) -> None:
    world = an_approved_world()
    payload = {"refund": {**BOUND, **change}}
    other = the_approval(world).model_copy(
        update={
            "payload": payload,
            "digest": Approval.payload_digest(payload, CONSEQUENCES),
        }
    )
    given(world, other)

    assert_refused(world, "differs from what was approved")


def test_a_yes_that_does_not_name_the_operation_does_not_cover_it() -> None:
    world = an_approved_world()
    payload = {"another": BOUND}
    other = the_approval(world).model_copy(
        update={
            "payload": payload,
            "digest": Approval.payload_digest(payload, CONSEQUENCES),
        }
    )
    given(world, other)

    assert_refused(world, "differs from what was approved")


def test_a_yes_spent_on_another_effect_covers_no_second_one() -> None:
    world = an_approved_world()
    spent = the_approval(world).model_copy(update={"spent_on": {"refund": "eff_other"}})
    given(world, spent)

    assert_refused(world, "already spent on another effect")


def test_a_yes_is_spent_on_the_effect_that_used_it() -> None:
    world = an_approved_world()

    effect = world.perform()

    assert the_approval(world).spent_on == {"refund": REFUND_ID}
    assert effect.approval_id == the_approval(world).approval_id


def test_the_newest_request_counts_not_an_older_yes() -> None:
    world = an_approved_world()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)
    world.ask("token-2")

    with pytest.raises(ApprovalNeeded, match="the approval is pending"):
        world.perform()
    world.decide(Decision.APPROVE, ordinal=2)

    assert world.perform().approval_id == approval_id_for(RUN_ID, 2)


def test_a_person_is_asked_about_the_writes_that_need_a_yes_field_by_field() -> None:
    ledger = RunLedger(run=a_run(request=REQUEST))

    assert approval_payload(DEFINITION, ledger) == {"refund": BOUND}
    assert DIGEST == "sha256:584b16647eb449a4f362ef6e15906ab21a9fe79efcf5a5478fcf5d642ebb2a0f"


def test_fields_that_the_version_decides_are_bound_and_cannot_be_asked_for() -> None:
    operation = Operation(
        name="stop",
        label="Write",
        provider="payments",
        checkpoint="stopped",
        request_fields=("charge_id",),
        fixed={"when": "period_end"},
    )

    bound = bound_from_request(operation, {"charge_id": "ch_1", "when": "now"})

    assert bound == {"charge_id": "ch_1", "when": "period_end"}


def test_evidence_that_a_write_quotes_is_read_from_the_proven_checkpoint() -> None:
    world = a_world()
    given(
        world,
        a_refund(EffectState.CONFIRMED),
        a_checkpoint(evidence=evidence(record_id="re_7"), effect_id=REFUND_ID),
    )

    bound = bound_fields(DEFINITION.operation("receipt"), world.ledger)

    assert bound == {"customer_id": "cus_1", "refund_id": "re_7", "amount_minor": 7900}


def test_evidence_of_a_contradicted_effect_is_not_quoted() -> None:
    world = a_world()
    given(world, a_refund(EffectState.CONTRADICTED), a_checkpoint(effect_id=REFUND_ID))

    with pytest.raises(ReviewRequired, match="refund_confirmed"):
        bound_fields(DEFINITION.operation("receipt"), world.ledger)


def test_a_write_that_quotes_what_is_not_proven_is_not_planned() -> None:
    with pytest.raises(ReviewRequired, match="refund_confirmed"):
        bound_fields(DEFINITION.operation("receipt"), a_world().ledger)


def test_a_consequence_equal_in_every_approved_field_passes() -> None:
    check_consequence(a_refund(), BOUND)


@pytest.mark.parametrize(
    "consequence",
    [
        {**BOUND, "amount_minor": 7901},
        {**BOUND, "amount_minor": True},
        {**BOUND, "reverse_transfer": True},
    ],
    ids=str,
)
def test_a_consequence_that_was_not_approved_is_stopped(consequence: dict[str, Scalar]) -> None:
    with pytest.raises(ReviewRequired, match="nothing was sent"):
        check_consequence(a_refund(), consequence)
