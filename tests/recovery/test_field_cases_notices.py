"""What others reported about notices that were believed, lost or never sent."""

from collections.abc import Callable
from unittest import mock

import pytest

import events.stripe_notice
from ledger.effect import Effect
from ledger.errors import LedgerUnavailable
from ledger.event import EventKind
from ledger.transitions import EffectState, RunState
from tests.fakes.stripe_world import Refund
from tests.recovery.invariants import check_invariants
from tests.recovery.mail_feed import tell_of
from tests.recovery.scenario import (
    HOUR_MS,
    finish,
    posts,
    refund_is,
    refund_of,
    refund_path,
)
from tests.recovery.tap import CRASHES, Call, Strike
from tests.recovery.webhook import PROCESS, Webhook, notice, signature, status_of
from tests.recovery.world import Aftermath, World

TRY_AGAIN = 503


def ours(world: World) -> Refund:
    """Return the one refund with our mark."""
    (made,) = world.stripe.world.refunds_marked(refund_of(world.ledger).effect_id)
    return made


def receipt_of(world: World) -> Effect:
    """Return the run's one receipt."""
    (found,) = [effect for effect in world.ledger.effects if effect.operation == "receipt"]
    return found


def confirmations(world: World, operation: str = "refund") -> list[str]:
    """Return who confirmed the operation's effect, once for each confirmation."""
    effect = world.ledger.newest_effect(operation)
    return [
        event.actor.actor_id
        for event in world.events
        if effect and event.kind is EventKind.EFFECT_CONFIRMED and event.subject == effect.effect_id
    ]


def lost_answer() -> World:
    """Return a world in which the answer to the refund was just lost."""
    world = World(aftermath=Aftermath.NOTICE_LOST)
    world.tap.strike_next("IssueRefund", "stripe_refunds.call", Strike.CRASH_AFTER)
    world.run_until(lambda _: bool(world.tap.struck))
    return world


def calls_of_one_handling() -> list[Call]:
    """Return the port calls of one delivery that confirms a refund."""
    world = lost_answer()
    before = len(world.tap.calls)
    assert status_of(Webhook(world).about_refund("refund.created", ours(world))) == 200
    return world.tap.calls[before:]


