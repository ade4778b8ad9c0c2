"""What suites share: one sandbox for all of them that need the deployed system."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sandbox.environment import Sandbox


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse cases out of a set: each process would have them in an order of its own."""
    for item in items:
        for mark in item.iter_markers("parametrize"):
            if any(isinstance(given, set | frozenset) for given in mark.args):
                raise pytest.UsageError(f"{item.nodeid}: a set has no order; sort its cases.")


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Sandbox"]:
    """Yield the system, deployed on this machine; it takes half a minute, so once."""
    # Loading it takes a second, which the suites without it need not wait for.
    from sandbox.environment import Sandbox

    with Sandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running
