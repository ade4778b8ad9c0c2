"""Deliberate faults in looking up, comparing and concluding."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from ledger import compare, reconcile, review
from ledger.compare import Verdict
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.event import EventKind
from ledger.provider import Findings, RecordStatus
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from ledger.update import update
from tests.simulation.tampering import everywhere


def retry_on_age() -> AbstractContextManager[object]:
    """Take an unknown effect that is old enough for one that did not happen."""

    def wrap(original: Any) -> Any:
        def put_read(draft: Draft, effect: Effect, kind: EventKind, reason: str) -> None:
            old = draft.now_ms - (effect.unsettled_since_ms or 0) > 20_000
            if effect.state is EffectState.UNKNOWN and old:
                draft.move_effect(
                    effect,
                    EffectState.PLANNED,
                    EventKind.ABSENCE_PROVEN,
                    "old enough",
                    unsettled_since_ms=None,
                )
            else:
                original(draft, effect, kind, reason)

        return put_read

    return everywhere(reconcile, "_put_read", wrap)


def mail_again_on_age() -> AbstractContextManager[object]:
    """Send a mail whose answer was lost once more by machine."""

    def wrap(original: Any) -> Any:
        def put_read(draft: Draft, effect: Effect, kind: EventKind, reason: str) -> None:
            if effect.operation == "receipt" and effect.state is EffectState.UNKNOWN:
                draft.move_effect(
                    effect,
                    EffectState.PLANNED,
                    EventKind.RECONCILE_READ,
                    "send it again",
                    unsettled_since_ms=None,
                )
            else:
                original(draft, effect, kind, reason)

        return put_read

    return everywhere(reconcile, "_put_read", wrap)


def match_by_amount() -> AbstractContextManager[object]:
    """Take any record with the approved fields for ours."""

    def wrap(original: Any) -> Any:
        def judge(effect: Effect, findings: Findings) -> Any:
            records = tuple(
                found
                if compare.differing_fields(effect, found)
                else found.model_copy(update={"mark": effect.effect_id})
                for found in findings.records
            )
            return original(effect, findings.model_copy(update={"records": records}))

        return judge

    return everywhere(compare, "judge", wrap)


def one_absence_read_suffices() -> AbstractContextManager[object]:
    """Prove absence by a single look."""
    return everywhere(
        reconcile,
        "_count_absence",
        lambda original: (
            lambda draft, contract, effect, read: original(
                draft, contract.model_copy(update={"absence_reads": 1}), effect, read
            )
        ),
    )


def no_settle_window() -> AbstractContextManager[object]:
    """Let two reads of the same moment prove absence."""
    return everywhere(
        reconcile,
        "_count_absence",
        lambda original: (
            lambda draft, contract, effect, read: original(
                draft, contract.model_copy(update={"settle_window_seconds": 0}), effect, read
            )
        ),
    )


def absence_read_dated_by_its_end() -> AbstractContextManager[object]:
    """Take a read that was answered after the claim had lapsed for one that began then."""
    return everywhere(
        reconcile,
        "_Read",
        lambda original: (
            lambda found, _began_at_ms, ended_at_ms: original(found, ended_at_ms, ended_at_ms)
        ),
    )


def absence_counted_at_commit_time() -> AbstractContextManager[object]:
    """Date a read by when its result was written down."""
    return everywhere(
        reconcile,
        "_count_absence",
        lambda original: (
            lambda draft, contract, effect, read: original(
                draft,
                contract,
                effect,
                read._replace(began_at_ms=draft.now_ms, ended_at_ms=draft.now_ms),
            )
        ),
    )


def absence_while_the_claim_is_live() -> AbstractContextManager[object]:
    """Count reads made while a worker may be inside its call."""
    return patch.object(Effect, "claim_is_live", lambda _self, _now_ms: False)


def partial_list_is_complete() -> AbstractContextManager[object]:
    """Take a list whose pages were not all read for the whole."""
    return everywhere(
        compare,
        "judge",
        lambda original: (
            lambda effect, findings: original(
                effect, findings.model_copy(update={"complete": True})
            )
        ),
    )


def call_a_pending_refund_confirmed() -> AbstractContextManager[object]:
    """Take a record that is not finished for one that is."""
    verdicts = {**compare.VERDICT_OF, RecordStatus.PENDING: Verdict.MATCH}
    return patch.object(compare, "VERDICT_OF", verdicts)


def believe_an_old_checkpoint() -> AbstractContextManager[object]:
    """Go on believing a checkpoint whose effect was contradicted since."""

    def proven(self: RunLedger, name: str) -> Any:
        return next((found for found in self.checkpoints if found.name == name), None)

    return patch.object(RunLedger, "proven", proven)


def judge_by_an_old_view() -> AbstractContextManager[object]:
    """Send a run to review for what its own newer work has changed."""

    def wrap(_original: Any) -> Any:
        def record(ports: Any, found: Any, _operation: Any, _seen: Any, reason: str) -> None:
            def decide(draft: Draft) -> None:
                run = draft.ledger.run
                if run.epoch == found.epoch and run.is_open and run.state is not RunState.REVIEW:
                    draft.send_to_review(reason)

            update(ports, found.run_id, found.actor, decide)

        return record

    return everywhere(review, "record_review", wrap)
