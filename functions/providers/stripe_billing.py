"""A subscription's renewal at Stripe: ended by ``cancel_renewal``, on again by ``resume_renewal``.

Which of the two is bound by ``cancel_at``. The write changes one record, so a look-up reads that
record (docs.stripe.com/api/subscriptions).
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
from providers.stripe_api import MARK, RUN_MARK, StripeApi, Subscription, is_our_metadata

CONTRACT = ProviderContract(
    provider="stripe_billing",
    needs=frozenset({Need.STRIPE_SECRET}),
    call_timeout_seconds=stripe_promises.CALL_TIMEOUT_SECONDS,
    key_lifetime_seconds=stripe_promises.KEY_LIFETIME_SECONDS,
    key_margin_seconds=stripe_promises.KEY_MARGIN_SECONDS,
    look_up=LookUp.BY_RECORD_STATE,
    # A retrieve by id reads the record itself, never a search index.
    look_up_consistency=Consistency.STRONG,
    settle_window_seconds=stripe_promises.SETTLE_WINDOW_SECONDS,
    absence_reads=stripe_promises.ABSENCE_READS,
    replay_after_absence=True,
    confirmed_by_read=True,
    recovery_deadline_seconds=stripe_promises.RECOVERY_DEADLINE_SECONDS,
    # Nothing to list: the write leaves no record of its own, and made twice it is as made once.
    recent_records=Listing.NONE,
    max_attempts=stripe_promises.MAX_ATTEMPTS,
    errors=stripe_promises.ERRORS,
)

PERIOD_END = "period_end"
_AT_ONCE = "at_once"
# docs.stripe.com/api/subscriptions/object: ``cancel_at`` is set without ``cancel_at_period_end``
# where a date was chosen, as the customer portal does with flexible billing.
_ON_A_DATE = "on_a_date"
NEVER = "never"
# docs.stripe.com/billing/subscriptions/overview: the statuses in which a renewal is still to come.
_RENEWABLE_STATUSES = frozenset({"active", "trialing", "past_due"})


class StripeBilling(Provider):
    """Lets a subscription end with the period that is paid, or go on after it."""

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
            "subscription": intent.bound["subscription_id"],
            "cancel_at_period_end": _ends(intent.bound),
            "metadata": {MARK: intent.effect_id, RUN_MARK: intent.run_id},
        }

    @override
    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        match params:
            # What is not named here may bill, or change the plan
            # (docs.stripe.com/api/subscriptions/update: proration_behavior, items).
            case {
                "subscription": str() as subscription_id,
                "cancel_at_period_end": bool() as ends,
                "metadata": metadata,
                **rest,
            } if is_our_metadata(metadata) and not rest:
                cancel_at = PERIOD_END if ends else NEVER
                return {"subscription_id": subscription_id, "cancel_at": cancel_at}
        raise InvariantBroken("These parameters neither end a renewal nor let it go on.")

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        subscription_id = str(bound["subscription_id"])
        subscription = self._stripe.subscription(subscription_id)
        if subscription is None:
            return Authority(
                allowed=False,
                reason="the subscription does not exist",
                snapshot={"subscription_id": subscription_id, "found": False},
            )
        refusals = _refusals(bound, subscription)
        return Authority(
            allowed=not refusals,
            reason="; ".join(refusals) or _possible(bound),
            snapshot={
                "subscription_id": subscription.id,
                "found": True,
                "customer_id": subscription.customer,
                "subscription_status": subscription.status,
                "cancel_at": _cancel_at(subscription),
            },
        )

    @override
    def call(self, call: ProviderCall) -> ProviderRecord:
        params = dict(call.params)
        subscription_id = str(params.pop("subscription"))
        return _record(
            self._stripe.update_subscription(subscription_id, params, call.idempotency_key),
            call.bound,
        )

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        """Return the subscription as a record when it is as the write leaves it, or was by us.

        The second case is a renewal that somebody switched back after our write: as a record it
        differs and stops for a person. As "nothing found" it would be switched once more.
        """
        subscription = self._stripe.subscription(str(call.bound["subscription_id"]))
        if subscription is None:
            # Subscriptions are not deleted: we ask the wrong account. That proves no absence.
            raise ProviderFault(FaultKind.ANSWERED, 404, "resource_missing")
        record = _record(subscription, call.bound)
        if record.mark != call.effect_id:
            # A subscription holds one mark, and whoever wrote last has overwritten the others: it
            # does not say who switched the renewal.
            record = record.model_copy(update={"mark": None})
        shows_the_write = record.status is RecordStatus.DONE or record.mark == call.effect_id
        return Findings(records=(record,) if shows_the_write else (), complete=True)


def _refusals(bound: Mapping[str, Scalar], subscription: Subscription) -> list[str]:
    checks = (
        (
            subscription.customer != bound["customer_id"],
            "the subscription belongs to another customer",
        ),
        (
            subscription.status not in _RENEWABLE_STATUSES,
            f"the subscription is {subscription.status}",
        ),
        *_renewal_checks(_cancel_at(subscription), ends=_ends(bound)),
    )
    return [reason for refused, reason in checks if refused]


def _renewal_checks(cancel_at: str, *, ends: bool) -> tuple[tuple[bool, str], ...]:
    return (
        (cancel_at == PERIOD_END and ends, "the renewal is already off"),
        (cancel_at == NEVER and not ends, "the renewal is already on"),
        # Not taken for either: it may end before its period does, and whoever chose the date is
        # not to be overruled by a switch that was approved without it.
        (cancel_at == _ON_A_DATE, "the renewal is already ending, on a date that was set for it"),
    )


def _ends(bound: Mapping[str, Scalar]) -> bool:
    """Return whether the write ends the renewal. Raises InvariantBroken when it does neither."""
    match bound["cancel_at"]:
        case "period_end":
            return True
        case "never":
            return False
    raise InvariantBroken("A renewal is ended with its period, or goes on; nothing else is done.")


def _possible(bound: Mapping[str, Scalar]) -> str:
    if _ends(bound):
        return "the renewal is on and can be ended"
    return "the renewal is off and can be switched on again"


def _cancel_at(subscription: Subscription) -> str:
    if subscription.cancel_at_period_end:  # stays true once the period has ended
        return PERIOD_END
    if subscription.status == "canceled":
        return _AT_ONCE
    return NEVER if subscription.cancel_at is None else _ON_A_DATE


def _record(subscription: Subscription, bound: Mapping[str, Scalar]) -> ProviderRecord:
    """Return the subscription as a write's record: done while the renewal is as that leaves it."""
    cancel_at = _cancel_at(subscription)
    done = (cancel_at != NEVER) == _ends(bound)
    return ProviderRecord(
        record_id=subscription.id,
        status=RecordStatus.DONE if done else RecordStatus.FAILED,
        provider_status=f"{subscription.status}, ends {cancel_at}",
        mark=(subscription.metadata or {}).get(MARK),
        fields={
            "customer_id": subscription.customer,
            "subscription_id": subscription.id,
            "cancel_at": cancel_at,
        },
    )
