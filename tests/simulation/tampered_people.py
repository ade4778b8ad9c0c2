"""Deliberate faults in what executions, sweepers and people may do, and are told."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from ledger import act, actions, approve, due, packet, status, sweep, task
from ledger.draft import Draft
from ledger.errors import StaleExecution
from ledger.event import EventKind
from ledger.offer import find_offer
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from ledger.update import load, update
from tests.simulation.readers import forget_situations
from tests.simulation.tampering import everywhere


def forget_the_epoch() -> AbstractContextManager[object]:
    """Let a replaced execution act as if it owned the run."""

    def wrap(_original: Any) -> Any:
        def check_owner(run: Any, _task: Any) -> None:
            if not run.is_open:
                raise StaleExecution("closed")

        return check_owner

    return everywhere(task, "check_owner", wrap)


def ignore_the_digest() -> AbstractContextManager[object]:
    """Take a yes to whatever was shown for a yes to what is on record."""

    def wrap(original: Any) -> Any:
        def decide(ports: Any, run_id: str, approval_id: str, _shown: str, *rest: Any) -> Any:
            found = load(ports, run_id).approval(approval_id)
            return original(ports, run_id, approval_id, found.digest if found else "", *rest)

        return decide

    return everywhere(approve, "decide_approval", wrap)


def sweep_without_a_claim() -> AbstractContextManager[object]:
    """Look after a run without having told the other sweepers."""
    return everywhere(sweep, "_claim", lambda _: load)


def sweep_what_is_not_due() -> AbstractContextManager[object]:
    """Believe the index."""

    def wrap(_original: Any) -> Any:
        def claimed(ports: Any, run_id: str) -> RunLedger | None:
            def decide(draft: Draft) -> None:
                draft.note(EventKind.SWEEP_CLAIMED, "nominated")

            found = load(ports, run_id)
            return update(ports, run_id, sweep.SWEEPER, decide) if found.run.is_open else None

        return claimed

    return everywhere(sweep, "_claim", wrap)


def ignore_the_view_version() -> AbstractContextManager[object]:
    """Perform an action on a run that has changed since it was looked at."""

    def wrap(original: Any) -> Any:
        def act_now(ports: Any, definition: Any, run_id: str, choice: Any, actor: Any) -> Any:
            now = load(ports, run_id).run.sequence
            chosen = choice.model_copy(update={"view_version": now})
            return original(ports, definition, run_id, chosen, actor)

        return act_now

    return everywhere(act, "perform_action", wrap)


def do_what_is_not_allowed() -> AbstractContextManager[object]:
    """Offer every action, whatever the reasons against it."""

    def wrap(_original: Any) -> Any:
        def allowed(ports: Any, definition: Any, draft: Draft, choice: Any) -> Any:
            contracts = {name: found.contract for name, found in ports.providers.items()}
            found = actions.offers(definition, draft.ledger, contracts.__getitem__, draft.now_ms)
            return find_offer(found, choice.action, choice.effect_id)

        return allowed

    return everywhere(act, "_allowed", wrap)


def nobody_looks_after_a_waiting_run() -> AbstractContextManager[object]:
    """Give a run that waits for its customer no due time."""

    def wrap(original: Any) -> Any:
        def next_look(ledger: RunLedger, now_ms: int) -> int | None:
            waits = ledger.run.state is RunState.AWAITING_APPROVAL
            return None if waits else original(ledger, now_ms)

        return next_look

    return everywhere(due, "next_look_at_ms", wrap)


@contextmanager
def promise_the_customer_too_much() -> Iterator[None]:
    """Call what a provider has accepted confirmed."""
    words = {**status.EFFECT_WORDS, EffectState.ACCEPTED: "confirmed"}
    forget_situations()
    with patch.object(status, "EFFECT_WORDS", words):
        yield
    forget_situations()


@contextmanager
def tell_the_model_too_much() -> Iterator[None]:
    """Tell a model that what is unknown is confirmed."""
    words = {**packet.EFFECT_WORDS, EffectState.UNKNOWN: "is confirmed"}
    forget_situations()
    with patch.object(packet, "EFFECT_WORDS", words):
        yield
    forget_situations()
