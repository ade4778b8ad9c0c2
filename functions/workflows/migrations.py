"""How open runs go on when their version is no longer deployed. Adding a step is one entry."""

from dataclasses import replace

from ledger.ports import Ports
from ledger.versions import Migration, Versions
from workflows.registry import KNOWN

MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        from_version="cancel-refund@3",
        to_version="cancel-refund@4",
        # The same two writes with the same fields, so what was approved is the same; every
        # checkpoint keeps its name.
        reason="the renewal is ended before the refund is made, and no longer after it",
    ),
)

VERSIONS = Versions(definitions=KNOWN, migrations=MIGRATIONS)


def with_versions(ports: Ports) -> Ports:
    """Return ``ports`` with every registered version, for a process that may move runs."""
    return replace(ports, versions=VERSIONS)
