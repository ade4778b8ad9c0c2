"""Archives in S3, operation ``archive``: one project of a customer, stored under our own key.

An upload in parts is not to be seen until it is completed, so whatever fails before that had no
effect. The completing request is conditional: it makes the object only while there is none under
its key, and the key is made of the effect id, so the key of the object is the idempotency key. It
needs no lifetime: as long as the object stands it is refused again, and when the object is gone
there is nothing left to double.

The project is read twice, once for the digest and once to be sent: the digest is part of the
metadata, which S3 takes only when an upload begins, and nothing is ever held as a whole. Each
reading is of the listed versions, and must give the same bytes.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import override

from pydantic import ValidationError

from ledger.contract import ErrorClass, FaultKind, ProviderContract
from ledger.provider import (
    Authority,
    Findings,
    Intent,
    Provider,
    ProviderCall,
    ProviderFault,
    ProviderRecord,
    RecordStatus,
)
from ledger.record import Scalar
from providers.project_archive import FileChanged, archive, in_parts, unpacking_refusal
from providers.s3_api import ArtifactStore, Project, ProjectSource, StoredArtifact, StoredPart
from providers.s3_checksum import Measured, Tally
from providers.s3_promises import (
    CALL_TIMEOUT_SECONDS,
    COMPLETION_SECONDS,
    CONTRACT,
    MAX_PROJECT_BYTES,
    PART_BYTES,
    SCHEMA,
    SCOPE,
    VALID_SECONDS,
)
from providers.s3_terms import (
    ArchiveMetadata,
    ArchiveParams,
    checked_params,
    consequence_of,
    key_of,
    metadata_of,
)


class S3Artifacts(Provider):
    """Stores the archive of a customer's project."""

    def __init__(
        self,
        store: ArtifactStore,
        projects: ProjectSource,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep archives in ``store``, and read what goes into them from ``projects``."""
        self._store = store
        self._projects = projects
        self._monotonic = monotonic

    @property
    @override
    def contract(self) -> ProviderContract:
        return CONTRACT

    @override
    def compose(self, intent: Intent) -> dict[str, object]:
        return {
            "key": key_of(intent.effect_id),
            "run_id": intent.run_id,
            "effect_id": intent.effect_id,
            "customer_id": intent.bound["customer_id"],
            "project_id": intent.bound["project_id"],
            "scope": intent.bound["scope"],
            "schema": intent.bound["schema"],
        }

    @override
    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        return consequence_of(checked_params(params))

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        """Return whether the project is the customer's, and can be archived.

        Of an archive that is stored (``artifact_id``) only the first is asked: what became of the
        project since is no part of it.
        """
        project_id = str(bound["project_id"])
        project = self._projects.project(project_id)
        if project is None:
            return Authority(
                allowed=False,
                reason="the project does not exist",
                snapshot={"project_id": project_id, "found": False},
            )
        private = self._store.is_private()
        refusals = _refusals(bound, project)
        if not private:
            refusals.append("the bucket for archives is open to the public")
        return Authority(
            allowed=not refusals,
            reason="; ".join(refusals) or "the project belongs to the customer",
            snapshot={
                "project_id": project_id,
                "found": True,
                "customer_id": project.owner_id,
                "files": len(project.files),
                "size_bytes": _size_bytes(project),
                "private": private,
            },
        )

    @override
    def call(self, call: ProviderCall) -> ProviderRecord:
        """Return the stored archive."""
        params = checked_params(call.params)
        deadline = self._monotonic() + CALL_TIMEOUT_SECONDS - COMPLETION_SECONDS
        project = self._authorised(params)
        measured = Tally().of(self._parts(params, project, deadline))
        metadata = metadata_of(params, measured)
        upload_id = self._nothing_made(lambda: self._store.begin(params.key, metadata))
        try:
            parts = self._sent(params, project, upload_id, measured, deadline)
        except ProviderFault:
            self._drop(params.key, upload_id)
            raise
        try:
            self._store.complete(
                params.key, upload_id, parts, measured.checksum, measured.size_bytes
            )
        except ProviderFault as fault:
            # After a lost answer the upload may be on its way to become the object.
            if fault.kind is FaultKind.ANSWERED:
                self._drop(params.key, upload_id)
            raise
        return ProviderRecord(
            record_id=params.key,
            status=RecordStatus.DONE,
            provider_status="stored",
            mark=params.effect_id,
            fields={
                **consequence_of(params),
                "digest": measured.digest,
                "size_bytes": measured.size_bytes,
            },
        )

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        # First, because it names a bucket that is not there: the silence of another one would
        # prove no absence.
        private = self._store.is_private()
        params = checked_params(call.params)
        found = self._store.find(params.key)
        return Findings(
            records=() if found is None else (_record(params, found, private=private),),
            complete=True,
            concerns=() if private else ("the bucket of the archive is open to the public",),
        )

    def _authorised(self, params: ArchiveParams) -> Project:
        """Return the project as it is now, still the customer's; the next attempt asks why not."""
        try:
            project = self._projects.project(params.project_id)
        except ProviderFault as fault:
            raise ProviderFault(FaultKind.NEVER_SENT) from fault
        if project is None or _refusals(consequence_of(params), project):
            raise ProviderFault(FaultKind.NEVER_SENT)
        return project

    def _parts(self, params: ArchiveParams, project: Project, deadline: float) -> Iterator[bytes]:
        """Yield the archive. Raises ProviderFault: NEVER_SENT, whatever the source or clock says.

        What the source answers is no word about the archive, and must not be taken for one.
        """
        content = archive(
            params.project_id,
            project.files,
            lambda file: self._projects.read(params.project_id, file),
        )
        try:
            yield from self._in_time(in_parts(content, PART_BYTES), deadline)
        except (FileChanged, ProviderFault) as fault:
            raise ProviderFault(FaultKind.NEVER_SENT) from fault

    def _in_time(self, parts: Iterator[bytes], deadline: float) -> Iterator[bytes]:
        for part in parts:
            if self._monotonic() > deadline:
                raise ProviderFault(FaultKind.NEVER_SENT)
            yield part

    def _sent(
        self,
        params: ArchiveParams,
        project: Project,
        upload_id: str,
        measured: Measured,
        deadline: float,
    ) -> list[StoredPart]:
        """Return the parts as stored. Raises ProviderFault, also when they are not as measured."""
        tally = Tally()
        stored: list[StoredPart] = []
        for number, part in enumerate(self._parts(params, project, deadline), start=1):
            tally.add(part)
            stored.append(self._put_part(params.key, upload_id, number, part))
        if tally.result() != measured:
            raise ProviderFault(FaultKind.NEVER_SENT)
        return stored

    def _put_part(self, key: str, upload_id: str, number: int, part: bytes) -> StoredPart:
        return self._nothing_made(lambda: self._store.put_part(key, upload_id, number, part))

    def _nothing_made[T](self, request: Callable[[], T]) -> T:
        """Return the answer to a request that makes no object, and so leaves no doubt.

        A definite refusal stays one; anything else is as good as never sent.
        """
        try:
            return request()
        except ProviderFault as fault:
            error_class = CONTRACT.classify(fault.kind, fault.status, fault.code)
            if error_class is ErrorClass.REFUSED:
                raise
            raise ProviderFault(FaultKind.NEVER_SENT) from fault

    def _drop(self, key: str, upload_id: str) -> None:
        try:
            self._store.abort(key, upload_id)
        except ProviderFault:
            return  # the bucket's own rule drops what is left over


def _refusals(bound: Mapping[str, Scalar], project: Project) -> list[str]:
    checks = [(project.owner_id != bound["customer_id"], "the project belongs to another customer")]
    if "artifact_id" not in bound:
        checks += _archive_checks(bound, project)
    return [reason for refused, reason in checks if refused]


def _archive_checks(bound: Mapping[str, Scalar], project: Project) -> list[tuple[bool, str]]:
    too_large = f"the project is larger than {MAX_PROJECT_BYTES} bytes"
    unpacking = unpacking_refusal(project.files)
    return [
        ((bound["scope"], bound["schema"]) != (SCOPE, SCHEMA), "no such archive is made here"),
        (not project.files, "the project holds no files"),
        (not project.complete, "the project holds too many files"),
        (_size_bytes(project) > MAX_PROJECT_BYTES, too_large),
        (bool(unpacking), unpacking),
    ]


def _size_bytes(project: Project) -> int:
    return sum(file.size_bytes for file in project.files)


def _record(params: ArchiveParams, found: StoredArtifact, *, private: bool) -> ProviderRecord:
    """Return the stored archive. It is finished once nobody else can read it."""
    return ProviderRecord(
        record_id=params.key,
        status=RecordStatus.DONE if private else RecordStatus.PENDING,
        provider_status="stored" if private else "open_to_the_public",
        # The key is made of the effect id: whatever is under it is there in the effect's name.
        mark=params.effect_id,
        fields=_proven_fields(params, found),
    )


def _proven_fields(params: ArchiveParams, found: StoredArtifact) -> dict[str, Scalar]:
    """Return what the metadata says, where it speaks of this effect and of these very bytes.

    S3's own checksum is of what it holds. Where that differs, the metadata proves nothing.
    """
    try:
        metadata = ArchiveMetadata.model_validate_strings(dict(found.metadata))
    except ValidationError:
        return {}
    said = (metadata.effect_id, metadata.size_bytes, metadata.checksum)
    if said != (params.effect_id, found.size_bytes, found.checksum):
        return {}
    return {
        "customer_id": metadata.customer_id,
        "project_id": metadata.project_id,
        "scope": metadata.scope,
        "schema": metadata.archive_schema,
        "digest": metadata.digest,
        "size_bytes": metadata.size_bytes,
        "valid_until_ms": found.stored_at_ms + VALID_SECONDS * 1000,
    }
