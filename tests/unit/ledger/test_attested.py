"""An operator's word about a mail: told as such, and replaced by proof when there is any."""

from collections.abc import Callable

import pytest

from ledger.effect import ATTESTED
from ledger.errors import ReviewRequired
from ledger.event import EventKind
from ledger.inbox import review_summary
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import SENT, act, facts_of, go_on, packet, told
from tests.unit.ledger.notices import heard
from tests.unit.ledger.sample import (
    LEASE_SECONDS,
    NEVER_SENT,
    RECEIPT_ID,
    RECOVERY_DEADLINE_SECONDS,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import mail_attested
from tests.unit.ledger.support import World, an_approved_world

CLAIM = "The receipt was handed to the mail service."


def record_id_of(world: World) -> str:
    """Return the record that stands behind the mail."""
    evidence = world.effect(RECEIPT_ID).evidence
    assert evidence is not None
    return evidence.record_id


def attested_in_mid_call(step: Step) -> World:
    """Return a world whose worker answers after an operator took its mail as sent."""
    world = an_approved_world()
    world.perform()

    def meanwhile() -> None:
        world.post.during_call = None
        world.pass_seconds(LEASE_SECONDS)
        world.reconcile()
        world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
        world.reconcile()
        act(world, SENT, RECEIPT_ID)

    world.post.during_call = meanwhile
    world.post.script = [step]
    return world


def told_by_the_feed() -> World:
    world = mail_attested()
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    heard(world)
    return world


def told_by_its_worker() -> World:
    world = attested_in_mid_call(Step())
    world.perform("receipt")
    go_on(world)
    return world


def test_an_operators_word_is_told_as_such_and_never_as_proven() -> None:
    world = mail_attested()
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert told(world).effects[1].status == "taken as sent by an operator"
    assert told(world).effects[1].record_id is None
    assert CLAIM not in told(world).proven
    assert CLAIM not in facts_of(world).claims
    assert "receipt_sent" in facts_of(world).proven  # the run rests on it, and says by whom
    assert packet(world).effects[1].record_id is None
    assert packet(world).summary.endswith(
        "receipt email is taken as sent on an operator's word; do not repeat it."
    )


def test_an_operators_word_is_listed_as_such_among_what_waits_for_a_person() -> None:
    world = mail_attested()
    world.change(lambda draft: draft.send_to_review("a person asked"))

    summary = review_summary(world.definition, world.ledger, world.clock.now_ms())

    assert summary is not None
    assert set(summary.confirmed) == {
        "Refund payments_1",
        "Receipt email, on an operator's word",
    }


@pytest.mark.parametrize("make", [told_by_the_feed, told_by_its_worker])
def test_proof_of_a_mail_that_was_taken_as_sent_takes_the_place_of_the_word(
    make: Callable[[], World],
) -> None:
    world = make()

    assert world.run().state is RunState.COMPLETED
    assert world.effect(RECEIPT_ID).state is EffectState.CONFIRMED
    assert record_id_of(world) == "post_1"
    checkpoint = world.ledger.proven("receipt_sent")
    assert checkpoint is not None
    assert checkpoint.evidence.record_id == "post_1"
    assert EventKind.EFFECT_CONTRADICTED not in world.kinds
    (proof,) = [e for e in world.events if "is now proven" in e.reason and e.prior_state]
    assert proof.kind == EventKind.EFFECT_CONFIRMED
    assert proof.subject == RECEIPT_ID
    assert told(world).effects[1].status == "confirmed"
    assert told(world).effects[1].record_id == "post_1"
    assert CLAIM in told(world).proven
    assert packet(world).summary.endswith("receipt email post_1 is confirmed.")
    assert facts_of(world).effects[1].record_id == "post_1"
    assert len(world.post.calls) == 1


def test_a_record_of_something_else_contradicts_an_operators_word() -> None:
    world = mail_attested()
    fields = {**world.post.calls[0].bound, "refund_id": "re_other"}

    heard(world, fields=fields)

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW
    assert world.run().review_reason == "receipt: the provider holds a second record"


def test_another_record_after_the_word_was_proven_contradicts_it() -> None:
    world = told_by_the_feed()

    heard(world, record_id="post_2")

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert world.run().state is RunState.REVIEW


def test_a_review_that_an_operators_word_ended_says_so_in_the_trail() -> None:
    world = mail_attested()

    (ended,) = [event for event in world.events if event.kind == EventKind.REVIEW_ENDED]

    assert ended.reason == "what was overdue is settled: an operator takes it as sent"


def test_a_worker_that_never_sent_what_an_operator_took_as_sent_contradicts_it() -> None:
    world = attested_in_mid_call(Step(None, NEVER_SENT))

    with pytest.raises(ReviewRequired, match="receipt is contradicted"):
        world.perform("receipt")

    assert world.effect(RECEIPT_ID).state is EffectState.CONTRADICTED
    assert record_id_of(world) == ATTESTED
    assert world.run().state is RunState.REVIEW
    assert world.run().review_reason == "receipt was taken as sent, and it never was"
    (contradicted,) = [e for e in world.events if e.kind == EventKind.EFFECT_CONTRADICTED]
    assert contradicted.reason.startswith("an operator took it as sent, and it never was: ")
    assert CLAIM not in told(world).proven
    assert told(world).effects[1].status == "being reviewed"
    assert "receipt email is contradicted" in packet(world).summary
