"""The scheduled audit: read what providers hold under our marks, and compare it with the ledger.

Duplicates are measured, not inferred: no state of the ledger says that there is one, and the fault
that makes one may be in the ledger. So the provider is asked for its recent records, and each mark
is looked up. Nothing is written, here or there; what is found is counted and logged.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.audit import Audited, MarkedRecord
from ledger.effect import Effect
from ledger.errors import InvariantBroken
from ledger.idempotency import ID_CHARACTERS
from ledger.ports import Clock, TimeLeft
from ledger.provider import ProviderFault
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import EffectState
from runtime.boundary import boundary
from runtime.log import log, log_failure
from runtime.metric_names import DUPLICATE_EFFECTS, RECORDS_AUDITED, UNLEDGERED_EFFECTS
from runtime.metrics import measure
from runtime.wiring import CLOCK, audited, ledger_store, time_left

# Two days: twice as long as a key protects, so a replay that it did not stop is still in it, and
# the alarm stays on over a night. An older twin is known from the ledger's evidence.
WINDOW_SECONDS = 48 * 3600
# Of a hundred records each. More than this in the window is said to be incomplete.
MAX_PAGES = 20
# Two reads a second beside the work of runs: a fiftieth of what docs.stripe.com/rate-limits allows
# in live mode (100 a second), a twelfth of a sandbox's 25.
PAUSE_SECONDS = 0.5
# A page, or a run, takes up to five seconds; do not begin what cannot end.
MIN_REMAINING_MS = 8_000
# What a person needs to begin with. The count says how many there are.
MAX_LOGGED = 20
# The mark is metadata: a person may have written anything into it, and logs quote ids only.
_OUR_ID = re.compile(rf"(run|eff)_[a-z2-7]{{{ID_CHARACTERS}}}")


class Finding(NamedTuple):
    """An effect that should not be as it is, with the provider's records of it."""

    provider: str
    run_id: str
    effect_id: str
    record_ids: tuple[str, ...]


