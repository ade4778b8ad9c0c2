"""What is on record of a provider that is left alone, and of a breaker that nobody has stored."""

from ledger.breaker import BREAKER_OPEN, Breaker
from ledger.contract import FaultKind
from ledger.provider import ProviderFault


def test_given_a_call_that_is_held_back_when_its_fault_is_noted_then_the_trail_tells_it_apart() -> (
    None
):
    fault = ProviderFault(FaultKind.NEVER_SENT, code=BREAKER_OPEN)

    assert str(fault) == "never_sent status=None code=breaker_open"


def test_given_a_breaker_that_was_never_stored_when_made_then_the_first_revision_is_free() -> None:
    assert Breaker(provider="payments").revision == 0
