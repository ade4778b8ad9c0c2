"""Limits of a breaker: what they may be, and what recovery needs them to be."""

import pytest
from pydantic import ValidationError

from ledger.contract import BreakerLimits
from providers.contracts import CONTRACTS
from tests.unit.ledger.test_contract_values import OURS


def test_given_limits_of_a_breaker_when_made_then_none_may_be_zero_and_each_may_be_one() -> None:
    for name in OURS:
        assert BreakerLimits.model_validate({name: 1}).model_dump() == {**OURS, name: 1}
        with pytest.raises(ValidationError):
            BreakerLimits.model_validate({name: 0})


def test_given_the_shortest_recovery_deadline_when_a_breaker_opens_then_reads_go_on_in_time() -> (
    None
):
    shortest_seconds = min(found.recovery_deadline_seconds for found in CONTRACTS.values())

    assert 6 * BreakerLimits().open_seconds <= shortest_seconds
