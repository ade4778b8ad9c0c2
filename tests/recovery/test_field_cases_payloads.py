"""What others reported about keys, bytes and approved payloads, each with its right outcome."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from adapters.dynamodb_store import DynamoDbStore
from api.door import Request
from api.start_run import start_run
from ledger.approval import Approval
from ledger.approve import Decision
from ledger.draft import Draft
from ledger.event import Actor, EventKind
from ledger.provider import Authority, Intent
from ledger.run import Run, RunLedger
from ledger.transitions import EffectState, RunState
from ledger.update import update
from providers.stripe_billing import StripeBilling
from providers.stripe_refunds import StripeRefunds
from tests.fakes.stripe import Fault as StripeFault
from tests.ledger_table import TABLE_NAME, ledger_table
from tests.recovery import invariants
from tests.recovery.customer import CALLER_KEY, Customer
from tests.recovery.desk import renewal_is_off
from tests.recovery.invariants import check_invariants, check_run
from tests.recovery.scenario import (
    REFUNDS,
    finish,
    is_awaiting,
    posts,
    refund_is,
    refund_of,
)
from tests.recovery.scenarios import usual
from tests.recovery.scenarios.cancel_refund import WANTED, check_receipts
from tests.recovery.world import World
from workflows.registry import KNOWN

# Of the approval that the sample wish leads to; it must not move between releases or machines.
PINNED_DIGEST = "sha256:8425407a57ef621cd3ac4b1d887f40901cf756b4bca975ad7e952621bc642f7d"
SUBSCRIPTIONS = "/v1/subscriptions"
AT_ONCE = "at_once"
SOMEBODY = Actor(kind="test", actor_id="somebody")


def asks_again(
    world: World, wanted: Mapping[str, object] = WANTED, words: str = "", key: str = CALLER_KEY
) -> tuple[int, str]:
    """Return status and run id that a client hears which sends a wish once more."""
    body = {"workflow": world.customer.workflow, "request": dict(wanted), "customer_text": words}
    request = Request(
        caller=world.customer.caller,
        headers={"idempotency-key": key},
        path={},
        body=json.dumps(body),
    )
    answer = world.request("POST /runs", start_run, request, lambda: None)
    assert answer is not None
    return int(str(answer["statusCode"])), json.loads(str(answer["body"])).get("run_id", "")


class TestC05SameKeyDifferentRequest:
    def unknown(self) -> World:
        world = World()
        world.stripe.fail_next(StripeFault.DROP_BEFORE_COMMIT, path_prefix=REFUNDS)
        world.run_until(refund_is(EffectState.UNKNOWN))
        return world

    def test_new_words_and_newer_code_change_no_byte_of_the_second_attempt(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Given an attempt that was lost.
        world = self.unknown()
        compose = StripeRefunds.compose

        def with_more(provider: StripeRefunds, intent: Intent) -> dict[str, object]:
            return {**compose(provider, intent), "description": "a field of newer code"}

        # When the agent rewords its note, and newer code would write one more field.
        monkeypatch.setattr(StripeRefunds, "compose", with_more)
        said = asks_again(world, words="Please hurry, in other words.")
        finish(world)

        # Then it is the same run, and the second attempt repeats the first, byte by byte.
        assert said == (202, world.ledger.run.run_id)
        first, second = posts(world)
        assert first == second
        assert len(world.stripe.world.refunds) == 1

    def test_no_two_effects_share_a_key(self) -> None:
        world = World()
        finish(world)
        keys = [effect.idempotency_key for effect in world.ledger.effects]
        assert len(set(keys)) == 3
        sent = {(post.path, post.key) for post in world.stripe.posts()}
        assert len(sent) == len({key for _, key in sent}) == 2

    def test_a_key_known_with_another_request_stops_the_run_and_no_other_is_tried(self) -> None:
        # Given an attempt that was lost, and its key used meanwhile at another endpoint.
        world = self.unknown()
        key = refund_of(world.ledger).idempotency_key
        header = {"Idempotency-Key": key}
        world.stripe("POST", "/v1/subscriptions/sub_1", header, b"metadata[note]=other")

        # When the run goes on.
        world.run()

        # Then the effect is in conflict, a person is told, and no fresh key was tried.
        check_invariants(world)
        assert refund_of(world.ledger).state is EffectState.CONFLICT
        assert world.ledger.run.state is RunState.REVIEW
        assert {used for used, _ in posts(world)} == {key}
        assert world.stripe.world.refunds == []
        assert world.ses.sent == []


class _SecondWish(Customer):
    """The same customer's second honest wish: other ids of the caller, the same charge."""

    @property
    def caller(self) -> Any:
        return super().caller.model_copy(update={"subject": "user-of-cus_1-again"})


