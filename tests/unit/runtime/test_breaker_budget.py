"""What one process knows of the breakers: it asks seldom, and counts on top of what others saw."""

import json
from dataclasses import dataclass, field
from io import StringIO

import pytest

from ledger.breaker import BREAKER_OPEN
from ledger.contract import FaultKind
from ledger.errors import LedgerUnavailable
from ledger.provider import ProviderFault
from runtime.breaker_budget import REMEMBERED_SECONDS, Budget
from tests.fakes.clock import FakeClock
from tests.recovery.logs import log_into
from tests.unit.ledger.sample import PAYMENTS
from tests.unit.runtime.counted_breakers import CountedBreakers

LIMITS = PAYMENTS.breaker


@dataclass
class Shared:
    """What all processes share."""

    clock: FakeClock = field(default_factory=FakeClock)
    breakers: CountedBreakers = field(default_factory=CountedBreakers)

    def process(self) -> Budget:
        return Budget(self.breakers, self.clock)

    def break_down(self) -> None:
        """Let enough writes fail for the breaker to open."""
        budget = self.process()
        for number in range(LIMITS.failures):
            budget.failed(PAYMENTS, {"charge_id": f"ch_{number}"})

    def wait_until_probed(self) -> None:
        self.clock.pass_ms(LIMITS.open_seconds * 1000)


def admitted(budget: Budget) -> bool:
    """Return whether a call may be made."""
    try:
        budget.admit(PAYMENTS)
    except ProviderFault:
        return False
    return True


def test_given_nothing_known_when_a_call_asks_then_it_may_be_made() -> None:
    assert admitted(Shared().process())


def test_given_as_many_writes_failing_as_the_limit_when_others_ask_then_they_are_held_back() -> (
    None
):
    shared = Shared()
    budget = shared.process()

    for number in range(LIMITS.failures):
        assert admitted(shared.process())
        budget.failed(PAYMENTS, {"charge_id": f"ch_{number}"})

    assert not admitted(budget)
    assert not admitted(shared.process())


def test_given_a_call_that_is_held_back_when_told_then_it_is_said_never_to_have_been_sent() -> None:
    shared = Shared()
    shared.break_down()

    with pytest.raises(ProviderFault) as caught:
        shared.process().admit(PAYMENTS)

    fault = caught.value
    assert (fault.kind, fault.status, fault.code) == (FaultKind.NEVER_SENT, None, BREAKER_OPEN)


def test_given_one_write_that_fails_again_and_again_when_others_ask_then_they_may() -> None:
    shared = Shared()
    budget = shared.process()

    for _ in range(LIMITS.failures * 2):
        budget.failed(PAYMENTS, {"charge_id": "ch_1"})

    assert admitted(shared.process())


def test_given_failures_seen_by_several_processes_when_counted_then_they_add_up() -> None:
    shared = Shared()
    processes = [shared.process() for _ in range(LIMITS.failures)]
    # Each has read the state before any of them wrote.
    assert all(admitted(process) for process in processes)

    for number, process in enumerate(processes):
        process.failed(PAYMENTS, {"charge_id": f"ch_{number}"})

    assert not admitted(shared.process())


def test_given_an_opening_by_another_process_when_what_is_known_is_old_then_it_is_heard_of() -> (
    None
):
    shared = Shared()
    budget = shared.process()
    assert admitted(budget)
    shared.break_down()

    shared.clock.pass_ms(REMEMBERED_SECONDS * 1000 - 1)
    assert admitted(budget)
    shared.clock.pass_ms(1)
    assert not admitted(budget)


def test_given_two_that_would_probe_when_one_has_stored_its_probe_then_the_other_waits() -> None:
    shared = Shared()
    shared.break_down()
    first, second = shared.process(), shared.process()
    # What both know is young enough to be acted on when the time is over.
    shared.clock.pass_ms(LIMITS.open_seconds * 1000 - 1)
    assert not admitted(first)
    assert not admitted(second)
    shared.clock.pass_ms(1)

    assert admitted(first)
    assert not admitted(second)


def test_given_a_process_that_knows_nothing_when_a_call_is_answered_then_it_asks_nothing() -> None:
    shared = Shared()

    shared.process().answered(PAYMENTS)

    assert (shared.breakers.loads, shared.breakers.saves) == (0, 0)


def test_given_a_closed_breaker_when_calls_are_answered_then_one_small_read_in_seconds_is_all() -> (
    None
):
    shared = Shared()
    budget = shared.process()

    for _ in range(50):
        assert admitted(budget)
        budget.answered(PAYMENTS)
    assert (shared.breakers.loads, shared.breakers.saves) == (1, 0)

    shared.clock.pass_ms(REMEMBERED_SECONDS * 1000)
    assert admitted(budget)
    assert (shared.breakers.loads, shared.breakers.saves) == (2, 0)


def test_given_a_breaker_without_an_answer_when_asked_and_told_then_all_pass_and_it_is_logged() -> (
    None
):
    shared = Shared()
    shared.break_down()
    shared.breakers.failure = LedgerUnavailable("no answer")
    budget, lines = shared.process(), StringIO()

    with log_into(lines):
        assert admitted(budget)
        budget.failed(PAYMENTS, {})

    assert "no breaker to ask" in lines.getvalue()
    assert "could not count" in lines.getvalue()


@pytest.mark.parametrize("answers", [LIMITS.probes - 1, LIMITS.probes])
def test_given_a_breaker_that_opens_and_closes_when_told_then_each_change_is_logged_once(
    answers: int,
) -> None:
    shared, lines = Shared(), StringIO()

    with log_into(lines):
        shared.break_down()
        shared.wait_until_probed()
        budget = shared.process()
        for _ in range(answers):
            assert admitted(budget)
            budget.answered(PAYMENTS)

    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    assert {(line["message"], line["provider"]) for line in told} == {
        ("a breaker has changed", PAYMENTS.provider)
    }
    closed = ["closed"] if answers == LIMITS.probes else []
    assert [line["outcome"] for line in told] == ["open", *closed]
