"""A run that was ended: what is found later is shown to a person, and only they go on."""

import pytest

from ledger.errors import EffectUnknown, RequestRefused, StaleExecution
from ledger.event import EventKind
from ledger.sweep import SweepResult
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import CLOSE, act, facts_of, offer, packet, told
from tests.unit.ledger.notices import closed, fails_later, lands, notified
from tests.unit.ledger.sample import (
    CARD_DECLINED,
    LEASE_SECONDS,
    NO_ANSWER,
    PAYMENTS,
    RECOVERY_DEADLINE_SECONDS,
    RUN_ID,
    TASK,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import refund_attempting
from tests.unit.ledger.support import World, an_approved_world, an_unknown_world, wait_until_due

NOT_PROVEN = (
    "Refund for USD 79.00 has an outcome that was never proven; do not repeat it; "
    "receipt email was not made."
)


def test_a_closed_run_whose_effect_becomes_overdue_stays_closed_and_pays_nothing() -> None:
    world = closed(an_unknown_world())
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.payments.read_fault = NO_ANSWER

    assert notified(world)

    assert world.run().state is RunState.CLOSED
    assert world.run().due_at_ms is None
    assert world.effect().state is EffectState.UNKNOWN
    assert world.effect().overdue
    assert world.kinds[-2:] == [EventKind.RECONCILE_READ_FAILED, EventKind.EFFECT_OVERDUE]
    assert told(world).effects[0].status == "not proven"
    assert packet(world).summary == NOT_PROVEN
    with pytest.raises(StaleExecution):
        world.perform()
    assert len(world.payments.calls) == 1
    assert world.executions.starts == [f"{RUN_ID}-e1"]


def test_a_closed_run_whose_effect_is_proven_absent_at_last_pays_nothing() -> None:
    world = closed(an_unknown_world())

    world.prove_absence()

    assert world.effect().state is EffectState.PLANNED
    assert world.run().state is RunState.REVIEW
    assert not world.run().review_recovers
    assert "refund is planned after the run had ended" in world.run().review_reason
    wait_until_due(world)
    assert world.sweep() is SweepResult.REVIEW
    assert len(world.payments.calls) == 1
    assert world.executions.starts == [f"{RUN_ID}-e1"]


def test_a_record_that_shows_after_its_absence_was_proven_brings_a_closed_run_to_a_person() -> None:
    world = an_unknown_world()
    world.prove_absence()
    closed(world)
    assert packet(world).summary == "Refund for USD 79.00 was not made; receipt email was not made."

    lands(world)
    assert notified(world)

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW
    assert world.run().closed_at_ms is None
    assert world.run().review_reason == (
        "refund is unknown after the run had ended: a record appeared after the effect was planned"
    )
    assert facts_of(world).settled_in_review == ("Refund",)
    assert told(world).effects[0].record_id == "re_late"
    assert "Refund re_late for USD 79.00 is confirmed" in packet(world).summary
    assert len(world.payments.calls) == 1
    assert world.executions.starts == [f"{RUN_ID}-e1"]


def test_a_notice_about_a_closed_run_that_shows_nothing_leaves_it_closed() -> None:
    world = an_unknown_world()
    world.prove_absence()
    closed(world)
    before = world.events

    assert notified(world)

    assert world.events == before


def test_the_answer_of_a_worker_that_was_given_up_brings_a_closed_run_to_a_person() -> None:
    world = an_approved_world()

    def given_up() -> None:
        held, world.payments.held = world.payments.held, []
        world.pass_seconds(LEASE_SECONDS)
        world.reconcile()
        closed(world)
        assert world.run().due_at_ms is None
        world.payments.held = held

    world.payments.during_call = given_up
    with pytest.raises(EffectUnknown):
        world.perform()

    assert [late.record.record_id for late in world.effect().late_results] == ["payments_1"]
    assert world.run().state is RunState.REVIEW
    assert world.run().review_reason == "refund: an answer came after the run had ended"
    world.reconcile()
    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW
    assert facts_of(world).settled_in_review == ("Refund",)
    assert len(world.payments.calls) == 1


def test_close_says_that_a_later_finding_brings_the_run_back_and_it_does() -> None:
    world = an_approved_world()
    world.payments.contract = PAYMENTS.model_copy(update={"rechecks_after_seconds": (24 * 3600,)})
    world.perform()
    world.change(lambda draft: draft.send_to_review("a person asked"))
    assert offer(world, CLOSE).consequence.words == (
        "Closes the run as it is. What is confirmed stays; nothing more is sent. A record that is "
        "found or taken back later brings it back to review."
    )
    act(world, CLOSE)

    fails_later(world)
    wait_until_due(world)

    assert world.sweep() is SweepResult.REVIEW
    assert world.effect().state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW
    assert world.run().closed_at_ms is None


def test_a_run_is_not_closed_while_a_worker_is_inside_a_call() -> None:
    world = an_approved_world()
    refused: list[str] = []

    def close_meanwhile() -> None:
        world.change(lambda draft: draft.send_to_review("a person asked"))
        with pytest.raises(RequestRefused) as caught:
            act(world, CLOSE)
        refused.append(caught.value.problem)

    world.payments.during_call = close_meanwhile
    world.payments.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(Exception, match="rejected"):
        world.perform()

    assert refused == ["action-not-allowed"]
    assert EventKind.RUN_CLOSED not in world.kinds
    assert world.effect().state is EffectState.REJECTED
    assert offer(world, CLOSE).allowed


def a_world_whose_worker_died() -> World:
    world = refund_attempting()
    world.change(lambda draft: draft.send_to_review("a person asked"))
    return world


def test_close_is_refused_until_the_claim_of_a_worker_that_died_has_lapsed() -> None:
    world = a_world_whose_worker_died()
    world.clock.pass_ms(LEASE_SECONDS * 1000 - 1)
    early = offer(world, CLOSE)
    world.clock.pass_ms(1)

    assert not early.allowed
    assert early.refused_because == "A worker is inside a call: look again in a minute."
    assert offer(world, CLOSE).allowed


def test_a_run_closed_after_its_worker_died_says_not_proven_and_never_attempting() -> None:
    world = a_world_whose_worker_died()
    world.pass_seconds(LEASE_SECONDS)

    act(world, CLOSE)

    assert world.run().state is RunState.CLOSED
    assert world.run().due_at_ms is None
    assert world.effect().state is EffectState.UNKNOWN
    assert world.kinds[-3:] == [
        EventKind.OPERATOR_ACTED,
        EventKind.EFFECT_UNKNOWN,
        EventKind.RUN_CLOSED,
    ]
    assert told(world).effects[0].status == "not proven"
    assert packet(world).summary == NOT_PROVEN
    assert packet(world).effects[0].state is EffectState.UNKNOWN
    assert facts_of(world).effects[0].state is EffectState.UNKNOWN
    with pytest.raises(StaleExecution):
        world.perform(task=TASK)
    assert len(world.payments.calls) == 1
