"""What every field case checks besides its own, as far as the deployed system can be looked at."""

import time

from ledger.event import Event
from ledger.run import RunLedger
from ledger.transitions import EffectState
from sandbox.findings import refunds_of
from sandbox.mail import accepted_mail
from sandbox.stripe_seed import REFUND_AMOUNT_MINOR
from tests.e2e.conftest import Person
from tests.recovery.ledger_checks import check_ledger

# A run on which somebody works moves between two reads; nobody works for so long.
MAX_LOOKS = 20


def check_shared(person: Person, run_id: str, only_closing_because: str = "") -> None:
    """Raise AssertionError unless all that must hold of every run does of this one."""
    ledger, events = _at_rest(person, run_id)
    now_ms = int(time.time() * 1000)
    check_ledger(ledger, events, now_ms, (person.email,), only_closing_because)
    _check_money_and_mail(person, ledger)


def _at_rest(person: Person, run_id: str) -> tuple[RunLedger, tuple[Event, ...]]:
    """Return a run and its trail as they were at one moment."""
    for _ in range(MAX_LOOKS):
        ledger, events = person.ledger(run_id), person.events(run_id)
        if events and events[-1].sequence == ledger.run.sequence:
            return ledger, events
    raise AssertionError(f"{run_id} never rested.")


def _check_money_and_mail(person: Person, ledger: RunLedger) -> None:
    """One refund at most, of no more than was approved; no receipt before it is confirmed."""
    refund = ledger.newest_effect("refund")
    held = refunds_of(person.sandbox.stripe.behind_url, person.subscriber.charge_id)
    ours = [made for made in held if made["metadata"].get("effect_id")]
    assert len(ours) <= (0 if refund is None else 1)
    assert all(made["amount"] <= REFUND_AMOUNT_MINOR for made in ours)
    mails = [mail for mail in accepted_mail(person.sandbox.aws_port) if person.email in mail.to]
    assert len(mails) <= 1
    for mail in mails:
        assert refund is not None
        assert refund.state is EffectState.CONFIRMED
        assert refund.evidence is not None
        assert refund.evidence.record_id in mail.text
        assert "USD 79.00" in mail.text
