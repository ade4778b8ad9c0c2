"""C23: text of customers, agents, providers and operators is text on every page."""

import re
import time

import pytest
from playwright.sync_api import Browser, expect

from ledger.event import EventKind
from sandbox.aws_seed import SampleUser
from sandbox.environment import Sandbox
from sandbox.ledger_view import ledger_store
from tests.browser.conftest import NewUser, OpenTab
from tests.browser.hostile import (
    OVERRIDE,
    OVERRIDE_SHOWN,
    PAYLOADS,
    as_shown,
    hostile_question,
    hostile_review,
)
from tests.browser.scenes import refund_that_differs, show_it_right
from tests.browser.shared_checks import check_shared
from tests.browser.tab import PATIENCE_MS, WATCH, Tab
from tests.e2e.conftest import MAX_EVENTS, Person
from tests.recovery.ledger_checks import check_numbers
from tests.recovery.way_on import check_person_can_act

ACTIONS = "What you may do"


def now_ms() -> int:
    """Return the time."""
    return int(time.time() * 1000)


def assert_only_text(tab: Tab, payload: str) -> None:
    """Fail unless the payload is on the page as text, did nothing, and hides nothing."""
    assert as_shown(payload) in tab.text()
    assert OVERRIDE not in tab.text()
    tab.assert_links_are_ours()
    tab.assert_nothing_ran()
    # What came of markup would be such an element.
    assert (
        tab.page.locator("main :is(img, svg, iframe, script, style, object, form form)").count()
        == 0
    )


def sign_in_to(tab: Tab, path: str, user: SampleUser) -> None:
    """Open a page and sign in on it."""
    tab.go(path)
    tab.sign_in(user.email)


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
class TestC23CustomerTextRunsInTheOperatorsBrowser:
    def test_in_the_list_in_a_run_and_in_the_trail_of_what_was_done(
        self, sandbox: Sandbox, open_tab: OpenTab, new_user: NewUser, payload: str
    ) -> None:
        # A name of the tenant that is hostile too, and nobody else's.
        tenant = f"{payload} {time.time_ns()}"
        store = ledger_store(sandbox)
        run_id = hostile_review(store, tenant, now_ms(), payload)
        before = store.events(run_id, 0, MAX_EVENTS)
        tab = open_tab()
        sign_in_to(tab, "/console", new_user(group="operators", tenant_id=tenant))

        item = tab.page.locator("li.review", has_text=run_id)
        expect(item).to_be_visible(timeout=PATIENCE_MS)
        assert_only_text(tab, payload)
        item.get_by_role("heading").get_by_role("link").click()
        expect(tab.page.get_by_role("heading", name=ACTIONS)).to_be_visible(timeout=PATIENCE_MS)
        for folded in tab.page.locator("details").all():
            folded.locator("summary").click()
        tab.press("Show who the customer is and what they wrote")
        marked = tab.page.locator(".untrusted")
        expect(marked).to_contain_text("Written by others, and not checked")
        expect(marked).to_contain_text(as_shown(payload))
        assert_only_text(tab, payload)

        tab.press(re.compile("^Mark for engineering review"))
        dialog = tab.page.get_by_role("dialog")
        # A reason may hold no null character: a text field drops none, and the trail shows it.
        dialog.get_by_label("Why?").fill(f"because {payload}")
        dialog.get_by_role("button", name=re.compile("^Do it")).click()
        tab.message("Done, and on record")
        expect(tab.page.locator("ol.trail")).to_contain_text(f"because {as_shown(payload)}")
        assert_only_text(tab, payload)

        # What was written by hand stands as it was; what was done is on record behind it.
        ledger, events = store.load(run_id), store.events(run_id, 0, MAX_EVENTS)
        assert ledger is not None
        assert events[: len(before)] == before
        assert events[-1].kind is EventKind.OPERATOR_ACTED
        check_numbers(ledger, events)
        check_person_can_act(ledger, now_ms())

    def test_on_the_page_where_a_customer_decides(
        self, sandbox: Sandbox, open_tab: OpenTab, new_user: NewUser, payload: str
    ) -> None:
        tenant = f"{payload} {time.time_ns()}"
        customer = new_user(tenant_id=tenant, customer_id=payload)
        store = ledger_store(sandbox)
        run_id, approval_id = hostile_question(store, tenant, payload, now_ms(), payload)
        before = store.load(run_id), store.events(run_id, 0, MAX_EVENTS)
        tab = open_tab()

        sign_in_to(tab, f"/approve/{run_id}/{approval_id}", customer)

        tab.heading("Do you approve exactly this?")
        assert_only_text(tab, payload)
        assert (store.load(run_id), store.events(run_id, 0, MAX_EVENTS)) == before


