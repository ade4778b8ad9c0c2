"""Export a project: one archive of exactly it, and one mail with a link, whatever happens."""

import io
import tarfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, override

from ledger.effect import Effect
from ledger.event import EventKind
from ledger.provider import Provider
from ledger.run import RunLedger
from ledger.transitions import RunState
from ledger.workflow import WorkflowDefinition
from providers.s3_artifacts import S3Artifacts
from providers.s3_client import S3ArtifactStore, S3Client
from providers.s3_layout import files_prefix, owner_key
from providers.s3_projects import S3Projects
from providers.ses_artifact_link import SesArtifactLink
from providers.stripe_customers import StripeCustomers
from tests.fakes.archive_bench import ARTIFACTS, FILES, PROJECTS, owner_record
from tests.fakes.s3 import FakeBucket, FakeS3
from tests.recovery.outside import CUSTOMER_EMAIL, CUSTOMER_NAME, Outside
from tests.recovery.scenarios import Scenario, Wanted

if TYPE_CHECKING:
    from tests.recovery.world import World

WANTED: Wanted = {"customer_id": "cus_1", "project_id": "prj_1"}
SITE_URL = "https://pages.example"
PORTS = frozenset(
    {
        "store",
        "s3_artifacts",
        "ses_artifact_link",
        "directory",
        "executions",
        "doorbell",
        "s3",
        "ses",
        "stripe",
    }
)


class ProjectExportOutside(Outside):
    """S3 with the customer's project and a bucket for archives; Stripe for the address; SES."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Add the two buckets."""
        super().__init__(*arguments, **named)
        self.s3 = FakeS3(self.clock)
        self.s3.buckets = {ARTIFACTS: FakeBucket(), PROJECTS: FakeBucket()}

    @override
    def seed(self, wanted: Wanted) -> None:
        customer_id, project_id = str(wanted["customer_id"]), str(wanted["project_id"])
        self.add_customer(customer_id)
        self.s3.put(PROJECTS, owner_key(project_id), owner_record(customer_id))
        for name, content in FILES.items():
            self.s3.put(PROJECTS, f"{files_prefix(project_id)}{name}", content)

    @override
    def providers(self) -> list[Provider]:
        client = cast("S3Client", self.tapped("s3", self.s3))
        archives = S3Artifacts(
            S3ArtifactStore(client, ARTIFACTS),
            S3Projects(client, PROJECTS),
            lambda: self.clock.now_ms() / 1000,
        )
        directory = StripeCustomers(self.stripe_library())
        link = SesArtifactLink(self.mailer(), directory, archives, SITE_URL, self.clock.now_ms)
        return [archives, link]


def scenario(definition: WorkflowDefinition) -> Scenario:
    """Return what is played of a version."""
    return Scenario(
        definition=definition,
        wanted=WANTED,
        outside=ProjectExportOutside,
        ports=PORTS,
        check=check,
        check_shown=check_shown,
    )


def check(world: "World", ledger: RunLedger) -> None:
    """Raise AssertionError unless archive and mail are right."""
    check_archives(world, ledger)
    check_links(world, ledger)


def check_shown(payload: Mapping[str, Any], wanted: Wanted) -> None:
    """A person says yes to one project, and to nothing else of the account."""
    if payload != {"archive": {**wanted, "scope": "project", "schema": 1}}:
        raise AssertionError(f"Shown for approval: {payload}, wanted: {wanted}")


def check_archives(world: "World", ledger: RunLedger) -> None:
    """At most one archive is stored for a yes: of the project, under a key that names nobody."""
    outside = cast("ProjectExportOutside", world.outside)
    ours = {
        key: found
        for key, found in outside.s3.buckets[ARTIFACTS].objects.items()
        if found.metadata["run_id"] == ledger.run.run_id
    }
    approved = [found for found in ledger.approvals if found.state == "approved"]
    assert len(ours) <= len(approved), f"{len(ours)} archives for {len(approved)} approvals"
    project_id = ledger.run.request["project_id"]
    for key, found in ours.items():
        with tarfile.open(fileobj=io.BytesIO(found.body)) as archive:
            assert archive.getnames() == [f"{project_id}/{name}" for name in sorted(FILES)]
        assert found.metadata["project_id"] == project_id
        for marker in (CUSTOMER_EMAIL, CUSTOMER_NAME, str(ledger.run.customer_id)):
            assert marker not in key, key
    if ledger.run.state is RunState.COMPLETED:
        proof = ledger.proven("archive_stored")
        assert proof is not None, "completed without an archive"
        assert list(ours) == [proof.evidence.record_id]


def check_links(world: "World", ledger: RunLedger) -> None:
    """At most one link is mailed, after the ledger proved the archive, and it leads to it."""
    mails = [mail for mail in world.ses.sent if mail.tags["run_id"] == ledger.run.run_id]
    assert len(mails) <= 1, f"{len(mails)} links were mailed"
    proven_at_ms = {
        str(event.details["record_id"]): event.at_ms
        for event in world.events_of(ledger)
        if event.kind is EventKind.CHECKPOINT_REACHED and event.subject == "archive_stored"
    }
    for mail in mails:
        told = [at_ms for record_id, at_ms in proven_at_ms.items() if record_id in mail.text]
        assert len(told) == 1, "a link without a proven archive"
        assert told[0] < mail.at_ms, "the link came before the proof"
        assert f"{SITE_URL}/artifact/{ledger.run.run_id}" in mail.text
        assert mail.to == CUSTOMER_EMAIL
    if ledger.run.state is RunState.COMPLETED:
        assert mails, "completed without a link"


def archives(ledger: RunLedger) -> list[Effect]:
    """Return the effects that store an archive."""
    return [effect for effect in ledger.effects if effect.operation == "archive"]
