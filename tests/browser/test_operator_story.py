"""An operator at the console: what they see is what the ledger says, and what they press is done
once, on what they saw."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from ledger.event import Event, EventKind
from ledger.transitions import RunState
from sandbox.environment import Sandbox
from sandbox.ledger_view import ledger_store
from tests.browser.conftest import NewUser, OpenTab
from tests.browser.scenes import (
    refund_that_differs,
    refund_that_is_refused,
    show_it_right,
    waiting_run,
)
from tests.browser.tab import PATIENCE_MS, Tab
from tests.e2e.conftest import Person
from tests.e2e.evidence import assert_refunded_once_and_told_once

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
ACTIONS = "What you may do"
REASON = "Stripe showed another amount for a while; ticket 4711."


def operator(open_tab: OpenTab, **options: Any) -> Tab:
    """Return a tab in which the sample operator has signed in to the console."""
    tab = open_tab(**options)
    tab.go("/console")
    tab.sign_in(tab.outputs.sign_in_names["operator"])
    return tab


def open_run(tab: Tab, run_id: str) -> None:
    """Open a run by its address."""
    tab.go(f"/console#{run_id}")
    expect(tab.page.get_by_role("heading", name=ACTIONS)).to_be_visible(timeout=PATIENCE_MS)
    expect(tab.page.get_by_text(run_id).first).to_be_attached()


def choose(tab: Tab, label: str, reason: str = REASON) -> None:
    """Press an action, say why, and confirm."""
    tab.page.get_by_role("button", name=re.compile(f"^{label}")).click()
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_label("Why?").fill(reason)
    dialog.get_by_role("button", name=re.compile("^Do it")).click()
    expect(dialog).to_have_count(0, timeout=PATIENCE_MS)


def acted(person: Person, run_id: str) -> list[Event]:
    """Return what operators did to the run."""
    return [event for event in person.events(run_id) if event.kind is EventKind.OPERATOR_ACTED]


def test_a_run_in_review_is_found_reconciled_resumed_and_completed(
    open_tab: OpenTab, person: Person
) -> None:
    run_id, refund_id = refund_that_differs(person)
    tab = operator(open_tab)
    item = tab.page.locator("li.review", has_text=run_id)
    expect(item).to_contain_text("USD 79.00")
    expect(item).to_contain_text("Refund: conflict")
    expect(item).to_contain_text(f"Renewal cancellation {person.subscriber.subscription_id}")
    item.get_by_role("link", name=re.compile("different in: amount_minor")).click()
    tab.heading(re.compile("refund for USD 79.00 is in conflict"))
    expect(tab.page.get_by_text("USD 0.01")).to_be_visible()
    # What would meet the conflict again is not offered, and says why.
    resume = tab.page.get_by_role("button", name=re.compile("^Resume from"))
    expect(resume).to_have_attribute("aria-disabled", "true")
    expect(resume).to_have_accessible_description(re.compile("resuming would meet it again"))
    resume.click(force=True)
    expect(tab.page.get_by_role("dialog")).to_have_count(0)

    show_it_right(person, refund_id)
    choose(tab, "Reconcile provider state")
    tab.message("Done, and on record: Reconcile provider state")
    tab.heading(re.compile(f"refund {refund_id} for USD 79.00 is confirmed"))
    assert person.ledger(run_id).run.state is RunState.REVIEW
    choose(tab, "Resume from refund_confirmed")
    tab.message("Done, and on record: Resume from refund_confirmed")

    # The page follows the run to its end without being asked.
    expect(tab.page.locator(".standing .state")).to_contain_text("completed", timeout=PATIENCE_MS)
    person.wait_until_closed(run_id)
    assert_refunded_once_and_told_once(person, run_id)
    assert [event.reason for event in acted(person, run_id)] == [REASON, REASON]
    tab.go("/console")
    tab.heading("Runs that wait for a person")
    expect(tab.page.locator("li.review", has_text=run_id)).to_have_count(0)
    tab.assert_nothing_ran()


def test_a_view_that_the_run_has_left_behind_does_nothing_and_is_shown_anew(
    open_tab: OpenTab, person: Person
) -> None:
    run_id = refund_that_is_refused(person)
    tab = operator(open_tab)
    open_run(tab, run_id)
    seen = person.ledger(run_id).run.sequence
    marked = {"action": "mark_for_engineering_review", "view_version": seen, "reason": "first"}
    path = f"/runs/{run_id}/actions"
    assert person.api.call("operator", "POST", path, marked).status_code == 200

    choose(tab, "Close without further action")

    tab.message("The run has changed since you looked, so nothing was done")
    expect(tab.page.locator(".standing")).to_contain_text("for engineering")
    assert [event.reason for event in acted(person, run_id)] == ["first"]
    assert person.ledger(run_id).run.state is RunState.REVIEW
    choose(tab, "Close without further action")
    tab.message("Done, and on record")
    assert person.ledger(run_id).run.state is RunState.CLOSED


def test_an_action_needs_a_reason_and_its_confirmation_repeats_the_consequence(
    open_tab: OpenTab, person: Person
) -> None:
    run_id = refund_that_is_refused(person)
    tab = operator(open_tab)
    open_run(tab, run_id)
    button = tab.page.get_by_role("button", name=re.compile("^Request fresh customer approval"))
    expect(button).to_contain_text("Moves money: USD 79.00")
    expect(button).to_contain_text("May write: Refund, Receipt email")

    button.click()
    dialog = tab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Moves money: USD 79.00")
    expect(dialog).to_contain_text("Nothing is sent before they approve")
    for reason in ("", " \n "):
        dialog.get_by_label("Why?").fill(reason)
        dialog.get_by_role("button", name=re.compile("^Do it")).click()
        expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()

    expect(dialog).to_have_count(0)
    assert acted(person, run_id) == []


def test_everything_can_be_done_with_the_keyboard_alone(open_tab: OpenTab, person: Person) -> None:
    run_id = refund_that_is_refused(person)
    tab = operator(open_tab)
    open_run(tab, run_id)
    keys = tab.page.keyboard

    for _ in range(20):
        keys.press("Tab")
        at = str(tab.page.evaluate("document.activeElement.innerText"))
        if at.startswith("Mark for engineering review"):
            break
    keys.press("Enter")
    keys.type("by keyboard")
    keys.press("Escape")
    expect(tab.page.get_by_role("dialog")).to_have_count(0)
    keys.press("Enter")
    keys.type("by keyboard")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Enter")

    tab.message("Done, and on record: Mark for engineering review")
    assert [event.reason for event in acted(person, run_id)] == ["by keyboard"]


def test_an_answer_that_does_not_come_is_told_as_not_known(
    open_tab: OpenTab, person: Person
) -> None:
    run_id = refund_that_is_refused(person)
    tab = operator(open_tab)
    open_run(tab, run_id)

    def lose(route: Route) -> None:
        """Let the request arrive, and its answer be lost on the way back."""
        path = f"/runs/{run_id}/actions"
        assert person.api.call("operator", "POST", path, route.request.post_data_json).is_success
        route.abort("connectionreset")

    tab.page.route("**/actions", lose)

    choose(tab, "Mark for engineering review")

    tab.message("It is not known whether that was done")
    expect(tab.page.locator(".standing")).to_contain_text("for engineering")
    assert len(acted(person, run_id)) == 1


def test_who_is_signed_out_meanwhile_does_nothing_and_comes_back_to_the_same_run(
    open_tab: OpenTab, person: Person
) -> None:
    run_id = refund_that_is_refused(person)
    tab = operator(open_tab)
    open_run(tab, run_id)
    tab.page.evaluate("sessionStorage.clear()")

    choose(tab, "Mark for engineering review")

    tab.heading("You are signed out")
    assert acted(person, run_id) == []
    tab.sign_in(tab.outputs.sign_in_names["operator"])
    expect(tab.page.get_by_role("heading", name=ACTIONS)).to_be_visible(timeout=PATIENCE_MS)
    assert tab.page.url.endswith(f"/console#{run_id}")


def test_more_than_a_page_of_runs_is_shown_by_pages(
    sandbox: Sandbox, open_tab: OpenTab, new_user: NewUser
) -> None:
    tenant = f"tenant of many {time.time_ns()}"
    now_ms = int(time.time() * 1000)
    ids = [waiting_run(ledger_store(sandbox), tenant, now_ms, number) for number in range(23)]
    tab = open_tab()
    tab.go("/console")
    tab.sign_in(new_user(group="operators", tenant_id=tenant).email)
    shown = tab.page.locator("li.review code")

    expect(shown).to_have_count(20, timeout=PATIENCE_MS)
    tab.press("Show those that wait less long")
    expect(shown).to_have_count(23, timeout=PATIENCE_MS)

    assert shown.all_inner_texts() == ids
    expect(tab.page.get_by_role("button", name="Show those")).to_be_hidden()


def test_on_a_phone_nothing_is_wider_than_the_screen(open_tab: OpenTab, person: Person) -> None:
    run_id, _ = refund_that_differs(person)
    tab = operator(open_tab, **PHONE)
    for address in ("/console", f"/console#{run_id}"):
        tab.go(address)
        expect(tab.page.locator("li.card").first).to_be_visible(timeout=PATIENCE_MS)

        assert tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("user", ["agent", "customer"])
def test_whoever_is_no_operator_sees_no_run(open_tab: OpenTab, person: Person, user: str) -> None:
    refund_that_is_refused(person)
    tab = open_tab()
    tab.go("/console")

    tab.sign_in(tab.outputs.sign_in_names[user])

    tab.heading("This could not be shown")
    expect(tab.page.locator("main")).to_contain_text("Only an operator may see and do this.")
    assert person.subscriber.customer_id not in tab.text()


def test_a_run_can_be_opened_by_its_id_and_only_by_one(open_tab: OpenTab, person: Person) -> None:
    run_id = person.ask()
    tab = operator(open_tab)
    field = tab.page.get_by_label("Open a run by its id")

    field.fill("javascript:canary(1)")
    tab.press("Open")
    tab.message("A run's id is")
    field.fill(f" {run_id} ")
    field.press("Enter")

    expect(tab.page.get_by_role("heading", name=ACTIONS)).to_be_visible(timeout=PATIENCE_MS)
    assert tab.page.url.endswith(f"/console#{run_id}")
    tab.assert_nothing_ran()
