"""Probes, second pass."""
from tests.unit.ledger.support import *
from tests.unit.ledger.sample import *
from tests.unit.ledger.scripted_provider import Step
import pytest
from ledger.act import Choice, perform_action
from ledger.actions import RecoveryAction, offers
from ledger.errors import *
from ledger.idempotency import effect_id_for
from ledger.packet import resume_packet, MAX_PACKET_BYTES
from ledger.canonical import canonical_bytes
from ledger.projection import project
from ledger.status import customer_status
from ledger.transitions import EffectState, RunState
from ledger.event import EventKind
from ledger.attempt import AttemptOutcome

def act(world, action, effect_id=None, reason="because"):
    return perform_action(world.ports, world.definition, RUN_ID, Choice(action=action, view_version=world.run().sequence, reason=reason, effect_id=effect_id), OPERATOR)
def all_offers(world):
    return offers(world.definition, world.ledger, lambda n: world.ports.providers[n].contract, world.clock.now_ms())
def offer(world, action, effect_id=None):
    return next(o for o in all_offers(world) if o.action is action and o.effect_id == effect_id)
def mail_in_doubt(world):
    world.perform()
    world.post.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    world.pass_seconds(LEASE_SECONDS)
    world.change(lambda d: d.send_to_review("x"))

def test_b1_superseded_mail_blocks_fresh_approval():
    world = an_approved_world()
    mail_in_doubt(world)
    act(world, RecoveryAction.SEND_AGAIN, RECEIPT_ID)
    t = Task(run_id=RUN_ID, epoch=world.run().epoch)
    # the refund fails later
    def undo(d):
        d.move_effect(d.ledger.effect(REFUND_ID), EffectState.CONTRADICTED, EventKind.EFFECT_CONTRADICTED, "x")
        d.send_to_review("x")
    world.change(undo)
    world.payments.held[:] = [world.payments.held[0].model_copy(update={"status": RecordStatus.FAILED})]
    act(world, RecoveryAction.RECONCILE)
    assert world.effect().state is EffectState.REJECTED
    print([(o.action.value, o.refused_because) for o in all_offers(world)])
    assert offer(world, RecoveryAction.REQUEST_APPROVAL).allowed

def test_b2_stale_plan_overwrites_history():
    """Worker A plans, stalls in the authority read; a duplicate's attempt is lost and proven absent; A claims on its stale plan."""
    world = an_approved_world()
    def duplicate():
        world.payments.during_authority = None
        world.payments.script = [Step(None, NO_ANSWER)]
        with pytest.raises(EffectUnknown):
            world.perform()
        world.prove_absence()
        assert world.effect().state is EffectState.PLANNED
        world.payments.script = [Step(None, CARD_DECLINED)]
    world.payments.during_authority = duplicate
    try:
        world.perform(remaining_ms=10**9)
    except LedgerError as e:
        print(repr(e))
    print([a.outcome for a in world.effect().attempts], world.effect().state)
    assert AttemptOutcome.ABSENT in [a.outcome for a in world.effect().attempts]
    assert world.effect().state is not EffectState.REJECTED

def test_b8_many():
    world = an_approved_world()
    given(world, *[a_refund(EffectState.REJECTED, effect_id=effect_id_for(RUN_ID,"refund",i), instance=i, approval_id="a") for i in range(1, 200)])
    p = resume_packet(project(world.definition, world.ledger, 0), "x")
    assert len(canonical_bytes(p.model_dump(mode="json"))) <= MAX_PACKET_BYTES

def test_b10_superseded_words():
    world = an_approved_world()
    mail_in_doubt(world)
    act(world, RecoveryAction.SEND_AGAIN, RECEIPT_ID)
    t = Task(run_id=RUN_ID, epoch=world.run().epoch)
    world.resume(t)
    world.perform("receipt", task=t)
    f = project(world.definition, world.ledger, 0)
    print(resume_packet(f, "").summary)
    print([(e.operation, e.status) for e in customer_status(f).effects])
    assert "a person is looking" not in resume_packet(f, "").summary
