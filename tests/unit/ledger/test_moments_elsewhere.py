"""A moment is told in UTC wherever the machine that tells it believes to be."""

import time
from collections.abc import Iterator

import pytest

from ledger.validity import moment_of, told_moment

WINTER_MS = 1_767_225_600_007
TOLD = "2026-01-01 00:00:00.007 UTC"


@pytest.fixture(params=["America/New_York", "Asia/Kolkata"])
def _elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
def test_given_a_machine_in_another_zone_when_a_moment_is_told_then_it_is_the_same() -> None:
    assert time.timezone != 0
    assert told_moment(WINTER_MS) == TOLD
    assert moment_of(TOLD) == WINTER_MS
