"""Providers as one process reaches them: requests and answers get lost, late, or through."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.stripe_api import Customer
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.process import Process

PROVIDER_TIMEOUT_MS = 10_000
# The settle window of the contracts: how long after it was given up a write may still land.
LANDS_WITHIN_MS = 30_000
OUTAGE_MS = (60_000, 900_000)


def read[T](process: "Process", site: str, look: Callable[[], T]) -> T:
    """Return what a provider shows. Raises ProviderFault."""
    struck = process.enter(site)
    fail_read(process, site, struck)
    found = look()
    process.leave(struck)
    return found


def fail_read(process: "Process", site: str, struck: StrEnum | None) -> None:
    """Raise ProviderFault for a read that gets no answer, or none that is of use."""
    down = process.world.outside.reads_down_until_ms
    now_ms = process.world.scheduler.now_ms
    if struck is Fault.OUTAGE:
        down[site] = max(down.get(site, 0), now_ms + process.between(OUTAGE_MS))
    if struck is Fault.READ_ERROR:
        raise ProviderFault(FaultKind.ANSWERED, 500)
    if struck is Fault.READ_NO_ANSWER or now_ms < down.get(site, 0):
        process.world.scheduler.pause(PROVIDER_TIMEOUT_MS // 2)
        raise ProviderFault(FaultKind.NO_ANSWER)


class Customers:
    """The part of ``providers.stripe_api.StripeApi`` that shows customers, for one process."""

    def __init__(self, process: "Process") -> None:
        """Reach the world's customers from ``process``."""
        self._process = process

    def customer(self, customer_id: str) -> Customer | None:
        """Return the customer, and keep in mind that the owner of the address was asked."""
        process = self._process
        found = read(process, "read", lambda: process.world.outside.customer(customer_id))
        process.has_read.add("mail")
        return found


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
        process, outside = self._process, self._process.world.outside
        scheduler, mark = process.world.scheduler, tags["effect_id"]
        mail = {"subject": subject, "text": text, "tags": dict(tags)}
        process.world.check.write_begins(process, "mail", mark, mail)
        struck = process.enter("mail")
        turn_away(process, struck)
        match struck:
            case Fault.REFUSED:
                raise ProviderFault(FaultKind.ANSWERED, 400, "MessageRejected")
            case Fault.SAVED_500_NOT_DONE:
                raise ProviderFault(FaultKind.ANSWERED, 500)
            case Fault.LANDS_LATE | Fault.STUCK:
                lands_ms = PROVIDER_TIMEOUT_MS + process.between((0, LANDS_WITHIN_MS))
                at_ms = scheduler.now_ms + lands_ms
                accept = partial(outside.accept_mail, to, subject, text, tags)
                scheduler.at(at_ms, accept, outside=True)
                scheduler.pause(PROVIDER_TIMEOUT_MS)
                raise ProviderFault(FaultKind.NO_ANSWER)
        message_id = outside.accept_mail(to, subject, text, tags)
        process.leave(struck)
        lose_answer(process, struck)
        return message_id


def turn_away(process: "Process", struck: StrEnum | None) -> None:
    """Raise for a write that never gets to be carried out."""
    match struck:
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


def lose_answer(process: "Process", struck: StrEnum | None) -> None:
    """Raise for a write that was carried out, and whose answer does not say so."""
    match struck:
        case Fault.SAVED_500_DONE:
            raise ProviderFault(FaultKind.ANSWERED, 500)
        case Fault.UNREADABLE:
            raise ProviderFault(FaultKind.UNREADABLE)
        case Fault.ANSWER_LOST:
            process.world.scheduler.pause(PROVIDER_TIMEOUT_MS)
            raise ProviderFault(FaultKind.NO_ANSWER)
