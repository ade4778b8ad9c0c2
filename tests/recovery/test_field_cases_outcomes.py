"""What others reported about answers that are no plain yes, each with its right outcome."""

import pytest

from ledger.errors import EffectInProgress, EffectUnknown, RequestRefused
from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.transitions import EffectState, RunState
from tests.fakes.stripe import Fault as StripeFault
from tests.recovery.desk import choose, offered, renewal_is_off
from tests.recovery.invariants import check_invariants
from tests.recovery.scenario import (
    HOUR_MS,
    REFUNDS,
    finish,
    is_awaiting,
    posts,
    receipt_of,
    refund_is,
    refund_of,
    refund_path,
    task,
)
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.tap import Strike
from tests.recovery.world import Aftermath, World

FULL = {**WANTED, "amount_minor": 10_000}
THIRD = {**WANTED, "amount_minor": 3_000}


def quiet(world: World) -> None:
    """Let everything go on until only a person is left, and check what always holds."""
    world.run()
    check_invariants(world)
    assert world.ledger.run.state is RunState.REVIEW


def candidates(world: World) -> list[str]:
    """Return the records that the person who reviews is shown."""
    return [found.record_id for found in refund_of(world.ledger).candidates]


class TestC09RefundComesBackPending:
    def test_pending_then_succeeded_waits_is_read_again_and_is_told_once(self) -> None:
        # Given a provider that takes ten minutes to pay.
        world = World()
        world.stripe.world.next_refund_script = ((0, "pending"), (600, "succeeded"))
        world.run_until(refund_is(EffectState.ACCEPTED))

        # When it is still pending a minute later.
        made = world.stripe.world.refunds[0]
        world.run(until_ms=made.created_ms + 60_000)
        check_invariants(world)

        # Then its id is kept, nobody was told, and nothing was sent again.
        pending = refund_of(world.ledger)
        assert pending.state is EffectState.ACCEPTED
        assert pending.evidence is not None
        assert (pending.evidence.record_id, pending.evidence.provider_status) == (
            made.id,
            "pending",
        )
        assert world.ses.sent == []

        # And when it has succeeded, one read confirms it and one receipt goes out.
        finish(world)
        assert refund_path(world) == ["planned", "attempting", "accepted", "confirmed"]
        assert world.ledger.run.state is RunState.COMPLETED
        assert len(posts(world)) == 1
        assert world.ses.sent[0].at_ms >= made.created_ms + 600_000

    @pytest.mark.parametrize("first", ["pending", "requires_action"])
    @pytest.mark.parametrize("last", ["failed", "canceled"])
    def test_pending_then_failed_is_never_told_as_paid_and_needs_a_new_yes(
        self, first: str, last: str
    ) -> None:
        world = World()
        world.stripe.world.next_refund_script = ((0, first), (600, last))
        quiet(world)

        assert refund_path(world) == ["planned", "attempting", "accepted", "rejected"]
        assert world.ledger.run.review_reason == f"refund: the provider says {last}"
        assert world.ses.sent == []
        told = [found for status in world.customer.statuses for found in status["effects"]]
        refund_words = {found["status"] for found in told if found["operation"] == "refund"}
        assert "confirmed" not in refund_words

        assert not offered(world)[RecoveryAction.RESUME].allowed
        with pytest.raises(RequestRefused, match="refused or in conflict"):
            choose(world, RecoveryAction.RESUME)
        choose(world, RecoveryAction.REQUEST_APPROVAL)
        assert is_awaiting(world.ledger)
        assert len(posts(world)) == 1
        assert len(world.ledger.approvals) == 2

    def test_canceled_at_once_is_a_no_and_needs_a_new_yes(self) -> None:
        world = World()
        world.stripe.world.next_refund_script = ((0, "canceled"),)
        quiet(world)

        assert refund_of(world.ledger).state is EffectState.REJECTED
        assert world.ses.sent == []
        choose(world, RecoveryAction.REQUEST_APPROVAL)
        finish(world)
        assert [key for key, _ in posts(world)] != [posts(world)[0][0]] * 2
        canceled, paid = world.stripe.world.refunds
        assert [canceled.id in mail.text for mail in world.ses.sent] == [False]
        assert [paid.id in mail.text for mail in world.ses.sent] == [True]

    def test_canceled_after_it_was_confirmed_reopens_the_run(self) -> None:
        world = World()
        world.stripe.world.next_refund_script = ((0, "succeeded"), (3 * 24 * 3600, "canceled"))
        finish(world)
        assert len(world.ses.sent) == 1

        for _ in range(2):
            due_at_ms = world.ledger.run.due_at_ms
            assert due_at_ms is not None
            world.clock.move_to(due_at_ms)
            world.tick()

        check_invariants(world)
        assert refund_of(world.ledger).state is EffectState.CONTRADICTED
        assert world.ledger.run.state is RunState.REVIEW
        assert len(posts(world)) == 1

    def test_a_refund_that_waits_for_the_customers_bank_details_is_pending_too(self) -> None:
        world = World()
        world.stripe.world.next_refund_script = ((0, "requires_action"), (86_400, "succeeded"))
        world.run(until_ms=world.clock.now_ms() + 23 * HOUR_MS)
        check_invariants(world)
        assert refund_of(world.ledger).state is EffectState.ACCEPTED
        assert world.ledger.run.state is RunState.ACTIVE
        assert world.ses.sent == []
        finish(world)
        assert len(posts(world)) == 1
        assert len(world.ses.sent) == 1


