"""A run at a glance: what waits, since when, and what is known of it."""

from typing import Any

import pytest

from ledger.effect import Effect
from ledger.errors import ReviewRequired
from ledger.inbox import ReviewSummary, review_place, review_summary
from ledger.provider import Authority
from ledger.retired import retired_definition
from ledger.run import RunLedger
from ledger.store import ReviewPlace
from ledger.transitions import UNSETTLED_EFFECT_STATES, EffectState, RunState
from tests.builders import NOW_MS, RUN_ID, a_run, an_effect, evidence
from tests.unit.ledger import test_counter as counter
from tests.unit.ledger.desk import AGAIN, act, facts_of, packet
from tests.unit.ledger.sample import (
    DEFINITION,
    NO_ANSWER,
    RECEIPT_ID,
    RECOVERY_DEADLINE_SECONDS,
    a_refund,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import SITUATIONS, fresh_approval_granted, mail_in_doubt
from tests.unit.ledger.support import World

WAITING = a_run(
    state=RunState.REVIEW,
    review_reason="somebody has to look",
    review_since_ms=7,
    workflow=DEFINITION.version,
)


def summary(*effects: Effect) -> ReviewSummary:
    """Return the summary of a run that waits, with these effects."""
    found = review_summary(DEFINITION, RunLedger(run=WAITING, effects=effects), NOW_MS)
    assert found is not None
    return found


def listed(world: World) -> ReviewSummary:
    """Return how the run of a world is listed."""
    found = review_summary(world.definition, world.ledger, world.clock.now_ms())
    assert found is not None
    return found


def summary_of(*states: EffectState) -> dict[str, object]:
    """Return the summary of a run with effects in these states, one instance after another."""
    effects = (
        a_refund(state, effect_id=f"eff-{number}", instance=number, evidence=evidence())
        for number, state in enumerate(states, start=1)
    )
    return summary(*effects).model_dump()


@pytest.mark.parametrize("state", [state for state in RunState if state is not RunState.REVIEW])
def test_a_run_that_is_not_in_review_waits_for_nobody(state: RunState) -> None:
    run = a_run(state=state, review_since_ms=NOW_MS)

    assert review_place(run) is None
    assert review_summary(DEFINITION, RunLedger(run=run), NOW_MS) is None


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


def test_given_a_version_that_is_gone_when_listed_then_its_writes_go_by_their_names() -> None:
    ledger = RunLedger(run=WAITING, effects=(an_effect(state=EffectState.UNKNOWN),))

    found = review_summary(retired_definition(ledger), ledger, NOW_MS)

    assert found is not None
    assert found.unknown == ("Issue refund",)


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

    found = review_summary(DEFINITION, RunLedger(run=run), NOW_MS)

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
        {"operation": "receipt", "state": EffectState.CONFIRMED},
        {"state": EffectState.UNKNOWN, "superseded": True},
        {"state": EffectState.REJECTED, "approval_id": "an older one"},
    ],
    ids=["an older report", "given up", "refused, and replaced since"],
)
def test_an_older_instance_that_counts_no_more_is_not_told(over: dict[str, Any]) -> None:
    older = a_refund(**{"effect_id": "eff-1", "evidence": evidence(), **over})
    newest = a_refund(effect_id="eff-2", instance=2, operation=older.operation)

    found = summary(older, newest)

    assert (found.confirmed, found.unknown, found.contrary) == ((), (), ())


@pytest.mark.parametrize("name", SITUATIONS)
def test_given_any_run_in_review_when_listed_then_the_list_and_the_view_say_the_same(
    name: str,
) -> None:
    world = SITUATIONS[name]()
    if world.run().state is not RunState.REVIEW:
        if not world.run().is_open:
            return
        world.change(lambda draft: draft.send_to_review("somebody looks"))

    found = listed(world)

    counting = [effect for effect in facts_of(world).counting_effects if not effect.undone]
    unknown = [effect.label for effect in counting if effect.state in UNSETTLED_EFFECT_STATES]
    told = [effect for effect in counting if effect.state is not EffectState.PLANNED]
    assert list(found.unknown) == unknown
    assert len(found.confirmed) + len(found.unknown) + len(found.contrary) == len(told)
    assert found.reason == facts_of(world).review_reason


def test_given_a_refund_was_refused_and_approved_anew_when_listed_then_the_refusal_is_over() -> (
    None
):
    world = fresh_approval_granted()
    world.resume()
    world.payments.allowed = Authority(allowed=False, reason="the charge is disputed", snapshot={})
    with pytest.raises(ReviewRequired):
        world.perform()

    assert listed(world).contrary == ()
    assert packet(world).summary.startswith("Refund is pending")


def test_given_a_mail_was_given_up_when_listed_then_it_is_no_conflict_any_more() -> None:
    world = mail_in_doubt()
    act(world, AGAIN, RECEIPT_ID)
    world.change(lambda draft: draft.send_to_review("somebody looks"))

    assert listed(world).contrary == ()
    assert "receipt email is pending" in packet(world).summary


def test_given_a_counter_effect_in_doubt_when_listed_then_what_it_takes_back_is_not_confirmed() -> (
    None
):
    world = counter.agreed()
    world.payments.script = [Step(None, NO_ANSWER)]
    counter.tick(world)
    world.payments.read_fault = NO_ANSWER
    for _ in range(6):
        world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
        counter.tick(world)

    found = listed(world)

    assert found.confirmed == ()
    assert found.unknown == (
        "Refund payments_1: was confirmed, and whether it was taken back since is not proven",
        "Refund taken back",
    )
