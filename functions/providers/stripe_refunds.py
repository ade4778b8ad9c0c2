"""Refunds at Stripe, operation ``refund``.

There is no look-up by idempotency key and refunds are not searchable, so the effect id travels in
the refund's metadata and a look-up lists the charge's refunds (docs.stripe.com/api/refunds/list).
"""

from collections.abc import Mapping
from typing import override

from ledger.contract import Consistency, FaultKind, Listing, LookUp, Need, ProviderContract
from ledger.errors import InvariantBroken
from ledger.provider import (
    Authority,
    Findings,
    Intent,
    Provider,
    ProviderCall,
    ProviderFault,
    ProviderRecord,
    RecordStatus,
)
from ledger.record import Scalar
from providers import stripe_promises
from providers.stripe_api import MARK, RUN_MARK, Charge, Refund, StripeApi, is_our_metadata

CONTRACT = ProviderContract(
    provider="stripe_refunds",
    needs=frozenset({Need.STRIPE_SECRET}),
    call_timeout_seconds=stripe_promises.CALL_TIMEOUT_SECONDS,
    key_lifetime_seconds=stripe_promises.KEY_LIFETIME_SECONDS,
    key_margin_seconds=stripe_promises.KEY_MARGIN_SECONDS,
    look_up=LookUp.BY_MARK_IN_LIST,
    # docs.stripe.com/search: search is not for "read-after-write flows"; list APIs are named as
    # the way to read what was just written.
    look_up_consistency=Consistency.STRONG,
    settle_window_seconds=stripe_promises.SETTLE_WINDOW_SECONDS,
    absence_reads=stripe_promises.ABSENCE_READS,
    replay_after_absence=True,
    confirmed_by_read=True,
    recovery_deadline_seconds=stripe_promises.RECOVERY_DEADLINE_SECONDS,
    rechecks_after_seconds=stripe_promises.RECHECKS_AFTER_SECONDS,
    # docs.stripe.com/api/refunds/list: filtered by ``created``, with metadata in every entry.
    recent_records=Listing.BY_TIME,
    max_attempts=stripe_promises.MAX_ATTEMPTS,
    errors=stripe_promises.ERRORS,
)

# docs.stripe.com/api/refunds/object: status. What is not listed here is not finished.
_STATUSES: Mapping[str, RecordStatus] = {
    "succeeded": RecordStatus.DONE,
    "pending": RecordStatus.PENDING,
    "requires_action": RecordStatus.PENDING,
    "failed": RecordStatus.FAILED,
    "canceled": RecordStatus.FAILED,
}
# docs.stripe.com/currencies: counted by Stripe in other minor units than by ISO 4217 (ISK and UGX
# with two decimals, MGA with none). One amount would then mean two sums, a hundredfold apart.
_OTHER_UNITS = frozenset({"ISK", "MGA", "UGX"})
# docs.stripe.com/currencies: three-decimal currencies, whose last digit must be 0.
_ONLY_IN_TENS = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
# docs.stripe.com/api/refunds/create: with ``fraudulent`` the card and the address are blocked.
_REASON = "requested_by_customer"


class StripeRefunds(Provider):
    """Pays part or all of a charge back."""

    def __init__(self, stripe: StripeApi) -> None:
        """Call Stripe through ``stripe``."""
        self._stripe = stripe

    @property
    @override
    def contract(self) -> ProviderContract:
        return CONTRACT

    @override
    def compose(self, intent: Intent) -> dict[str, object]:
        return {
            "charge": intent.bound["charge_id"],
            "amount": intent.bound["amount_minor"],
            "metadata": {MARK: intent.effect_id, RUN_MARK: intent.run_id},
            "reason": _REASON,
        }

    @override
    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        match params:
            # Without an amount Stripe refunds everything that is left, and what is not named here
            # may move other money (docs.stripe.com/api/refunds/create: reverse_transfer).
            case {
                "charge": str() as charge_id,
                "amount": int() as amount_minor,
                "metadata": metadata,
                "reason": reason,
                **rest,
            } if reason == _REASON and is_our_metadata(metadata) and not rest:
                return {"charge_id": charge_id, "amount_minor": amount_minor}
        raise InvariantBroken("These parameters are no refund of a stated amount of a charge.")

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        charge_id = str(bound["charge_id"])
        charge = self._stripe.charge(charge_id)
        if charge is None:
            return Authority(
                allowed=False,
                reason="the charge does not exist",
                snapshot={"charge_id": charge_id, "found": False},
            )
        refusals = _refusals(bound, charge)
        return Authority(
            allowed=not refusals,
            reason="; ".join(refusals) or "the charge can be refunded by this amount",
            snapshot={
                "charge_id": charge.id,
                "found": True,
                "customer_id": charge.customer or "",
                "currency": charge.currency.upper(),
                "amount_minor": charge.amount,
                "refundable_minor": charge.refundable_minor,
                "disputed": charge.disputed,
                "charge_status": charge.status,
            },
        )

    @override
    def call(self, call: ProviderCall) -> ProviderRecord:
        """Return the refund as answered.

        The answer does not name the customer, and nothing is put in its place: the separate read
        does.
        """
        return _record(self._stripe.create_refund(call.params, call.idempotency_key))

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        charge_id = str(call.bound["charge_id"])
        charge = self._stripe.charge(charge_id)
        if charge is None:
            # Charges are not deleted: we ask the wrong account. Its silence proves no absence.
            raise ProviderFault(FaultKind.ANSWERED, 404, "resource_missing")
        listed = self._stripe.refunds_of(charge_id)
        owner: dict[str, Scalar] = {"customer_id": charge.customer or ""}
        return Findings(
            records=tuple(_record(refund, owner) for refund in listed.refunds),
            complete=listed.complete,
            concerns=("the charge is disputed",) if charge.disputed else (),
        )


def _refusals(bound: Mapping[str, Scalar], charge: Charge) -> list[str]:
    currency, amount_minor = str(bound["currency"]), int(bound["amount_minor"])
    found_currency = charge.currency.upper()
    checks = (
        (charge.customer != bound["customer_id"], "the charge belongs to another customer"),
        (found_currency != currency, f"the charge is in {found_currency}, not in {currency}"),
        (charge.disputed, "the charge is disputed"),
        (charge.status != "succeeded", f"the charge is {charge.status}"),
        (
            charge.refundable_minor < amount_minor,
            f"{charge.refundable_minor} of the {amount_minor} minor units can still be refunded",
        ),
        (currency in _OTHER_UNITS, f"Stripe counts {currency} in other units than ISO 4217"),
        (
            currency in _ONLY_IN_TENS and amount_minor % 10 != 0,
            f"Stripe takes {currency} only in tens of minor units",
        ),
    )
    return [reason for refused, reason in checks if refused]


def _record(refund: Refund, owner: Mapping[str, Scalar] | None = None) -> ProviderRecord:
    status = refund.status or "none"
    return ProviderRecord(
        record_id=refund.id,
        status=_STATUSES.get(status, RecordStatus.PENDING),
        provider_status=status,
        mark=(refund.metadata or {}).get(MARK),
        run_mark=(refund.metadata or {}).get(RUN_MARK),
        fields={
            "charge_id": refund.charge,
            "amount_minor": refund.amount,
            "currency": refund.currency.upper(),
            **(owner or {}),
        },
    )
