"""What a demo run left behind, judged from the systems that own it: `demo.json`."""

from collections.abc import Mapping
from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict

from ledger.event import Event, EventKind
from ledger.money import Money
from ledger.run import RunLedger
from ledger.transitions import RunState
from providers.stripe_api import MARK
from sandbox.demo_run import REFUNDS_PATH, DemoRun, Kill
from sandbox.environment import CUSTOMER_EMAIL, Sandbox
from sandbox.mail import Mail, accepted_mail
from sandbox.stripe_seed import REFUND_AMOUNT_MINOR
from sandbox.stripe_server import API_KEY

_REFUND_PROVIDER = "stripe_refunds"
_TIMEOUT_SECONDS = 10.0


class Findings(BaseModel):
    """One demo run. Money in minor units, times in seconds unless the name says otherwise."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    approved_digest: str
    """Of the payload that the customer said yes to."""
    refunds_at_provider: int
    refund_id: str | None
    refunded_minor: int
    refund_carries_effect_id: bool
    """Whether the provider's refund names, in its metadata, the effect that the ledger proves."""
    subscription_id: str
    renewal_off: bool
    """Whether the provider will end the subscription with its period."""
    refund_requests: int
    """How often a worker asked the provider for the refund."""
    receipts_sent: int
    receipt_subject: str | None
    receipt_quotes_refund: bool
    """Whether a receipt names the refund's id and its amount."""
    refund_states: list[str]
    """Every state the ledger gave the refund, in order."""
    final_state: str
    worker_killed: bool
    """True only if the kernel confirmed that the worker's process ended."""
    killed_pid: int | None
    seconds_from_kill_to_confirmed: float | None
    seconds_total: float
    events_gapless: bool
    events: list[dict[str, Any]]

    @property
    def proven(self) -> bool:
        """One refund of ours, of the approved amount; the renewal off; one receipt; a real kill."""
        return (
            self.refunds_at_provider == 1
            and self.refunded_minor == REFUND_AMOUNT_MINOR
            and self.refund_carries_effect_id
            and self.renewal_off
            and self.receipts_sent == 1
            and self.receipt_quotes_refund
            and self.final_state == RunState.COMPLETED
            and self.events_gapless
            and self.worker_killed
            and self.seconds_from_kill_to_confirmed is not None
        )


def gather(sandbox: Sandbox, run: DemoRun, seconds_total: float) -> Findings:
    """What the provider, the mail server and the ledger hold now."""
    refunds = refunds_of(sandbox.stripe.behind_url, sandbox.subscriber.charge_id)
    only = refunds[0] if len(refunds) == 1 else None
    subscription = subscription_at(sandbox.stripe.behind_url, sandbox.subscriber.subscription_id)
    receipts = [mail for mail in accepted_mail(sandbox.aws_port) if CUSTOMER_EMAIL in mail.to]
    events = run.events()
    ledger = run.ledger()
    about_refund = _about_refund(ledger, events)
    kill = run.kill()
    return Findings(
        run_id=run.run_id,
        approved_digest=run.digest,
        refunds_at_provider=len(refunds),
        refund_id=only and only["id"],
        refunded_minor=sum(refund["amount"] for refund in refunds),
        refund_carries_effect_id=only is not None and carries_effect_id(only, ledger),
        subscription_id=subscription["id"],
        renewal_off=subscription["cancel_at_period_end"] is True,
        refund_requests=len(sandbox.stripe.requests("POST", REFUNDS_PATH)),
        receipts_sent=len(receipts),
        receipt_subject=receipts[0].subject if receipts else None,
        receipt_quotes_refund=only is not None and any(quotes(mail, only) for mail in receipts),
        refund_states=[event.state for event in about_refund if event.state],
        final_state=ledger.run.state,
        worker_killed=kill is not None and kill.ended,
        killed_pid=None if kill is None else kill.pid,
        seconds_from_kill_to_confirmed=_seconds_to_proof(kill, about_refund),
        seconds_total=round(seconds_total, 1),
        events_gapless=[event.sequence for event in events] == list(range(1, len(events) + 1)),
        events=[event.model_dump(mode="json") for event in events],
    )


def refunds_of(stripe_behind_url: str, charge_id: str) -> list[dict[str, Any]]:
    """Every refund the provider holds for the charge, read past the proxy and its faults."""
    listed = _read(f"{stripe_behind_url}/v1/refunds", {"charge": charge_id, "limit": "100"})
    held: list[dict[str, Any]] = listed["data"]
    return held


def subscription_at(stripe_behind_url: str, subscription_id: str) -> dict[str, Any]:
    """The subscription as the provider itself holds it."""
    return _read(f"{stripe_behind_url}/v1/subscriptions/{subscription_id}", {})


def carries_effect_id(refund: Mapping[str, Any], run: RunLedger) -> bool:
    """Whether the refund's metadata names the refund effect of this run."""
    ours = {effect.effect_id for effect in run.effects if effect.provider == _REFUND_PROVIDER}
    return (refund.get("metadata") or {}).get(MARK) in ours


def quotes(receipt: Mail, refund: Mapping[str, Any]) -> bool:
    """Whether the receipt names the refund's id and its amount."""
    amount = Money(amount_minor=refund["amount"], currency=refund["currency"].upper())
    return refund["id"] in receipt.text and str(amount) in receipt.text


def _read(url: str, params: Mapping[str, str]) -> dict[str, Any]:
    answer = httpx.get(
        url,
        params=dict(params),
        auth=(API_KEY, ""),
        timeout=_TIMEOUT_SECONDS,
        trust_env=False,
    )
    content: dict[str, Any] = answer.raise_for_status().json()
    return content


def _about_refund(run: RunLedger, events: tuple[Event, ...]) -> list[Event]:
    refund_ids = {effect.effect_id for effect in run.effects if effect.provider == _REFUND_PROVIDER}
    return [event for event in events if event.subject in refund_ids]


def _seconds_to_proof(kill: Kill | None, about_refund: list[Event]) -> float | None:
    """From the kill to the ledger's proof of the refund, None without either."""
    proofs = [event.at_ms for event in about_refund if event.kind is EventKind.EFFECT_CONFIRMED]
    return (proofs[0] - kill.fired_at_ms) / 1000 if kill and proofs else None