class TestC06TwoHonestRefundsOfTheSameSize:
    def test_each_run_finds_its_own_refund_after_each_lost_its_answer(self) -> None:
        # Given two wishes for 10.00 of one charge, each with its own yes, in the same minute.
        world = World(wanted={**WANTED, "amount_minor": 1_000})
        world.stripe.world.add_subscription("sub_2", "cus_1")
        again = {**WANTED, "amount_minor": 1_000, "subscription_id": "sub_2"}
        world.customers.append(_SecondWish(world.clock, world.request, world.scenario, again))
        for _ in range(2):
            world.stripe.fail_next(StripeFault.COMMIT_THEN_DROP, path_prefix=REFUNDS)

        # When both lose their first answer.
        world.run()

        # Then there are two refunds, and each belongs to the run that made it.
        runs = world.runs()
        assert [ledger.run.state for ledger in runs] == [RunState.COMPLETED] * 2
        assert [made.amount for made in world.stripe.world.refunds] == [1_000, 1_000]
        assert len(posts(world)) == 2
        for ledger in runs:
            refund = refund_of(ledger)
            assert refund.evidence is not None
            (own,) = world.stripe.world.refunds_marked(refund.effect_id)
            assert refund.evidence.record_id == own.id
            self.check(world, ledger)

    def check(self, world: World, ledger: RunLedger) -> None:
        """Check what always holds but for the sum on the charge, which is that of two runs."""
        invariants.check_run(world, ledger)
        check_receipts(world, ledger)
        invariants.check_errors(world)


class TestC08EqualPayloadsDifferentHash:
    def test_other_order_and_other_case_are_the_same_wish(self) -> None:
        world = World()
        world.run_until(is_awaiting)
        turned_round = {**dict(reversed(list(WANTED.items()))), "currency": "usd"}
        assert asks_again(world, turned_round) == (202, world.ledger.run.run_id)
        finish(world)
        assert len(world.orchestrator.executions) == 1
        assert len(posts(world)) == 1

    def test_the_table_gives_the_digest_and_the_key_back_as_they_were_made(self) -> None:
        in_memory = World()
        finish(in_memory)
        with ledger_table() as client:
            store = DynamoDbStore(client, TABLE_NAME, sleep=lambda _: None, random=lambda: 0.0)
            world = World(store=store)
            finish(world)
            stored = world.ledger
        (approval,) = stored.approvals
        again = Approval.payload_digest(approval.payload, approval.consequences)
        assert approval.digest == again == PINNED_DIGEST
        assert posts(world) == posts(in_memory)

    @pytest.mark.parametrize("amount", [7_900.0, "7900", float("nan"), True], ids=repr)
    def test_an_amount_that_is_no_whole_number_is_refused_at_the_door(self, amount: object) -> None:
        world = World()
        assert asks_again(world, {**WANTED, "amount_minor": amount}) == (422, "")
        assert world.runs() == []
        assert world.orchestrator.executions == {}


def ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the version end the renewal at once from now on, and its provider know how."""
    compose = StripeBilling.compose

    def composed(provider: StripeBilling, intent: Intent) -> dict[str, object]:
        known = intent.model_copy(update={"bound": {**intent.bound, "cancel_at": "period_end"}})
        return {**compose(provider, known), "cancel_at_period_end": False, "cancel_now": True}

    def consequence(_provider: StripeBilling, params: Mapping[str, object]) -> dict[str, object]:
        return {"subscription_id": params["subscription"], "cancel_at": AT_ONCE}

    def authority(*_arguments: object) -> Authority:
        return Authority(allowed=True, reason="it can be ended", snapshot={})

    monkeypatch.setattr(StripeBilling, "compose", composed)
    monkeypatch.setattr(StripeBilling, "consequence", consequence)
    monkeypatch.setattr(StripeBilling, "authority", authority)
    for definition in (usual().definition, KNOWN[usual().definition.version]):
        fixed = definition.operation("cancel_renewal").fixed
        monkeypatch.setitem(fixed, "cancel_at", AT_ONCE)


class TestC22Approved82000Executed820000:
    def altered(self, **request: str | int) -> World:
        """Return the world whose run's own request changed after the yes, with the renewal off."""
        world = World()
        world.stripe.world.add_charge("ch_2", "cus_1", 10_000)
        world.run_until(renewal_is_off)
        run_id = world.ledger.run.run_id

        def alter(draft: Draft) -> None:
            draft.set_run(request={**draft.ledger.run.request, **request})
            draft.note(EventKind.RECONCILE_READ, "altered by a bug or an intruder")

        world.processes.run("intruder", lambda ports: update(ports, run_id, SOMEBODY, alter))
        return world

    @pytest.mark.parametrize(
        ("name", "value"), [("amount_minor", 9_900), ("amount_minor", 790), ("charge_id", "ch_2")]
    )
    def test_another_amount_or_charge_is_not_sent_and_the_customer_is_asked_for_exactly_it(
        self, name: str, value: str | int
    ) -> None:
        world = self.altered(**{name: value})
        world.run_until(lambda ledger: len(ledger.approvals) == 2)
        check_invariants(world)
        assert is_awaiting(world.ledger)
        asked = world.ledger.pending_approval()
        assert asked is not None
        assert asked.payload["refund"][name] == value
        assert posts(world) == []

    @pytest.mark.parametrize(("name", "value"), [("amount_minor", 79_000), ("currency", "EUR")])
    def test_what_the_charge_does_not_allow_either_stops_at_a_person(
        self, name: str, value: str | int
    ) -> None:
        world = self.altered(**{name: value})
        world.run()
        check_invariants(world)
        assert world.ledger.run.state is RunState.REVIEW
        assert posts(world) == []

    def test_a_renewal_that_would_end_at_once_is_asked_for_anew_and_not_written(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Given a yes to end the renewal with its period.
        world = World()
        world.run_until(lambda ledger: ledger.proven("request_approved") is not None)

        # When the version's code is changed to end it at once, and its provider can do that.
        ends_at_once(monkeypatch)
        world.run_until(lambda ledger: len(ledger.approvals) == 2)

        # Then nothing was written, and the customer is asked for exactly that.
        check_invariants(world)
        assert is_awaiting(world.ledger)
        asked = world.ledger.pending_approval()
        assert asked is not None
        assert asked.payload["cancel_renewal"]["cancel_at"] == AT_ONCE
        assert world.stripe.posts() == []

    @pytest.mark.parametrize(
        ("provider", "wrong"),
        [
            (StripeRefunds, {"amount": 79_000}),
            (StripeRefunds, {"charge": "ch_2"}),
            (StripeBilling, {"subscription": "sub_2"}),
            (StripeBilling, {"cancel_at_period_end": False}),
        ],
        ids=str,
    )
    def test_bytes_that_would_do_something_else_are_not_sent(
        self,
        provider: type[StripeRefunds | StripeBilling],
        wrong: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        compose = provider.compose
        monkeypatch.setattr(
            provider, "compose", lambda self, intent: {**compose(self, intent), **wrong}
        )
        world = World()
        world.run()
        check_invariants(world)
        assert "differs from its approved fields" in world.ledger.run.review_reason
        path = REFUNDS if provider is StripeRefunds else SUBSCRIPTIONS
        assert world.stripe.posts(path) == []

    @pytest.mark.parametrize(
        ("provider", "wrong"),
        [
            (StripeRefunds, {"reverse_transfer": True}),
            (StripeRefunds, {"refund_application_fee": True}),
            (StripeBilling, {"cancel_at": 1_767_225_600}),
            (StripeBilling, {"proration_behavior": "create_prorations"}),
        ],
        ids=str,
    )
    def test_bytes_that_would_do_something_more_are_not_sent(
        self,
        provider: type[StripeRefunds | StripeBilling],
        wrong: dict[str, object],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        compose = provider.compose
        monkeypatch.setattr(
            provider, "compose", lambda self, intent: {**compose(self, intent), **wrong}
        )
        world = World()
        world.run()
        path = REFUNDS if provider is StripeRefunds else SUBSCRIPTIONS
        assert world.stripe.posts(path) == []
        assert world.ledger.run.state is RunState.REVIEW
        check_run(world, world.ledger)

    def test_a_note_is_no_bound_field_and_stops_nothing(self) -> None:
        world = World()
        world.run_until(is_awaiting)
        said = asks_again(world, words="And please tell me when it is done.")
        finish(world)
        assert said == (202, world.ledger.run.run_id)
        assert world.ledger.run.state is RunState.COMPLETED
        assert len(world.ledger.approvals) == 1

    def test_a_yes_is_used_once_and_the_same_wish_again_needs_another(self) -> None:
        # Given a refund that was approved and made, well inside the lifetime of its yes.
        world = World(wanted={**WANTED, "amount_minor": 1_000})
        finish(world)
        (spent,) = world.ledger.approvals
        assert spent.spent_on["refund"] == refund_of(world.ledger).effect_id

        # When the same refund is wished for once more, and the old yes is held against it.
        world.stripe.world.add_subscription("sub_2", "cus_1")
        wish = {**WANTED, "amount_minor": 1_000, "subscription_id": "sub_2"}
        status, world.customer.run_id = asks_again(world, wish, key="another-key")
        assert status == 202
        (execution,) = world.orchestrator.running()
        while self.second_run(world).state is RunState.ACTIVE:
            world.orchestrator.step(execution)
        shown = {"approval_id": spent.approval_id, "digest": spent.digest}
        answered = world.customer.answer(shown, Decision.APPROVE)

        # Then nothing is sent for it, and the old yes is no yes to it.
        assert answered is not None
        assert answered["statusCode"] == 404
        assert self.second_run(world).state is RunState.AWAITING_APPROVAL
        assert len(posts(world)) == 1

    def second_run(self, world: World) -> Run:
        ledger = world.store.load(str(world.customer.run_id))
        assert ledger is not None
        return ledger.run
