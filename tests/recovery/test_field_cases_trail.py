"""What others reported about trails, logs and stores that refuse, each with its right outcome."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from ledger.draft import Draft
from ledger.errors import InvariantBroken, LedgerMoved, LedgerUnavailable
from ledger.event import Actor, EventKind
from ledger.offer import RecoveryAction
from ledger.run import RunLedger
from ledger.store import Change
from ledger.transitions import EffectState, RunState
from ledger.update import update
from tests.fakes.nominations import MAX_RECEIVE_COUNT
from tests.recovery.desk import offered, renewal_is_off
from tests.recovery.invariants import (
    check_invariants,
    check_nothing_personal,
    check_run,
    texts_of,
)
from tests.recovery.outside import CUSTOMER_EMAIL, CUSTOMER_NAME
from tests.recovery.recording import recorded_calls
from tests.recovery.reviews import (
    charge_was_disputed,
    mail_in_doubt,
    refund_overdue,
    refund_refused,
)
from tests.recovery.said_metrics import NAMESPACE, measured
from tests.recovery.scenario import (
    REFUNDS,
    finish,
    is_awaiting,
    posts,
    refund_of,
    refund_path,
    said,
)
from tests.recovery.scenarios.cancel_refund import check_receipts
from tests.recovery.tap import Call, Fault, Strike
from tests.recovery.world import Aftermath, World
from tests.unit.api.gateway import WISH, Gateway

COMMITS = [call for call in recorded_calls() if call.method == "commit"]


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Return a gateway to a world in which nothing was asked yet."""
    return Gateway(monkeypatch)


REVIEWS: dict[str, tuple[Callable[[World], None], set[RecoveryAction]]] = {
    "a mail in doubt": (
        mail_in_doubt,
        {RecoveryAction.TREAT_AS_SENT, RecoveryAction.SEND_AGAIN},
    ),
    "a refused refund": (
        refund_refused,
        {RecoveryAction.REQUEST_APPROVAL, RecoveryAction.OFFER_COUNTER},
    ),
    "an overdue refund": (refund_overdue, {RecoveryAction.RECONCILE}),
    "a dispute": (charge_was_disputed, {RecoveryAction.RESUME, RecoveryAction.REQUEST_APPROVAL}),
}
ALWAYS = {RecoveryAction.MARK_ENGINEERING, RecoveryAction.CLOSE}


def struck(world: World, times: int) -> Callable[[RunLedger], bool]:
    """Return a point that is reached once so many calls were struck."""
    return lambda _: len(world.tap.struck) == times


