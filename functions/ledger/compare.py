"""Judge what a provider holds against what was approved, field by field."""

from enum import StrEnum

from ledger.effect import Effect
from ledger.idempotency import is_effect_id
from ledger.provider import Findings, ProviderRecord, RecordStatus
from ledger.record import Record
from ledger.run import RunLedger
from ledger.short import short_record

# What a reviewer can read at a glance, and far below any item limit.
MAX_CANDIDATES = 10


class Verdict(StrEnum):
    """What a look-up shows about one effect."""

    MATCH = "match"
    PENDING = "pending"
    FAILED = "failed"
    CONFLICT = "conflict"
    ABSENT = "absent"
    INCOMPLETE = "incomplete"


VERDICT_OF = {
    RecordStatus.DONE: Verdict.MATCH,
    RecordStatus.PENDING: Verdict.PENDING,
    RecordStatus.FAILED: Verdict.FAILED,
}


class Judgement(Record):
    """A verdict, its reason in words, and the records it rests on."""

    verdict: Verdict
    reason: str
    record: ProviderRecord | None = None
    candidates: tuple[ProviderRecord, ...] = ()
    others: tuple[ProviderRecord, ...] = ()
    """What else has an effect at the same target: made by nobody of ours, or for another effect."""

    concerns: tuple[str, ...] = ()


def judge(effect: Effect, findings: Findings) -> Judgement:
    """Return what ``findings`` prove about ``effect``.

    A record is ours only by our mark. One that matches in every field but carries no mark might
    be ours or a colleague's: that is a person's question, whichever way it looks.
    """
    findings = as_marked(effect, findings)
    others = tuple(
        found
        for found in findings.records
        if found.mark != effect.effect_id and found.status is not RecordStatus.FAILED
    )
    return _verdict(effect, findings).model_copy(
        update={"others": others[:MAX_CANDIDATES], "concerns": findings.concerns}
    )


def as_marked(effect: Effect, findings: Findings) -> Findings:
    """Return ``findings`` with the marks that were written by us, and texts of a kept length.

    What is no id of an effect was put there, or put in the place of our mark, by somebody else: it
    says as little of whose the record is as no mark at all.
    """
    return _with_records(findings, [_as_marked(effect, found) for found in findings.records])


def _as_marked(effect: Effect, record: ProviderRecord) -> ProviderRecord:
    mark = record.mark
    told = mark is not None and (mark == effect.effect_id or is_effect_id(mark))
    return short_record(record if told else record.model_copy(update={"mark": None}))


def of_run(ledger: RunLedger, findings: Findings) -> Findings:
    """Return ``findings`` without marks that can only be altered ones of this run's effects.

    A record that names the run was made by it, so a mark that is none of its effects' was changed
    since: by one letter it looks like the mark of another run.
    """
    return _with_records(
        findings,
        [
            found.model_copy(update={"mark": None}) if _is_altered(ledger, found) else found
            for found in findings.records
        ],
    )


def _with_records(findings: Findings, records: list[ProviderRecord]) -> Findings:
    if all(new is found for new, found in zip(records, findings.records, strict=True)):
        return findings
    return findings.model_copy(update={"records": tuple(records)})


def _is_altered(ledger: RunLedger, record: ProviderRecord) -> bool:
    if record.mark is None or record.run_mark != ledger.run.run_id:
        return False
    return ledger.effect(record.mark) is None


def _verdict(effect: Effect, findings: Findings) -> Judgement:
    ours = [found for found in findings.records if found.mark == effect.effect_id]
    if len(ours) > 1:
        return Judgement(
            verdict=Verdict.CONFLICT,
            reason=f"{len(ours)} records carry this effect's mark; there should be one",
            candidates=tuple(ours[:MAX_CANDIDATES]),
        )
    if ours:
        return _judge_ours(effect, ours[0])
    on_file = _on_file(effect, findings)
    if on_file is not None:
        return Judgement(
            verdict=Verdict.CONFLICT,
            reason=f"the record on file, {on_file.record_id}, is shown without our mark",
            candidates=(on_file,),
        )
    lookalikes = [
        found
        for found in findings.records
        if found.mark is None
        and found.status is not RecordStatus.FAILED
        and not differing_fields(effect, found)
    ]
    if lookalikes:
        return Judgement(
            verdict=Verdict.CONFLICT,
            reason="found without our mark: a record equal to the approved one that we cannot "
            "prove to be ours",
            candidates=tuple(lookalikes[:MAX_CANDIDATES]),
        )
    if not findings.complete:
        return Judgement(verdict=Verdict.INCOMPLETE, reason="not every page could be read")
    return Judgement(verdict=Verdict.ABSENT, reason="a complete read shows no record of ours")


def _on_file(effect: Effect, findings: Findings) -> ProviderRecord | None:
    """Return the record that the provider has answered us with, None when it is not shown."""
    known_ids = {late.record.record_id for late in effect.late_results}
    if effect.evidence is not None:
        known_ids.add(effect.evidence.record_id)
    return next((found for found in findings.records if found.record_id in known_ids), None)


def still_shows(effect: Effect, findings: Findings) -> Judgement:
    """Return what ``findings`` say about a record that was confirmed before.

    A record of which there can be only one, such as a subscription, carries the mark of whoever
    wrote last: what was proven of it holds as long as it is equal in every approved field.
    """
    findings = as_marked(effect, findings)
    proven_id = effect.evidence.record_id if effect.evidence else ""
    for found in findings.records:
        same = found.record_id == proven_id and found.status is RecordStatus.DONE
        if same and found.mark in (None, effect.effect_id) and not differing_fields(effect, found):
            ours = found.model_copy(update={"mark": effect.effect_id})
            rest = tuple(other for other in findings.records if other is not found)
            return judge(effect, findings.model_copy(update={"records": (ours, *rest)}))
    return judge(effect, findings)


def differing_fields(effect: Effect, record: ProviderRecord) -> tuple[str, ...]:
    """Return the names of bound fields in which ``record`` differs from what was approved."""
    return tuple(
        name for name, wanted in sorted(effect.bound.items()) if record.fields.get(name) != wanted
    )


def _judge_ours(effect: Effect, record: ProviderRecord) -> Judgement:
    differing = differing_fields(effect, record)
    if differing:
        return Judgement(
            verdict=Verdict.CONFLICT,
            reason=f"found with our mark, but different in: {', '.join(differing)}",
            record=record,
            candidates=(record,),
        )
    verdict = VERDICT_OF[record.status]
    if verdict is Verdict.MATCH:
        reason = "found with our mark, equal in every approved field"
    else:
        reason = f"the provider says {record.provider_status}"
    return Judgement(verdict=verdict, reason=reason, record=record)
