"""Cancel a renewal and refund a charge: one refund, one receipt, whatever happens on the way."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, override

from ledger.effect import Effect
from ledger.event import EventKind
from ledger.provider import Provider
from ledger.run import RunLedger
from ledger.transitions import RunState
from ledger.workflow import WorkflowDefinition
from providers.ses_mail import SesMail
from providers.stripe_billing import StripeBilling
from providers.stripe_customers import StripeCustomers
from providers.stripe_refunds import StripeRefunds
from tests.recovery.outside import CUSTOMER_EMAIL, Outside
from tests.recovery.scenarios import Scenario, Wanted

if TYPE_CHECKING:
    from tests.recovery.world import World

WANTED: Wanted = {
    "customer_id": "cus_1",
    "subscription_id": "sub_1",
    "charge_id": "ch_1",
    "amount_minor": 7_900,
    "currency": "USD",
}
CHARGED_MINOR = 10_000
# ISO 4217's, written down once more: the ledger's own table would only agree with itself.
DECIMALS = {"BHD": 3, "EUR": 2, "JPY": 0, "KWD": 3, "USD": 2}
# The bank gave the money back, or never had it.
NOT_PAID = frozenset({"failed", "canceled"})
PORTS = frozenset(
    {
        "store",
        "stripe_billing",
        "stripe_refunds",
        "ses_mail",
        "directory",
        "executions",
        "doorbell",
        "stripe",
        "ses",
    }
)


class CancelRefundOutside(Outside):
    """Stripe with a customer, a subscription and a charge; SES for the receipt."""

    @override
    def seed(self, wanted: Wanted) -> None:
        customer_id = str(wanted["customer_id"])
        self.add_customer(customer_id)
        world = self.stripe.world
        world.add_subscription(str(wanted["subscription_id"]), customer_id)
        currency = str(wanted["currency"]).lower()
        world.add_charge(str(wanted["charge_id"]), customer_id, CHARGED_MINOR, currency)

    @override
    def providers(self) -> list[Provider]:
        stripe = self.stripe_library()
        return [
            StripeBilling(stripe),
            StripeRefunds(stripe),
            SesMail(self.mailer(), StripeCustomers(stripe)),
        ]


def scenario(definition: WorkflowDefinition) -> Scenario:
    """Return what is played of a version."""
    return Scenario(
        definition=definition,
        wanted=WANTED,
        outside=CancelRefundOutside,
        ports=PORTS,
        check=check,
        check_shown=check_shown,
    )


def check(world: "World", ledger: RunLedger) -> None:
    """Raise AssertionError unless money and mail are right."""
    check_refunds(world, ledger)
    check_receipts(world, ledger)


def check_shown(payload: Mapping[str, Any], wanted: Wanted) -> None:
    """A person says yes to what they read, so it has to be what they wanted."""
    for name in ("charge_id", "amount_minor", "currency", "customer_id"):
        if payload["refund"][name] != wanted[name]:
            raise AssertionError(f"Shown for approval: {payload}, wanted: {wanted}")


def check_refunds(world: "World", ledger: RunLedger) -> None:
    """At most one refund carries an effect's mark, none is over what a person approved."""
    stripe = world.stripe.world
    approved = {
        approval.payload["refund"]["amount_minor"]
        for approval in ledger.approvals
        if approval.state == "approved" and "refund" in approval.payload
    }
    for effect in _refunds(ledger):
        marked = stripe.refunds_marked(effect.effect_id)
        assert len(marked) <= 1, f"{len(marked)} refunds carry {effect.effect_id}"
        for made in marked:
            assert made.amount in approved, f"{made} was not approved"
    request = ledger.run.request
    ours = [
        made
        for made in stripe.refunds
        if made.metadata
        and made.charge == request["charge_id"]
        and made.status(world.clock.now_ms()) not in NOT_PAID
    ]
    assert sum(made.amount for made in ours) <= int(request["amount_minor"])
    if ledger.run.state is RunState.COMPLETED:
        effect = max(_refunds(ledger), key=lambda found: found.instance)
        assert effect.evidence is not None
        assert [made.id for made in ours] == [effect.evidence.record_id]
        assert [made.amount for made in ours] == [request["amount_minor"]]
        assert stripe.subscriptions[str(request["subscription_id"])].cancel_at_period_end


def check_receipts(world: "World", ledger: RunLedger) -> None:
    """At most one receipt for a refund, after the ledger proved it, quoting its id and amount."""
    mails = [mail for mail in world.ses.sent if mail.tags["run_id"] == ledger.run.run_id]
    proofs = {
        str(event.details["record_id"]): event.at_ms
        for event in world.events_of(ledger)
        if event.kind is EventKind.CHECKPOINT_REACHED and event.subject == "refund_confirmed"
    }
    assert len(mails) <= max(1, len(proofs)), f"{len(mails)} receipts were accepted"
    if ledger.run.state is RunState.COMPLETED:
        proof = ledger.proven("refund_confirmed")
        assert proof is not None, "completed without a proven refund"
        assert proof.evidence.record_id in mails[-1].text, "completed without a receipt"
    request = ledger.run.request
    written = as_written(int(request["amount_minor"]), str(request["currency"]))
    for mail in mails:
        quoted = [record_id for record_id in proofs if record_id in mail.text]
        assert len(quoted) == 1, "a receipt without a proven refund"
        assert proofs[quoted[0]] < mail.at_ms, "the receipt came before the proof"
        assert re.search(rf"{re.escape(written)}(?![.,]?\d)", mail.text), written
        assert mail.to == CUSTOMER_EMAIL


def as_written(amount_minor: int, currency: str) -> str:
    """Return an amount as people write it in its currency."""
    decimals = DECIMALS[currency]
    if decimals == 0:
        return f"{currency} {amount_minor}"
    digits = str(amount_minor).rjust(decimals + 1, "0")
    return f"{currency} {digits[:-decimals]}.{digits[-decimals:]}"


def _refunds(ledger: RunLedger) -> list[Effect]:
    return [effect for effect in ledger.effects if effect.operation == "refund"]
