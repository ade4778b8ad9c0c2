"""Deliberate faults in claiming, sending and settling."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from ledger import answer, claim, instance, perform, resume, settle
from ledger.approval import Approval
from ledger.compare import Judgement, Verdict
from ledger.contract import ProviderContract
from ledger.draft import Draft
from ledger.effect import Effect, FrozenRequest
from ledger.idempotency import idempotency_key_for
from ledger.provider import Authority
from ledger.run import RunLedger
from ledger.transitions import EFFECT_TRANSITIONS, EffectState
from ledger.workflow import Operation
from tests.simulation.tampering import Forgetful, everywhere


def skip_the_claim() -> AbstractContextManager[object]:
    """Call the provider without having written the intent down."""
    return everywhere(
        claim,
        "claim",
        lambda original: (
            lambda ports, *rest: original(replace(ports, store=Forgetful(ports.store)), *rest)
        ),
    )


def settle_without_the_claim() -> AbstractContextManager[object]:
    """Let a worker that was given up settle what somebody else is about."""

    def wrap(original: Any) -> Any:
        def keep(draft: Draft, effect: Effect, attempt: Any, record: Any) -> None:
            if effect.state in (EffectState.ATTEMPTING, EffectState.UNKNOWN):
                settle.settle_accepted(draft, effect, record, "better late than never")
            else:
                original(draft, effect, attempt, record)

        return keep

    return everywhere(answer, "keep_late_result", wrap)


def confirm_without_reading_back() -> AbstractContextManager[object]:
    """Take the answer to the write for the separate read."""

    def wrap(original: Any) -> Any:
        def read_back(ports: Any, contract: Any, effect: Effect, call: Any, said: Any) -> Any:
            if isinstance(said, Exception) or not contract.confirmed_by_read:
                return original(ports, contract, effect, call, said)
            record = said.model_copy(update={"fields": {**effect.bound, **said.fields}})
            return Judgement(verdict=Verdict.MATCH, reason="it said so", record=record)

        return read_back

    return everywhere(perform, "_read_back", wrap)


def _next_key(draft: Draft, effect: Effect) -> Effect:
    generation = effect.generation + 1
    run_id = draft.ledger.run.run_id
    key = idempotency_key_for(run_id, effect.operation, effect.bound, effect.instance, generation)
    return effect.model_copy(update={"generation": generation, "idempotency_key": key})


def new_key_on_every_attempt() -> AbstractContextManager[object]:
    """Send each attempt under a key of its own."""

    def wrap(original: Any) -> Any:
        def living(draft: Draft, contract: ProviderContract, effect: Effect) -> Effect:
            found: Effect = original(draft, contract, effect)
            return _next_key(draft, found) if found.attempts else found

        return living

    return everywhere(claim, "_with_living_key", wrap)


def key_used_past_its_life() -> AbstractContextManager[object]:
    """Go on using a key that the provider has forgotten."""

    def wrap(original: Any) -> Any:
        def living(draft: Draft, contract: ProviderContract, effect: Effect) -> Effect:
            if effect.key_protects_until_ms is not None:
                return effect
            found: Effect = original(draft, contract, effect)
            return found

        return living

    return everywhere(claim, "_with_living_key", wrap)


def key_conflict_gets_a_new_key() -> AbstractContextManager[object]:
    """Answer "this key is known with another request" with a fresh key."""

    def wrap(original: Any) -> Any:
        def settle_fault(
            draft: Draft, contract: Any, effect: Effect, fault: Any, judgement: Any
        ) -> None:
            if fault.code == "idempotency_error":
                settle.settle_not_reached(draft, _next_key(draft, effect), str(fault))
            else:
                original(draft, contract, effect, fault, judgement)

        return settle_fault

    return everywhere(answer, "settle_fault", wrap)


def change_the_amount() -> AbstractContextManager[object]:
    """Send one cent more than was approved."""
    original = FrozenRequest.params

    def params(self: FrozenRequest) -> dict[str, object]:
        found = original(self)
        amount_minor = found.get("amount")
        return {**found, "amount": amount_minor + 1} if isinstance(amount_minor, int) else found

    return patch.object(FrozenRequest, "params", params)


@contextmanager
def trust_the_checked_bytes() -> Iterator[None]:
    """Send other bytes, with the comparison of their consequence left out."""
    with (
        change_the_amount(),
        everywhere(perform, "check_consequence", lambda _: lambda _effect, _consequence: None),
    ):
        yield


def ignore_the_owner() -> AbstractContextManager[object]:
    """Write without asking whether customer and target still allow it."""

    def surely(*_rest: object) -> Authority:
        return Authority(allowed=True, reason="surely", snapshot={})

    return patch.object(perform, "read_authority", surely)


@contextmanager
def begin_beside_another_worker() -> Iterator[None]:
    """Begin an attempt while another worker may be inside its call."""

    def wrap(original: Any) -> Any:
        def check(effect: Effect, now_ms: int) -> None:
            if effect.state is not EffectState.ATTEMPTING:
                original(effect, now_ms)

        return check

    allowed = {**EFFECT_TRANSITIONS, EffectState.ATTEMPTING: frozenset(EffectState)}
    with (
        everywhere(claim, "check_can_begin", wrap),
        patch("ledger.transitions.EFFECT_TRANSITIONS", allowed),
    ):
        yield


@contextmanager
def spend_an_approval_twice() -> Iterator[None]:
    """After a refusal, try once more under the same yes."""

    def wrap_instance(original: Any) -> Any:
        def instance_of(ledger: RunLedger, operation: Operation) -> int:
            newest = ledger.newest_effect(operation.name)
            refused = newest is not None and newest.state is EffectState.REJECTED
            return int(original(ledger, operation)) + (1 if refused else 0)

        return instance_of

    def refusal(self: Approval, operation: str, bound: Any, *rest: Any) -> str | None:
        spent: dict[str, str] = {}
        return original(self.model_copy(update={"spent_on": spent}), operation, bound, *rest)

    original = Approval.refusal
    with (
        everywhere(instance, "instance_of", wrap_instance),
        everywhere(instance, "is_stuck", lambda _: lambda _ledger, _effect: False),
        patch.object(Approval, "refusal", refusal),
    ):
        yield


def receipt_before_the_refund() -> AbstractContextManager[object]:
    """Send the receipt while the refund is only accepted."""

    def wrap(_original: Any) -> Any:
        def settle_found(draft: Draft, effect: Effect, judgement: Any) -> Effect:
            if judgement.record is None or judgement.verdict is Verdict.CONFLICT:
                return settle.settle_conflict(draft, effect, judgement)
            return settle.settle_confirmed(draft, effect, judgement.record, "good enough")

        return settle_found

    return everywhere(settle, "settle_found", wrap)


def complete_before_the_receipt() -> AbstractContextManager[object]:
    """Call the run completed once the refund is confirmed."""

    def wrap(original: Any) -> Any:
        def next_state(definition: Any, ledger: RunLedger) -> Any:
            found = original(definition, ledger)
            return resume.DONE if found == "SendReceipt" else found

        return next_state

    return everywhere(resume, "next_state", wrap)
