"""An archive in typed terms: what is frozen of the request, and what the object says of itself."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ledger.errors import InvariantBroken
from ledger.record import Scalar
from providers.s3_checksum import Measured
from providers.s3_promises import ARTIFACTS_PREFIX


class ArchiveParams(BaseModel):
    """The frozen parameters: where the archive goes, and of what it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    key: str
    run_id: str
    effect_id: str
    customer_id: str
    project_id: str
    scope: str
    archive_schema: int = Field(alias="schema")


class ArchiveMetadata(BaseModel):
    """What the stored object says of itself. S3 keeps it with the object and never changes it."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, hide_input_in_errors=True)

    run_id: str
    effect_id: str
    customer_id: str
    project_id: str
    scope: str
    archive_schema: int = Field(alias="schema")
    digest: str
    checksum: str
    size_bytes: int


def key_of(effect_id: str) -> str:
    """Return the key of an effect's archive. It holds nothing of the customer."""
    return f"{ARTIFACTS_PREFIX}{effect_id}"


def checked_params(params: Mapping[str, object]) -> ArchiveParams:
    """Return ``params`` typed. Raises InvariantBroken when they are no archive of a project."""
    try:
        found = ArchiveParams.model_validate(params)
    except ValidationError as error:
        raise InvariantBroken("These parameters are no archive.") from error
    if found.key != key_of(found.effect_id):
        raise InvariantBroken("These parameters would store an archive under another key.")
    return found


def consequence_of(params: ArchiveParams) -> dict[str, Scalar]:
    """Return what the archive is of, in the names of bound fields."""
    return {
        "customer_id": params.customer_id,
        "project_id": params.project_id,
        "scope": params.scope,
        "schema": params.archive_schema,
    }


def metadata_of(params: ArchiveParams, measured: Measured) -> dict[str, str]:
    """Return the metadata of the object, which S3 takes as text."""
    metadata = ArchiveMetadata(
        run_id=params.run_id,
        effect_id=params.effect_id,
        customer_id=params.customer_id,
        project_id=params.project_id,
        scope=params.scope,
        schema=params.archive_schema,
        digest=measured.digest,
        checksum=measured.checksum,
        size_bytes=measured.size_bytes,
    )
    return {name: str(value) for name, value in metadata.model_dump(by_alias=True).items()}
