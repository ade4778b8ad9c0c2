"""The first signal interrupts; none after it gets in the way of clearing up."""

import signal
from collections.abc import Iterator

import pytest

from sandbox.interrupts import STOP_SIGNALS, interrupt_on_stop_signals, undisturbed


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", STOP_SIGNALS)
def test_only_the_first_signal_interrupts(first: signal.Signals) -> None:
    interrupt_on_stop_signals()
    cleared_up = False

    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the clearing up belongs to it
        try:
            signal.raise_signal(first)
        finally:
            for number in STOP_SIGNALS:
                signal.raise_signal(number)
            cleared_up = True

    assert cleared_up


def test_a_signal_while_clearing_up_is_ignored_and_one_after_it_is_not() -> None:
    interrupt_on_stop_signals()

    with undisturbed():
        for number in STOP_SIGNALS:
            signal.raise_signal(number)

    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
