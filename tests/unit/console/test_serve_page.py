"""The pages as they are served: the same for everybody, under one strict policy, and no more."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from console.page_headers import page_headers
from console.serve_page import STATIC, handler

SIGN_IN_URL = "https://sign-in.example"
PAGES = {
    "/console": "Recovery console",
    "/approve/{run_id}/{approval_id}": "Your approval",
    "/artifact/{run_id}": "Your file",
    "/signed-in": "Signing in",
}
FILES = sorted(path.name for path in STATIC.iterdir() if path.suffix != ".html")
NOT_FILES = ["", "console.html", "nothing.js", "../serve_page.py", "serve_page.py", "%2e%2e", "a\0"]


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the stack sets."""
    monkeypatch.setenv("SIGN_IN_URL", SIGN_IN_URL)
    monkeypatch.setenv("USER_POOL_CLIENT_ID", "client-1")


def get(route: str, method: str = "GET", **path: str) -> Any:
    """Return the answer to one request, as API Gateway hands it over."""
    event = {"routeKey": f"{method} {route}", "pathParameters": path or None}
    return handler(event, None)


@pytest.mark.parametrize(("route", "title"), PAGES.items())
def test_a_page_is_served_whatever_its_address_names(route: str, title: str) -> None:
    answer = get(route, run_id="<script>", approval_id="x")

    assert answer["statusCode"] == 200
    assert answer["headers"]["content-type"] == "text/html; charset=utf-8"
    assert f"<title>{title}</title>" in answer["body"]
    # What the address says is in no page: the script reads it, and checks it.
    assert answer == get(route)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_served_as_what_it_is(name: str) -> None:
    answer = get("/console/{file}", file=name)

    assert answer["statusCode"] == 200
    assert answer["body"] == (STATIC / name).read_text(encoding="utf-8")
    assert answer["headers"]["content-type"].split(";")[0] in {
        ".js": "text/javascript",
        ".css": "text/css",
        ".svg": "image/svg+xml",
    }.get(Path(name).suffix, "")


def test_the_page_is_told_who_it_is_and_where_people_sign_in() -> None:
    answer = get("/console/{file}", file="config.json")

    assert answer["headers"]["content-type"] == "application/json"
    assert json.loads(answer["body"]) == {"client_id": "client-1", "sign_in_url": SIGN_IN_URL}


@pytest.mark.parametrize("name", NOT_FILES, ids=ascii)
def test_nothing_else_can_be_asked_for(name: str) -> None:
    answer = get("/console/{file}", file=name)

    assert answer["statusCode"] == 404
    assert answer["body"] == "There is no such file."


@pytest.mark.parametrize("event", [{}, {"routeKey": "GET /other"}, {"routeKey": "$default"}])
def test_a_route_that_is_none_of_ours_is_not_found(event: dict[str, str]) -> None:
    assert handler(event, None)["statusCode"] == 404


@pytest.mark.parametrize("route", PAGES)
def test_a_head_is_answered_like_a_get_without_the_page(route: str) -> None:
    asked, answered = get(route, "HEAD"), get(route)

    assert asked == {**answered, "body": ""}


@pytest.mark.parametrize("name", ["console.js", "nothing.js"])
def test_every_answer_has_every_header(name: str) -> None:
    headers = get("/console/{file}", file=name)["headers"]

    assert set(page_headers(SIGN_IN_URL).items()) <= set(headers.items())
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-opener-policy"] == "same-origin"


def test_the_policy_allows_our_own_files_the_api_and_the_sign_in_host_only() -> None:
    policy = page_headers(f"{SIGN_IN_URL}/some/path")["content-security-policy"]

    assert dict(part.split(" ", 1) for part in policy.split("; ")) == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": f"'self' {SIGN_IN_URL}",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


@pytest.mark.parametrize("url", ["", "sign-in.example", "javascript:x", "https://", "//x"])
def test_a_sign_in_address_without_scheme_and_host_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="scheme and a host"):
        page_headers(url)


@pytest.mark.parametrize("page", sorted(STATIC.glob("*.html")), ids=lambda path: path.name)
def test_a_page_holds_no_script_and_no_style_of_its_own(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert re.findall(r"<script[^>]*>([^<]+)", text) == []
    assert "<style" not in text
    assert re.search(r"\s(style|on\w+)=", text) is None
    # Every file it names is there.
    for name in re.findall(r'(?:src|href)="/console/([^"]+)"', text):
        assert (STATIC / name).exists(), name


# Ways by which text becomes markup, code or an address. Only two modules make links, of templates.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment"
    r"|\beval\b|new Function|setHTML|\.srcdoc|\.cssText|import\(|localStorage|document\.cookie"
)


@pytest.mark.parametrize("script", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_a_script_makes_elements_and_never_markup(script: Path) -> None:
    text = script.read_text(encoding="utf-8")

    assert FORBIDDEN.findall(text) == []
    if script.name not in ("dom.js", "providers.js"):
        assert ".href" not in text
        assert "setAttribute" not in text
    for name in re.findall(r'from "\./([^"]+)"', text):
        assert (STATIC / name).exists(), name
