"""What an audit asks of a provider: its recent records, found without the ledger's help.

Everything else that is asked of a provider begins with an effect that the ledger knows. An audit
begins at the other end, so that a write which the ledger never heard of is found as well.
"""

from typing import Protocol

from ledger.record import Record


class MarkedRecord(Record):
    """A record that carries a mark of ours. Anybody at the provider may have written it."""

    record_id: str
    run_id: str
    effect_id: str
    failed: bool = False
    """Whether it had no effect, by the provider's last word. It is a record all the same."""


class MarkedPage(Record):
    """One page of recent records, newest first, without those that carry no mark."""

    records: tuple[MarkedRecord, ...]
    next: str | None
    """Where to go on, None at the end."""

    unreadable: int = 0
    """Entries of the page of which nothing is known, a mark included."""


class Audited(Protocol):
    """A provider that can list its recent records."""

    def marked_since(self, since_ms: int, after: str | None) -> MarkedPage:
        """Return a page of the records made at or after ``since_ms``, beginning behind ``after``.

        One request. Raises ProviderFault.
        """
