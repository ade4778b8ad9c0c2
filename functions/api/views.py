"""The body of a run's status."""

from datetime import UTC, datetime

from api.asked import asked
from ledger.projection import project
from ledger.run import RunLedger
from ledger.status import customer_status
from ledger.workflow import WorkflowDefinition


def status_body(
    definition: WorkflowDefinition, ledger: RunLedger, now_ms: int
) -> dict[str, object]:
    """Return the customer's view, with times as people and clients read them (RFC 3339, UTC).

    What is asked comes twice: ``payload``, which the digest names, and ``asked``, as people read
    it.
    """
    status = customer_status(project(definition, ledger, now_ms))
    body = status.model_dump(mode="json")
    if status.approval is not None:
        expires_at_ms = body["approval"].pop("expires_at_ms")
        body["approval"]["asked"] = asked(definition, status.approval.payload)
        body["approval"]["expires_at"] = datetime.fromtimestamp(
            expires_at_ms / 1000, UTC
        ).isoformat(timespec="seconds")
    return body
