"""A run at a glance: what waits, since when, and what is known of it."""

import pytest

from ledger.inbox import review_place, review_summary
from ledger.run import RunLedger
from ledger.store import ReviewPlace
from ledger.transitions import EffectState, RunState
from tests.builders import NOW_MS, RUN_ID, a_run, an_effect, evidence

LABELS = {"issue_refund": "Refund"}
WAITING = a_run(state=RunState.REVIEW, review_reason="somebody has to look", review_since_ms=7)


def summary_of(*states: EffectState) -> dict[str, object]:
    """Return the summary of a run with effects in these states, one instance after another."""
    effects = tuple(
        an_effect(effect_id=f"eff-{number}", instance=number, state=state, evidence=evidence())
        for number, state in enumerate(states, start=1)
    )
    found = review_summary(RunLedger(run=WAITING, effects=effects), LABELS)
    assert found is not None
    return found.model_dump()


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.REVIEW])
def test_a_run_that_is_not_in_review_waits_for_nobody(state: RunState) -> None:
    run = a_run(state=state, review_since_ms=NOW_MS)

    assert review_place(run) is None
    assert review_summary(RunLedger(run=run), LABELS) is None


def test_a_run_waits_since_its_review_began() -> None:
    assert review_place(WAITING) == ReviewPlace(since_ms=7, run_id=RUN_ID)


def test_a_run_stored_without_that_time_waits_since_it_was_opened() -> None:
    run = a_run(state=RunState.REVIEW, opened_at_ms=NOW_MS)

    assert review_place(run) == ReviewPlace(since_ms=NOW_MS, run_id=RUN_ID)


@pytest.mark.parametrize(
    ("state", "group", "words"),
    [
        (EffectState.CONFIRMED, "confirmed", "Refund re_1"),
        (EffectState.ATTEMPTING, "unknown", "Refund"),
        (EffectState.UNKNOWN, "unknown", "Refund"),
        (EffectState.ACCEPTED, "unknown", "Refund"),
        (EffectState.REJECTED, "contrary", "Refund: rejected"),
        (EffectState.CONFLICT, "contrary", "Refund: conflict"),
        (EffectState.CONTRADICTED, "contrary", "Refund: contradicted"),
        (EffectState.PLANNED, None, ""),
    ],
)
def test_every_state_of_an_effect_is_told_for_what_it_proves(
    state: EffectState, group: str | None, words: str
) -> None:
    found = summary_of(state)

    told = {name: found[name] for name in ("confirmed", "unknown", "contrary") if found[name]}
    assert told == ({group: (words,)} if group else {})


def test_of_several_instances_the_newest_is_told() -> None:
    assert summary_of(EffectState.REJECTED, EffectState.UNKNOWN)["unknown"] == ("Refund",)
    assert summary_of(EffectState.REJECTED, EffectState.UNKNOWN)["contrary"] == ()


def test_an_operation_without_a_label_goes_by_its_name() -> None:
    effects = (an_effect(state=EffectState.UNKNOWN),)

    found = review_summary(RunLedger(run=WAITING, effects=effects), {})

    assert found is not None
    assert found.unknown == ("issue_refund",)


@pytest.mark.parametrize(
    ("request_fields", "amount"),
    [
        ({"amount_minor": 7900, "currency": "USD"}, "USD 79.00"),
        ({"amount_minor": 7900, "currency": "JPY"}, "JPY 7900"),
        ({"amount_minor": 7900, "currency": "IQD"}, "IQD 7.900"),
        ({"amount_minor": 7900}, ""),
        ({"amount_minor": -1, "currency": "USD"}, ""),
        ({"amount_minor": True, "currency": "USD"}, ""),
        ({"amount_minor": "7900", "currency": "USD"}, ""),
        ({"amount_minor": 7900, "currency": "<b>"}, ""),
        ({"amount_minor": 7900, "currency": "XAU"}, ""),
        ({}, ""),
    ],
)
def test_the_amount_is_told_as_people_write_it_or_not_at_all(
    request_fields: dict[str, object], amount: str
) -> None:
    run = WAITING.model_copy(update={"request": request_fields})

    found = review_summary(RunLedger(run=run), LABELS)

    assert found is not None
    assert found.amount == amount


@pytest.mark.parametrize(
    ("state", "group", "words"),
    [
        (EffectState.ATTEMPTING, "unknown", "Refund"),
        (EffectState.UNKNOWN, "unknown", "Refund"),
        (EffectState.ACCEPTED, "unknown", "Refund"),
        (EffectState.CONFLICT, "contrary", "Refund: conflict"),
        (EffectState.CONTRADICTED, "contrary", "Refund: contradicted"),
        (EffectState.CONFIRMED, "confirmed", "Refund re_1"),
    ],
)
def test_an_older_instance_that_is_or_may_be_there_is_told_beside_the_newest(
    state: EffectState, group: str, words: str
) -> None:
    assert summary_of(state, EffectState.PLANNED)[group] == (words,)


@pytest.mark.parametrize(
    "over",
    [
        {"state": EffectState.CONFIRMED, "approval_id": None},
        {"state": EffectState.UNKNOWN, "superseded": True},
    ],
    ids=["an older report", "given up"],
)
def test_an_older_instance_that_counts_no_more_is_not_told(over: dict[str, object]) -> None:
    older = an_effect(effect_id="eff-1", evidence=evidence(), **over)
    newest = an_effect(effect_id="eff-2", instance=2)

    found = review_summary(RunLedger(run=WAITING, effects=(older, newest)), LABELS)

    assert found is not None
    assert (found.confirmed, found.unknown, found.contrary) == ((), (), ())
