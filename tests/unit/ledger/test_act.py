"""An operator's action: once, on the view it was chosen on, with who, why and what was before."""

from collections.abc import Callable
from functools import partial

import pytest

from ledger.act import EXTRA_EXECUTIONS, MAX_REASON_CHARACTERS
from ledger.approval import ApprovalState
from ledger.errors import LedgerUnavailable, RequestRefused, RetryLater
from ledger.event import Actor, EventKind
from ledger.idempotency import effect_id_for
from ledger.ports import StartOutcome
from ledger.provider import RecordStatus
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import act, allowed, choice, facts_of, go_on, offer, offered, take
from tests.unit.ledger.sample import (
    CARD_DECLINED,
    LEASE_SECONDS,
    MAX_EXECUTIONS,
    OPERATOR,
    RECEIPT_ID,
    REFUND_ID,
    RUN_ID,
    SETTLE_WINDOW_SECONDS,
    a_record,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import (
    SITUATIONS,
    approval_lapsed,
    attempts_used_up,
    mail_attempting,
    mail_in_conflict,
    mail_in_doubt,
    mail_rejected,
    mail_superseded,
    refund_attempting,
    refund_contradicted,
    refund_in_conflict,
    refund_key_in_conflict,
    refund_overdue,
    refund_rejected,
    refund_unknown,
    refund_vanished,
    second_refund_confirmed,
)
from tests.unit.ledger.support import World, given, wait_until_due

RECONCILE = "reconcile_provider_state"
RESUME = "resume_from_checkpoint"
ASK = "request_fresh_customer_approval"
MARK = "mark_for_engineering_review"
CLOSE = "close_without_further_action"
SENT = "treat_as_sent"
AGAIN = "send_again"
SECOND_REFUND_ID = effect_id_for(RUN_ID, "refund", 2)
SECOND_RECEIPT_ID = effect_id_for(RUN_ID, "receipt", 2)
# Deep enough for: look, ask again, and what follows from either.
DEPTH_ACTIONS = 3


def assert_refused(world: World, do: Callable[[], object], problem: str) -> str:
    """Fail unless ``do`` is refused and leaves everything as it was; return what is said."""
    ledger, events, calls = world.ledger, world.events, len(world.payments.calls)
    look_ups, starts = world.payments.look_ups, list(world.executions.starts)
    with pytest.raises(RequestRefused) as refused:
        do()
    assert refused.value.problem == problem
    assert (world.ledger, world.events) == (ledger, events)
    assert (len(world.payments.calls), world.payments.look_ups) == (calls, look_ups)
    assert world.executions.starts == starts
    return refused.value.detail


CHOICES = [
    pytest.param(name, found.action.value, found.effect_id, id=f"{name}-{found.action.value}")
    for name, make in SITUATIONS.items()
    for found in allowed(make())
]


@pytest.mark.parametrize(("name", "action", "effect_id"), CHOICES)
def test_an_action_is_recorded_with_who_why_and_what_was_before(
    name: str, action: str, effect_id: str | None
) -> None:
    world = SITUATIONS[name]()
    before, known = world.run().state, len(world.events)

    act(world, action, effect_id)

    event = world.events[known]
    assert event.kind is EventKind.OPERATOR_ACTED
    assert event.actor == OPERATOR
    assert event.reason == "the desk asked"
    assert (event.subject, event.prior_state) == (RUN_ID, before)
    assert event.details["action"] == action
    assert event.details["effect_id"] == (effect_id or "")
    assert [found.sequence for found in world.events] == list(range(1, len(world.events) + 1))


@pytest.mark.parametrize(("name", "action", "effect_id"), CHOICES)
def test_an_action_is_performed_once_on_one_view(
    name: str, action: str, effect_id: str | None
) -> None:
    world = SITUATIONS[name]()
    chosen = choice(world, action, effect_id)

    take(world, chosen)

    assert_refused(world, lambda: take(world, chosen), "view-changed")


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_is_not_allowed_is_refused_with_the_reason_that_was_shown(name: str) -> None:
    world = SITUATIONS[name]()
    for found in offered(world):
        if not found.allowed:
            chosen = choice(world, found.action.value, found.effect_id)
            said = assert_refused(world, partial(take, world, chosen), "action-not-allowed")
            assert found.refused_because in said


@pytest.mark.parametrize("reason", ["", " ", "\n\t", "x" * (MAX_REASON_CHARACTERS + 1)])
def test_an_action_needs_a_reason_that_can_be_read(reason: str) -> None:
    world = refund_rejected()

    assert_refused(world, lambda: take(world, choice(world, MARK, reason=reason)), "reason-missing")


def test_the_longest_reason_is_kept_whole() -> None:
    world = refund_rejected()
    reason = "x" * MAX_REASON_CHARACTERS

    take(world, choice(world, MARK, reason=reason))

    assert world.events[-1].reason == reason


@pytest.mark.parametrize("change", [-1, 1])
def test_a_view_of_another_version_is_another_view(change: int) -> None:
    world = refund_rejected()
    chosen = choice(world, MARK)
    other = chosen.model_copy(update={"view_version": chosen.view_version + change})

    assert_refused(world, lambda: take(world, other), "view-changed")


@pytest.mark.parametrize(
    ("action", "effect_id"), [(AGAIN, None), (AGAIN, "eff_x"), (SENT, REFUND_ID), (CLOSE, "eff_x")]
)
def test_an_action_about_something_else_is_not_there(action: str, effect_id: str | None) -> None:
    world = mail_in_doubt()

    assert_refused(
        world, lambda: take(world, choice(world, action, effect_id)), "action-not-allowed"
    )


def test_a_run_that_is_not_there_has_no_actions() -> None:
    world = refund_rejected()
    chosen = choice(world, MARK)
    world.store = type(world.store)()

    with pytest.raises(RequestRefused) as refused:
        take(world, chosen)

    assert refused.value.problem == "run-not-found"


def test_of_two_operators_who_choose_together_one_acts() -> None:
    world = mail_in_doubt()
    again, sent = choice(world, AGAIN, RECEIPT_ID), choice(world, SENT, RECEIPT_ID)
    other = Actor(kind="operator", actor_id="2")

    def act_first() -> None:
        take(world, sent, other)

    world.store.rivals = [act_first]

    with pytest.raises(RequestRefused) as refused:
        take(world, again)

    assert refused.value.problem == "view-changed"
    assert world.effect(RECEIPT_ID).state is EffectState.CONFIRMED
    acted = [event for event in world.events if event.kind is EventKind.OPERATOR_ACTED]
    assert [event.actor.actor_id for event in acted] == ["2"]
    go_on(world)
    assert len(world.post.calls) == 1


def test_an_action_whose_write_fails_changes_nothing() -> None:
    world = mail_in_doubt()
    before = world.ledger
    world.store.failure = LedgerUnavailable("no answer")

    with pytest.raises(LedgerUnavailable):
        act(world, AGAIN, RECEIPT_ID)

    world.store.failure = None
    assert world.ledger == before


# Reconcile.


def test_a_conflict_that_matches_meanwhile_is_proven_and_the_run_may_go_on() -> None:
    world = refund_in_conflict()
    world.payments.held[:] = [a_record()]

    act(world, RECONCILE)

    assert world.effect().state is EffectState.CONFIRMED
    assert offer(world, RESUME).allowed
    assert len(world.payments.calls) == 1
    act(world, RESUME)
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert (len(world.payments.calls), len(world.post.calls)) == (1, 1)


@pytest.mark.parametrize(
    "make", [refund_in_conflict, refund_vanished, refund_contradicted], ids=lambda m: m.__name__
)
def test_what_is_still_so_stays_with_the_operator(make: Callable[[], World]) -> None:
    world = make()

    act(world, RECONCILE)
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()
    go_on(world)

    assert world.run().state is RunState.REVIEW
    assert not offer(world, RESUME).allowed
    assert len(world.payments.calls) == 1


def test_a_record_that_was_seen_once_is_never_proven_absent() -> None:
    world = refund_vanished()
    for _ in range(3):
        act(world, RECONCILE)
        world.pass_seconds(SETTLE_WINDOW_SECONDS)
        world.reconcile()

    assert world.effect().state is EffectState.CONFLICT
    assert len(world.payments.calls) == 1


def test_an_overdue_refund_that_is_found_lets_the_run_go_on_by_itself() -> None:
    world = refund_overdue()

    act(world, RECONCILE)

    assert world.run().state is RunState.ACTIVE
    assert world.executions.starts[-1] == f"{RUN_ID}-e2"
    go_on(world)
    assert world.run().state is RunState.COMPLETED


def test_a_refund_of_ours_whose_key_met_another_request_is_sent_again_by_an_operator_only() -> None:
    world = refund_key_in_conflict()
    key = world.effect().idempotency_key
    world.pass_seconds(LEASE_SECONDS)

    act(world, RECONCILE)
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()

    assert world.effect().state is EffectState.PLANNED
    assert world.run().state is RunState.REVIEW
    assert len(world.payments.calls) == 1
    act(world, RESUME)
    go_on(world)
    assert [call.idempotency_key for call in world.payments.calls] == [key, key]


@pytest.mark.parametrize(
    ("make", "action"),
    [(refund_unknown, RECONCILE), (refund_attempting, RECONCILE), (refund_attempting, MARK)],
    ids=["reconcile unknown", "reconcile attempting", "mark attempting"],
)
def test_a_running_execution_is_left_alone(make: Callable[[], World], action: str) -> None:
    world = make()

    act(world, action)

    assert world.run().epoch == 1
    assert world.executions.starts == [f"{RUN_ID}-e1"]


def test_a_live_claim_is_not_looked_behind() -> None:
    world = refund_attempting()

    act(world, RECONCILE)

    assert world.effect().state in (EffectState.ATTEMPTING, EffectState.CONFIRMED)
    world.pass_seconds(LEASE_SECONDS)
    act_or_nothing(world, RECONCILE)
    assert world.effect().state is EffectState.CONFIRMED


def act_or_nothing(world: World, action: str) -> None:
    """Act where it is allowed."""
    if offer(world, action).allowed:
        act(world, action)


def test_a_mail_whose_worker_died_is_put_to_the_operator() -> None:
    world = mail_attempting()

    act(world, RECONCILE)

    assert world.effect(RECEIPT_ID).state is EffectState.UNKNOWN
    assert offer(world, AGAIN, RECEIPT_ID).allowed
    assert offer(world, SENT, RECEIPT_ID).allowed


# Resume.


def test_to_resume_gives_new_executions_and_new_attempts() -> None:
    world = attempts_used_up()
    epoch = world.run().epoch

    act(world, RESUME)

    run = world.run()
    assert (run.state, run.review_reason) == (RunState.ACTIVE, "")
    assert run.epoch == epoch + 1
    assert run.max_executions == epoch + EXTRA_EXECUTIONS
    assert world.executions.starts[-1] == run.execution_name
    go_on(world)
    assert world.run().state is RunState.COMPLETED


def test_an_execution_that_could_not_be_started_is_started_by_the_sweeper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = attempts_used_up()

    def no_answer(*_arguments: object) -> StartOutcome:
        raise RetryLater("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(world.executions, "start", no_answer)
        act(world, RESUME)

    assert EventKind.OPERATOR_ACTED in world.kinds
    assert world.run().state is RunState.ACTIVE
    wait_until_due(world)
    world.sweep()
    assert world.executions.starts[-1] == f"{RUN_ID}-e2"


def test_an_older_execution_may_not_act_after_a_resume() -> None:
    world = attempts_used_up()
    act(world, RESUME)

    where = world.resume(Task(run_id=RUN_ID, epoch=world.run().epoch))

    assert where == "IssueRefund"
    assert world.run().epoch == 2


# Fresh approval.


def test_a_fresh_approval_after_a_refusal_leads_to_a_second_refund_with_its_own_key_and_mark() -> (
    None
):
    world = second_refund_confirmed()
    first, second = world.effect(REFUND_ID), world.effect(SECOND_REFUND_ID)

    assert (first.state, second.state) == (EffectState.REJECTED, EffectState.CONFIRMED)
    assert (first.instance, second.instance) == (1, 2)
    assert first.idempotency_key != second.idempotency_key
    assert first.request.stored_params()["mark"] == REFUND_ID
    assert second.request.stored_params()["mark"] == SECOND_REFUND_ID
    assert first.approval_id != second.approval_id
    assert [call.effect_id for call in world.payments.calls] == [REFUND_ID, SECOND_REFUND_ID]
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert world.post.calls[0].bound["refund_id"] == "payments_2"


def test_nothing_is_sent_before_the_customer_approves_again() -> None:
    world = refund_rejected()

    act(world, ASK)
    resumed = world.resume()

    assert world.run().state is RunState.AWAITING_APPROVAL
    assert resumed == "IssueRefund"
    approval = facts_of(world).approval
    assert approval is not None
    assert approval.state == ApprovalState.PENDING
    assert set(approval.payload) == {"refund"}
    assert len(world.payments.calls) == 1


def test_a_fresh_request_counts_though_its_clock_is_behind() -> None:
    world = refund_rejected()
    world.clock.at_ms -= 5_000

    act(world, ASK)

    pending, shown = world.ledger.pending_approval(), facts_of(world).approval
    assert pending is not None
    assert shown is not None
    assert pending.approval_id == shown.approval_id
    assert pending.expires_at_ms == world.clock.now_ms() + 24 * 3_600_000


def test_a_yes_to_a_fresh_request_finds_an_execution_that_acts_on_it() -> None:
    world = refund_rejected()
    given(world, epoch=MAX_EXECUTIONS)

    act(world, ASK)
    world.decide(ordinal=2)
    wait_until_due(world)
    world.sweep()

    assert world.run().state is RunState.ACTIVE


def test_a_lapsed_request_is_followed_by_a_fresh_one() -> None:
    world = approval_lapsed()

    act(world, ASK)
    go_on(world)

    assert world.run().state is RunState.COMPLETED


# Mail.


def test_a_mail_that_is_taken_as_sent_is_not_sent_again_and_the_run_completes() -> None:
    world = mail_in_doubt()

    act(world, SENT, RECEIPT_ID)
    go_on(world)

    mail = world.effect(RECEIPT_ID)
    assert mail.state is EffectState.CONFIRMED
    assert mail.evidence is not None
    assert mail.evidence.fields == mail.bound
    assert OPERATOR.actor_id not in mail.evidence.model_dump_json()  # the customer may see it
    assert world.run().state is RunState.COMPLETED
    assert len(world.post.calls) == 1


def test_a_mail_that_was_something_else_can_be_taken_as_sent() -> None:
    world = mail_in_conflict()

    act(world, SENT, RECEIPT_ID)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert len(world.post.calls) == 1


@pytest.mark.parametrize("make", [mail_in_doubt, mail_rejected, mail_in_conflict])
def test_a_mail_that_is_sent_again_is_another_mail(make: Callable[[], World]) -> None:
    world = make()

    act(world, AGAIN, RECEIPT_ID)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert [call.effect_id for call in world.post.calls] == [RECEIPT_ID, SECOND_RECEIPT_ID]
    first, second = world.effect(RECEIPT_ID), world.effect(SECOND_RECEIPT_ID)
    assert first.bound == second.bound
    assert first.idempotency_key != second.idempotency_key
    assert second.state is EffectState.CONFIRMED
    assert first.state is not EffectState.CONFIRMED


def test_a_second_mail_in_doubt_is_put_to_the_operator_again() -> None:
    world = mail_rejected()
    world.post.script = [Step(None, CARD_DECLINED)]

    act(world, AGAIN, RECEIPT_ID)
    go_on(world)

    assert world.run().state is RunState.REVIEW
    assert not offer(world, AGAIN, RECEIPT_ID).allowed
    assert offer(world, AGAIN, SECOND_RECEIPT_ID).allowed


def test_a_mail_given_up_stands_in_nobodys_way() -> None:
    world = mail_superseded()
    world.payments.held[:] = [
        found.model_copy(update={"status": RecordStatus.FAILED}) for found in world.payments.held
    ]
    go_on(world)
    assert world.effect().state is EffectState.CONTRADICTED

    act(world, RECONCILE)

    assert offer(world, ASK).allowed


# Mark and close.


def test_to_mark_a_run_changes_nothing_else() -> None:
    world = refund_rejected()
    before = world.run()

    after = act(world, MARK).run

    changed = {name for name, value in dict(after).items() if value != dict(before)[name]}
    assert changed <= {"engineering", "sequence", "due_at_ms"}
    assert after.engineering


def test_a_closed_run_is_over_for_everybody() -> None:
    world = refund_overdue()

    closed = act(world, CLOSE).run

    assert closed.state is RunState.CLOSED
    assert closed.closed_at_ms == world.clock.now_ms()
    assert closed.due_at_ms is None
    assert (
        world.effect().state is EffectState.UNKNOWN
    )  # never a failure without the provider's word
    assert world.resume() == "Done"
    assert allowed(world) == []


# Any actions, in any order.


def everything(name: str, path: tuple[tuple[str, str | None], ...]) -> World:
    """Return the world after the actions of ``path``, with all that follows from each."""
    world = SITUATIONS[name]()
    for action, effect_id in path:
        act(world, action, effect_id)
        go_on(world)
    return world


@pytest.mark.parametrize("name", SITUATIONS)
def test_no_order_of_actions_pays_twice_or_leaves_a_run_without_a_way_on(name: str) -> None:
    paths: list[tuple[tuple[str, str | None], ...]] = [()]
    for path in paths:  # grows while it is walked, down to DEPTH_ACTIONS
        world = everything(name, path)
        paid = [
            found
            for found in world.payments.held
            if found.status is RecordStatus.DONE and found.mark is not None
        ]
        assert len(paid) <= 1, path
        resent = sum(found.superseded for found in world.ledger.effects)
        assert len(world.post.held) <= 1 + resent, path
        assert len({call.idempotency_key for call in world.payments.calls}) <= 1 + len(
            world.ledger.approvals
        )
        ways = [(found.action.value, found.effect_id) for found in allowed(world)]
        if world.run().state is RunState.REVIEW:
            assert {action for action, _ in ways} - {MARK, CLOSE}, path
        if len(path) < DEPTH_ACTIONS:
            paths += [(*path, way) for way in ways]
