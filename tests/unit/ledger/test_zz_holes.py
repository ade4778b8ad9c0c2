"""Probes."""
import pytest
from ledger.act import Choice, perform_action
from ledger.actions import RecoveryAction, offers
from ledger.approve import Decision, decide_approval
from ledger.approval import Approval, ApprovalState
from ledger.errors import *
from ledger.provider import RecordStatus, ProviderFault
from ledger.contract import FaultKind
from ledger.transitions import EffectState, RunState
from ledger.packet import resume_packet, MAX_PACKET_BYTES
from ledger.canonical import canonical_bytes
from ledger.projection import project
from ledger.idempotency import approval_id_for, effect_id_for
from ledger.task import Task
from tests.builders import evidence, an_approval, a_checkpoint
from tests.unit.ledger.sample import *
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.support import *

def act(world, action, effect_id=None, reason="because"):
    return perform_action(world.ports, world.definition, RUN_ID, Choice(action=action, view_version=world.run().sequence, reason=reason, effect_id=effect_id), OPERATOR)

def offer(world, action, effect_id=None):
    found = offers(world.definition, world.ledger, lambda n: world.ports.providers[n].contract, world.clock.now_ms())
    return next(o for o in found if o.action is action and o.effect_id == effect_id)

def test_h1_vanished_record_pays_twice():
    world = an_approved_world()
    world.payments.script = [Step(RecordStatus.PENDING)]
    with pytest.raises(EffectPending):
        world.perform()
    assert world.effect().state is EffectState.ACCEPTED
    held = list(world.payments.held)
    world.payments.held.clear()  # list hides it
    world.pass_seconds(LEASE_SECONDS + SETTLE_WINDOW_SECONDS)
    world.reconcile()
    assert world.effect().state is EffectState.CONFLICT
    act(world, RecoveryAction.RECONCILE)
    world.pass_seconds(KEY_LIFETIME_SECONDS // 2)
    world.reconcile()
    print(world.effect().state, world.run().state)
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()
    print(world.effect().state, world.run().state)
    epoch = world.run().epoch
    try:
        print(world.resume(Task(run_id=RUN_ID, epoch=epoch)))
        world.perform(task=Task(run_id=RUN_ID, epoch=epoch))
    except Exception as e:
        print(repr(e))
    assert len(world.payments.calls) == 1

def test_h2_marking_replaces_execution():
    world = an_approved_world()
    act(world, RecoveryAction.MARK_ENGINEERING)
    assert world.run().epoch == 1

def test_h2b_reconcile_on_active_replaces():
    world = an_unknown_world(made=None)
    act(world, RecoveryAction.RECONCILE)
    assert world.run().epoch == 1

def test_h3_approval_order_under_skew():
    world = a_world()
    world.change(lambda d: d.send_to_review("x"))
    world.change(lambda d: None)
    given(world, an_approval(approval_id=approval_id_for(RUN_ID, 1), workflow=DEFINITION.version, payload=PAYLOAD, digest=DIGEST, state=ApprovalState.APPROVED, requested_at_ms=world.clock.now_ms()+5000, expires_at_ms=world.clock.now_ms()+10**8))
    act(world, RecoveryAction.REQUEST_APPROVAL)
    assert world.ledger.pending_approval() is not None

def test_h4_wedge_lapsed_then_done():
    world = an_unknown_world(made=RecordStatus.DONE)
    # refund unknown; run in review for a lapsed request of an older decision
    given(world, an_approval(approval_id=approval_id_for(RUN_ID, 2), workflow=DEFINITION.version, payload=PAYLOAD, digest=DIGEST, requested_at_ms=world.clock.now_ms(), expires_at_ms=world.clock.now_ms()+1000))
    world.change(lambda d: d.move_run(RunState.AWAITING_APPROVAL, EventKind.APPROVAL_REQUESTED, "x"))
    world.pass_seconds(2)
    world.resume()
    assert world.run().state is RunState.REVIEW
    world.reconcile()
    assert world.effect().state is EffectState.CONFIRMED
    print(world.run().state, offer(world, RecoveryAction.RESUME).refused_because, "|", offer(world, RecoveryAction.REQUEST_APPROVAL).refused_because)
    assert offer(world, RecoveryAction.RESUME).allowed

def test_h5_packet_over():
    world = an_approved_world()
    world.perform()
    facts = project(world.definition, world.ledger, 0)
    p = resume_packet(facts, "\U0001D160"*3000)
    assert len(canonical_bytes(p.model_dump(mode="json"))) <= MAX_PACKET_BYTES

def test_h5b_packet_many_effects():
    world = an_approved_world()
    given(world, *[a_refund(EffectState.REJECTED, effect_id=effect_id_for(RUN_ID,"refund",i), instance=i, approval_id="a") for i in range(1, 80)])
    p = resume_packet(project(world.definition, world.ledger, 0), "x")
    assert len(canonical_bytes(p.model_dump(mode="json"))) <= MAX_PACKET_BYTES

def test_h6_attempts_spent():
    world = an_approved_world()
    for _ in range(MAX_ATTEMPTS):
        world.payments.script = [Step(None, NO_ANSWER)]
        with pytest.raises(EffectUnknown):
            world.perform()
        world.prove_absence()
    with pytest.raises(ReviewRequired):
        world.perform()
    assert world.run().state is RunState.REVIEW
    act(world, RecoveryAction.RESUME)
    t = Task(run_id=RUN_ID, epoch=world.run().epoch)
    print(world.resume(t))
    world.perform(task=t)

def test_h7_reach_same_record():
    world = an_approved_world()
    given(world, a_refund(EffectState.REJECTED, approval_id="a"), a_checkpoint(effect_id=REFUND_ID, evidence=evidence(record_id="payments_1")),
      an_approval(approval_id=approval_id_for(RUN_ID, 2), workflow=DEFINITION.version, payload=PAYLOAD, digest=DIGEST, state=ApprovalState.APPROVED, requested_at_ms=world.clock.now_ms()+1, expires_at_ms=world.clock.now_ms()+10**8))
    world.perform()
    assert world.ledger.proven("refund_confirmed") is not None

def test_h8_reconcile_moves_money():
    world = an_unknown_world(made=None)
    world.change(lambda d: d.send_to_review("overdue"))
    o = offer(world, RecoveryAction.RECONCILE)
    act(world, RecoveryAction.RECONCILE)
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()
    assert world.run().state is RunState.ACTIVE
    t = Task(run_id=RUN_ID, epoch=world.run().epoch)
    world.resume(t)
    world.perform(task=t)
    assert o.writes if hasattr(o, "writes") else o.consequence.writes

def test_h9_reconcile_ends_other_review():
    world = an_unknown_world(made=RecordStatus.DONE)
    world.change(lambda d: d.send_to_review("the customer's account is under a fraud check"))
    act(world, RecoveryAction.RECONCILE)
    print(world.run().state)
    assert world.run().state is RunState.REVIEW

def test_h10_receipt_quotes_old():
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(None, NEVER_SENT)]
    with pytest.raises(ProviderUnavailable):
        world.perform("receipt")
    assert world.effect(RECEIPT_ID).state is EffectState.PLANNED
    def contradict(d):
        d.move_effect(d.ledger.effect(REFUND_ID), EffectState.CONTRADICTED, EventKind.EFFECT_CONFLICT, "x")
        d.send_to_review("x")
    world.change(contradict)
    world.payments.held[:] = [a_record(record_id="re_new")]
    act(world, RecoveryAction.RECONCILE)
    print(world.run().state, world.effect().evidence.record_id)
    t = Task(run_id=RUN_ID, epoch=world.run().epoch)
    print(world.resume(t))
    world.perform("receipt", task=t)
    print(world.post.calls[-1].bound)
    assert world.post.calls[-1].bound["refund_id"] == "re_new"