class TestC10AlreadyRefundedIsNoProofThatWeDidIt:
    def overtaken_by_the_dashboard(self, world: World, amount_minor: int) -> World:
        """Let a colleague refund after our look at the charge and before our call."""
        world.tap.strike_next("IssueRefund", "stripe_refunds.call", Strike.STALL_BEFORE)

        def refund_it(_turns: int) -> None:
            world.stripe.world.make_refund("ch_1", amount_minor)

        world.tap.on_stall = refund_it
        quiet(world)
        return world

    def test_a_colleagues_full_refund_is_shown_and_not_claimed(self) -> None:
        world = self.overtaken_by_the_dashboard(World(wanted=FULL), 10_000)
        (theirs,) = world.stripe.world.refunds
        assert refund_path(world) == ["planned", "attempting", "unknown", "conflict"]
        assert candidates(world) == [theirs.id]
        assert len(posts(world)) == 1
        assert world.ses.sent == []

    def test_our_own_full_refund_whose_answer_was_lost_is_confirmed(self) -> None:
        world = World(wanted=FULL)
        world.stripe.fail_next(StripeFault.COMMIT_THEN_DROP, path_prefix=REFUNDS)
        finish(world)
        (ours,) = world.stripe.world.refunds
        evidence = refund_of(world.ledger).evidence
        assert evidence is not None
        assert evidence.record_id == ours.id
        assert len(posts(world)) == 1

    def test_a_colleagues_part_that_leaves_too_little_ends_with_a_person_after_one_try(
        self,
    ) -> None:
        world = self.overtaken_by_the_dashboard(World(), 6_000)
        (theirs,) = world.stripe.world.refunds
        assert refund_of(world.ledger).state is EffectState.REJECTED
        assert candidates(world) == [theirs.id]
        assert len(posts(world)) == 1
        assert world.ses.sent == []

    @pytest.mark.parametrize(("wanted", "theirs_minor"), [(FULL, 10_000), (WANTED, 6_000)])
    def test_what_is_seen_before_the_call_stops_the_call(
        self, wanted: dict[str, str | int], theirs_minor: int
    ) -> None:
        world = World(wanted=wanted)
        world.run_until(renewal_is_off)
        theirs = world.stripe.world.make_refund("ch_1", theirs_minor)
        quiet(world)
        assert posts(world) == []
        assert candidates(world) == [theirs.id]
        assert "can still be refunded" in world.ledger.run.review_reason
        assert world.ses.sent == []


