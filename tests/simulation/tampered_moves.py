"""Deliberate faults in moving runs to another version, and in taking back what was done."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from ledger import act, approve, consequence, counter, execution, migration, status
from ledger.draft import Draft
from ledger.event import EventKind
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.update import update
from tests.simulation.readers import forget_situations
from tests.simulation.tampering import everywhere, without


def without_an_event() -> AbstractContextManager[object]:
    """Bind a run to another version and say nothing of it."""
    return without(EventKind.RUN_MIGRATED)()


def while_in_doubt() -> AbstractContextManager[object]:
    """Move a run whose effect nobody has looked up."""

    def wrap(original: Any) -> Any:
        def change(ports: Any, run_id: str, actor: Any, decide: Any) -> Any:
            def blindly(draft: Draft) -> None:
                with patch.object(RunLedger, "unsettled_effects", lambda _self: ()):
                    decide(draft)

            return original(ports, run_id, actor, blindly)

        return change

    return patch.object(migration, "update", wrap(update))


def away_from_what_is_deployed() -> AbstractContextManager[object]:
    """Move a run as soon as there is a newer version."""

    def wrap(original: Any) -> Any:
        def start(ports: Any, run_id: str, actor: Any) -> Any:
            run = ports.store.load(run_id).run
            if ports.versions is not None and ports.versions.way_on(run.workflow):
                migration.migrate(ports, run_id, run.workflow, actor)
            return original(ports, run_id, actor)

        return start

    return everywhere(execution, "start_execution", wrap)


def carry_unchecked() -> AbstractContextManager[object]:
    """Carry every checkpoint, whatever the migration and the newer version say of it."""
    return everywhere(migration, "_carry_checkpoints", lambda _: lambda *_move: None)


def lose_a_proof() -> AbstractContextManager[object]:
    """Begin anew as the newer version, with nothing proven."""

    def wrap(_original: Any) -> Any:
        def carry(draft: Draft, _new: Any, _move: Any, _old: str) -> None:
            for known in draft.ledger.checkpoints:
                draft.withdraw(known, "all over again")

        return carry

    return everywhere(migration, "_carry_checkpoints", wrap)


def plan_an_effect_anew() -> AbstractContextManager[object]:
    """Forget which key and how many attempts an effect has had."""

    def wrap(_original: Any) -> Any:
        def carry(draft: Draft, *_new: Any) -> None:
            for effect in draft.ledger.effects:
                draft.put_effect(effect.model_copy(update={"attempts": ()}))

        return carry

    return everywhere(migration, "_carry_effects", wrap)


def keep_the_execution() -> AbstractContextManager[object]:
    """Move a run and let the older execution own it."""
    return everywhere(migration, "assign_execution", lambda _: lambda _draft, _reason: None)


def keep_a_yes_to_something_else() -> AbstractContextManager[object]:
    """Take a yes for good whatever the newer version does."""
    return everywhere(consequence, "what_changed", lambda _: lambda *_run: "")


def ask_anew() -> AbstractContextManager[object]:
    """Ask again because the version has another name."""

    def wrap(original: Any) -> Any:
        def changed(definition: Any, ledger: Any, approval: Any) -> str:
            other = approval.workflow != definition.version
            return "another version" if other else str(original(definition, ledger, approval))

        return changed

    return everywhere(consequence, "what_changed", wrap)


@contextmanager
def take_back_without_a_yes() -> Iterator[None]:
    """Make a counter-effect as soon as an operator offers it."""

    def wrap(original: Any) -> Any:
        def offer(draft: Draft, definition: Any, choice: Any) -> None:
            original(draft, definition, choice)
            newest = draft.ledger.newest_approval()
            assert newest is not None
            granted = {"state": "approved", "decided_by": "nobody", "decided_at_ms": draft.now_ms}
            approve._grant(draft, newest.model_copy(update=granted), draft.actor)

        return offer

    with everywhere(act, "_offer_counter", wrap):
        yield


@contextmanager
def take_back_by_itself() -> Iterator[None]:
    """Let an operator's request make a counter-effect at once."""

    def wrap(original: Any) -> Any:
        def decide(ports: Any, run_id: str, *rest: Any) -> Any:
            decided = original(ports, run_id, *rest)
            counter.perform_counter(ports, ports.clock, run_id)
            return decided

        return decide

    with everywhere(approve, "decide_approval", wrap):
        yield


def go_on_after_all() -> AbstractContextManager[object]:
    """Let a person go on with a run whose work was taken back."""
    return patch.object(RunLedger, "undone_effects", lambda _self: ())


@contextmanager
def call_it_done() -> Iterator[None]:
    """Tell the customer that what was taken back stands."""
    forget_situations()
    with patch.object(status, "UNDONE_WORDS", status.EFFECT_WORDS[EffectState.CONFIRMED]):
        yield
    forget_situations()
