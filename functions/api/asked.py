"""What a person is asked to approve, as they read it: one entry for each outside write."""

from collections.abc import Mapping

from ledger.money import money_in
from ledger.record import Scalar
from ledger.workflow import WorkflowDefinition


def asked(
    definition: WorkflowDefinition, payload: Mapping[str, Mapping[str, Scalar]]
) -> list[dict[str, object]]:
    """Return label, amount and every bound field of each write, in the order of the work.

    An amount is told here, with the exponent of its currency, and nowhere else: a browser's own
    table of currencies differs from ISO 4217 (a dinar of Iraq has three decimals, not none).
    """
    labels = {operation.name: operation.label for operation in definition.operations}
    # None is left out: what is not shown is approved all the same.
    order = [name for name in labels if name in payload] + sorted(set(payload) - set(labels))
    return [
        {
            "operation": name,
            "label": labels.get(name, name),
            "amount": amount_of(payload[name]),
            "fields": dict(payload[name]),
        }
        for name in order
    ]


def amount_of(fields: Mapping[str, Scalar]) -> str:
    """Return the amount that ``fields`` name, such as ``USD 79.00``; empty when they name none."""
    return str(money_in(fields) or "")
