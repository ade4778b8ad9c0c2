"""What is offered: allowed exactly when, refused with a reason, and no less than what follows."""

from collections import Counter

import pytest

from ledger.offer import RecoveryAction, find_offer
from ledger.transitions import RunState
from tests.unit.ledger.desk import act, allowed, go_on, offer, offered
from tests.unit.ledger.sample import (
    NO_ANSWER,
    RECEIPT_ID,
    RECOVERY_DEADLINE_SECONDS,
    REFUND_ID,
    SETTLE_WINDOW_SECONDS,
)
from tests.unit.ledger.situations import (
    SITUATIONS,
    approval_lapsed,
    mail_in_doubt,
    refund_overdue,
    refund_rejected,
    refund_unknown,
)
from tests.unit.ledger.support import World

RECONCILE = "reconcile_provider_state"
RESUME = "resume_from_checkpoint"
ASK = "request_fresh_customer_approval"
MARK = "mark_for_engineering_review"
CLOSE = "close_without_further_action"
SENT = "treat_as_sent"
AGAIN = "send_again"
IN_REVIEW = {MARK, CLOSE}

ALLOWED = {
    "opened": {MARK},
    "awaiting_approval": {MARK},
    "approval_lapsed": IN_REVIEW | {ASK},
    "declined": set(),
    "refund_planned": {MARK},
    "refund_attempting": {MARK, RECONCILE},
    "refund_unknown": {MARK, RECONCILE},
    "refund_overdue": IN_REVIEW | {RECONCILE},
    "refund_accepted": {MARK, RECONCILE},
    "refund_confirmed": {MARK},
    "refund_rejected": IN_REVIEW | {ASK},
    "refund_failed_later": IN_REVIEW | {ASK},
    "refund_in_conflict": IN_REVIEW | {RECONCILE},
    "refund_key_in_conflict": IN_REVIEW | {RECONCILE},
    "refund_vanished": IN_REVIEW | {RECONCILE},
    "refund_contradicted": IN_REVIEW | {RECONCILE},
    "fresh_approval_pending": {MARK},
    "fresh_approval_granted": {MARK},
    "fresh_approval_declined": IN_REVIEW | {ASK},
    "second_refund_confirmed": {MARK},
    "attempts_used_up": IN_REVIEW | {RESUME, ASK},
    "mail_attempting": IN_REVIEW | {RECONCILE},
    "mail_in_doubt": IN_REVIEW | {SENT, AGAIN},
    "mail_rejected": IN_REVIEW | {AGAIN},
    "mail_in_conflict": IN_REVIEW | {SENT, AGAIN},
    "mail_superseded": {MARK},
    "mail_attested": {MARK},
    "in_engineering": {CLOSE, ASK},
    "completed": set(),
    "closed_in_doubt": set(),
    "closed_in_conflict": set(),
    "refund_made_twice": IN_REVIEW | {RESUME},
    "receipt_bounced": IN_REVIEW | {SENT, AGAIN},
    "found_out_in_review": IN_REVIEW | {RESUME},
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_an_action_is_allowed_exactly_where_it_helps(name: str) -> None:
    assert {found.action.value for found in allowed(SITUATIONS[name]())} == ALLOWED[name]


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_action_is_offered_once_with_its_consequence_or_its_reason(name: str) -> None:
    found = offered(SITUATIONS[name]())

    assert all(bool(offer.refused_because) != offer.allowed for offer in found)
    assert all(offer.consequence.words.endswith(".") and offer.label for offer in found)
    about_the_run = Counter(offer.action for offer in found if offer.effect_id is None)
    about_mails = {RecoveryAction.TREAT_AS_SENT, RecoveryAction.SEND_AGAIN}
    # Where a run could be moved to, or a write taken back: see test_move and test_counter.
    elsewhere = {RecoveryAction.MOVE, RecoveryAction.OFFER_COUNTER}
    assert about_the_run == Counter(set(RecoveryAction) - about_mails - elsewhere)
    assert {offer.action for offer in found if offer.effect_id} <= about_mails


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_run_in_review_always_has_a_way_on_and_a_way_to_close(name: str) -> None:
    world = SITUATIONS[name]()

    ways = {found.action.value for found in allowed(world)}

    in_review = world.run().state is RunState.REVIEW
    assert (CLOSE in ways) == in_review
    if in_review:
        assert ways - IN_REVIEW
    else:
        # Somebody looks after it by itself, or nothing is left to do.
        assert (world.run().due_at_ms is not None) == world.run().is_open


def writes(world: World) -> Counter[str]:
    """Return what was sent, by the label of the operation."""
    return Counter({"Refund": len(world.payments.calls), "Receipt email": len(world.post.calls)})


def reads(world: World) -> Counter[str]:
    """Return what was read, by provider; of whom a mail goes to, its provider asks others."""
    payments, post = world.payments, world.post
    return Counter(
        {
            "payments": payments.look_ups + payments.authority_reads,
            "post": post.look_ups,
            "customer_directory": post.authority_reads,
        }
    )


CHOICES = [
    pytest.param(name, found.action.value, found.effect_id, id=f"{name}-{found.action.value}")
    for name, make in SITUATIONS.items()
    for found in allowed(make())
]


@pytest.mark.parametrize(("name", "action", "effect_id"), CHOICES)
def test_an_action_by_itself_sends_nothing_and_reads_only_what_it_says(
    name: str, action: str, effect_id: str | None
) -> None:
    world = SITUATIONS[name]()
    promised = offer(world, action, effect_id).consequence
    sent, read = writes(world), reads(world)

    act(world, action, effect_id)

    assert writes(world) == sent
    assert set(reads(world) - read) <= set(promised.reads)


@pytest.mark.parametrize(("name", "action", "effect_id"), CHOICES)
def test_nothing_follows_from_an_action_but_the_writes_and_the_reads_that_it_names(
    name: str, action: str, effect_id: str | None
) -> None:
    world = SITUATIONS[name]()
    if world.run().state is not RunState.REVIEW:
        return  # it goes on by itself, whatever the operator does
    promised = offer(world, action, effect_id).consequence
    sent, read = writes(world), reads(world)

    act(world, action, effect_id)
    go_on(world)

    assert set(writes(world) - sent) <= set(promised.writes)
    assert set(reads(world) - read) <= set(promised.reads)
    assert promised.moves_money == ("Refund" in promised.writes)


def test_to_resume_with_the_refund_left_moves_money_and_says_so() -> None:
    world = SITUATIONS["attempts_used_up"]()
    sent = writes(world)
    consequence = offer(world, RESUME).consequence
    assert consequence.moves_money
    assert consequence.writes == ("Refund", "Receipt email")

    act(world, RESUME)
    go_on(world)

    assert writes(world) - sent == Counter({"Refund": 1, "Receipt email": 1})
    assert world.run().state is RunState.COMPLETED


def test_what_a_resumed_run_reads_is_what_is_read_and_no_more_is_said() -> None:
    world = SITUATIONS["attempts_used_up"]()
    read = reads(world)
    consequence = offer(world, RESUME).consequence
    assert consequence.reads == ("customer_directory", "payments")

    act(world, RESUME)
    go_on(world)

    assert set(reads(world) - read) == {"customer_directory", "payments"}


@pytest.mark.parametrize("action", [RESUME, ASK, AGAIN])
def test_to_send_a_mail_reads_what_it_rests_on_and_whom_it_goes_to_and_no_mail_service(
    action: str,
) -> None:
    world = mail_in_doubt()
    about = RECEIPT_ID if action == AGAIN else None

    consequence = offer(world, action, about).consequence

    assert consequence.writes == ("Receipt email",)
    assert consequence.reads == ("customer_directory", "payments")


def test_where_nothing_is_left_to_write_nothing_is_read() -> None:
    consequence = offer(mail_in_doubt(), SENT, RECEIPT_ID).consequence

    assert (consequence.writes, consequence.reads) == ((), ())


def test_to_reconcile_a_mail_reads_nobody() -> None:
    assert offer(SITUATIONS["mail_attempting"](), RECONCILE).consequence.reads == ()


def test_to_reconcile_reads_what_is_unsettled_and_what_then_follows_by_itself() -> None:
    consequence = offer(refund_overdue(), RECONCILE).consequence

    assert consequence.writes == ("Refund", "Receipt email")
    assert consequence.reads == ("customer_directory", "payments")
    assert offer(refund_unknown(), RECONCILE).consequence.reads == ("payments",)


def test_to_resume_with_only_the_receipt_left_moves_no_money() -> None:
    world = mail_in_doubt()

    assert not offer(world, RESUME).consequence.moves_money
    assert offer(world, RESUME).label == "Resume from refund_confirmed"


def test_before_the_first_checkpoint_a_run_resumes_from_the_beginning() -> None:
    assert offer(approval_lapsed(), RESUME).label == "Resume from the beginning"


def test_to_reconcile_says_that_money_may_move_where_the_run_then_goes_on_by_itself() -> None:
    world = refund_overdue()
    world.payments.held.clear()
    assert offer(world, RECONCILE).consequence.moves_money

    act(world, RECONCILE)
    world.pass_seconds(SETTLE_WINDOW_SECONDS)
    world.reconcile()
    go_on(world)

    assert len(world.payments.calls) == 2


def test_to_close_in_doubt_says_what_stays_unproven() -> None:
    words = offer(refund_overdue(), CLOSE).consequence.words

    assert "refund stays unproven" in words
    assert "unproven" not in offer(refund_rejected(), CLOSE).consequence.words


def test_without_a_mail_nothing_is_offered_about_one() -> None:
    assert {found.effect_id for found in offered(SITUATIONS["refund_confirmed"]())} == {None}


def test_an_unsettled_refund_asks_for_the_provider_and_a_mail_for_a_person() -> None:
    assert "reconcile" in offer(refund_overdue(), RESUME).refused_because
    assert "reconcile" in offer(refund_overdue(), ASK).refused_because
    assert "decide about it" in offer(mail_in_doubt(), RESUME).refused_because


def test_an_offer_is_found_by_action_and_effect() -> None:
    found = offered(mail_in_doubt())

    assert find_offer(found, RecoveryAction.SEND_AGAIN, RECEIPT_ID) is not None
    assert find_offer(found, RecoveryAction.SEND_AGAIN, None) is None
    assert find_offer(found, RecoveryAction.SEND_AGAIN, REFUND_ID) is None
    assert find_offer(found, RecoveryAction.CLOSE, RECEIPT_ID) is None


def test_a_provider_that_cannot_be_read_leaves_the_same_way_on() -> None:
    world = refund_unknown()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    before = [found.action for found in allowed(world)]

    act(world, RECONCILE)

    assert [found.action for found in allowed(world)] == before
