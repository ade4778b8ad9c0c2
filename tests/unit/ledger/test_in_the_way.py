"""What others did at a target: shown to the person who decides, and never judged by us."""

import pytest

from ledger.errors import ReviewRequired
from ledger.event import EventKind
from ledger.provider import Authority, ProviderRecord, RecordStatus
from ledger.remarks import MAX_WRITES_OF_OTHERS
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import facts_of
from tests.unit.ledger.notices import notified
from tests.unit.ledger.sample import (
    CARD_DECLINED,
    LEASE_SECONDS,
    OF_ANOTHER_RUN,
    REFUND_ID,
    a_record,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world, an_unknown_world

NOT_ALLOWED = Authority(allowed=False, reason="4000 of the 7900 are left", snapshot={})


def a_colleagues(record_id: str = "re_9", amount_minor: int = 6000) -> ProviderRecord:
    fields = {"charge_id": "ch_1", "amount_minor": amount_minor, "currency": "USD"}
    return a_record(record_id=record_id, mark=None, fields=fields)


def shown(world: World) -> list[str]:
    return [found.record_id for found in world.effect().candidates]


def test_a_write_that_is_not_allowed_any_more_shows_whose_record_is_in_its_way() -> None:
    world = an_approved_world()
    world.payments.held = [a_colleagues()]
    world.payments.allowed = NOT_ALLOWED

    with pytest.raises(ReviewRequired, match="4000 of the 7900 are left"):
        world.perform()

    assert shown(world) == ["re_9"]
    assert world.effect().state is EffectState.PLANNED
    assert world.run().state is RunState.REVIEW
    assert "4000 of the 7900 are left" in world.run().review_reason
    assert world.payments.calls == []


def test_a_refusal_is_read_back_for_what_may_explain_it() -> None:
    world = an_approved_world()
    world.payments.held = [a_colleagues()]
    world.payments.script = [Step(None, CARD_DECLINED)]

    with pytest.raises(ReviewRequired):
        world.perform()

    assert world.effect().state is EffectState.REJECTED
    assert shown(world) == ["re_9"]


def test_a_record_of_ours_weighs_more_than_the_refusal_that_came_with_it() -> None:
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.DONE, CARD_DECLINED)]

    with pytest.raises(Exception, match="lost"):
        world.perform()
    assert world.effect().state is EffectState.UNKNOWN
    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert len(world.payments.calls) == 1


def test_a_refusal_that_cannot_be_read_back_stands_by_itself() -> None:
    world = an_approved_world()
    world.payments.script = [Step(None, CARD_DECLINED)]

    def no_more_reads() -> None:
        world.payments.read_fault = CARD_DECLINED

    world.payments.during_call = no_more_reads
    with pytest.raises(ReviewRequired):
        world.perform()

    assert world.effect().state is EffectState.REJECTED
    assert shown(world) == []


def test_what_stood_in_the_way_is_forgotten_with_the_next_attempt() -> None:
    world = an_approved_world()
    world.payments.held = [a_colleagues()]
    allowed, world.payments.allowed = world.payments.allowed, NOT_ALLOWED
    with pytest.raises(ReviewRequired):
        world.perform()
    world.payments.held, world.payments.allowed = [], allowed
    world.change(lambda draft: draft.move_run(RunState.ACTIVE, EventKind.REVIEW_ENDED, "go on"))

    world.perform()

    assert shown(world) == []


def test_the_writes_of_others_and_a_dispute_are_remarked_once_and_change_nothing() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.payments.held.append(a_colleagues())
    world.payments.held.append(a_record(record_id="re_8", mark=None, status=RecordStatus.FAILED))
    world.payments.concerns = ("the charge is disputed",)

    world.reconcile()
    world.perform()

    refund = world.effect()
    assert refund.state is EffectState.CONFIRMED
    assert refund.remarks == (
        "the charge is disputed",
        "re_9 (succeeded) at the same target was not made by us",
    )
    assert world.kinds.count(EventKind.REMARK_NOTED) == 2
    assert world.run().state is RunState.ACTIVE


