"""Deliberate faults in making archives, in telling of them, and in handing them out."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from ledger import artifact, projection, validity
from ledger.checkpoint import Checkpoint
from ledger.ports import Clock
from ledger.provider import Authority
from ledger.run import RunLedger
from ledger.transitions import EffectState
from providers import s3_artifacts, s3_terms, ses_artifact_link
from providers.s3_artifacts import S3Artifacts
from providers.s3_promises import VALID_SECONDS
from providers.ses_artifact_link import SesArtifactLink
from tests.simulation.readers import forget_situations
from tests.simulation.tampering import everywhere

_A_DAY_MS = int(timedelta(days=1).total_seconds() * 1000)


def confirm_without_the_digest() -> AbstractContextManager[object]:
    """Believe what an object says of itself, whatever bytes it holds."""

    def wrap(_original: Any) -> Any:
        def proven(_params: Any, found: Any) -> dict[str, Any]:
            said = s3_terms.ArchiveMetadata.model_validate_strings(dict(found.metadata))
            return {
                "customer_id": said.customer_id,
                "project_id": said.project_id,
                "scope": said.scope,
                "schema": said.archive_schema,
                "digest": said.digest,
                "size_bytes": said.size_bytes,
                "valid_until_ms": found.stored_at_ms + VALID_SECONDS * 1000,
            }

        return proven

    return everywhere(s3_artifacts, "_proven_fields", wrap)


def confirm_while_open() -> AbstractContextManager[object]:
    """Call an archive finished that everybody can read."""

    def wrap(original: Any) -> Any:
        def record(params: Any, found: Any, **_private: bool) -> Any:
            return original(params, found, private=True)

        return record

    return everywhere(s3_artifacts, "_record", wrap)


def archive_something_else() -> AbstractContextManager[object]:
    """Put files into the archive that are not the project's."""

    def wrap(original: Any) -> Any:
        def archive(folder: str, files: Any, read: Any) -> Any:
            return original(f"{folder}/../other", files, read)

        return archive

    return everywhere(s3_artifacts, "archive", wrap)


@contextmanager
def begin_under_another_key() -> Iterator[None]:
    """Store each attempt under a key of its own."""
    original = S3Artifacts._authorised
    used: list[int] = []

    def authorised(self: S3Artifacts, params: Any) -> Any:
        used.append(1)
        object.__setattr__(params, "key", f"{params.key}-{len(used)}")
        return original(self, params)

    with patch.object(S3Artifacts, "_authorised", authorised):
        yield


@contextmanager
def link_too_early() -> Iterator[None]:
    """Take the answer to the write for the proof that a link needs."""
    proven, unsettled = RunLedger.proven, RunLedger.unsettled_effects

    def accepted(ledger: RunLedger) -> Any:
        newest = ledger.newest_effect("archive")
        return newest if newest and newest.state is EffectState.ACCEPTED else None

    def believed(self: RunLedger, name: str) -> Any:
        effect = accepted(self)
        if name != "archive_stored" or effect is None:
            return proven(self, name)
        until_ms = effect.attempts[-1].claimed_at_ms + VALID_SECONDS * 1000
        fields = {**effect.evidence.fields, "valid_until_ms": until_ms}
        evidence = effect.evidence.model_copy(update={"fields": fields})
        return Checkpoint(name=name, evidence=evidence, reached_at_ms=0)

    def others(self: RunLedger) -> Any:
        return tuple(found for found in unsettled(self) if found != accepted(self))

    with (
        patch.object(RunLedger, "proven", believed),
        patch.object(RunLedger, "unsettled_effects", others),
    ):
        yield


@contextmanager
def tell_another_end() -> Iterator[None]:
    """Tell the customer of a day more than the link works."""
    told, moment = validity.told_moment, validity.moment_of
    with (
        patch.object(ses_artifact_link, "told_moment", lambda at_ms: told(at_ms + _A_DAY_MS)),
        patch.object(ses_artifact_link, "moment_of", lambda shown: moment(shown) - _A_DAY_MS),
    ):
        yield


@contextmanager
def lead_elsewhere() -> Iterator[None]:
    """Lead every customer to the page of one and the same run."""
    with (
        everywhere(ses_artifact_link, "_path_of", lambda _: lambda _run_id: "/artifact/run_aaaa"),
    ):
        yield


def ask_nobody_whose_it_is() -> AbstractContextManager[object]:
    """Mail the link without asking the owner of what it leads to."""

    def authority(self: SesArtifactLink, bound: Any, personal: Any) -> Authority:
        return super(SesArtifactLink, self).authority(bound, personal)

    return patch.object(SesArtifactLink, "authority", authority)


def hand_out_whatever_is_there() -> AbstractContextManager[object]:
    """Hand an object out without comparing it with what was proven."""
    return everywhere(artifact, "_is_unchanged", lambda _: lambda _effect, _record: True)


def hand_out_for_ever() -> AbstractContextManager[object]:
    """Hand an archive out by a clock that is days late."""

    class Late:
        def __init__(self, clock: Clock) -> None:
            self._clock = clock

        def now_ms(self) -> int:
            return self._clock.now_ms() - 4 * _A_DAY_MS

    def wrap(original: Any) -> Any:
        def hand_out(ports: Any, *rest: Any) -> Any:
            return original(replace(ports, clock=Late(ports.clock)), *rest)

        return hand_out

    return everywhere(artifact, "hand_out", wrap)


@contextmanager
def tell_no_end() -> Iterator[None]:
    """Tell of a link as of something that is there for good."""
    forget_situations()
    with patch.object(projection, "valid_until_ms", lambda _bound: None):
        yield
    forget_situations()