class TestC25StateChangesEventDoesNot:
    @pytest.mark.parametrize("call", COMMITS, ids=str)
    def test_a_transition_that_cannot_be_written_leaves_neither_state_nor_event(
        self, call: Call
    ) -> None:
        # Given a write of the ledger that is lost.
        world = World([Fault(call.index, Strike.LOST_REQUEST)])
        world.run_until(struck(world, 1))

        # Then right after it every state has its event, and every event its state.
        if world.runs():
            check_invariants(world)

        # And the run goes on from there.
        finish(world)

    def test_without_a_written_intent_the_provider_is_not_called(self) -> None:
        # Given a ledger that takes no write from the moment on in which the refund is due.
        world = World()
        world.run_until(renewal_is_off)
        for lost in range(1, 4):
            world.tap.strike_next("IssueRefund", "store.commit", Strike.LOST_REQUEST)
            world.run_until(struck(world, lost))
            assert posts(world) == []
            assert [found.operation for found in world.ledger.effects] == ["cancel_renewal"]

        # When it takes writes again.
        finish(world)

        # Then the refund is intended first and made after that.
        (post,) = world.stripe.posts(REFUNDS)
        assert post.at_ms > refund_of(world.ledger).attempts[-1].claimed_at_ms

    @pytest.mark.parametrize("strike", [Strike.LOST_REQUEST, Strike.CRASH_BEFORE])
    def test_a_success_that_could_not_be_written_is_unknown_and_found_by_a_read(
        self, strike: Strike
    ) -> None:
        # Given a refund that was made, and a ledger that did not take its confirmation.
        world = World(aftermath=Aftermath.NOTICE_LOST)
        world.run_until(renewal_is_off)
        commit = next(
            call.index
            for call in recorded_calls()
            if call.method == "commit" and call.index > self.index_of("stripe_refunds", "call")
        )
        world.tap.strike_at(commit, strike)
        world.run_until(struck(world, 1))
        assert len(posts(world)) == 1
        assert refund_of(world.ledger).state is EffectState.ATTEMPTING

        # When the run goes on.
        finish(world)

        # Then its trail says that nobody knew, and what the read showed.
        assert refund_path(world) == ["planned", "attempting", "unknown", "confirmed"]
        (unknown,) = [event for event in world.events if event.kind is EventKind.EFFECT_UNKNOWN]
        assert unknown.reason == "no answer of its worker is on record"
        assert len(posts(world)) == 1

    def index_of(self, port: str, method: str) -> int:
        return next(
            call.index for call in recorded_calls() if (call.port, call.method) == (port, method)
        )

    @pytest.mark.parametrize(
        ("error", "status"), [(LedgerUnavailable, 503), (LedgerMoved, 503), (InvariantBroken, 500)]
    )
    @pytest.mark.parametrize("review", REVIEWS)
    def test_an_action_that_cannot_be_written_is_an_error_and_changes_nothing(
        self,
        gateway: Gateway,
        monkeypatch: pytest.MonkeyPatch,
        review: str,
        error: type[Exception],
        status: int,
    ) -> None:
        # Given a run in review, and a table that refuses every write.
        reach, about = REVIEWS[review]
        gateway.ask()
        world = gateway.world
        reach(world)
        assert world.ledger.run.state is RunState.REVIEW
        allowed = [offer for offer in offered(world).values() if offer.allowed]
        assert {offer.action for offer in allowed} == about | ALWAYS
        before, trail = world.ledger, world.events

        def refuse(_change: Change) -> None:
            raise error("The table refused.")

        monkeypatch.setattr(world.store, "commit", refuse)

        # When an operator tries whatever is allowed.
        answers = [gateway.choose(offer.action, effect_id=offer.effect_id) for offer in allowed]

        # Then each is an error, and the run, its trail and the provider are as they were.
        assert [answer.status for answer in answers] == [status] * len(allowed)
        assert (world.ledger, world.events) == (before, trail)
        check_invariants(world)


