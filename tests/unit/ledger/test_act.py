"""An operator's action: once, on the view it was chosen on, with who, why and what was before."""

from collections.abc import Callable
from functools import partial

import pytest

from ledger.act import MAX_REASON_CHARACTERS
from ledger.errors import LedgerUnavailable, RequestRefused
from ledger.event import Actor, EventKind
from ledger.offer import RecoveryAction
from ledger.store import Change
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import (
    AGAIN,
    CLOSE,
    MARK,
    RECONCILE,
    RESUME,
    SENT,
    act,
    allowed,
    choice,
    go_on,
    offered,
    take,
)
from tests.unit.ledger.sample import (
    NO_ANSWER,
    OPERATOR,
    RECEIPT_ID,
    REFUND_ID,
    RUN_ID,
)
from tests.unit.ledger.situations import (
    SITUATIONS,
    attempts_used_up,
    mail_in_doubt,
    refund_overdue,
    refund_rejected,
)
from tests.unit.ledger.support import World

OTHER_OPERATOR = Actor(kind="operator", actor_id="operator-2")


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
    known = [event for event in world.events if event.kind is EventKind.OPERATOR_ACTED]
    calls, asked = len(world.payments.calls) + len(world.post.calls), len(world.ledger.approvals)
    starts = list(world.executions.starts)

    again = take(world, chosen)

    assert again == world.ledger
    acted = [event for event in world.events if event.kind is EventKind.OPERATOR_ACTED]
    assert acted == known
    assert len(world.payments.calls) + len(world.post.calls) == calls
    assert len(world.ledger.approvals) == asked
    assert world.executions.starts == starts
    assert_refused(world, lambda: take(world, chosen, OTHER_OPERATOR), "view-changed")


@pytest.mark.parametrize(("name", "action", "effect_id"), CHOICES)
def test_given_the_answer_to_an_action_was_lost_when_it_is_repeated_then_it_is_told_as_done(
    name: str, action: str, effect_id: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given one run on which an action is answered, and one where it lands and the answer is lost.
    told, world = SITUATIONS[name](), SITUATIONS[name]()
    first = act(told, action, effect_id)
    chosen = choice(world, action, effect_id)
    commit = world.store.commit

    def lose_the_answer(change: Change) -> None:
        commit(change)
        raise LedgerUnavailable("no answer")

    monkeypatch.setattr(world.store, "commit", lose_the_answer)
    with pytest.raises(LedgerUnavailable):
        take(world, chosen)
    monkeypatch.setattr(world.store, "commit", commit)

    # When the same request is sent again.
    again = take(world, chosen)

    # Then the answer is the first one's, and what follows the action was done as well.
    assert again == first
    assert world.executions.starts == told.executions.starts
    assert [event.kind for event in world.events] == [event.kind for event in told.events]


@pytest.mark.parametrize(
    "change",
    [
        {"action": RecoveryAction.CLOSE},
        {"reason": "another reason"},
        {"effect_id": REFUND_ID},
        {"view_version": 1},
    ],
    ids=str,
)
def test_given_an_action_on_record_when_another_is_chosen_on_its_view_then_nothing_is_done(
    change: dict[str, object],
) -> None:
    world = refund_rejected()
    chosen = choice(world, MARK)
    take(world, chosen)

    other = chosen.model_copy(update=change)

    assert_refused(world, lambda: take(world, other), "view-changed")


@pytest.mark.parametrize(
    ("make", "action"), [(attempts_used_up, RESUME), (refund_overdue, RECONCILE)]
)
def test_given_the_run_went_on_since_when_an_action_is_repeated_then_nothing_is_begun_again(
    make: Callable[[], World], action: str
) -> None:
    world = make()
    world.payments.read_fault = NO_ANSWER
    chosen = choice(world, action)
    take(world, chosen)
    world.change(lambda draft: draft.send_to_review("somebody looks"))
    ledger, starts = world.ledger, list(world.executions.starts)
    look_ups = world.payments.look_ups

    assert take(world, chosen) == ledger

    assert (world.ledger, world.executions.starts) == (ledger, starts)
    assert world.payments.look_ups == look_ups


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


@pytest.mark.parametrize(
    "blanks", [" " * 60_000, "\n", "\u00a0"], ids=["spaces", "a line", "a hard space"]
)
def test_given_a_reason_between_blanks_when_it_is_stored_then_they_are_left_out(
    blanks: str,
) -> None:
    world = refund_rejected()

    take(world, choice(world, MARK, reason=f"{blanks}the desk asked{blanks}"))

    assert world.events[-1].reason == "the desk asked"


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
