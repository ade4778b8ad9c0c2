"""A project, for real: asked for, approved, archived in S3, and fetched by its owner alone."""

import hashlib
import io
import re
import tarfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ledger.transitions import EffectState, RunState
from sandbox.clients import aws_client
from sandbox.mail import accepted_mail
from sandbox.project_seed import (
    LARGE_FILE,
    SAMPLE_FILES,
    add_large_file,
    create_project,
    give_project,
)
from sandbox.waiting import wait_for
from tests.e2e.conftest import PATIENCE_SECONDS, Person

WORKFLOW = "project-export@1"
LARGE_MIB = 200
FETCH_TIMEOUT_SECONDS = 60.0


@pytest.fixture
def project_id(person: Person) -> str:
    """A project of this customer alone."""
    project_id = f"prj_{person.subscriber.customer_id}"
    create_project(person.sandbox.aws_port, project_id, person.subscriber.customer_id)
    return project_id


def body(person: Person, project_id: str) -> dict[str, Any]:
    request = {"customer_id": person.subscriber.customer_id, "project_id": project_id}
    return {"workflow": WORKFLOW, "request": request}


def ask(person: Person, project_id: str) -> str:
    answer = person.api.start_run(f"export-{project_id}", body(person, project_id))
    assert answer.status_code == 202, answer.text
    return str(answer.json()["run_id"])


def archives_of(person: Person, run_id: str) -> list[str]:
    """Return the keys of the objects that carry the run's mark."""
    s3, bucket = aws_client("s3", person.sandbox.aws_port), person.sandbox.outputs.artifacts_bucket
    keys = [found["Key"] for found in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
    return [
        key
        for key in keys
        if s3.head_object(Bucket=bucket, Key=key)["Metadata"]["run_id"] == run_id
    ]


def fetched(person: Person, run_id: str) -> Iterator[bytes]:
    """Yield what the customer gets: the API gives an address, and the address the archive."""
    answer = person.api.call("customer", "GET", f"/runs/{run_id}/artifact")
    assert answer.status_code == 200, answer.text
    with httpx.stream(
        "GET", answer.json()["url"], timeout=FETCH_TIMEOUT_SECONDS, trust_env=False
    ) as download:
        assert download.status_code == 200
        yield from download.iter_bytes()


def evidence_of(person: Person, run_id: str) -> dict[str, Any]:
    proof = person.ledger(run_id).proven("archive_stored")
    assert proof is not None
    return {"record_id": proof.evidence.record_id, **proof.evidence.fields}


def test_a_project_is_archived_once_and_its_owner_fetches_exactly_that(
    person: Person, project_id: str
) -> None:
    run_id = ask(person, project_id)
    shown = person.shown_approval(run_id)["payload"]
    person.approve(run_id)
    ledger = person.wait_until_closed(run_id)

    assert shown == {
        "archive": {
            "customer_id": person.subscriber.customer_id,
            "project_id": project_id,
            "scope": "project",
            "schema": 1,
        }
    }
    assert ledger.run.state is RunState.COMPLETED, ledger.run.review_reason
    assert {found.state for found in ledger.effects} == {EffectState.CONFIRMED}
    proven = evidence_of(person, run_id)
    assert archives_of(person, run_id) == [proven["record_id"]]
    content = b"".join(fetched(person, run_id))
    assert proven["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert archive.getnames() == [f"{project_id}/{name}" for name in sorted(SAMPLE_FILES)]


def test_the_mail_leads_to_the_page_of_the_run_and_holds_no_address_of_the_archive(
    person: Person, project_id: str
) -> None:
    run_id = ask(person, project_id)
    person.approve(run_id)
    person.wait_until_closed(run_id)

    [mail] = [mail for mail in accepted_mail(person.sandbox.aws_port) if person.email in mail.to]
    assert re.search(rf"^https?://\S+/artifact/{run_id}$", mail.text, re.MULTILINE)
    assert evidence_of(person, run_id)["record_id"] in mail.text
    assert "X-Amz-" not in mail.text


def test_an_archive_is_handed_to_nobody_else(person: Person, project_id: str) -> None:
    run_id = ask(person, project_id)
    person.approve(run_id)
    person.wait_until_closed(run_id)
    path = f"/runs/{run_id}/artifact"
    bucket, key = person.sandbox.outputs.artifacts_bucket, evidence_of(person, run_id)["record_id"]

    other = person.sandbox.api.call("customer", "GET", path)  # another customer of the sandbox
    agent = person.api.call("agent", "GET", path)
    policy = aws_client("s3", person.sandbox.aws_port).get_public_access_block(Bucket=bucket)

    assert other.status_code == 404
    assert agent.status_code in (403, 404)
    assert all(policy["PublicAccessBlockConfiguration"].values())
    (archive,) = (one for one in person.ledger(run_id).effects if one.operation == "archive")
    assert key == f"artifacts/{archive.effect_id}"
    give_project(person.sandbox.aws_port, project_id, "cus_somebody_else")
    assert person.api.call("customer", "GET", path).status_code == 404


@pytest.mark.parametrize("whose", ["cus_somebody_else", None])
def test_a_project_that_is_not_theirs_is_refused_at_the_door(
    person: Person, whose: str | None
) -> None:
    project_id = f"prj_other_{person.subscriber.customer_id}"
    if whose is not None:
        create_project(person.sandbox.aws_port, project_id, whose)

    answer = person.api.start_run(f"export-{project_id}", body(person, project_id))

    assert answer.status_code == 422
    assert answer.json()["type"].endswith("not-allowed")


def test_a_project_that_changes_hands_after_the_yes_is_not_archived(
    person: Person, project_id: str
) -> None:
    run_id = ask(person, project_id)
    person.shown_approval(run_id)
    give_project(person.sandbox.aws_port, project_id, "cus_somebody_else")

    person.approve(run_id)
    wait_for(
        lambda: person.ledger(run_id).run.state is RunState.REVIEW or None,
        "the review",
        PATIENCE_SECONDS,
    )

    assert "another customer" in person.ledger(run_id).run.review_reason
    assert archives_of(person, run_id) == []


def test_200_mib_are_archived_and_fetched(person: Person, project_id: str) -> None:
    add_large_file(person.sandbox.aws_port, project_id, LARGE_MIB)

    run_id = ask(person, project_id)
    person.approve(run_id)
    ledger = person.wait_until_closed(run_id)

    assert ledger.run.state is RunState.COMPLETED, ledger.run.review_reason
    read, size_bytes = hashlib.sha256(), 0
    for chunk in fetched(person, run_id):
        read.update(chunk)
        size_bytes += len(chunk)
    proven = evidence_of(person, run_id)
    assert proven["digest"] == f"sha256:{read.hexdigest()}"
    assert proven["size_bytes"] == size_bytes > LARGE_MIB * 1024 * 1024
    assert LARGE_FILE not in proven["record_id"]
