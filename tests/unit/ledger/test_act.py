"""An operator's action: once, on the view it was chosen on, with who, why and what was before."""

from collections.abc import Callable
from functools import partial

import pytest

from ledger.act import MAX_REASON_CHARACTERS
from ledger.errors import LedgerUnavailable, RequestRefused
from ledger.event import Actor, EventKind
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import (
    AGAIN,
    CLOSE,
    MARK,
    SENT,
    act,
    allowed,
    choice,
    go_on,
    offered,
    take,
)
from tests.unit.ledger.sample import (
    OPERATOR,
    RECEIPT_ID,
    REFUND_ID,
    RUN_ID,
)
from tests.unit.ledger.situations import (
    SITUATIONS,
    mail_in_doubt,
    refund_overdue,
    refund_rejected,
)
from tests.unit.ledger.support import World


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
