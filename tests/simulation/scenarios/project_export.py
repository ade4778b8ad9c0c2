"""Export a project, while its owner edits it and colleagues do as they like with the bucket."""

import io
import tarfile
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, override

from ledger.approval import ApprovalState
from ledger.artifact import hand_out
from ledger.effect import Effect
from ledger.errors import RequestRefused, RetryLater
from ledger.provider import CustomerDirectory, Provider
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.update import load
from ledger.validity import told_moment
from ledger.workflow import WorkflowDefinition
from providers import s3_promises, ses_artifact_link
from providers.s3_artifacts import S3Artifacts
from providers.ses_artifact_link import SesArtifactLink
from providers.stripe_customers import StripeCustomers
from tests.simulation.archive_ports import Bucket, Projects
from tests.simulation.archives import (
    EDITED,
    OTHER_CUSTOMER_ID,
    PROJECT_IDS,
    ArchiveFault,
    Archives,
    Stored,
)
from tests.simulation.dice import Dice
from tests.simulation.faults import ANY_CALL, MAIL_SITES, READ, WRITE, Fault, Places, Sites
from tests.simulation.outside import CUSTOMER_ID, Adapters, Mail, Reason
from tests.simulation.provider_ports import Customers, Mailer
from tests.simulation.scenarios import Scenario
from tests.simulation.trail import WAS_CONFIRMED

if TYPE_CHECKING:
    from enum import StrEnum

    from tests.simulation.check import Check
    from tests.simulation.process import Process
    from tests.simulation.world import World

SHARE = 25
MAX_UNPACKED = 100  # the same few projects come in every schedule
SITE_URL = "https://pages.example"
# What colleagues do to the bucket, at any time and at the worst one.
_MEANWHILE = (
    ArchiveFault.BUCKET_OPENED,
    ArchiveFault.BUCKET_OPENED_A_WHILE,
    ArchiveFault.ARCHIVE_DELETED,
    ArchiveFault.ARCHIVE_REPLACED,
)
SITES: Sites = {
    **MAIL_SITES,
    "read": (2, READ),
    "project": (3, READ),
    "file": (3, (*READ, ArchiveFault.FILE_CHANGES)),
    "bucket": (3, (*READ, Fault.STANDSTILL)),
    "upload": (3, (*READ, Fault.REFUSED)),
    "archive": (12, (*ANY_CALL, *WRITE, Fault.KEY_IN_USE, *_MEANWHILE)),
    "world": (
        4,
        (
            ArchiveFault.PROJECT_GIVEN_AWAY,
            ArchiveFault.PROJECT_EDITED,
            ArchiveFault.PROJECT_EMPTIED,
            *_MEANWHILE,
            Fault.ADDRESS_CHANGED,
            Fault.RESTLESS,
        ),
    ),
}
PLACES: Places = (
    ("archive", "upload", "mail"),
    ("read", "project", "file", "bucket"),
    ("world",),
    ("mail event", "mailbox"),
)
OPEN_FOR_MS = (10_000, 7_200_000)
# The link is followed at once, or about when it ends.
FOLLOWS_MS = (60_000, (s3_promises.VALID_SECONDS + 24 * 3600) * 1000)