class TestX01NoticesEarlyTwiceAndOutOfOrder:
    def test_early_twice_and_out_of_order_they_lead_to_one_confirmation_and_one_receipt(
        self,
    ) -> None:
        # Given a notice that arrives while the worker still waits for the provider's answer.
        world = World()
        webhook = Webhook(world)
        seen: list[EffectState] = []

        def early(_turns: int) -> None:
            seen.append(refund_of(world.ledger).state)
            assert status_of(webhook.about_refund("refund.created", ours(world))) == 200
            seen.append(refund_of(world.ledger).state)

        world.tap.strike_next("IssueRefund", "stripe_refunds.call", Strike.STALL_AFTER)
        world.tap.on_stall = early
        world.run_until(lambda _: bool(seen))

        # Then Stripe was read and the refund is proven, and the worker's own answer adds nothing.
        assert seen == [EffectState.ATTEMPTING, EffectState.CONFIRMED]
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED
        before = world.ledger

        # When it comes again twice, and then an older one that still says "pending".
        for shown in ("succeeded", "succeeded", "pending"):
            answer = webhook.about_refund("refund.updated", ours(world), status=shown)
            assert status_of(answer) == 200

        # Then nothing is written at all: no second record, no step back.
        assert world.ledger == before
        assert confirmations(world) == ["stripe-notice"]
        assert refund_path(world) == ["planned", "attempting", "unknown", "confirmed"]
        assert len(posts(world)) == 1
        assert len(world.ses.sent) == 1
        check_invariants(world)

    def test_a_refund_from_the_dashboard_is_remarked_and_changes_nothing(self) -> None:
        world = World()
        finish(world)
        theirs = world.stripe.world.make_refund("ch_1", 1_000)

        for kind in ("refund.created", "refund.created", "refund.updated"):
            assert status_of(Webhook(world).about_refund(kind, theirs)) == 200

        noted = [event for event in world.events if event.kind is EventKind.REMARK_NOTED]
        assert len(noted) == 1
        assert theirs.id in noted[0].reason
        assert refund_of(world.ledger).state is EffectState.CONFIRMED
        assert world.ledger.run.state is RunState.COMPLETED
        assert len(world.ses.sent) == 1
        check_invariants(world)

    def test_a_dispute_is_remarked(self) -> None:
        world = World()
        finish(world)
        world.stripe.world.open_dispute("ch_1")

        dispute = {"id": "dp_1", "object": "dispute", "charge": "ch_1", "status": "needs_response"}
        answer = Webhook(world).deliver(notice("charge.dispute.created", dispute))

        assert status_of(answer) == 200
        assert "the charge is disputed" in refund_of(world.ledger).remarks

    def test_a_lost_answer_is_proven_by_the_notice_and_the_run_goes_on(self) -> None:
        world = lost_answer()
        world.sweeper_runs = False

        assert status_of(Webhook(world).about_refund("refund.created", ours(world))) == 200
        assert refund_of(world.ledger).state is EffectState.CONFIRMED

        # The rest is the sweeper's: the execution died and nobody was told.
        world.sweeper_runs = True
        finish(world)
        assert confirmations(world) == ["stripe-notice"]
        assert len(posts(world)) == 1
        assert len(world.ses.sent) == 1

    def test_an_overdue_review_is_ended_by_a_notice_and_the_run_completes(self) -> None:
        world = lost_answer()
        world.outside.stripe_reachable = False
        world.run(until_ms=world.clock.now_ms() + HOUR_MS)
        assert world.ledger.run.review_recovers

        world.outside.stripe_reachable = True
        world.sweeper_runs = False
        assert status_of(Webhook(world).about_refund("refund.updated", ours(world))) == 200

        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED

    def test_pending_is_read_again_when_a_notice_says_that_it_moved(self) -> None:
        world = World()
        world.stripe.world.next_refund_script = ((0, "pending"), (600, "succeeded"))
        world.run_until(refund_is(EffectState.ACCEPTED))

        # A notice that lies about the status changes nothing; one in time does.
        Webhook(world).about_refund("refund.updated", ours(world), status="succeeded")
        assert refund_of(world.ledger).state is EffectState.ACCEPTED
        world.clock.move_to(ours(world).created_ms + 600_000)
        Webhook(world).about_refund("refund.updated", ours(world))

        assert refund_of(world.ledger).state is EffectState.CONFIRMED
        finish(world)

    def test_a_refund_that_fails_later_reopens_the_run_and_no_older_notice_closes_it(self) -> None:
        world = World()
        world.stripe.world.next_refund_script = ((0, "succeeded"), (86_400, "failed"))
        finish(world)
        world.clock.move_to(ours(world).created_ms + 86_400_000)

        Webhook(world).about_refund("refund.failed", ours(world))
        Webhook(world).about_refund("refund.updated", ours(world), status="succeeded")

        assert refund_of(world.ledger).state is EffectState.CONTRADICTED
        assert world.ledger.run.state is RunState.REVIEW
        assert len(posts(world)) == 1

    def test_a_renewal_that_is_switched_on_again_reopens_the_run(self) -> None:
        world = World()
        finish(world)
        world.stripe.world.switch_renewal("sub_1", on=True)

        assert status_of(Webhook(world).about_subscription("sub_1")) == 200

        renewal = world.ledger.newest_effect("cancel_renewal")
        assert renewal is not None
        assert renewal.state is EffectState.CONTRADICTED
        assert world.ledger.run.state is RunState.REVIEW

    @pytest.mark.parametrize(
        "break_it",
        [
            lambda world: setattr(world.outside, "stripe_reachable", False),
            lambda world: world.tap.strike_next(PROCESS, "store.load", Strike.LOST_ANSWER),
            lambda world: world.tap.strike_next(PROCESS, "store.commit", Strike.LOST_REQUEST),
        ],
        ids=["stripe-silent", "ledger-unreadable", "ledger-unwritable"],
    )
    def test_a_notice_that_could_not_be_followed_is_refused_and_followed_when_it_comes_again(
        self, break_it: Callable[[World], None]
    ) -> None:
        world = lost_answer()
        webhook = Webhook(world)
        break_it(world)

        refused = webhook.about_refund("refund.created", ours(world))

        assert status_of(refused) == TRY_AGAIN
        assert refused is not None
        assert refused["headers"]["content-type"] == "application/problem+json"
        assert int(refused["headers"]["retry-after"]) > 0
        assert refund_of(world.ledger).state is EffectState.ATTEMPTING

        world.outside.stripe_reachable = True
        assert status_of(webhook.about_refund("refund.created", ours(world))) == 200
        assert refund_of(world.ledger).state is EffectState.CONFIRMED
        finish(world)

    def test_a_bug_in_handling_is_refused_too_and_quoted_nowhere(self) -> None:
        world = lost_answer()
        bug = RuntimeError("zebra.lovelace@marker.example")
        with mock.patch.object(events.stripe_notice, "look_again", side_effect=bug):
            refused = Webhook(world).about_refund("refund.created", ours(world))

        assert status_of(refused) == TRY_AGAIN
        assert "zebra" not in world.processes.log.getvalue() + str(refused)
        assert status_of(Webhook(world).about_refund("refund.created", ours(world))) == 200
        finish(world)
        assert confirmations(world) == ["stripe-notice"]

    def test_whatever_call_the_handling_dies_at_the_next_delivery_ends_it(self) -> None:
        calls = calls_of_one_handling()
        assert len(calls) >= 5, "there is hardly anything to die at"
        for call in range(len(calls)):
            for strike in (*CRASHES, Strike.LOST_ANSWER, Strike.LOST_REQUEST):
                world = lost_answer()
                world.tap.strike_at(len(world.tap.calls) + call, strike)
                webhook = Webhook(world)
                webhook.about_refund("refund.created", ours(world))
                assert world.tap.struck

                assert status_of(webhook.about_refund("refund.created", ours(world))) == 200

                assert refund_of(world.ledger).state is EffectState.CONFIRMED, (call, strike)
                finish(world)
                assert len(confirmations(world)) == 1, (call, strike)

    @pytest.mark.parametrize("header", ["", "t=1,v1=00", "forged"])
    def test_what_stripe_did_not_sign_is_not_even_read(self, header: str) -> None:
        world = lost_answer()
        body = notice("refund.created", world.stripe.world.export_refund(ours(world)))
        forged = (
            signature(body, world.clock.now_ms(), "whsec_other") if header == "forged" else header
        )
        calls, before = len(world.tap.calls), world.ledger

        refused = Webhook(world).deliver(body, forged)

        assert status_of(refused) == 400
        assert world.ledger == before
        assert len(world.tap.calls) == calls

    def test_nothing_of_a_notice_is_written_down_but_ids(self) -> None:
        world = World()
        finish(world)
        found = world.stripe.world.export_refund(ours(world))
        customer = {"email": "zebra.lovelace@marker.example", "name": "Zebra Lovelace-Marker"}

        Webhook(world).deliver(notice("refund.updated", {**found, "billing_details": customer}))

        check_invariants(world)  # the trail and the log included
        assert '"action":"notice","target":"ch_1"' in world.processes.log.getvalue()


