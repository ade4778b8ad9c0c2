"""One door per test."""

import pytest

from tests.unit.api.gateway import Gateway


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Return a gateway to a world in which nothing was asked yet."""
    return Gateway(monkeypatch)