class ProjectExport(Archives):
    """What a customer wants of their projects, and what must come of it."""

    owners: ClassVar[Mapping[str, tuple[str, ...]]] = {"mail": ("archive",)}

    def __init__(self, world: "World") -> None:
        """Start with a bucket that was never open."""
        super().__init__(world)
        self.was_open = False
        self._visits = 0

    @override
    def request(self, number: int) -> dict[str, Scalar]:
        return {"customer_id": CUSTOMER_ID, "project_id": PROJECT_IDS[number]}

    @override
    def join(self, process: "Process") -> tuple[CustomerDirectory, Mapping[str, Provider]]:
        directory = StripeCustomers(Customers(process))  # type: ignore[arg-type]  # it asks no more
        archives = S3Artifacts(
            Bucket(process), Projects(process), lambda: process.world.scheduler.now_ms / 1000
        )
        adapters = Adapters(
            {
                s3_promises.CONTRACT.provider: lambda: archives,
                ses_artifact_link.CONTRACT.provider: lambda: SesArtifactLink(
                    Mailer(process), directory, archives, SITE_URL, process.now_ms
                ),
            }
        )
        return directory, adapters

    # What others do.

    @override
    def meddle(self, struck: "StrEnum") -> None:
        project = self.projects[PROJECT_IDS[0]]
        match struck:
            case ArchiveFault.PROJECT_GIVEN_AWAY:
                project.owner_id = OTHER_CUSTOMER_ID
            case ArchiveFault.PROJECT_EDITED if project.files:
                self.edit(PROJECT_IDS[0], {**project.files, "notes.txt": EDITED})
            case ArchiveFault.PROJECT_EMPTIED:
                self.edit(PROJECT_IDS[0], {})
            case ArchiveFault.BUCKET_OPENED | ArchiveFault.BUCKET_OPENED_A_WHILE:
                self._open(for_good=struck is ArchiveFault.BUCKET_OPENED)
            case ArchiveFault.ARCHIVE_DELETED:
                self.objects.clear()
            case ArchiveFault.ARCHIVE_REPLACED:
                self.replace_all()
            case _:
                super().meddle(struck)

    def _open(self, *, for_good: bool) -> None:
        self.private, self.was_open = False, True

        def close() -> None:
            self.private = True

        if not for_good:
            scheduler = self.world.scheduler
            delay_ms = Dice(self.world.seed, "bucket").within(*OPEN_FOR_MS)
            scheduler.at(scheduler.now_ms + delay_ms, close, outside=True)

    # What is so.

    @override
    def marks(self, provider: str) -> frozenset[str]:
        return frozenset(found.metadata["effect_id"] for found in self.objects.values())

    @override
    def is_ours(self, effect: Effect, record_id: str) -> bool:
        found = self.made.get(record_id)
        return found is not None and found.metadata["effect_id"] == effect.effect_id

    @override
    def lives(self, effect: Effect) -> bool:
        return effect.effect_id in self.marks(effect.provider)

    @override
    def archive_made(self, key: str, made: Stored) -> None:
        check = self.world.check
        ledger, effect = check.effect(made.metadata["effect_id"])
        refused = effect.state is EffectState.REJECTED
        check.require("unknown", "called refused, and then carried out", holds=not refused)
        ours = [one for one in self.made.values() if one.metadata["run_id"] == ledger.run.run_id]
        granted = [one for one in ledger.approvals if one.state is ApprovalState.APPROVED]
        few = len(ours) <= len(granted)
        check.require("archive", f"{len(ours)} archives for {len(granted)} yes", holds=few)
        for name in ("customer_id", "project_id", "scope"):
            same = made.metadata[name] == effect.bound[name]
            check.require("archive", f"another {name} than was approved", holds=same)
        project_id = str(effect.bound["project_id"])
        held = _unpacked(made.body, project_id)
        was_so = held in self.history[project_id]
        check.require("archive", "not the project as it ever was", holds=was_so)

    @override
    def check_read_back(self, check: "Check", process: "Process", effect: Effect) -> None:
        """The proof of an archive is the digest of the bytes that are really there."""
        if effect.provider != s3_promises.CONTRACT.provider:
            return
        assert effect.evidence is not None
        shown = process.shown.get(effect.evidence.record_id)
        assert isinstance(shown, Stored)
        fields = effect.evidence.fields
        same = (fields.get("digest"), fields.get("size_bytes")) == (
            shown.measured.digest,
            shown.measured.size_bytes,
        )
        check.require("confirmed", "without the digest of what is there", holds=same)
        until_ms = shown.at_ms + s3_promises.VALID_SECONDS * 1000
        kept = fields.get("valid_until_ms") == until_ms
        check.require("confirmed", "with another end", holds=kept)

    @override
    def check_mail(self, check: "Check", ledger: RunLedger, effect: Effect, mail: Mail) -> None:
        """A link leads to the archive that was proven, and tells until when it does."""
        artifact_id = str(effect.bound["artifact_id"])
        proofs = [
            found.evidence
            for found in ledger.effects
            if found.evidence is not None
            and found.evidence.record_id == artifact_id
            and found.effect_id != effect.effect_id
            and found.state in WAS_CONFIRMED
        ]
        check.require("mail", "a link without a confirmed archive", holds=proofs)
        check.require("mail", "another archive", holds=artifact_id in mail.text)
        page = f"{SITE_URL}/artifact/{ledger.run.run_id}\n"
        check.require("mail", "another page", holds=page in mail.text)
        # What was proven was compared with the object itself, see ``check_read_back``.
        ends = told_moment(int(proofs[0].fields["valid_until_ms"])) in mail.text
        check.require("mail", "another end", holds=ends)
        self._visits += 1
        name = f"visit{self._visits}"
        low, high = FOLLOWS_MS
        delay_ms = int(low * (high / low) ** Dice(self.world.seed, name).random())
        run_id = ledger.run.run_id
        self.world.run_process(
            "customer", name, lambda process: _visit(process, run_id), delay_ms=delay_ms
        )

    reasons: ClassVar[tuple[Reason, ...]] = (
        (
            "project is another's",
            r"the project belongs to another customer",
            lambda check, _l, _e: (
                _export(check).projects[PROJECT_IDS[0]].owner_id == OTHER_CUSTOMER_ID
            ),
        ),
        (
            "project is empty",
            r"the project holds no files",
            lambda check, _l, _e: not _export(check).projects[PROJECT_IDS[0]].files,
        ),
        (
            "bucket open",
            r"the bucket for archives is open to the public",
            lambda check, _l, _e: _export(check).was_open,
        ),
        (
            "link ended",
            r"the time until which the link would work has ended",
            lambda check, ledger, _: _has_ended(_export(check), ledger),
        ),
    )


