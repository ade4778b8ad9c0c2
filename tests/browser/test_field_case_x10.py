"""X10: whoever opens a link of an approval, however often, decides nothing."""

import itertools
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Request, expect

from ledger.approval import ApprovalState
from ledger.transitions import RunState
from tests.browser.conftest import OpenTab
from tests.browser.shared_checks import check_shared
from tests.browser.tab import PATIENCE_MS, Tab
from tests.e2e.conftest import Person
from tests.e2e.evidence import assert_refunded_once_and_told_once

TIMES = 5
# One for each try: scanners come from where they like.
ADDRESSES = [f"203.0.113.{number}" for number in range(1, TIMES + 1)]
SCANNERS = ["Mozilla/5.0 (compatible; LinkScanner/1.0)", "python-httpx", ""]


def links_of(run_id: str, approval_id: str) -> list[str]:
    """Return the link of the mail, and every address that a scanner could make of it."""
    page = f"/approve/{run_id}/{approval_id}"
    decision = f"/runs/{run_id}/approvals/{approval_id}/decision"
    return [
        page,
        f"{page}?decision=approve",
        f"{page}?decision=decline",
        f"{page}/approve",
        f"{page}/decline",
        decision,
        f"{decision}?decision=approve",
        f"/runs/{run_id}",
    ]


@pytest.fixture
def scanner(person: Person) -> Iterator[httpx.Client]:
    """Yield a client that signs nothing, and follows every redirect."""
    outputs = person.sandbox.outputs
    with httpx.Client(
        base_url=outputs.api_url,
        headers={"Host": outputs.api_host_header},
        follow_redirects=True,
        timeout=30,
        trust_env=False,
    ) as client:
        yield client


def posts_of(tab: Tab) -> list[Request]:
    """Return the list to which every POST of the tab's page to the API is added."""
    seen: list[Request] = []

    def note(request: Request) -> None:
        if request.method == "POST" and request.url.startswith(tab.origin):
            seen.append(request)

    tab.page.on("request", note)
    return seen


