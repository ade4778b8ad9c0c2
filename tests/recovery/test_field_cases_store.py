"""What others reported about the ledger's writes and its sweeper, each with its right outcome."""

from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import pytest
from botocore.exceptions import ReadTimeoutError

from adapters.dynamodb_store import DynamoDbStore
from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.run import RunLedger
from ledger.store import DuePage
from ledger.transitions import EffectState, RunState
from tests.fakes.stripe import Fault as StripeFault
from tests.ledger_table import TABLE_NAME, ledger_table
from tests.recovery.customer import Customer
from tests.recovery.desk import choose
from tests.recovery.invariants import check_invariants
from tests.recovery.recording import recorded_calls
from tests.recovery.reviews import refund_refused
from tests.recovery.scenario import (
    REFUNDS,
    finish,
    refund_is,
)
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.tap import Call, Fault, Strike
from tests.recovery.world import World
from tests.unit.api.gateway import Gateway


class TestC19OurOwnConditionalWriteRefusesUs:
    ONCE = frozenset(
        {
            EventKind.RUN_OPENED,
            EventKind.APPROVAL_REQUESTED,
            EventKind.APPROVAL_GRANTED,
        }
    )

    @pytest.mark.parametrize(
        "call", [call for call in recorded_calls() if call.method == "commit"], ids=str
    )
    def test_a_write_that_landed_unheard_is_neither_repeated_nor_lost(self, call: Call) -> None:
        world = World([Fault(call.index, Strike.LOST_ANSWER)])
        finish(world)
        kinds = Counter(event.kind for event in world.events)
        assert {kind: kinds[kind] for kind in self.ONCE} == dict.fromkeys(self.ONCE, 1)
        planned = [e.subject for e in world.events if e.kind is EventKind.EFFECT_PLANNED]
        assert len(planned) == len(set(planned)) == 3
        assert len(world.stripe.world.refunds) == 1
        assert [post.path for post in world.stripe.posts()] == ["/v1/subscriptions/sub_1", REFUNDS]


class _LosesEachFirstAnswer:
    """A DynamoDB client whose every transaction lands and is answered only when repeated."""

    def __init__(self, client: Any) -> None:
        self.lost = 0
        self._client = client
        self._heard: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **request: Any) -> Any:
        answer = self._client.transact_write_items(**request)
        if request["ClientRequestToken"] not in self._heard:
            self._heard.add(request["ClientRequestToken"])
            self.lost += 1
            raise ReadTimeoutError(endpoint_url="https://dynamodb.invalid")
        return answer


class TestC19OverTheRealTable:
    def test_every_write_loses_its_first_answer_and_the_trail_is_as_if_none_had(self) -> None:
        undisturbed = World()
        finish(undisturbed)
        with ledger_table() as client:
            losing = _LosesEachFirstAnswer(client)
            store = DynamoDbStore(
                cast("Any", losing), TABLE_NAME, sleep=lambda _: None, random=lambda: 0.0
            )
            world = World(store=store)
            finish(world)
            seen = [(event.kind, event.subject, event.state) for event in world.events]
        assert seen == [(e.kind, e.subject, e.state) for e in undisturbed.events]
        assert losing.lost == len({event.commit_id for event in undisturbed.events})

    @pytest.mark.parametrize(
        "action",
        [RecoveryAction.MARK_ENGINEERING, RecoveryAction.REQUEST_APPROVAL, RecoveryAction.CLOSE],
    )
    def test_an_operators_action_whose_answer_is_lost_is_done_and_on_record_once(
        self, action: RecoveryAction
    ) -> None:
        # Given a run in review, and a table that answers no write at the first time.
        with ledger_table() as client:
            losing = _LosesEachFirstAnswer(client)
            store = DynamoDbStore(
                cast("Any", losing), TABLE_NAME, sleep=lambda _: None, random=lambda: 0.0
            )
            world = World(store=store)
            world.stripe.fail_next(StripeFault.UNAUTHORIZED, path_prefix=REFUNDS)
            world.run_until(lambda ledger: ledger.run.state is RunState.REVIEW)
            lost = losing.lost

            # When an operator acts.
            choose(world, action)

            # Then they hear that it was done, and the trail has it once.
            assert losing.lost == lost + 1
            acted = [event for event in world.events if event.kind is EventKind.OPERATOR_ACTED]
            assert [event.details["action"] for event in acted] == [action]
            check_invariants(world)