class TestC11MatchByAmountPicksTheWrongRefund:
    def test_two_equal_refunds_of_others_are_shown_and_none_is_taken_for_ours(self) -> None:
        world = World(wanted=THIRD)
        world.run_until(renewal_is_off)
        theirs = [world.stripe.world.make_refund("ch_1", 3_000).id for _ in range(2)]
        world.stripe.fail_next(StripeFault.DROP_BEFORE_COMMIT, path_prefix=REFUNDS)
        quiet(world)
        assert refund_path(world) == ["planned", "attempting", "unknown", "conflict"]
        assert sorted(candidates(world)) == theirs
        assert refund_of(world.ledger).evidence is None
        assert len(posts(world)) == 1
        assert world.ses.sent == []

    @pytest.mark.parametrize("made_before", [0, 1, 2])
    def test_the_one_with_our_mark_is_chosen_wherever_it_stands(self, made_before: int) -> None:
        world = World(wanted=THIRD)
        world.run_until(renewal_is_off)
        world.stripe.fail_next(StripeFault.COMMIT_THEN_DROP, path_prefix=REFUNDS)
        for _ in range(made_before):
            world.stripe.world.make_refund("ch_1", 3_000)
        world.run_until(refund_is(EffectState.UNKNOWN))
        for _ in range(2 - made_before):
            world.stripe.world.make_refund("ch_1", 3_000)
        finish(world)
        evidence = refund_of(world.ledger).evidence
        assert evidence is not None
        assert evidence.record_id == world.stripe.world.refunds[made_before].id
        assert len(posts(world)) == 1


class TestC12ThreeCopiesOfTheReceipt:
    def sent_and_not_written_down(self) -> World:
        world = World(aftermath=Aftermath.NOTICE_LOST)
        world.tap.strike_next("SendReceipt", "ses_mail.call", Strike.CRASH_AFTER)
        world.run_until(lambda _: bool(world.tap.struck))
        return world

    def in_doubt(self) -> World:
        world = self.sent_and_not_written_down()
        finish(world)
        assert world.ledger.run.state is RunState.REVIEW
        return world

    def test_retried_twice_it_is_sent_once_and_stays_unknown(self) -> None:
        # Given a mail that was accepted, and a worker that died before it could say so.
        world = self.sent_and_not_written_down()
        stage, payload = world.stage("send_receipt"), task(world)

        # When the step is made again at once, and again after the claim has lapsed.
        with pytest.raises(EffectInProgress):
            world.processes.run("SendReceipt", lambda ports: stage(ports, payload))
        world.clock.move_to(receipt_of(world.ledger).attempts[-1].lease_until_ms)
        with pytest.raises(EffectUnknown):
            world.processes.run("SendReceipt", lambda ports: stage(ports, payload))

        # Then nothing was sent again, and a person is told that nobody knows.
        finish(world)
        assert receipt_of(world.ledger).state is EffectState.UNKNOWN
        assert len(receipt_of(world.ledger).attempts) == 1
        assert world.ses.sends_tried == 1
        assert refund_of(world.ledger).state is EffectState.CONFIRMED
        with pytest.raises(RequestRefused, match="decide about it first"):
            choose(world, RecoveryAction.RESUME)

    def test_a_worker_that_comes_back_with_the_message_id_settles_it(self) -> None:
        world = World()
        world.tap.strike_next("SendReceipt", "ses_mail.call", Strike.STALL_AFTER)
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED
        proof = world.ledger.proven("receipt_sent")
        assert proof is not None
        assert proof.evidence.record_id == world.ses.sent[0].message_id
        assert world.ses.sends_tried == 1
        kinds = {event.kind for event in world.events}
        assert EventKind.LATE_RESULT_RECORDED in kinds

    def test_a_person_chooses_between_two_plain_consequences(self) -> None:
        world = self.in_doubt()
        choices = offered(world)
        assert choices[RecoveryAction.TREAT_AS_SENT].allowed
        assert choices[RecoveryAction.SEND_AGAIN].allowed
        assert "may get two" in choices[RecoveryAction.SEND_AGAIN].consequence.words
        assert "gets none" in choices[RecoveryAction.TREAT_AS_SENT].consequence.words

    def test_treated_as_sent_the_run_ends_and_no_mail_goes_out(self) -> None:
        world = self.in_doubt()
        refund = refund_of(world.ledger)
        choose(world, RecoveryAction.TREAT_AS_SENT)
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED
        assert world.ses.sends_tried == 1
        assert refund_of(world.ledger) == refund

    def test_sent_again_a_second_mail_goes_out_on_a_persons_word_only(self) -> None:
        world = self.in_doubt()
        refund = refund_of(world.ledger)
        choose(world, RecoveryAction.SEND_AGAIN)
        world.run()
        assert world.ledger.run.state is RunState.COMPLETED
        assert [mail.to for mail in world.ses.sent] == [world.ses.sent[0].to] * 2
        assert refund_of(world.ledger) == refund
        assert len(posts(world)) == 1
