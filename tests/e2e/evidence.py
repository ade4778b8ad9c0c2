"""What the systems themselves hold after a run: read from Stripe, the mail service, the ledger."""

from ledger.event import EventKind
from ledger.transitions import EffectState, RunState
from sandbox.findings import refunds_of
from sandbox.mail import accepted_mail
from sandbox.stripe_seed import REFUND_AMOUNT_MINOR
from tests.e2e.conftest import Person


def assert_refunded_once_and_told_once(person: Person, run_id: str) -> None:
    """One refund of the approved amount, one receipt that quotes it, a trail without a gap."""
    ledger = person.ledger(run_id)
    assert ledger.run.state is RunState.COMPLETED, ledger.run.review_reason
    assert {found.state for found in ledger.effects} == {EffectState.CONFIRMED}
    [refund] = refunds_of(person.sandbox.stripe.behind_url, person.subscriber.charge_id)
    assert refund["amount"] == REFUND_AMOUNT_MINOR
    [receipt] = [mail for mail in accepted_mail(person.sandbox.aws_port) if person.email in mail.to]
    assert refund["id"] in receipt.text
    assert "USD 79.00" in receipt.text
    events = person.events(run_id)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert events[-1].kind is EventKind.RUN_COMPLETED
