"""A browser tab that notices what must not happen: scripts that ran, errors, calls elsewhere."""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Dialog, Locator, Page, expect

from sandbox.outputs import Outputs

# Two processors, cold functions: far above what is seen.
PATIENCE_MS = 60_000
# Made before any script of the page: what hostile text would call, and what the policy refused.
WATCH = """
window.ran = [];
window.canary = (what) => { window.ran.push(String(what)); };
window.refused = [];
addEventListener("securitypolicyviolation", (event) => {
  window.refused.push(`${event.effectiveDirective} ${event.blockedURI}`);
});
"""
OWN_LINK = re.compile(
    r"/console|#|#run_[a-z2-7]{26}|/approve/run_[a-z2-7]{26}/apr_[a-z2-7]{26}"
    r"|https://dashboard\.stripe\.com/(refunds|payments|subscriptions|customers)/[A-Za-z0-9_]+"
)
# What a browser writes when a request was answered by 4xx; the pages show such answers themselves.
ANSWERED = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")


@dataclass
class Tab:
    """One page in a browser session of its own."""

    context: BrowserContext
    page: Page
    outputs: Outputs
    noticed: list[str] = field(default_factory=list)
    """What a person would never have to see: dialogs, errors, refused scripts."""

    hosts: set[str] = field(default_factory=set)

    @classmethod
    def open(cls, context: BrowserContext, outputs: Outputs) -> "Tab":
        """Return a watched tab that shows nothing yet."""
        context.add_init_script(WATCH)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        tab = cls(context, page, outputs)
        page.on("dialog", tab._dialog)
        page.on("pageerror", lambda error: tab.noticed.append(f"error: {error}"))
        page.on("console", lambda said: tab._console(said.type, said.text))
        page.on("request", lambda asked: tab.hosts.add(urlsplit(asked.url).netloc))
        return tab

    @property
    def origin(self) -> str:
        """Return where the pages are."""
        return self.outputs.console_url.removesuffix("/console")

    def go(self, path: str) -> None:
        """Open a page of ours."""
        self.page.goto(f"{self.origin}{path}")

    def sign_in(self, user: str, password: str | None = None) -> None:
        """Press the page's own button, and sign in on the sign-in pages, as a person does."""
        self.press("Sign in")
        self.page.get_by_label("Username").fill(user)
        self.page.get_by_label("Password").fill(password or self.outputs.sign_in_password)
        self.press("Sign in")
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible(timeout=PATIENCE_MS)

    def press(self, name: str | re.Pattern[str]) -> None:
        """Press the one button of that name."""
        self.page.get_by_role("button", name=name).click()

    def heading(self, name: str | re.Pattern[str]) -> Locator:
        """Wait for the page's heading, and return it."""
        found = self.page.get_by_role("heading", level=1, name=name)
        expect(found).to_be_visible(timeout=PATIENCE_MS)
        return found

    def message(self, words: str | re.Pattern[str]) -> None:
        """Wait until the page says so."""
        expect(self.page.locator("#message")).to_contain_text(words, timeout=PATIENCE_MS)

    def text(self) -> str:
        """Return everything that is on the page as text, shown or folded away."""
        return str(self.page.evaluate("document.body.textContent"))

    def assert_nothing_ran(self) -> None:
        """Fail when a script that is not the page's own ran, or was only stopped by the policy."""
        assert self.page.evaluate("window.ran") == []
        assert self.page.evaluate("window.refused") == []
        assert self.noticed == []
        own = {urlsplit(url).netloc for url in (self.outputs.console_url, self.outputs.api_url)}
        assert self.hosts <= own

    def assert_links_are_ours(self) -> None:
        """Fail unless every link is one of the fixed templates."""
        links: list[Any] = self.page.evaluate(
            "[...document.querySelectorAll('a')].map((link) => link.getAttribute('href'))"
        )
        assert [link for link in links if not OWN_LINK.fullmatch(link)] == []

    def _dialog(self, dialog: Dialog) -> None:
        self.noticed.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not ANSWERED.match(text):
            self.noticed.append(f"{kind}: {text}")
