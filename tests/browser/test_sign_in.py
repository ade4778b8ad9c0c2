"""Signing in: one code for one tab, no token in an address, and nothing kept that is not needed."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenTab
from tests.browser.tab import PATIENCE_MS


def stored(page: Page, area: str) -> dict[str, str]:
    """Return what the page's origin keeps."""
    found: dict[str, str] = page.evaluate(f"({{...{area}}})")
    return found


def test_the_page_asks_for_a_code_with_a_challenge_and_keeps_one_token_for_the_tab(
    open_tab: OpenTab,
) -> None:
    tab = open_tab()
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))

    tab.go("/console")
    tab.sign_in(tab.outputs.sign_in_names["operator"])

    [authorize] = [url for url in asked if "/oauth2/authorize" in url]
    wanted = parse_qs(urlsplit(authorize).query)
    assert wanted["response_type"] == ["code"]
    assert wanted["code_challenge_method"] == ["S256"]
    assert wanted["scope"] == ["openid"]
    assert len(wanted["code_challenge"][0]) == 43
    [token] = stored(tab.page, "sessionStorage").values()
    assert token.count(".") == 2
    assert stored(tab.page, "localStorage") == {}
    assert tab.context.cookies() == []
    # Neither the code nor the token is in the tab's history.
    assert tab.page.url == tab.outputs.console_url
    assert not any(token in url for url in asked)
    tab.assert_nothing_ran()


def test_signing_out_forgets_the_token(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.go("/console")
    tab.sign_in(tab.outputs.sign_in_names["operator"])

    tab.press("Sign out")

    expect(tab.page.get_by_role("button", name="Sign in")).to_be_visible(timeout=PATIENCE_MS)
    assert stored(tab.page, "sessionStorage") == {}


@pytest.mark.parametrize(
    "search",
    ["", "?code=stolen&state=unknown", "?error=access_denied&state=unknown", "?code=x"],
)
def test_an_answer_that_this_tab_did_not_ask_for_signs_nobody_in(
    open_tab: OpenTab, search: str
) -> None:
    tab = open_tab()

    tab.go(f"/signed-in{search}")

    tab.heading("You are not signed in")
    assert tab.page.url == f"{tab.origin}/signed-in"
    assert stored(tab.page, "sessionStorage") == {}
    tab.assert_nothing_ran()


def test_a_code_of_somebody_elses_sign_in_is_not_taken(open_tab: OpenTab) -> None:
    attacker, victim = open_tab(), open_tab()
    asked: list[str] = []
    attacker.page.on("request", lambda request: asked.append(request.url))
    # The attacker does not use the code, and sends its address to somebody.
    attacker.page.route("**/oauth2/token", lambda route: route.abort())
    attacker.go("/console")
    attacker.press("Sign in")
    attacker.page.get_by_label("Username").fill(attacker.outputs.sign_in_names["customer"])
    attacker.page.get_by_label("Password").fill(attacker.outputs.sign_in_password)
    attacker.press("Sign in")
    attacker.heading("You are not signed in")
    [address] = [url for url in asked if "/signed-in?code=" in url]

    victim.page.goto(address)

    victim.heading("You are not signed in")
    assert stored(victim.page, "sessionStorage") == {}


def test_a_token_that_has_ended_leads_to_the_sign_in_again(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.go("/console")
    tab.sign_in(tab.outputs.sign_in_names["operator"])
    head, body, signature = stored(tab.page, "sessionStorage")["session"].split(".")
    tab.page.evaluate(
        """([head, body, signature]) => {
          const claims = JSON.parse(atob(body.replaceAll("-", "+").replaceAll("_", "/")));
          claims.exp = 1;
          const ended = btoa(JSON.stringify(claims)).replaceAll("+", "-").replaceAll("/", "_");
          sessionStorage.setItem("session", [head, ended, signature].join("."));
        }""",
        [head, body, signature],
    )

    tab.page.reload()

    expect(tab.page.get_by_role("button", name="Sign in")).to_be_visible(timeout=PATIENCE_MS)
    assert stored(tab.page, "sessionStorage") == {}


def test_claims_that_somebody_altered_open_no_door(open_tab: OpenTab) -> None:
    """The page believes a token's claims for its own words only; the API checks the signature."""
    tab = open_tab()
    tab.go("/console")
    tab.sign_in(tab.outputs.sign_in_names["customer"])
    tab.heading("This could not be shown")
    forged = json.dumps(["operators"])
    tab.page.evaluate(
        f"""() => {{
          const [head, body, signature] = sessionStorage.getItem("session").split(".");
          const claims = JSON.parse(atob(body.replaceAll("-", "+").replaceAll("_", "/")));
          claims["cognito:groups"] = {forged};
          const altered = btoa(JSON.stringify(claims)).replaceAll("+", "-").replaceAll("/", "_");
          sessionStorage.setItem("session", [head, altered, signature].join("."));
        }}"""
    )

    tab.page.reload()

    expect(tab.page.get_by_role("button", name="Sign in")).to_be_visible(timeout=PATIENCE_MS)
