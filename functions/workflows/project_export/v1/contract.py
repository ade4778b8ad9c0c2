"""``project-export@1`` as data: its request, its stages, what each checkpoint claims."""

from pydantic import Field

from ledger.checkpoint import CompletionContract
from ledger.record import Record
from ledger.workflow import Operation, Stage, WorkflowDefinition

# Provider ids are short; a longer one is not an id.
MAX_ID_CHARACTERS = 255


class ProjectExportRequest(Record):
    """Which project of whom is handed out."""

    customer_id: str = Field(pattern=r"^cus_[A-Za-z0-9_]+$", max_length=MAX_ID_CHARACTERS)
    project_id: str = Field(pattern=r"^prj_[A-Za-z0-9_]+$", max_length=MAX_ID_CHARACTERS)


DEFINITION = WorkflowDefinition(
    name="project-export",
    number=1,
    summary="Archive one project, mail its owner a link to the archive.",
    request_type=ProjectExportRequest,
    # A day: long enough for a customer who sleeps on it, short enough that the project is still the
    # one that they had in mind.
    approval_lifetime_seconds=24 * 3600,
    # Longer than any stage with its retries: five times the ten minutes of the archive.
    progress_deadline_seconds=60 * 60,
    # Each one is a crash, an abort or a lost start. After five a person should look.
    max_executions=5,
    stages=(
        Stage(
            name="validate_request",
            checkpoint="request_validated",
            timeout_seconds=60,
            providers=("s3_artifacts", "ses_artifact_link"),
        ),
        Stage(
            name="request_approval",
            checkpoint="request_approved",
            timeout_seconds=30,
            rings_doorbell=True,
        ),
        Stage(
            name="store_archive",
            checkpoint="archive_stored",
            # Three times the call's limit, the margin for the ledger, and a cold start.
            timeout_seconds=600,
            operation="archive",
            providers=("s3_artifacts",),
        ),
        Stage(
            name="deliver_link",
            checkpoint="link_delivered",
            timeout_seconds=60,
            operation="deliver_link",
            providers=("ses_artifact_link",),
        ),
    ),
    operations=(
        Operation(
            name="archive",
            label="Project archive",
            provider="s3_artifacts",
            checkpoint="archive_stored",
            request_fields=("customer_id", "project_id"),
            # Everything of one project and nothing else of the account, in this form.
            fixed={"scope": "project", "schema": 1},
            requires=("request_validated", "request_approved"),
        ),
        Operation(
            name="deliver_link",
            label="Download link email",
            provider="ses_artifact_link",
            checkpoint="link_delivered",
            request_fields=("customer_id",),
            evidence_fields=(
                ("project_id", "archive_stored", "project_id"),
                ("artifact_id", "archive_stored", "record_id"),
                ("valid_until_ms", "archive_stored", "valid_until_ms"),
            ),
            requires=("archive_stored",),
            # It leads the customer to what they approved; it asks for nothing new.
            needs_approval=False,
        ),
    ),
    contracts=(
        CompletionContract(
            checkpoint="request_validated",
            claim="The project was found, and it is yours.",
            owner="s3_artifacts",
            evidence_fields=(
                "archive_customer_id",
                "archive_project_id",
                "archive_files",
                "archive_size_bytes",
                "archive_private",
            ),
        ),
        CompletionContract(
            checkpoint="request_approved",
            claim="You approved exactly what was shown.",
            owner="ledger",
            evidence_fields=("digest", "decided_by"),
        ),
        CompletionContract(
            checkpoint="archive_stored",
            claim="The archive is stored, closed to everybody else, and its digest was read back.",
            owner="s3_artifacts",
            evidence_fields=(
                "customer_id",
                "project_id",
                "scope",
                "schema",
                "digest",
                "size_bytes",
                "valid_until_ms",
            ),
        ),
        CompletionContract(
            checkpoint="link_delivered",
            claim="The link to the archive was handed to the mail service.",
            owner="ses_artifact_link",
            evidence_fields=("customer_id", "project_id", "artifact_id", "valid_until_ms"),
        ),
    ),
)
