"""A browser, and people who sign in with it, on the sandbox that the suites share."""

from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from playwright.sync_api import Browser, sync_playwright

from sandbox.aws_seed import SampleUser, create_users
from sandbox.environment import Sandbox
from tests.browser.chromium import launch
from tests.browser.tab import Tab
from tests.e2e.conftest import Person, new_person

type OpenTab = Callable[..., Tab]
type NewUser = Callable[..., SampleUser]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a browser. Not for longer than a module: its event loop would stand in others' way."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(**launch())
        yield started
        started.close()


@pytest.fixture
def open_tab(browser: Browser, sandbox: Sandbox) -> Iterator[OpenTab]:
    """Yield how to open a tab in a browser session of its own; options are those of a context."""
    contexts = []

    def open_one(**options: object) -> Tab:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        return Tab.open(context, sandbox.outputs)

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture
def person(sandbox: Sandbox) -> Iterator[Person]:
    """Yield a customer with a subscription of their own."""
    with new_person(sandbox, f"visitor-{token_hex(4)}") as made:
        yield made


@pytest.fixture
def new_user(sandbox: Sandbox) -> NewUser:
    """Return how to make one more person who can sign in, with the claims given."""

    def make(**claims: str) -> SampleUser:
        user = SampleUser(f"user-{token_hex(4)}", **claims)
        create_users(sandbox.aws_port, sandbox.outputs.user_pool_id, (user,))
        return user

    return make


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the suite on the worker that has the sandbox."""
    for item in items:
        if "tests/browser" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("sandbox"))
