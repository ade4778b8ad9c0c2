"""Stripe as one process reaches it: requests and answers get lost, late, or through."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NoReturn, cast

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.stripe_api import MARK, Charge, Refund, RefundList, Subscription
from tests.simulation.bank import LIVE_STATUSES, Answer, Bank, BankFault
from tests.simulation.faults import Fault
from tests.simulation.provider_ports import (
    LANDS_WITHIN_MS,
    PROVIDER_TIMEOUT_MS,
    Customers,
    fail_read,
    read,
    turn_away,
)

if TYPE_CHECKING:
    from tests.simulation.process import Process


class Stripe(Customers):
    """A ``providers.stripe_api.StripeApi`` as one process reaches it."""

    def __init__(self, process: "Process", *, nominates: bool = False) -> None:
        """Reach the world's bank from ``process``.

        Reads of one that ``nominates`` are no look-up: what they show may name effects, and
        proves nothing about them.
        """
        super().__init__(process)
        self._bank = cast("Bank", process.world.outside)
        self._nominates = nominates

    def charge(self, charge_id: str) -> Charge | None:
        """Return the charge."""
        self._process.look_up_began_ms = self._process.world.scheduler.now_ms
        found = read(self._process, "read", lambda: self._bank.charge(charge_id))
        self._process.has_read.add("refund")
        return found

    def subscription(self, subscription_id: str) -> Subscription | None:
        """Return the subscription, and keep in mind that it was read."""
        began_ms = self._process.world.scheduler.now_ms
        found = read(self._process, "read", lambda: self._bank.subscription(subscription_id))
        if not self._nominates:
            self._process.world.check.was_read("stripe_billing", began_ms)
            self._process.has_read.add("cancel")
            self._process.looked_up.add("stripe_billing")
            if found is not None:
                on, off = (f"{found.id} {how}" for how in ("on", "off"))
                self._saw(off if found.cancel_at_period_end else on, done=True, failed=False)
                self._saw(on if found.cancel_at_period_end else off, done=False, failed=True)
        return found

    def refunds_of(self, _charge_id: str) -> RefundList:
        """Return the refunds, and keep in mind that all of them were read."""
        process = self._process
        began_ms = process.look_up_began_ms  # a look-up asks for the charge first
        struck = process.enter("list")
        fail_read(process, "list", struck)
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
        sent = {"id": subscription_id, **params}
        answer = self._heard("cancel", sent, idempotency_key)
        assert isinstance(answer, Subscription)
        return answer

    def _heard(self, site: str, params: Mapping[str, object], key: str) -> Answer:
        """Make a write, and keep in mind what was said to it."""
        mark = _mark(params)
        try:
            answer = self._write(site, params, key)
        except ProviderFault as fault:
            self._process.words[mark] = fault
            raise
        self._process.words[mark] = answer
        return answer

    def _write(self, site: str, params: Mapping[str, object], key: str) -> Answer:
        process, bank = self._process, self._bank
        frozen = {"subscription" if name == "id" else name: params[name] for name in params}
        process.world.check.write_begins(process, site, _mark(params), frozen, key)
        struck = process.enter(site)
        if struck is BankFault.COLLEAGUE_FASTER:
            bank.by_hand()
            process.world.scheduler.pause(PROVIDER_TIMEOUT_MS)
            raise ProviderFault(FaultKind.NO_ANSWER)
        turn_away(process, struck)
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
        self, site: str, params: Mapping[str, object], key: str, struck: StrEnum
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


def _mark(params: Mapping[str, object]) -> str:
    metadata = params["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata[MARK])
