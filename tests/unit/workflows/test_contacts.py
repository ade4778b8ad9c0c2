"""A version that writes to a customer has to be able to ask who that is."""

import pytest

from ledger.contract import Need
from providers.contracts import CONTRACTS
from workflows.registry import REGISTRY

WRITING = sorted(
    version
    for version, definition in REGISTRY.items()
    if any(CONTRACTS[found.provider].personal_fields for found in definition.operations)
)


@pytest.mark.parametrize("version", WRITING)
def test_the_stage_that_confirms_the_targets_is_given_what_the_directory_needs(
    version: str,
) -> None:
    """Customers are at Stripe. Nothing else would show this before it is deployed."""
    confirming = [
        stage
        for stage in REGISTRY[version].stages
        if stage.operation is None and not stage.rings_doorbell
    ]

    needs = {
        need for stage in confirming for name in stage.providers for need in CONTRACTS[name].needs
    }

    assert Need.STRIPE_SECRET in needs
