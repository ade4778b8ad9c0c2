"""Whether an artifact may be handed to its customer now: everything is checked anew each time.

A delivery is a write that binds an artifact and a time until which it is to be had. The artifact is
the confirmed write whose record that is. Which workflow made them is of no matter here.
"""

from collections.abc import Mapping
from typing import Protocol

from ledger.authorise import read_authority
from ledger.effect import Effect
from ledger.errors import RequestRefused
from ledger.ports import Ports
from ledger.provider import ProviderRecord, RecordStatus
from ledger.recheck import find
from ledger.record import Record, Scalar
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.validity import VALID_UNTIL, has_ended
from ledger.workflow import WorkflowDefinition

ARTIFACT = "artifact_id"
URL_LIFETIME_SECONDS = 60
"""Ours: long enough for a slow browser to begin, of no use to whoever finds the address later."""

ENDED = "The time until which this link worked has ended. Ask for it again to get a new one."
_DELIVERED = frozenset({EffectState.ACCEPTED, EffectState.CONFIRMED})


class ArtifactLinks(Protocol):
    """What makes addresses under which the bytes of an artifact can be fetched."""

    def url(self, artifact_id: str, lifetime_seconds: int) -> str:
        """Return an address that shows this one artifact, to whoever has it, until it ends."""


class HandedOut(Record):
    """Where an artifact can be fetched. Times are milliseconds since 1970."""

    artifact_id: str
    url: str
    url_ends_at_ms: int
    valid_until_ms: int
    """Until when another address can be asked for."""


def hand_out(
    ports: Ports, links: ArtifactLinks, definition: WorkflowDefinition, ledger: RunLedger
) -> HandedOut:
    """Return an address for the run's customer, who has been made sure of before.

    Raises:
        RequestRefused: there is no artifact, it is not delivered, it is somebody else's now, its
            time has ended, or the object is not what was delivered.
        ProviderUnavailable: a system that has to be asked gave no answer.
    """
    delivery = delivery_of(ledger)
    if delivery is None:
        raise _nothing_delivered(definition, ledger)
    until_ms = int(delivery.bound[VALID_UNTIL])
    if has_ended(delivery.bound, ports.clock.now_ms()):
        raise RequestRefused("artifact-expired", ENDED)
    artifact = _artifact(ledger, str(delivery.bound[ARTIFACT]))
    bound = {**artifact.bound, **delivery.bound}
    authority = read_authority(ports, artifact.provider, bound, {})
    if not authority.allowed:
        # Why is for us: that a bucket is open to the public, say, is no news for a customer.
        raise RequestRefused("artifact-not-found", "You may not have it now. Ask support.")
    _check_object(ports, ledger.run.run_id, artifact)
    # What was asked of others took time.
    left_seconds = (until_ms - ports.clock.now_ms()) // 1000
    if left_seconds < 1:
        raise RequestRefused("artifact-expired", ENDED)
    lifetime_seconds = min(URL_LIFETIME_SECONDS, left_seconds)
    # Before the address is made, so that it is never said to live longer than it does.
    ends_at_ms = ports.clock.now_ms() + lifetime_seconds * 1000
    artifact_id = str(delivery.bound[ARTIFACT])
    return HandedOut(
        artifact_id=artifact_id,
        url=links.url(artifact_id, lifetime_seconds),
        url_ends_at_ms=ends_at_ms,
        valid_until_ms=until_ms,
    )


def delivery_of(ledger: RunLedger) -> Effect | None:
    """Return the newest write that gave the customer an artifact, None while none has."""
    delivered = [
        found
        for found in ledger.effects
        if VALID_UNTIL in found.bound
        and ARTIFACT in found.bound
        and found.state in _DELIVERED
        and not found.superseded
    ]
    return max(delivered, key=lambda found: found.instance, default=None)


def _nothing_delivered(definition: WorkflowDefinition, ledger: RunLedger) -> RequestRefused:
    begun = any(ARTIFACT in found.bound for found in ledger.effects)
    planned = any(
        name == ARTIFACT for found in definition.operations for name, _, _ in found.evidence_fields
    )
    if not (begun or planned):
        return RequestRefused("artifact-not-found", "This run has nothing to fetch.")
    if not ledger.run.is_open:
        return RequestRefused("artifact-not-found", "This run has ended, and delivered nothing.")
    return RequestRefused(
        "artifact-not-ready", "It is not ready to be fetched. Read the run to see how far it is."
    )


def _artifact(ledger: RunLedger, artifact_id: str) -> Effect:
    """Return the write that made the artifact. Raises RequestRefused unless that is proven."""
    for found in ledger.effects:
        proven = found.state is EffectState.CONFIRMED and found.evidence
        if proven and proven.record_id == artifact_id and ARTIFACT not in found.bound:
            return found
    raise RequestRefused(
        "artifact-not-ready",
        "What was delivered is being looked at by a person. Read the run to see how far it is.",
    )


def _check_object(ports: Ports, run_id: str, artifact: Effect) -> None:
    """Raise RequestRefused unless its owner still shows the object as it was proven."""
    findings = find(ports, run_id, artifact)
    held = findings.records if findings else ()
    proof = artifact.evidence
    there = [one for one in held if proof and one.record_id == proof.record_id]
    if not there:
        raise RequestRefused("artifact-expired", "It is no longer kept. Ask for it again.")
    if not any(_is_unchanged(artifact, one) for one in there):
        raise RequestRefused(
            "artifact-not-ready",
            "It is not as it was when it was delivered, so nothing is handed out. Ask support.",
        )


def _is_unchanged(artifact: Effect, record: ProviderRecord) -> bool:
    return (
        artifact.evidence is not None
        and record.status is RecordStatus.DONE
        and record.mark == artifact.effect_id
        and _content(record.fields) == _content(artifact.evidence.fields)
    )


def _content(fields: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return what describes the object: until when it is to be had is the delivery's to say."""
    return {name: value for name, value in fields.items() if name != VALID_UNTIL}