def test_h11_last_verified_gap():
    world = an_approved_world()
    world.perform()
    world.perform("receipt")
    world.change(lambda d: d.move_effect(d.ledger.effect(REFUND_ID), EffectState.CONTRADICTED, EventKind.EFFECT_CONFLICT, "x"))
    f = project(world.definition, world.ledger, 0)
    print(f.proven, f.last_verified_checkpoint, f.next_state)
    assert f.last_verified_checkpoint == "request_approved"

def test_h12_instances_in_order():
    world = an_approved_world()
    given(world, *[a_refund(EffectState.REJECTED, effect_id=effect_id_for(RUN_ID,"refund",i), instance=i, approval_id="a", bound={**BOUND, "n": i}) for i in range(1, 5)])
    f = project(world.definition, world.ledger, 0)
    assert [e.bound["n"] for e in f.effects] == [1,2,3,4]

def test_h13_refused_mail():
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(ReviewRequired):
        world.perform("receipt")
    fs = offers(world.definition, world.ledger, lambda n: world.ports.providers[n].contract, world.clock.now_ms())
    print([(o.action.value, o.refused_because) for o in fs])
    assert {o.action for o in fs if o.allowed} - {RecoveryAction.CLOSE, RecoveryAction.MARK_ENGINEERING}

def test_h14_yes_after_operator_request_with_executions_used_up():
    world = an_approved_world()
    world.payments.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(ReviewRequired):
        world.perform()
    given(world, epoch=MAX_EXECUTIONS)
    world.pass_seconds(1)
    act(world, RecoveryAction.REQUEST_APPROVAL)
    world.decide(ordinal=2)
    world.executions.statuses[f"{RUN_ID}-e{MAX_EXECUTIONS}"] = ExecutionStatus.ENDED
    wait_until_due(world)
    print(world.sweep(), world.run().state, world.run().review_reason)
    assert world.run().state is RunState.ACTIVE

