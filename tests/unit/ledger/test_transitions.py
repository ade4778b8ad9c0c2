"""The transition tables as graphs: nothing unlisted happens, and nobody is stuck."""

from collections.abc import Hashable, Mapping
from itertools import product

import pytest

from ledger.errors import InvariantBroken
from ledger.transitions import (
    EFFECT_TRANSITIONS,
    OPEN_RUN_STATES,
    RUN_TRANSITIONS,
    UNSETTLED_EFFECT_STATES,
    EffectState,
    RunState,
    check_effect_move,
    check_run_move,
)

EFFECT_MOVES = {
    ("planned", "attempting"),
    ("planned", "unknown"),
    ("attempting", "accepted"),
    ("attempting", "unknown"),
    ("attempting", "rejected"),
    ("attempting", "planned"),
    ("attempting", "conflict"),
    ("unknown", "accepted"),
    ("unknown", "confirmed"),
    ("unknown", "conflict"),
    ("unknown", "planned"),
    ("accepted", "confirmed"),
    ("accepted", "rejected"),
    ("accepted", "conflict"),
    ("confirmed", "contradicted"),
    ("conflict", "unknown"),
    ("contradicted", "unknown"),
    ("rejected", "unknown"),
}
RUN_MOVES = {
    ("active", "awaiting_approval"),
    ("active", "review"),
    ("active", "completed"),
    ("awaiting_approval", "active"),
    ("awaiting_approval", "review"),
    ("awaiting_approval", "closed"),
    ("review", "active"),
    ("review", "awaiting_approval"),
    ("review", "closed"),
    ("completed", "review"),
    ("closed", "review"),
}


@pytest.mark.parametrize(("before", "after"), list(product(EffectState, EffectState)))
def test_an_effect_moves_only_as_listed(before: EffectState, after: EffectState) -> None:
    if (before.value, after.value) in EFFECT_MOVES:
        check_effect_move(before, after)
    else:
        with pytest.raises(InvariantBroken, match=f"from {before} to {after}"):
            check_effect_move(before, after)


@pytest.mark.parametrize(("before", "after"), list(product(RunState, RunState)))
def test_a_run_moves_only_as_listed(before: RunState, after: RunState) -> None:
    if (before.value, after.value) in RUN_MOVES:
        check_run_move(before, after)
    else:
        with pytest.raises(InvariantBroken, match=f"from {before} to {after}"):
            check_run_move(before, after)


def reachable[State: Hashable](
    table: Mapping[State, frozenset[State]], start: State
) -> frozenset[State]:
    """Return every state that can be reached from ``start``, itself included."""
    seen = {start}
    waiting = [start]
    while waiting:
        fresh = table[waiting.pop()] - seen
        seen |= fresh
        waiting += fresh
    return frozenset(seen)


def test_every_effect_state_is_reachable_from_planned() -> None:
    assert reachable(EFFECT_TRANSITIONS, EffectState.PLANNED) == frozenset(EffectState)


@pytest.mark.parametrize("state", list(EffectState))
def test_every_effect_state_can_still_end_confirmed(state: EffectState) -> None:
    assert EffectState.CONFIRMED in reachable(EFFECT_TRANSITIONS, state)


def test_an_unknown_effect_cannot_become_a_failure_without_the_providers_record() -> None:
    assert EffectState.REJECTED not in EFFECT_TRANSITIONS[EffectState.UNKNOWN]


def test_nothing_is_confirmed_that_was_neither_accepted_nor_found() -> None:
    into_confirmed = {
        before for before, afters in EFFECT_TRANSITIONS.items() if EffectState.CONFIRMED in afters
    }

    assert into_confirmed == {EffectState.ACCEPTED, EffectState.UNKNOWN}


def test_an_effect_that_was_sent_is_never_simply_sent_again() -> None:
    into_attempting = {
        before for before, afters in EFFECT_TRANSITIONS.items() if EffectState.ATTEMPTING in afters
    }

    assert into_attempting == {EffectState.PLANNED}


def test_the_states_that_owe_an_answer_are_those_between_a_claim_and_proof() -> None:
    assert UNSETTLED_EFFECT_STATES == {
        EffectState.ATTEMPTING,
        EffectState.UNKNOWN,
        EffectState.ACCEPTED,
    }


@pytest.mark.parametrize("state", sorted(OPEN_RUN_STATES))
def test_every_open_run_can_still_be_completed_and_closed(state: RunState) -> None:
    assert {RunState.COMPLETED, RunState.CLOSED} <= reachable(RUN_TRANSITIONS, state)


@pytest.mark.parametrize("state", [RunState.COMPLETED, RunState.CLOSED])
def test_an_ended_run_opens_again_only_for_review(state: RunState) -> None:
    assert RUN_TRANSITIONS[state] == {RunState.REVIEW}
