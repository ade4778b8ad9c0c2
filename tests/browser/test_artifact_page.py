"""What a customer sees who follows the link to what was made for them, and what everybody else."""

import io
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import expect

from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from providers.s3_artifacts import S3Artifacts
from providers.s3_client import S3ArtifactStore
from providers.s3_projects import S3Projects
from sandbox.aws_seed import TENANT_ID
from sandbox.clients import aws_client
from sandbox.environment import Sandbox
from sandbox.ledger_view import ledger_store
from sandbox.project_seed import create_project, give_project
from tests.browser.conftest import NewUser, OpenTab
from tests.browser.tab import PATIENCE_MS, Tab
from tests.delivered import Wish, write_delivered
from tests.e2e.conftest import Person

FILES = {"notes.txt": b"a few words", "pictures/one.bin": bytes(range(256))}
FETCH = "Fetch the file"


@dataclass
class Shelf:
    """The sandbox's buckets, with one project of a customer and what was delivered of it."""

    sandbox: Sandbox
    archives: S3Artifacts
    customer_id: str
    project_id: str

    def deliver(self, **wish: Any) -> RunLedger:
        """Write a run that has delivered the project; ``wish`` is what is otherwise."""
        whole = {
            "customer_id": self.customer_id,
            "tenant_id": TENANT_ID,
            "project_id": self.project_id,
            "now_ms": int(time.time() * 1000),
            "key": token_hex(8),
        }
        return write_delivered(ledger_store(self.sandbox), self.archives, Wish(**{**whole, **wish}))


@pytest.fixture
def shelf(sandbox: Sandbox, person: Person) -> Shelf:
    """Return a shelf with one project of the person."""
    s3: Any = aws_client("s3", sandbox.aws_port)
    outputs = sandbox.outputs
    archives = S3Artifacts(
        S3ArtifactStore(s3, outputs.artifacts_bucket), S3Projects(s3, outputs.projects_bucket)
    )
    made = Shelf(sandbox, archives, person.subscriber.customer_id, f"prj_{token_hex(6)}")
    create_project(sandbox.aws_port, made.project_id, made.customer_id, FILES)
    return made


def sign_in_as(tab: Tab, person: Person) -> None:
    """Sign in as the customer does."""
    tab.sign_in(f"{person.email.partition('@')[0]}@recovery-ledger.example")


def asked_of_the_api(tab: Tab) -> list[str]:
    """Return the list to which each request of the page for an artifact is added."""
    seen: list[str] = []
    tab.page.on(
        "request", lambda request: seen.append(request.url) if "/runs/" in request.url else None
    )
    return seen


def unpacked(path: Path) -> dict[str, bytes]:
    """Return the files of an archive."""
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as archive:
        return {
            member.name: content.read()
            for member in archive.getmembers()
            if (content := archive.extractfile(member))
        }


def test_the_customer_signs_in_and_fetches_what_was_made(
    shelf: Shelf, person: Person, open_tab: OpenTab
) -> None:
    ledger = shelf.deliver()
    tab = open_tab(accept_downloads=True)
    tab.go(f"/artifact/{ledger.run.run_id}")
    sign_in_as(tab, person)
    tab.heading("Your file is ready")
    expect(tab.page.locator("main")).to_contain_text("(in 2 d 23 h)", timeout=PATIENCE_MS)

    with tab.page.expect_download() as fetched:
        tab.press(FETCH)

    tab.message("Your browser is fetching it.")
    assert fetched.value.suggested_filename == "export.tar"
    assert unpacked(fetched.value.path()) == {
        f"{shelf.project_id}/{name}": content for name, content in FILES.items()
    }
    # Fetching is reading: the page stays, and the ledger is as it was.
    assert tab.page.url == f"{tab.origin}/artifact/{ledger.run.run_id}"
    assert person.ledger(ledger.run.run_id) == ledger
    tab.assert_nothing_ran()


def test_opening_the_link_without_signing_in_asks_for_nothing(
    shelf: Shelf, open_tab: OpenTab
) -> None:
    ledger = shelf.deliver()
    tab = open_tab()
    asked = asked_of_the_api(tab)

    tab.go(f"/artifact/{ledger.run.run_id}")

    tab.heading("Please sign in")
    assert asked == []
    assert shelf.project_id not in tab.text()
    tab.assert_nothing_ran()


def test_another_customer_is_told_of_nothing(
    shelf: Shelf, open_tab: OpenTab, new_user: NewUser
) -> None:
    ledger = shelf.deliver()
    stranger = new_user(customer_id="cus_another")
    tab = open_tab()

    tab.go(f"/artifact/{ledger.run.run_id}")
    tab.sign_in(stranger.email)

    tab.heading("There is nothing for you here")
    expect(tab.page.get_by_role("button", name=FETCH)).to_have_count(0)
    assert "artifacts/" not in tab.text()
    tab.assert_nothing_ran()


@pytest.mark.parametrize(
    ("wish", "heading", "words"),
    [
        ({"valid_until_ms": 1_767_225_600_000}, "This link has ended", "Ask for it again"),
        (
            {"delivery": EffectState.UNKNOWN, "run": RunState.REVIEW},
            "It cannot be fetched now",
            "not ready",
        ),
    ],
    ids=["ended", "in doubt"],
)
def test_what_cannot_be_fetched_says_why(
    shelf: Shelf, person: Person, open_tab: OpenTab, wish: dict[str, Any], heading: str, words: str
) -> None:
    ledger = shelf.deliver(**wish)
    tab = open_tab()

    tab.go(f"/artifact/{ledger.run.run_id}")
    sign_in_as(tab, person)

    tab.heading(heading)
    expect(tab.page.locator("main")).to_contain_text(words)
    expect(tab.page.get_by_role("button", name=FETCH)).to_have_count(0)
    tab.assert_nothing_ran()


def test_what_was_taken_away_while_the_page_was_open_is_not_fetched(
    shelf: Shelf, person: Person, open_tab: OpenTab
) -> None:
    ledger = shelf.deliver()
    tab = open_tab(accept_downloads=True)
    fetched: list[object] = []
    tab.page.on("download", lambda download: fetched.append(download))
    tab.go(f"/artifact/{ledger.run.run_id}")
    sign_in_as(tab, person)
    tab.heading("Your file is ready")
    give_project(shelf.sandbox.aws_port, shelf.project_id, "cus_another")

    tab.press(FETCH)

    tab.heading("There is nothing for you here")
    assert fetched == []


@pytest.mark.parametrize(
    "changed",
    ["none", "{run_id}%3Cscript%3E", "{cut}", "RUN_{cut}"],
    ids=["no run", "more", "cut", "in capitals"],
)
def test_an_address_that_is_none_of_ours_says_so(
    shelf: Shelf, open_tab: OpenTab, changed: str
) -> None:
    run_id = shelf.deliver().run.run_id
    tab = open_tab()
    asked = asked_of_the_api(tab)

    tab.go(f"/artifact/{changed.format(run_id=run_id, cut=run_id[:-1])}")

    tab.heading("This link is not complete")
    assert asked == []