@dataclass
class AuditResult:
    """What one audit came to."""

    records: int = 0
    complete: bool = True
    """Whether all of the window was read, and compared."""

    unreadable: int = 0
    """Entries of a provider and runs of the ledger that were passed over."""

    duplicates: list[Finding] = field(default_factory=list)
    unledgered: list[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class Auditor:
    """The outside of one audit. ``sleep`` takes seconds."""

    providers: Mapping[str, Audited]
    store: LedgerStore
    clock: Clock
    time_left: TimeLeft
    sleep: Callable[[float], None]

    def audit(self) -> AuditResult:
        """Return what was found. Raises LedgerUnavailable when the store gave no answer.

        A provider that cannot be read to the end leaves the result incomplete, and so does one
        entry or one run that cannot be read; what was found of the others counts all the same.
        """
        result = AuditResult()
        for name, provider in self.providers.items():
            by_run: dict[str, list[MarkedRecord]] = defaultdict(list)
            for record in self._records(name, provider, result):
                by_run[record.run_id].append(record)
                result.records += 1
            for run_id, records in by_run.items():
                if self.time_left.remaining_ms() < MIN_REMAINING_MS:
                    result.complete = False
                    break
                self._compare(name, run_id, records, result)
        if result.unreadable:
            result.complete = False
        return result

    def _records(self, name: str, provider: Audited, result: AuditResult) -> Iterator[MarkedRecord]:
        since_ms = self.clock.now_ms() - WINDOW_SECONDS * 1000
        after: str | None = None
        for _ in range(MAX_PAGES):
            if self.time_left.remaining_ms() < MIN_REMAINING_MS:
                break
            try:
                page = provider.marked_since(since_ms, after)
            except ProviderFault as fault:
                log_failure("the provider could not be audited", fault, provider=name)
                break
            result.unreadable += page.unreadable
            yield from page.records
            if page.next is None:
                return
            after = page.next
            self.sleep(PAUSE_SECONDS)
        result.complete = False

    def _compare(
        self, name: str, run_id: str, records: list[MarkedRecord], result: AuditResult
    ) -> None:
        try:
            ledger, readable = self.store.load(run_id), True
        except InvariantBroken as error:
            # Two records of one effect are two, whatever the ledger says.
            ledger, readable = None, False
            result.unreadable += 1
            log_failure("a run could not be read", error, run_id=_id(run_id))
        by_effect: dict[str, set[str]] = defaultdict(set)
        for record in records:
            by_effect[record.effect_id].add(record.record_id)
        for effect_id, record_ids in by_effect.items():
            effect = ledger.effect(effect_id) if ledger else None
            known = effect is not None and effect.provider == name and bool(effect.attempts)
            held = record_ids | (_proven_by(effect) if effect and known else set())
            finding = Finding(name, run_id, effect_id, tuple(sorted(held)))
            if readable and not known:
                result.unledgered.append(finding)
            if len(held) > 1:
                result.duplicates.append(finding)
        if ledger is not None:
            failed = {record.record_id for record in records if record.failed}
            result.duplicates += _twins(name, ledger, by_effect, failed)


def _twins(
    name: str, ledger: RunLedger, by_effect: Mapping[str, set[str]], failed: set[str]
) -> Iterator[Finding]:
    """Yield each approved operation of the run that more than one of its effects has brought about.

    To the provider those are different writes, and to the ledger each may be proven. But another
    instance is made only where the one before is refused or was given up.
    """
    done: dict[str, list[tuple[Effect, set[str]]]] = defaultdict(list)
    for effect in ledger.effects:
        may_count = effect.state is not EffectState.REJECTED and not effect.superseded
        if effect.provider == name and effect.approval_id is not None and may_count:
            held = by_effect.get(effect.effect_id, set()) | _proven_by(effect)
            if held - failed:
                done[effect.operation].append((effect, held - failed))
    for effects in done.values():
        if len(effects) > 1:
            newest = max((effect for effect, _ in effects), key=lambda found: found.instance)
            held = {record_id for _, records in effects for record_id in records}
            yield Finding(name, ledger.run.run_id, newest.effect_id, tuple(sorted(held)))


def _proven_by(effect: Effect) -> set[str]:
    """Return the record that proves the effect, which may be older than the window."""
    return {effect.evidence.record_id} if effect.evidence else set()


def report(result: AuditResult) -> None:
    """Count what was found, and log where to look.

    An audit that did not get to the end says nothing of zero: it would be a guess.
    """
    for metric, findings in (
        (DUPLICATE_EFFECTS, result.duplicates),
        (UNLEDGERED_EFFECTS, result.unledgered),
    ):
        if findings or result.complete:
            measure(metric, len(findings))
    if result.complete:
        measure(RECORDS_AUDITED, result.records)
    for message, findings in (
        ("an effect was made more than once", result.duplicates),
        ("a record of ours that the ledger does not know", result.unledgered),
    ):
        for found in findings[:MAX_LOGGED]:
            log(
                message,
                provider=found.provider,
                run_id=_id(found.run_id),
                effect_id=_id(found.effect_id),
                records=", ".join(found.record_ids[:MAX_LOGGED]),
                count=len(found.record_ids),
            )


def _id(text: str) -> str:
    return text if _OUR_ID.fullmatch(text) else "not an id of ours"


def handler(_event: Mapping[str, object], context: LambdaContext) -> dict[str, int | bool]:
    """Return the counts of one audit."""
    with boundary("the audit did not finish", stage="audit"):
        auditor = Auditor(audited(), ledger_store(), CLOCK, time_left(context), time.sleep)
        result = auditor.audit()
        report(result)
        log("audited", count=result.records, outcome="complete" if result.complete else "partial")
        if result.unreadable:
            log("passed over, for it could not be read", count=result.unreadable)
        return {
            "records": result.records,
            "duplicates": len(result.duplicates),
            "unledgered": len(result.unledgered),
            "unreadable": result.unreadable,
            "complete": result.complete,
        }