class TestC12TheMailServicesOwnEvents:
    def accepted_and_not_written_down(self) -> World:
        world = World(aftermath=Aftermath.NOTICE_LOST)
        world.tap.strike_next("SendReceipt", "ses_mail.call", Strike.CRASH_AFTER)
        world.run_until(lambda _: bool(world.tap.struck))
        return world

    @pytest.mark.parametrize("kind", ["Email Sent", "Email Delivered"])
    @pytest.mark.parametrize("late", [False, True], ids=["in-time", "after-the-review"])
    def test_an_event_with_our_tag_confirms_the_receipt_with_its_message_id(
        self, kind: str, late: bool
    ) -> None:
        # Given a mail that was accepted, and a worker that died before it could say so.
        world = self.accepted_and_not_written_down()
        if late:
            world.run()
            assert world.ledger.run.state is RunState.REVIEW
        refund = refund_of(world.ledger)

        # When the event feed reports it.
        (mail,) = world.ses.events("effect_id", receipt_of(world).effect_id)
        tell_of(world, kind, mail)

        # Then it is confirmed by its own id, the run completes, and no second mail goes out.
        receipt = receipt_of(world)
        assert receipt.state is EffectState.CONFIRMED
        assert receipt.evidence is not None
        assert receipt.evidence.record_id == mail.message_id
        world.run()
        check_invariants(world)
        assert world.ledger.run.state is RunState.COMPLETED
        assert world.ses.sends_tried == 1
        assert refund_of(world.ledger) == refund

    def test_events_of_a_mail_that_went_well_change_nothing(self) -> None:
        world = World()
        finish(world)
        before = world.ledger
        (mail,) = world.ses.sent

        for kind in ("Email Sent", "Email Delivered", "Email Sent"):
            tell_of(world, kind, mail)

        assert world.ledger == before

    @pytest.mark.parametrize(
        "kind", ["Email Bounced", "Email Complaint Received", "Email Rejected"]
    )
    def test_a_mail_that_came_back_reopens_the_run(self, kind: str) -> None:
        world = World()
        finish(world)
        (mail,) = world.ses.sent

        tell_of(world, kind, mail)
        tell_of(world, "Email Delivered", mail)  # an older one, late

        assert receipt_of(world).state is EffectState.CONTRADICTED
        assert world.ledger.run.state is RunState.REVIEW
        assert refund_of(world.ledger).state is EffectState.CONFIRMED
        assert world.ses.sends_tried == 1
        check_invariants(world)

    def test_an_out_of_office_answer_is_no_bounce(self) -> None:
        world = World()
        finish(world)
        before = world.ledger
        (mail,) = world.ses.sent

        bounce = {"bounceType": "Transient", "bounceSubType": "General"}
        assert tell_of(world, "Email Bounced", mail, bounce=bounce) == "ignored"

        assert world.ledger == before

    def test_an_event_that_could_not_be_written_is_raised_and_done_when_it_comes_again(
        self,
    ) -> None:
        world = self.accepted_and_not_written_down()
        (mail,) = world.ses.sent
        world.tap.strike_next("mail event", "store.commit", Strike.LOST_REQUEST)

        with pytest.raises(LedgerUnavailable):
            tell_of(world, "Email Sent", mail)
        assert receipt_of(world).state is EffectState.ATTEMPTING

        tell_of(world, "Email Sent", mail)
        assert receipt_of(world).state is EffectState.CONFIRMED
        assert confirmations(world, "receipt") == ["mail-event"]