class TestX10TheMailScannerPressesApprove:
    def test_reading_the_links_consumes_nothing_and_one_press_decides_once(
        self, person: Person, scanner: httpx.Client, open_tab: OpenTab
    ) -> None:
        run_id = person.ask()
        shown = person.shown_approval(run_id)
        before, events = person.ledger(run_id), person.events(run_id)

        for link, method, (address, agent) in itertools.product(
            links_of(run_id, shown["approval_id"]),
            ("GET", "HEAD"),
            zip(ADDRESSES, itertools.cycle(SCANNERS), strict=False),
        ):
            headers = {"X-Forwarded-For": address, "User-Agent": agent}
            answer = scanner.request(method, link, headers=headers)
            # A page that holds no data, or nothing at all.
            assert answer.status_code in (200, 401, 404, 405), f"{method} {link}"
            assert "7900" not in answer.text
            assert "79.00" not in answer.text
        # One that is a whole browser, runs the scripts and looks at everything.
        for _ in range(2):
            machine = open_tab()
            posts = posts_of(machine)
            machine.go(f"/approve/{run_id}/{shown['approval_id']}")
            machine.heading("Please sign in")
            machine.page.mouse.wheel(0, 2000)
            assert posts == []
        assert person.ledger(run_id) == before
        assert person.events(run_id) == events

        tab = open_tab()
        posts = posts_of(tab)
        tab.go(f"/approve/{run_id}/{shown['approval_id']}")
        tab.sign_in(f"{person.email.partition('@')[0]}@recovery-ledger.example")
        tab.heading("Do you approve exactly this?")
        expect(tab.page.locator("ol.asked")).to_contain_text("USD 79.00")
        expect(tab.page.locator("ol.asked")).to_contain_text(person.subscriber.charge_id)
        # Signing in and reading have decided nothing either.
        assert person.ledger(run_id) == before
        tab.page.get_by_role("button", name="Approve: renewal cancellation").click()
        tab.message("Your approval is on record.")

        [decided] = posts
        assert decided.post_data_json == {"decision": "approve", "digest": shown["digest"]}
        person.wait_until_closed(run_id)
        assert_refunded_once_and_told_once(person, run_id)
        check_shared(person, run_id)

    @pytest.mark.parametrize(
        ("decision", "status"), [("approve", 200), ("decline", 409)], ids=["same", "other"]
    )
    def test_a_second_answer_changes_nothing(
        self, person: Person, open_tab: OpenTab, decision: str, status: int
    ) -> None:
        run_id = person.ask()
        shown = person.shown_approval(run_id)
        tab = open_tab()
        tab.go(f"/approve/{run_id}/{shown['approval_id']}")
        tab.sign_in(f"{person.email.partition('@')[0]}@recovery-ledger.example")
        tab.press("Approve: renewal cancellation, and refund USD 79.00")
        tab.message("Your approval is on record.")
        person.wait_until_closed(run_id)
        after = person.events(run_id)

        again = person.api.decide(run_id, shown["approval_id"], decision, shown["digest"])

        assert again.status_code == status
        assert person.events(run_id) == after
        tab.page.reload()
        tab.heading("Your request is completed.")
        expect(tab.page.get_by_role("button", name="Approve")).to_have_count(0)
        check_shared(person, run_id)

    def test_a_post_without_the_pages_digest_or_the_persons_token_decides_nothing(
        self, person: Person, scanner: httpx.Client
    ) -> None:
        run_id = person.ask()
        shown = person.shown_approval(run_id)
        before = person.events(run_id)
        path = f"/runs/{run_id}/approvals/{shown['approval_id']}/decision"
        yes = {"decision": "approve", "digest": shown["digest"]}

        unsigned = scanner.post(path, json=yes)
        blind = person.api.decide(run_id, shown["approval_id"], "approve", "sha256:0")
        to_the_page = scanner.post(f"/approve/{run_id}/{shown['approval_id']}", json=yes)

        assert (unsigned.status_code, blind.status_code) == (401, 409)
        assert to_the_page.status_code in (404, 405)
        assert person.events(run_id) == before
        assert person.ledger(run_id).run.state is RunState.AWAITING_APPROVAL
        check_shared(person, run_id)

    def test_declining_is_one_press_too_and_nothing_is_done(
        self, person: Person, open_tab: OpenTab
    ) -> None:
        run_id = person.ask()
        shown = person.shown_approval(run_id)
        tab = open_tab()
        tab.go(f"/approve/{run_id}/{shown['approval_id']}")
        tab.sign_in(f"{person.email.partition('@')[0]}@recovery-ledger.example")

        tab.press("Decline: nothing more is done")

        tab.message("You declined. That is on record.")
        [approval] = person.ledger(run_id).approvals
        assert approval.state is ApprovalState.DECLINED
        assert person.ledger(run_id).run.state is RunState.CLOSED
        assert person.sandbox.stripe.requests("POST", "/v1/refunds") == []
        check_shared(person, run_id)

    def test_staff_can_read_the_question_and_not_answer_it(
        self, person: Person, open_tab: OpenTab
    ) -> None:
        run_id = person.ask()
        shown = person.shown_approval(run_id)
        tab = open_tab()
        tab.go(f"/approve/{run_id}/{shown['approval_id']}")

        tab.sign_in(tab.outputs.sign_in_names["agent"])

        tab.heading("Do you approve exactly this?")
        expect(tab.page.locator("main")).to_contain_text("Only the customer can decide")
        expect(tab.page.get_by_role("button", name="Approve")).to_have_count(0)
        assert tab.page.get_by_role("button", name="Decline").count() == 0
        check_shared(person, run_id)

    def test_an_answer_to_what_was_replaced_meanwhile_is_refused_and_the_new_question_shown(
        self, person: Person, open_tab: OpenTab
    ) -> None:
        run_id = person.ask()
        shown = person.shown_approval(run_id)
        tab = open_tab()
        tab.go(f"/approve/{run_id}/{shown['approval_id']}")
        tab.sign_in(f"{person.email.partition('@')[0]}@recovery-ledger.example")
        tab.heading("Do you approve exactly this?")
        # The same person answers in another window.
        person.api.decide(run_id, shown["approval_id"], "decline", shown["digest"])

        tab.press("Approve: renewal cancellation, and refund USD 79.00")

        tab.message("already declined")
        expect(tab.page.get_by_role("heading", level=1)).to_contain_text(
            "Your request is closed", timeout=PATIENCE_MS
        )
        assert person.sandbox.stripe.requests("POST", "/v1/refunds") == []
        check_shared(person, run_id)