class Links:
    """A ``ledger.artifact.ArtifactLinks`` that checks what it is asked for."""

    def __init__(self, process: "Process", ledger: RunLedger) -> None:
        """Hand the archive of one run out to ``process``."""
        self._process = process
        self._ledger = ledger

    def url(self, artifact_id: str, lifetime_seconds: int) -> str:
        """Return an address. Raises Violation for what must not be handed out."""
        process, check = self._process, self._process.world.check
        shown = process.shown.get(artifact_id)
        proven = next(
            found
            for found in self._ledger.effects
            if found.evidence is not None and found.evidence.record_id == artifact_id
        )
        assert proven.evidence is not None
        same = (
            isinstance(shown, Stored) and shown.measured.digest == proven.evidence.fields["digest"]
        )
        check.require("handed", "other bytes than were proven", holds=same)
        check.require("handed", "nobody asked whose it is", holds="archive" in process.has_read)
        until_ms = int(proven.evidence.fields["valid_until_ms"])
        in_time = process.now_ms() + lifetime_seconds * 1000 <= until_ms
        check.require("handed", "for longer than was told", holds=in_time)
        return f"{SITE_URL}/{artifact_id}"


def _visit(process: "Process", run_id: str) -> None:
    """Let the customer follow the link, once."""
    try:
        ledger = load(process.ports, run_id)
        definition = process.world.deploys.definition_of(ledger)
        hand_out(process.ports, Links(process, ledger), definition, ledger)
    except (RequestRefused, RetryLater):
        return


def _has_ended(export: ProjectExport, ledger: RunLedger) -> bool:
    now_ms, tolerance_ms = export.world.scheduler.now_ms, export.world.max_skew_ms
    return any(
        now_ms + tolerance_ms >= found.at_ms + s3_promises.VALID_SECONDS * 1000
        for found in export.made.values()
        if found.metadata["run_id"] == ledger.run.run_id
    )


@lru_cache(maxsize=MAX_UNPACKED)
def _unpacked(body: bytes, project_id: str) -> Mapping[str, bytes]:
    """Return the files of one project in an archive; what is of none keeps its whole name."""
    held: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        for member in archive:
            found = archive.extractfile(member)
            assert found is not None
            held[member.name.removeprefix(f"{project_id}/")] = found.read()
    return held


def _export(check: "Check") -> ProjectExport:
    found = check.world.outside
    assert isinstance(found, ProjectExport)
    return found


def scenario(definition: WorkflowDefinition) -> Scenario:
    """Return what is played of a version."""
    return Scenario(
        definition=definition,
        share=SHARE,
        outside=ProjectExport,
        own_sites=SITES,
        own_places=PLACES,
    )
