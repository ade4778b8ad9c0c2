"""A proof is only as fresh as the read that it rests on."""

from collections.abc import Callable

import pytest

from ledger.contract import FaultKind
from ledger.errors import EffectUnknown, ProviderUnavailable, ReviewRequired
from ledger.event import EventKind
from ledger.provider import ProviderFault, ProviderRecord, RecordStatus
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import NO_ANSWER, REFUND_ID
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import World, an_approved_world

UNREADABLE = ProviderFault(FaultKind.NO_ANSWER)


def a_world_whose_refund_is_proven_absent() -> World:
    world = an_approved_world()
    world.payments.script = [Step(None, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform()
    world.prove_absence()
    return world


def the_lost_write(world: World) -> ProviderRecord:
    return world.payments.record(world.payments.calls[0], RecordStatus.DONE, {})


def test_a_write_that_lands_after_its_absence_was_proven_is_found_before_another_is_sent() -> None:
    world = a_world_whose_refund_is_proven_absent()
    world.payments.held.append(the_lost_write(world))
    world.pass_seconds(23 * 3600)  # the provider forgets the key, the approval still lives

    with pytest.raises(EffectUnknown):
        world.perform()
    world.reconcile()

    assert len(world.payments.calls) == 1
    assert [found.mark for found in world.payments.held] == [REFUND_ID]
    assert world.effect().state is EffectState.CONFIRMED


def test_a_replay_that_cannot_be_checked_again_is_not_made() -> None:
    world = a_world_whose_refund_is_proven_absent()
    world.payments.read_fault = UNREADABLE

    with pytest.raises(ProviderUnavailable):
        world.perform()

    assert len(world.payments.calls) == 1
    assert world.effect().state is EffectState.PLANNED


def test_a_replay_goes_ahead_while_nothing_shows() -> None:
    world = a_world_whose_refund_is_proven_absent()

    assert world.perform().state is EffectState.CONFIRMED

    first, second = world.payments.calls
    assert first.idempotency_key == second.idempotency_key


def test_a_duplicate_that_went_on_meanwhile_is_not_set_back() -> None:
    world = a_world_whose_refund_is_proven_absent()

    def somebody_else_finishes() -> None:
        world.payments.during_look_up = None
        world.perform()

    world.payments.during_look_up = somebody_else_finishes
    world.perform()

    assert world.effect().state is EffectState.CONFIRMED
    assert len([found for found in world.payments.held if found.mark == REFUND_ID]) == 1


def test_a_record_found_by_a_worker_that_was_overtaken_changes_nothing() -> None:
    world = a_world_whose_refund_is_proven_absent()
    world.payments.held.append(the_lost_write(world))

    def somebody_else_reconciles() -> None:
        world.payments.during_look_up = None
        with pytest.raises(EffectUnknown):
            world.perform()
        world.reconcile()

    world.payments.during_look_up = somebody_else_reconciles
    with pytest.raises(EffectUnknown):
        world.perform()

    assert world.effect().state is EffectState.CONFIRMED


def test_a_contradiction_seen_by_two_is_recorded_once() -> None:
    world = an_approved_world()
    world.perform()
    failed(world)

    def somebody_else_looks() -> None:
        world.payments.during_look_up = None
        with pytest.raises(ReviewRequired):
            world.perform("receipt")

    world.payments.during_look_up = somebody_else_looks
    with pytest.raises(ReviewRequired):
        world.perform("receipt")

    assert world.kinds.count(EventKind.EFFECT_CONTRADICTED) == 1


def failed(world: World) -> None:
    [record] = world.payments.held
    world.payments.held = [record.model_copy(update={"status": RecordStatus.FAILED})]


def gone(world: World) -> None:
    world.payments.held = []


def changed(world: World) -> None:
    [record] = world.payments.held
    fields = {**record.fields, "amount_minor": 1}
    world.payments.held = [record.model_copy(update={"fields": fields})]


@pytest.mark.parametrize("undone", [failed, gone, changed])
def test_no_receipt_is_sent_for_a_refund_that_no_longer_holds(
    undone: Callable[[World], None],
) -> None:
    world = an_approved_world()
    world.perform()
    undone(world)

    with pytest.raises(ReviewRequired):
        world.perform("receipt")

    assert world.post.calls == []
    assert world.effect().state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW
    assert EventKind.EFFECT_CONTRADICTED in world.kinds
    # What was proven once is not told any more.
    assert world.ledger.proven("refund_confirmed") is None


def test_no_receipt_is_sent_while_the_refund_cannot_be_read_again() -> None:
    world = an_approved_world()
    world.perform()
    world.payments.read_fault = UNREADABLE

    with pytest.raises(ProviderUnavailable):
        world.perform("receipt")

    assert world.post.calls == []
    assert world.run().state is RunState.ACTIVE


def test_an_incomplete_read_takes_no_proof_away() -> None:
    world = an_approved_world()
    world.perform()
    world.payments.held = []
    world.payments.every_page = False

    world.perform("receipt")

    assert len(world.post.calls) == 1