def test_the_remarks_of_one_effect_are_bounded() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.payments.held += [a_colleagues(f"re_2{number}", 1) for number in range(40)]
    world.payments.concerns = ("the charge is disputed",)

    world.reconcile()

    assert len(world.effect().remarks) == MAX_WRITES_OF_OTHERS + 1


def test_a_dispute_is_remarked_however_many_strangers_were_remarked_before_it() -> None:
    world = an_approved_world()
    world.payments.held = [a_colleagues(f"re_2{number}", 1) for number in range(40)]
    world.perform()
    for _ in range(5):  # each read shows the next of them
        notified(world)
    assert len(world.effect().remarks) == MAX_WRITES_OF_OTHERS

    world.payments.concerns = ("the charge is disputed",)
    notified(world)
    notified(world)

    assert len(world.effect().remarks) == MAX_WRITES_OF_OTHERS + 1
    assert world.effect().remarks[-1] == "the charge is disputed"
    assert world.events[-1].kind == EventKind.REMARK_NOTED
    assert world.effect().state is EffectState.CONFIRMED


def test_what_the_read_back_of_a_write_shows_beside_ours_is_remarked_at_once() -> None:
    world = an_approved_world()
    world.payments.held = [a_colleagues()]
    world.payments.concerns = ("the charge is disputed",)

    world.perform()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.effect().remarks == (
        "the charge is disputed",
        "re_9 (succeeded) at the same target was not made by us",
    )
    assert facts_of(world).effects[0].remarks == world.effect().remarks
    assert world.run().state is RunState.ACTIVE


def test_the_refund_of_another_run_of_ours_that_is_in_the_way_is_shown() -> None:
    world = an_approved_world()
    world.payments.held = [
        a_record(record_id="re_7", mark=OF_ANOTHER_RUN),
        a_record(record_id="re_6", mark=OF_ANOTHER_RUN, status=RecordStatus.FAILED),
    ]
    world.payments.allowed = NOT_ALLOWED

    with pytest.raises(ReviewRequired):
        world.perform()

    assert shown(world) == ["re_7"]
    assert world.effect().state is EffectState.PLANNED
    assert world.payments.calls == []


def test_the_refund_of_another_run_of_ours_is_remarked_as_such_and_is_not_taken_for_this_one() -> (
    None
):
    world = an_unknown_world()
    world.payments.held = [a_record(record_id="re_7", mark=OF_ANOTHER_RUN)]

    world.prove_absence()
    assert world.effect().state is EffectState.PLANNED
    world.perform()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.effect().remarks == (
        "re_7 (succeeded) at the same target belongs to another effect",
    )


def test_a_record_that_others_wrote_on_after_us_still_holds_while_it_says_the_same() -> None:
    world = an_approved_world()
    world.perform()
    (made,) = world.payments.held
    world.payments.held = [made.model_copy(update={"mark": None})]

    world.perform("receipt")

    assert world.effect().state is EffectState.CONFIRMED
    assert world.effect().remarks == ()


def test_a_record_that_another_effect_of_ours_has_marked_proves_nothing_for_this_one() -> None:
    world = an_approved_world()
    world.perform()
    (made,) = world.payments.held
    world.payments.held = [made.model_copy(update={"mark": OF_ANOTHER_RUN})]

    with pytest.raises(ReviewRequired):
        world.perform("receipt")

    assert world.effect().state is EffectState.CONTRADICTED


def test_a_review_says_which_effects_were_settled_since_it_began() -> None:
    world = an_unknown_world(made=RecordStatus.DONE)
    world.change(lambda draft: draft.send_to_review("a person asked"))

    world.pass_seconds(LEASE_SECONDS)
    world.reconcile()

    assert world.run().review_reason == "a person asked"
    assert world.run().settled_in_review == (REFUND_ID,)
    world.change(lambda draft: draft.move_run(RunState.ACTIVE, EventKind.REVIEW_ENDED, "go on"))
    assert world.run().settled_in_review == ()