def test_h15_attested_shown():
    from ledger.status import customer_status
    world = an_approved_world()
    world.perform()
    world.post.script = [Step(RecordStatus.DONE, NO_ANSWER)]
    with pytest.raises(EffectUnknown):
        world.perform("receipt")
    world.pass_seconds(LEASE_SECONDS)
    world.change(lambda d: d.send_to_review("x"))
    act(world, RecoveryAction.TREAT_AS_SENT, RECEIPT_ID)
    f = project(world.definition, world.ledger, 0)
    print(resume_packet(f, "").summary)
    assert OPERATOR.actor_id not in customer_status(f).model_dump_json()

def test_h16_lapsed_attempting_mail_in_review():
    world = an_approved_world()
    world.perform()
    class Died(BaseException): ...
    def die(): raise Died
    world.post.during_call = die
    with pytest.raises(Died):
        world.perform("receipt")
    world.change(lambda d: d.send_to_review("x"))
    world.pass_seconds(LEASE_SECONDS)
    fs = offers(world.definition, world.ledger, lambda n: world.ports.providers[n].contract, world.clock.now_ms())
    print([(o.action.value, o.refused_because) for o in fs])
    print((world.run().due_at_ms - world.clock.now_ms())/1000)
    assert {o.action for o in fs if o.allowed} - {RecoveryAction.CLOSE, RecoveryAction.MARK_ENGINEERING}

def test_h17_claim_when_other_instance_reopened():
    from ledger.settle import reopen_unknown
    world = an_approved_world()
    world.payments.script = [Step(None, CARD_DECLINED)]
    with pytest.raises(ReviewRequired):
        world.perform()
    world.pass_seconds(1)
    act(world, RecoveryAction.REQUEST_APPROVAL)
    world.decide(ordinal=2)
    def reopen():
        world.payments.during_authority = None
        world.change(lambda d: reopen_unknown(d, d.ledger.effect(REFUND_ID), "late"))
    world.payments.during_authority = reopen
    world.resume()
    with pytest.raises(LedgerError):
        world.perform()
    print([c.effect_id for c in world.payments.calls])
    assert len(world.payments.calls) == 1
from ledger.ports import ExecutionStatus
from ledger.event import EventKind
