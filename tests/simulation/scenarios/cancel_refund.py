"""Cancel a renewal and refund a charge, at a bank where colleagues and customers are busy, too."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, override

from events.stripe_notice import follow
from ledger.contract import ProviderContract
from ledger.effect import Effect
from ledger.provider import CustomerDirectory, Provider
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.transitions import EffectState
from ledger.workflow import WorkflowDefinition
from providers import ses_mail, stripe_billing, stripe_refunds
from providers.ses_mail import SesMail
from providers.stripe_api import MARK
from providers.stripe_billing import StripeBilling
from providers.stripe_customers import StripeCustomers
from providers.stripe_notice import Reference
from providers.stripe_refunds import StripeRefunds
from tests.simulation.bank import (
    CHARGE_ID,
    CHARGED_MINOR,
    SUBSCRIPTION_IDS,
    Bank,
    BankFault,
    RefundTruth,
)
from tests.simulation.dice import Dice
from tests.simulation.faults import ANY_CALL, KEYED, MAIL_SITES, READ, Fault, Places, Sites
from tests.simulation.feeds import Feed, Mishaps
from tests.simulation.outside import CUSTOMER_ID, Adapters, Mail, Outside, Reason
from tests.simulation.provider_ports import Mailer
from tests.simulation.scenarios import Scenario
from tests.simulation.stripe_ports import Stripe
from tests.simulation.trail import WAS_CONFIRMED

if TYPE_CHECKING:
    from enum import StrEnum

    from tests.simulation.check import Check
    from tests.simulation.process import Process
    from tests.simulation.world import World

SHARES: Mapping[str, int] = {"cancel-refund@4": 60}
OLDER_SHARE = 15
AMOUNTS_MINOR = (3_000, 7_900, CHARGED_MINOR)
# Two honest equal refunds of one charge.
SHARED_AMOUNT_MINOR = 3_000
PARTIAL_MINOR = 1_500
# Stripe sends a notice again for up to three days (docs.stripe.com/webhooks). Ours: each time after
# longer, and five times are enough to see that it does no harm.
NOTICE_AGAIN_MS = (60_000, 300_000, 1_800_000, 7_200_000, 18_000_000)

_WRITE = (*ANY_CALL, *KEYED, BankFault.COLLEAGUE_FASTER)
SITES: Sites = {
    **MAIL_SITES,
    "stripe notice": (
        4,
        (
            BankFault.PROVIDER_NOTICE_LOST,
            BankFault.PROVIDER_NOTICE_TWICE,
            BankFault.PROVIDER_NOTICE_LATE,
            BankFault.PROVIDER_NOTICE_OVERTAKEN,
        ),
    ),
    "read": (2, READ),
    "list": (4, (*READ, Fault.STANDSTILL, Fault.READ_PARTIAL)),
    "cancel": (8, _WRITE),
    "refund": (
        12,
        (
            *_WRITE,
            BankFault.PENDING_THEN_DONE,
            BankFault.PENDING_THEN_FAILED,
            BankFault.PENDING_FOR_EVER,
            BankFault.FAILS_LATER,
        ),
    ),
    "world": (
        2,
        (
            BankFault.DASHBOARD_EQUAL,
            BankFault.DASHBOARD_PARTIAL,
            BankFault.RENEWAL_OFF,
            BankFault.RENEWAL_ON,
            BankFault.DISPUTED,
            Fault.ADDRESS_CHANGED,
            Fault.RESTLESS,
        ),
    ),
}
PLACES: Places = (
    ("cancel", "refund", "mail"),
    ("read", "list"),
    ("world",),
    ("stripe notice", "mail event", "mailbox"),
)
# Two weeks of hourly reads.
RARE: Mapping["StrEnum", "StrEnum"] = {BankFault.PENDING_FOR_EVER: BankFault.PENDING_THEN_DONE}


class RefundsReadAgainOnce(StripeRefunds):
    """Refunds that are read again a day later; each further time would be the same step again."""

    _ONCE = stripe_refunds.CONTRACT.model_copy(
        update={"rechecks_after_seconds": stripe_refunds.CONTRACT.rechecks_after_seconds[:1]}
    )

    @property
    @override
    def contract(self) -> ProviderContract:
        return self._ONCE


def _of_others_minor(bank: "CancelRefund", ledger: RunLedger) -> int:
    ours = {found.effect_id for found in ledger.effects}
    return sum(found.amount_minor for found in bank.refunds if found.mark not in ours)


class CancelRefund(Bank):
    """What the bank holds of one customer's wish, and what must come of it."""

    def __init__(self, world: "World") -> None:
        """Choose what the customer wants back."""
        super().__init__(world)
        wanted = Dice(world.seed, "amount").within(0, len(AMOUNTS_MINOR))
        self.amount_minor = AMOUNTS_MINOR[wanted]

    @override
    def share_among(self, runs: int) -> None:
        if runs > 1:
            self.amount_minor = SHARED_AMOUNT_MINOR

    @override
    def request(self, number: int) -> dict[str, Scalar]:
        return {
            "customer_id": CUSTOMER_ID,
            "subscription_id": SUBSCRIPTION_IDS[number],
            "charge_id": CHARGE_ID,
            "amount_minor": self.amount_minor,
            "currency": "USD",
        }

    @override
    def join(self, process: "Process") -> tuple[CustomerDirectory, Mapping[str, Provider]]:
        stripe = Stripe(process)
        directory = StripeCustomers(stripe)
        adapters = Adapters(
            {
                stripe_billing.CONTRACT.provider: lambda: StripeBilling(stripe),
                stripe_refunds.CONTRACT.provider: lambda: RefundsReadAgainOnce(stripe),
                ses_mail.CONTRACT.provider: lambda: SesMail(Mailer(process), directory),
            }
        )
        return directory, adapters

    @override
    def listen(self) -> None:
        feed = Feed(
            self.world,
            "stripe notice",
            Mishaps(
                BankFault.PROVIDER_NOTICE_LOST,
                BankFault.PROVIDER_NOTICE_TWICE,
                BankFault.PROVIDER_NOTICE_LATE,
                BankFault.PROVIDER_NOTICE_OVERTAKEN,
            ),
            NOTICE_AGAIN_MS,
            _follow,
        )
        self.on_change = feed.tell

    # What others do.

    @override
    def meddle(self, struck: "StrEnum") -> None:
        left_minor = CHARGED_MINOR - self.refunded_minor
        match struck:
            case BankFault.DASHBOARD_EQUAL if left_minor >= self.amount_minor:
                self.pay_back(self.amount_minor, {}, None)
            case BankFault.DASHBOARD_PARTIAL if left_minor >= PARTIAL_MINOR:
                self.pay_back(PARTIAL_MINOR, {}, None)
            case BankFault.RENEWAL_OFF:
                self.turn(SUBSCRIPTION_IDS[0], off=True)
            case BankFault.RENEWAL_ON:
                self.turn(SUBSCRIPTION_IDS[0], off=False)
            case BankFault.DISPUTED:
                self.dispute()
            case _:
                super().meddle(struck)

    @override
    def by_hand(self) -> None:
        self.turn(SUBSCRIPTION_IDS[0], off=True)
        if self.refunded_minor + self.amount_minor <= CHARGED_MINOR:
            self.pay_back(self.amount_minor, {}, None)

    # What is so.

    @override
    def marks(self, provider: str) -> frozenset[str]:
        if provider == stripe_refunds.CONTRACT.provider:
            return frozenset(found.mark for found in self.refunds if found.mark)
        return frozenset(
            mark for found in self.renewals.values() for mark in found.metadata.values()
        )

    @override
    def name_of(self, effect: Effect, record_id: str) -> str:
        if effect.provider == stripe_billing.CONTRACT.provider:
            return f"{record_id} {'off' if _ends(effect) else 'on'}"
        return record_id

    @override
    def is_ours(self, effect: Effect, record_id: str) -> bool:
        if effect.provider == stripe_billing.CONTRACT.provider:
            renewal = self.renewals[str(effect.bound["subscription_id"])]
            return renewal.metadata.get(MARK) == effect.effect_id
        return any(
            found.record_id == record_id and found.mark == effect.effect_id
            for found in self.refunds
        )

    @override
    def lives(self, effect: Effect) -> bool:
        return any(found.mark == effect.effect_id and found.is_live for found in self.refunds)

    @override
    def refund_made(self, made: RefundTruth) -> None:
        if made.mark is None:
            return
        check = self.world.check
        ours = [found for found in self.refunds if found.mark == made.mark and found.is_live]
        check.require("money", f"{len(ours)} refunds carry one mark", holds=len(ours) == 1)
        ledger, effect = check.effect(made.mark)
        marks = {found.effect_id for found in ledger.effects}
        paid = [
            found.amount_minor for found in self.refunds if found.mark in marks and found.is_live
        ]
        enough = sum(paid) <= self.amount_minor
        check.require("money", f"{paid} paid back in one run", holds=enough)
        bound = effect.bound
        same = bound["amount_minor"] == made.amount_minor and bound["charge_id"] == CHARGE_ID
        check.require("money", "another amount than was approved", holds=same)
        refused = effect.state is EffectState.REJECTED
        check.require("unknown", "called refused, and then carried out", holds=not refused)

    @override
    def check_mail(self, check: "Check", ledger: RunLedger, effect: Effect, mail: Mail) -> None:
        """A receipt names the refund that was proven, and its amount."""
        refund = _quoted_refund(ledger, effect)
        check.require("mail", "a receipt without a confirmed refund", holds=refund)
        assert refund is not None
        assert refund.evidence is not None
        check.require("mail", "another id", holds=refund.evidence.record_id in mail.text)
        amount = f"USD {self.amount_minor // 100}.{self.amount_minor % 100:02d}"
        check.require("mail", "another amount", holds=amount in mail.text)

    # Why a run may stop.

    def renewal_is_others(self, ledger: RunLedger) -> bool:
        """Return whether somebody else switched the renewal last."""
        ours = {found.effect_id for found in ledger.effects}
        renewal = self.renewals[str(ledger.run.request["subscription_id"])]
        return renewal.metadata.get(MARK) not in ours

    def too_little_is_left(self, ledger: RunLedger) -> bool:
        """Return whether somebody else paid back so much that too little is left."""
        return _of_others_minor(self, ledger) + self.amount_minor > CHARGED_MINOR

    reasons: ClassVar[tuple[Reason, ...]] = (
        (
            "renewal already off",
            r"the renewal is already off",
            lambda check, ledger, _: _bank(check).renewal_is_others(ledger),
        ),
        (
            "renewal on again",
            r"resume_renewal is not allowed: the renewal is already on",
            lambda check, ledger, _: (
                not _bank(check).renewals[str(ledger.run.request["subscription_id"])].off
                or ledger.run.run_id in check.looked_again
            ),
        ),
        (
            "too little left",
            r"minor units can still be refunded",
            lambda check, ledger, _: _bank(check).too_little_is_left(ledger),
        ),
        ("disputed", r"the charge is disputed", lambda check, _l, _e: _bank(check).disputed),
    )


def _bank(check: "Check") -> CancelRefund:
    found: Outside = check.world.outside
    assert isinstance(found, CancelRefund)
    return found


def _ends(effect: Effect) -> bool:
    """Return whether the effect is the end of a renewal, and not its return."""
    return effect.bound["cancel_at"] == "period_end"


def _quoted_refund(ledger: RunLedger, receipt: Effect) -> Effect | None:
    """Return the refund that the receipt quotes, None when it was never confirmed."""
    for found in ledger.effects:
        if found.evidence is not None and found.evidence.record_id == receipt.bound["refund_id"]:
            return found if found.state in WAS_CONFIRMED else None
    return None


def _follow(process: "Process", about: Reference) -> None:
    follow(process.ports, Stripe(process, nominates=True), process, about)


def scenario(definition: WorkflowDefinition) -> Scenario:
    """Return what is played of a version."""
    return Scenario(
        definition=definition,
        share=SHARES.get(definition.version, OLDER_SHARE),
        outside=CancelRefund,
        own_sites=SITES,
        own_places=PLACES,
        rare=RARE,
    )