class TestC26PersonalDataInLogsAndKeys:
    MARKERS = ("+44 20 7946 0123", "4242 4242 4242 4242", "marker-street", "zebra")
    WORDS = f"Call me: {MARKERS[0]}, my card is {MARKERS[1]}, I live in {MARKERS[2]}."

    @pytest.mark.parametrize(
        "reach",
        [
            World.run,
            mail_in_doubt,
            refund_refused,
            refund_overdue,
            charge_was_disputed,
        ],
    )
    def test_what_a_customer_writes_is_in_nothing_but_the_erasable_record(
        self,
        gateway: Gateway,
        reach: Callable[[World], None],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv(NAMESPACE, "some-deployment")
        join, orchestrator = gateway.world.outside.join, gateway.world.orchestrator
        gateway.joined = lambda: measured(join(orchestrator))
        assert gateway.ask({**WISH, "customer_text": self.WORDS}).status == 202
        reach(gateway.world)
        check_invariants(gateway.world)
        gateway.view()
        gateway.choose("mark_for_engineering_review")

        of_the_door = capsys.readouterr().out
        metrics = gateway.world.processes.metrics.getvalue() + of_the_door
        if gateway.world.ledger.run.state is RunState.REVIEW:
            assert '"ReviewsRequired":[1.0]' in metrics
            assert '"ManualInterventions":[1.0]' in of_the_door
        else:
            assert '"RecoveryAttempts":[0.0]' in metrics
        for text in (of_the_door, *self.everywhere(gateway)):
            for marker in self.MARKERS:
                assert marker not in text.lower()
        personal = gateway.world.store.personal(gateway.run_id)
        assert personal is not None
        assert personal.fields["customer_text"] == self.WORDS

    def everywhere(self, gateway: Gateway) -> list[str]:
        world = gateway.world
        return [
            str(gateway.lines),
            repr(world.ledger),
            str(world.stripe.requests),
            *(event.model_dump_json() for event in world.events),
            *(text for _, text in texts_of(world)),
        ]

    def test_a_message_about_a_run_that_breaks_dies_as_the_runs_id_and_no_more(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Given a run that no worker can read, for a reason that quotes the customer.
        world = World()
        world.run_until(is_awaiting)
        run_id = world.ledger.run.run_id
        load = world.store.load

        def broken(run_id: str) -> RunLedger | None:
            if world.tap.process == "worker":
                raise ValueError(f"{CUSTOMER_NAME} <{CUSTOMER_EMAIL}>")
            return load(run_id)

        monkeypatch.setattr(world.store, "load", broken)
        world.clock.move_to(world.ledger.run.due_at_ms or 0)

        # When the queue has given it to workers as often as it does.
        for _ in range(MAX_RECEIVE_COUNT):
            world.tick()

        # Then the dead letter, what the workers logged and what they measured name nobody.
        assert {found.body for found in world.queue.dead} == {run_id}
        assert said(world, "RunsBroken")
        assert "ValueError" in world.processes.log.getvalue()
        check_nothing_personal(world)

    @pytest.mark.parametrize("foreign", [ValueError, OSError, KeyError])
    def test_an_error_that_quotes_the_customer_is_logged_by_its_class_and_place(
        self, monkeypatch: pytest.MonkeyPatch, foreign: type[Exception]
    ) -> None:
        # Given a library that quotes in its error what it was given.
        world = World()

        def quote(**request: Any) -> Any:
            raise foreign(f"bad request: {request}")

        monkeypatch.setattr(world.ses, "send_email", quote)
        world.run()

        # Then the log has class and place, and the address is nowhere.
        assert world.ledger.run.state is RunState.REVIEW
        lines = map(json.loads, world.processes.log.getvalue().splitlines())
        (line,) = (line for line in lines if "error" in line)
        assert (line["stage"], line["error"]) == ("SendReceipt", foreign.__name__)
        assert line["at"].rpartition(":")[0] == __file__
        check_run(world, world.ledger)
        check_receipts(world, world.ledger)


class TestX04CancellationReasonsMixedTogether:
    @pytest.mark.parametrize("error", [LedgerUnavailable, LedgerMoved])
    def test_a_person_is_told_to_repeat_and_never_that_the_run_is_not_there(
        self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
    ) -> None:
        gateway.ask()
        world = gateway.world
        world.run_until(is_awaiting)
        (asked,) = world.ledger.approvals
        yes = {"decision": "approve", "digest": asked.digest}

        def refuse(_change: Change) -> None:
            raise error("The table refused.")

        with monkeypatch.context() as broken:
            broken.setattr(world.store, "commit", refuse)
            gateway.decide(yes, asked.approval_id).assert_problem(503, "try-again")

        assert is_awaiting(world.ledger)
        finish(world)
        assert len(posts(world)) == 1


class TestX07ArtifactOver400Kilobytes:
    def test_a_run_with_5000_events_is_as_small_as_before_and_goes_on(self) -> None:
        world = World()
        world.run_until(is_awaiting)
        small = len(repr(world.ledger))
        run_id, writer = world.ledger.run.run_id, Actor(kind="test", actor_id="chatty")

        def chat(draft: Draft) -> None:
            for _ in range(50):
                draft.note(EventKind.RECONCILE_READ, "x" * 500)

        for _ in range(100):
            world.processes.run("chatty", lambda ports: update(ports, run_id, writer, chat))

        assert len(repr(world.ledger)) < small + 100
        finish(world)
        assert len(world.events) > 5_000
        assert len(posts(world)) == 1

    def test_half_a_megabyte_is_refused_before_anything_is_begun(self, gateway: Gateway) -> None:
        gateway.ask({**WISH, "customer_text": "x" * 500_000}).assert_problem(400, "malformed-body")
        assert gateway.world.runs() == []
        assert gateway.world.stripe.requests == []
