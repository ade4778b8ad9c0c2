"""What Stripe holds under our marks, for the audit. A list by time, and no look-up of an effect."""

from ledger.audit import MarkedPage, MarkedRecord
from providers.stripe_api import MARK, RUN_MARK, RecentRefunds

# docs.stripe.com/api/refunds/object: the two statuses of a refund that moves no money.
_FAILED = frozenset({"failed", "canceled"})


class StripeRefundAudit:
    """Recent refunds of whatever charge; an ``ledger.audit.Audited``."""

    def __init__(self, stripe: RecentRefunds) -> None:
        """Read Stripe through ``stripe``."""
        self._stripe = stripe

    def marked_since(self, since_ms: int, after: str | None) -> MarkedPage:
        """Return a page of the refunds that carry a mark of ours. Raises ProviderFault."""
        page = self._stripe.refunds_since(since_ms // 1000, after)
        marked = ((refund, refund.metadata or {}) for refund in page.refunds)
        return MarkedPage(
            records=tuple(
                MarkedRecord(
                    record_id=refund.id,
                    run_id=metadata.get(RUN_MARK, ""),
                    effect_id=metadata[MARK],
                    failed=refund.status in _FAILED,
                )
                for refund, metadata in marked
                if MARK in metadata
            ),
            next=None if page.complete else page.refunds[-1].id,
            unreadable=page.unreadable,
        )
