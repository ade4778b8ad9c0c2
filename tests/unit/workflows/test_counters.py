"""The registered counter-effects: beside what was released, and whole."""

import pytest

from ledger.authorise import bound_from_request
from providers.contracts import CONTRACTS
from workflows.counters import COUNTERS, RESUME_RENEWAL, with_counters
from workflows.registry import KNOWN, REGISTRY

VERSIONS = sorted(COUNTERS)


@pytest.mark.parametrize("version", VERSIONS)
def test_counter_effects_belong_to_a_registered_version_and_to_providers_there_are(
    version: str,
) -> None:
    known = with_counters(REGISTRY[version])

    assert {found.operation.name for found in COUNTERS[version]} == {
        found.name for found in known.counter_operations
    }
    assert all(found.provider in CONTRACTS for found in known.counter_operations)
    assert KNOWN[version] == known


@pytest.mark.parametrize("version", sorted(REGISTRY))
def test_what_was_released_is_the_same_with_a_counter_effect_beside_it(version: str) -> None:
    released, known = REGISTRY[version], KNOWN[version]

    assert released.counter_operations == ()
    assert known.stages == released.stages
    assert known.approved_operations == released.approved_operations
    assert known.own_operations == released.operations


def test_the_renewal_is_switched_on_for_the_subscription_whose_end_was_approved() -> None:
    ending = REGISTRY["cancel-refund@4"].operation("cancel_renewal")
    request = {"customer_id": "cus_1", "subscription_id": "sub_1"}

    off = bound_from_request(ending, request)
    on = bound_from_request(RESUME_RENEWAL.operation, request)

    assert on == {**off, "cancel_at": "never"}
    assert RESUME_RENEWAL.operation.compensates is not None
    assert RESUME_RENEWAL.operation.compensates.operation == ending.name