class TestC23FromTheDoorToTheScreen:
    def test_what_a_customer_wrote_and_what_a_provider_says_come_as_text(
        self, open_tab: OpenTab, person: Person
    ) -> None:
        """Nothing is put into the ledger by hand here: it takes the ways that are open."""
        texts = [text for name, text in PAYLOADS.items() if name != "override"]
        everything = "\n".join([*texts, f"re_1{OVERRIDE}gnp.dnufer"])
        person.sandbox.stripe.show(person.subscriber.customer_id, {"name": everything})
        run_id, refund_id = refund_that_differs(person, everything)
        show_it_right(person, refund_id)
        person.sandbox.stripe.show(refund_id, {"status": everything})
        tab = open_tab()
        tab.go(f"/console#{run_id}")
        tab.sign_in(tab.outputs.sign_in_names["operator"])
        tab.press(re.compile("^Reconcile provider state"))
        dialog = tab.page.get_by_role("dialog")
        dialog.get_by_label("Why?").fill(everything)
        dialog.get_by_role("button", name=re.compile("^Do it")).click()
        tab.message("Done, and on record")

        # What the operator gave as the reason, and what the provider says of the refund.
        trail = tab.page.locator("ol.trail")
        expect(trail.get_by_text(texts[0]).first).to_be_visible()
        effect = tab.page.locator("li.effect", has_text="Refund")
        expect(effect).to_contain_text(texts[0])
        assert_only_text(tab, texts[1])
        tab.press("Show who the customer is and what they wrote")
        words = tab.page.locator(".untrusted")
        for text in [*texts, OVERRIDE_SHOWN]:
            expect(words).to_contain_text(text)
        name = words.locator("dd").first
        expect(name).to_contain_text(texts[0])
        assert_only_text(tab, texts[0])
        check_shared(person, run_id)


class TestC23ThePolicyStandsBehindThePages:
    """Were a page ever to take text for markup, the browser would refuse it all the same."""

    @pytest.mark.parametrize("path", ["/console", "/approve/run/approval", "/signed-in"])
    def test_no_text_becomes_markup_or_script(self, open_tab: OpenTab, path: str) -> None:
        tab = open_tab()
        tab.go(path)
        tab.page.get_by_role("heading", level=1).wait_for()

        refused = tab.page.evaluate(
            """async () => {
              // What the test itself evaluates is free of the policy; what comes later is not.
              await new Promise((later) => setTimeout(later));
              const attempts = [
                () => { document.body.innerHTML = "<img src=x onerror=canary(1)>"; },
                () => { document.write("<script>canary(2)</scr" + "ipt>"); },
                () => { (0, eval)("canary(3)"); },
                () => { const s = document.createElement("script"); s.text = "canary(4)";
                        document.body.append(s); },
                () => { const s = document.createElement("script"); s.src = "data:,canary(5)";
                        document.body.append(s); },
              ];
              return attempts.map((attempt) => {
                try { attempt(); return "went on"; } catch (error) { return error.name; }
              });
            }"""
        )
        tab.page.evaluate(
            """() => {
              const link = document.createElement("a");
              link.setAttribute("href", "javascript:canary(6)");
              document.body.append(link);
              link.click();
            }"""
        )

        assert refused == ["TypeError", "TypeError", "EvalError", "TypeError", "TypeError"]
        tab.page.wait_for_function("window.refused.length > 0")
        assert tab.page.evaluate("window.ran") == []

    def test_no_other_site_can_frame_a_page(self, open_tab: OpenTab) -> None:
        tab = open_tab()
        tab.page.set_content(f'<iframe src="{tab.origin}/approve/run/approval"></iframe>')

        tab.page.wait_for_timeout(1000)

        assert any("frame-ancestors" in noticed for noticed in tab.noticed)

    @pytest.mark.parametrize("name", ["image", "script", "svg", "textarea"])
    def test_the_watch_would_notice_each_of_them_on_a_page_without_care(
        self, browser: Browser, name: str
    ) -> None:
        context = browser.new_context()
        context.add_init_script(WATCH)
        page = context.new_page()

        page.goto("about:blank")
        page.set_content(f"<textarea></textarea><p>{PAYLOADS[name]}</p>")
        page.wait_for_timeout(300)

        assert page.evaluate("window.ran") != []
        context.close()

    def test_an_override_would_be_seen_as_its_number(self) -> None:
        assert OVERRIDE_SHOWN in as_shown(PAYLOADS["override"])
