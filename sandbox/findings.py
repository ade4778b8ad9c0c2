"""What a demo run left behind, judged from the systems that own it: `demo.json`."""

from typing import Any

import httpx
from pydantic import BaseModel, ConfigDict

from ledger.event import Event, EventKind
from ledger.run import RunLedger
from ledger.transitions import RunState
from sandbox.demo_run import REFUNDS_PATH, DemoRun, Kill
from sandbox.environment import CUSTOMER_EMAIL, Sandbox
from sandbox.mail import accepted_mail
from sandbox.stripe_seed import REFUND_AMOUNT_MINOR
from sandbox.stripe_server import API_KEY

_REFUND_PROVIDER = "stripe_refunds"
_TIMEOUT_SECONDS = 10.0


class Findings(BaseModel):
    """One demo run. Money in minor units, times in seconds unless the name says otherwise."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    refunds_at_provider: int
    refund_id: str | None
    refunded_minor: int
    refund_requests: int
    """How often a worker asked the provider for the refund."""
    receipts_sent: int
    receipt_quotes_refund: bool
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
        """One refund of the approved amount, one receipt, completed, after a real kill."""
        return (
            self.refunds_at_provider == 1
            and self.refunded_minor == REFUND_AMOUNT_MINOR
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
    refund_id = refunds[0]["id"] if len(refunds) == 1 else None
    receipts = [mail for mail in accepted_mail(sandbox.aws_port) if CUSTOMER_EMAIL in mail.to]
    events = run.events()
    about_refund = _about_refund(run.ledger(), events)
    kill = run.kill()
    return Findings(
        run_id=run.run_id,
        refunds_at_provider=len(refunds),
        refund_id=refund_id,
        refunded_minor=sum(refund["amount"] for refund in refunds),
        refund_requests=len(sandbox.stripe.requests("POST", REFUNDS_PATH)),
        receipts_sent=len(receipts),
        receipt_quotes_refund=any(str(refund_id) in mail.text for mail in receipts),
        refund_states=[event.state for event in about_refund if event.state],
        final_state=run.ledger().run.state,
        worker_killed=kill is not None and kill.ended,
        killed_pid=None if kill is None else kill.pid,
        seconds_from_kill_to_confirmed=_seconds_to_proof(kill, about_refund),
        seconds_total=round(seconds_total, 1),
        events_gapless=[event.sequence for event in events] == list(range(1, len(events) + 1)),
        events=[event.model_dump(mode="json") for event in events],
    )


def refunds_of(stripe_behind_url: str, charge_id: str) -> list[dict[str, Any]]:
    """Every refund the provider holds for the charge, read past the proxy and its faults."""
    answer = httpx.get(
        f"{stripe_behind_url}/v1/refunds",
        params={"charge": charge_id, "limit": 100},
        auth=(API_KEY, ""),
        timeout=_TIMEOUT_SECONDS,
        trust_env=False,
    )
    held: list[dict[str, Any]] = answer.raise_for_status().json()["data"]
    return held


def _about_refund(run: RunLedger, events: tuple[Event, ...]) -> list[Event]:
    refund_ids = {effect.effect_id for effect in run.effects if effect.provider == _REFUND_PROVIDER}
    return [event for event in events if event.subject in refund_ids]


def _seconds_to_proof(kill: Kill | None, about_refund: list[Event]) -> float | None:
    """From the kill to the ledger's proof of the refund, None without either."""
    proofs = [event.at_ms for event in about_refund if event.kind is EventKind.EFFECT_CONFIRMED]
    return (proofs[0] - kill.fired_at_ms) / 1000 if kill and proofs else None