class TestC19AnOperatorWhoHearsNothing:
    @pytest.mark.parametrize("strike", [Strike.LOST_ANSWER, Strike.LOST_REQUEST])
    def test_pressing_again_on_the_same_view_acts_at_most_once(
        self, strike: Strike, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Given an operator whose action landed, or did not, and who was told neither.
        gateway = Gateway(monkeypatch)
        gateway.ask()
        world = gateway.world
        refund_refused(world)
        seen = gateway.view().body["facts"]["view_version"]
        ask = {
            "action": "request_fresh_customer_approval",
            "view_version": seen,
            "reason": "they called",
        }
        world.tap.strike_next("", "store.commit", strike)
        gateway.act(ask).assert_problem(503, "try-again")

        # When they press again, on what they saw.
        again = gateway.act(ask)

        # Then it was done once, this time or the first time, and they are told so.
        acted = [event for event in world.events if event.kind is EventKind.OPERATOR_ACTED]
        assert len(acted) == 1
        assert len(world.ledger.approvals) == 2
        assert again.status == 200
        finish(world)
        assert len(world.stripe.world.refunds) == 1


def _is_satisfied(customer: Customer) -> Callable[[RunLedger], bool]:
    return lambda _: customer.next_at_ms is None


class TestC20TwoSweepersOneStaleIndex:
    """R is unknown and its execution gone, Q completed a second ago, S has a worker in mid-call."""

    def run_ids(self, world: World) -> list[str]:
        return [world.ledger_of(customer).run.run_id for customer in world.customers]

    def sweep_beside_a_worker(
        self, sweep: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
    ) -> World:
        """Return the world after ``sweep`` ran while the worker of S was inside its call."""
        world = World()
        world.sweeper_runs = False
        world.stripe.fail_next(StripeFault.COMMIT_THEN_DROP, path_prefix=REFUNDS)
        world.run_until(refund_is(EffectState.UNKNOWN))
        world.orchestrator.kill(world.ledger.run.execution_name, tell=False)
        for number in ("2", "3"):
            names = {"customer_id": "cus_", "subscription_id": "sub_", "charge_id": "ch_"}
            customer = world.add_customer(
                {**WANTED, **{name: prefix + number for name, prefix in names.items()}}
            )
            if number == "3":
                due_at_ms = world.ledger.run.due_at_ms
                assert due_at_ms is not None
                world.clock.move_to(due_at_ms)
                world.tap.strike_next("IssueRefund", "stripe_refunds.call", Strike.STALL_BEFORE)
                world.tap.on_stall = lambda _: self._sweep_on_stale_index(world, sweep, monkeypatch)
            world.run_until(_is_satisfied(customer))
        world.sweeper_runs = True
        return world

    def _sweep_on_stale_index(
        self, world: World, sweep: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        nominated = tuple(self.run_ids(world))
        assert len(nominated) == 3

        def stale(shard: str, _now_ms: int, _limit: int, _cursor: str | None) -> DuePage:
            first = shard == world.store.due_shards[0]
            return DuePage(run_ids=nominated if first else (), cursor=None)

        before = [world.events_of(world.ledger_of(found)) for found in world.customers[1:]]
        with monkeypatch.context() as patch:
            patch.setattr(world.store, "due", stale)
            sweep(world)
        assert [world.events_of(world.ledger_of(found)) for found in world.customers[1:]] == before
        assert world.outside.writers["worker"] == 0

    def check(self, world: World) -> None:
        claimed = [event for event in world.events if event.kind is EventKind.SWEEP_CLAIMED]
        assert len(claimed) == 1
        finish(world)
        assert [made.charge for made in world.stripe.world.refunds] == ["ch_1", "ch_2", "ch_3"]
        assert len(world.stripe.posts(REFUNDS)) == 3
        assert world.outside.writers["worker"] == 0
        assert world.ledger.run.epoch == 2

    def test_one_tick_delivered_three_times(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def three_times(world: World) -> None:
            for _ in range(3):
                world.tick()

        self.check(self.sweep_beside_a_worker(three_times, monkeypatch))

    def test_a_second_sweeper_at_every_call_of_the_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        struck = 0
        for number in range(40):

            def two_at_once(world: World, number: int = number) -> None:
                world.tap.on_stall = lambda _: world.tick()
                world.tap.strike_at(len(world.tap.calls) + number, Strike.STALL_BEFORE)
                world.tick()

            world = self.sweep_beside_a_worker(two_at_once, monkeypatch)
            processes = {call.process for call in world.tap.struck} - {"IssueRefund"}
            if not processes:
                break
            assert processes <= {"sweeper", "worker"}
            struck += 1
            self.check(world)
        assert struck >= 15, "a tick makes fewer calls than it has shards and runs to read"
