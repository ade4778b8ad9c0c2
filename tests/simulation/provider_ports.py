"""Stripe and SES as one process reaches them: requests and answers get lost, late, or through."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.stripe_api import Charge, Customer, Refund, RefundList, Subscription
from tests.simulation.bank import LIVE_STATUSES, Answer
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.process import Process

PROVIDER_TIMEOUT_MS = 10_000
# The settle window of the contracts: how long after it was given up a write may still land.
LANDS_WITHIN_MS = 30_000
OUTAGE_MS = (60_000, 900_000)


class Stripe:
    """A ``providers.stripe_api.StripeApi`` as one process reaches it."""

    def __init__(self, process: "Process", *, nominates: bool = False) -> None:
        """Reach the world's bank from ``process``.

        Reads of one that ``nominates`` are no look-up: what they show may name effects, and
        proves nothing about them.
        """
        self._process = process
        self._bank = process.world.bank
        self._nominates = nominates

    def charge(self, charge_id: str) -> Charge | None:
        """Return the charge."""
        self._process.look_up_began_ms = self._process.world.scheduler.now_ms
        found = self._read("read", lambda: self._bank.charge(charge_id))
        self._process.has_read.add("refund")
        return found

    def subscription(self, subscription_id: str) -> Subscription | None:
        """Return the subscription, and keep in mind that it was read."""
        began_ms = self._process.world.scheduler.now_ms
        found = self._read("read", lambda: self._bank.subscription(subscription_id))
        if not self._nominates:
            self._process.world.check.was_read("stripe_billing", began_ms)
            self._process.has_read.add("cancel")
            self._process.looked_up.add("stripe_billing")
            if found is not None:
                self._saw(found.id, done=found.cancel_at_period_end, failed=True)
        return found

    def customer(self, customer_id: str) -> Customer | None:
        """Return the customer."""
        found = self._read("read", lambda: self._bank.customer(customer_id))
        self._process.has_read.add("mail")
        return found

    def refunds_of(self, _charge_id: str) -> RefundList:
        """Return the refunds, and keep in mind that all of them were read."""
        process = self._process
        began_ms = process.look_up_began_ms  # a look-up asks for the charge first
        struck = process.enter("list")
        self._fail_read("list", struck)
        listed = self._bank.refund_list(complete=struck is not Fault.READ_PARTIAL)
        if not self._nominates:
            if listed.complete:
                process.world.check.was_read("stripe_refunds", began_ms)
            process.looked_up.add("stripe_refunds")
            for refund in listed.refunds:
                done = refund.status == "succeeded"
                self._saw(refund.id, done=done, failed=refund.status not in LIVE_STATUSES)
        process.leave(struck)
        return listed

    def _saw(self, record_id: str, *, done: bool, failed: bool) -> None:
        if done:
            self._process.shown_done.add(record_id)
        elif failed:
            self._bank.shown_failed.add(record_id)

    def create_refund(self, params: Mapping[str, object], idempotency_key: str) -> Refund:
        """Return the refund made."""
        answer = self._heard("refund", params, idempotency_key)
        assert isinstance(answer, Refund)
        return answer

    def update_subscription(
        self, subscription_id: str, params: Mapping[str, object], idempotency_key: str
    ) -> Subscription:
        """Return the subscription as changed."""
        answer = self._heard("cancel", {"id": subscription_id, **params}, idempotency_key)
        assert isinstance(answer, Subscription)
        return answer

    def _heard(self, site: str, params: Mapping[str, object], key: str) -> Answer:
        """Make a write, and keep in mind what was said to it."""
        metadata = params["metadata"]
        assert isinstance(metadata, dict)
        try:
            answer = self._write(site, params, key)
        except ProviderFault as fault:
            self._process.words[metadata["effect_id"]] = fault
            raise
        self._process.words[metadata["effect_id"]] = answer
        return answer

    def _read[T](self, site: str, read: Callable[[], T]) -> T:
        struck = self._process.enter(site)
        self._fail_read(site, struck)
        found = read()
        self._process.leave(struck)
        return found

    def _fail_read(self, site: str, struck: Fault | None) -> None:
        process, down = self._process, self._bank.reads_down_until_ms
        now_ms = process.world.scheduler.now_ms
        if struck is Fault.OUTAGE:
            down[site] = max(down.get(site, 0), now_ms + process.between(OUTAGE_MS))
        if struck is Fault.READ_ERROR:
            raise ProviderFault(FaultKind.ANSWERED, 500)
        if struck is Fault.READ_NO_ANSWER or now_ms < down.get(site, 0):
            process.world.scheduler.pause(PROVIDER_TIMEOUT_MS // 2)
            raise ProviderFault(FaultKind.NO_ANSWER)

    def _write(self, site: str, params: Mapping[str, object], key: str) -> Answer:
        process, bank = self._process, self._bank
        process.world.check.write_begins(process, site, params, key)
        struck = process.enter(site)
        _turn_away(process, struck)
        if struck in (Fault.LANDS_LATE, Fault.STUCK):
            self._give_up(site, params, key, struck)
        bank.write(site, params, key, struck)
        process.leave(struck)
        if struck is Fault.ANSWER_LOST:
            process.world.scheduler.pause(PROVIDER_TIMEOUT_MS)
            raise ProviderFault(FaultKind.NO_ANSWER)
        if struck is Fault.UNREADABLE:
            raise ProviderFault(FaultKind.UNREADABLE)
        answer = bank.answer_of(site, params, key)
        if isinstance(answer, ProviderFault):
            raise ProviderFault(answer.kind, answer.status, answer.code)
        return answer

    def _give_up(
        self, site: str, params: Mapping[str, object], key: str, struck: Fault
    ) -> NoReturn:
        """Leave a request under way that ends only after nobody waits for it any more."""
        process, bank, scheduler = self._process, self._bank, self._process.world.scheduler
        lands_ms = PROVIDER_TIMEOUT_MS + process.between((0, LANDS_WITHIN_MS))
        if struck is Fault.STUCK and bank.begin(site, params, key):
            scheduler.at(
                scheduler.now_ms + lands_ms,
                lambda: bank.finish(site, params, key, None),
                outside=True,
            )
        elif struck is Fault.LANDS_LATE:
            scheduler.at(
                scheduler.now_ms + lands_ms,
                lambda: bank.write(site, params, key, None),
                outside=True,
            )
        scheduler.pause(PROVIDER_TIMEOUT_MS)
        raise ProviderFault(FaultKind.NO_ANSWER)


class Mailer:
    """A ``providers.ses_mail.Mailer`` as one process reaches it."""

    def __init__(self, process: "Process") -> None:
        """Reach the world's mail service from ``process``."""
        self._process = process

    def send(self, to: str, subject: str, text: str, tags: Mapping[str, str]) -> str:
        """Return the id of the accepted mail, and keep in mind what was said."""
        try:
            message_id = self._send(to, subject, text, tags)
        except ProviderFault as fault:
            self._process.words[tags["effect_id"]] = fault
            raise
        self._process.words[tags["effect_id"]] = message_id
        self._process.world.check.told.mails.add(message_id)
        return message_id

    def _send(self, to: str, subject: str, text: str, tags: Mapping[str, str]) -> str:
        process, bank = self._process, self._process.world.bank
        scheduler, mark = process.world.scheduler, tags["effect_id"]
        process.world.check.mail_begins(process, mark, subject)
        struck = process.enter("mail")
        _turn_away(process, struck)
        match struck:
            case Fault.REFUSED:
                bank.refused_keys.add(mark)
                raise ProviderFault(FaultKind.ANSWERED, 400, "MessageRejected")
            case Fault.SAVED_500_NOT_DONE:
                raise ProviderFault(FaultKind.ANSWERED, 500)
            case Fault.LANDS_LATE | Fault.STUCK:
                lands_ms = PROVIDER_TIMEOUT_MS + process.between((0, LANDS_WITHIN_MS))
                at_ms = scheduler.now_ms + lands_ms
                scheduler.at(at_ms, lambda: bank.accept_mail(to, text, tags), outside=True)
                scheduler.pause(PROVIDER_TIMEOUT_MS)
                raise ProviderFault(FaultKind.NO_ANSWER)
        message_id = bank.accept_mail(to, text, tags)
        process.leave(struck)
        match struck:
            case Fault.SAVED_500_DONE:
                raise ProviderFault(FaultKind.ANSWERED, 500)
            case Fault.UNREADABLE:
                raise ProviderFault(FaultKind.UNREADABLE)
            case Fault.ANSWER_LOST:
                scheduler.pause(PROVIDER_TIMEOUT_MS)
                raise ProviderFault(FaultKind.NO_ANSWER)
        return message_id


def _turn_away(process: "Process", struck: Fault | None) -> None:
    """Raise for a write that never gets to be carried out."""
    match struck:
        case Fault.COLLEAGUE_FASTER:
            process.world.bank.by_hand(process.world.amount_minor)
            process.world.scheduler.pause(PROVIDER_TIMEOUT_MS)
            raise ProviderFault(FaultKind.NO_ANSWER)
        case Fault.NEVER_SENT:
            raise ProviderFault(FaultKind.NEVER_SENT)
        case Fault.REQUEST_LOST:
            process.world.scheduler.pause(PROVIDER_TIMEOUT_MS)
            raise ProviderFault(FaultKind.NO_ANSWER)
        case Fault.THROTTLED:
            raise ProviderFault(FaultKind.ANSWERED, 429, "rate_limit")
        case Fault.KEY_IN_USE:
            raise ProviderFault(FaultKind.ANSWERED, 409, "idempotency_key_in_use")
        case Fault.KEY_CONFLICT:
            raise ProviderFault(FaultKind.ANSWERED, 400, "idempotency_error")
