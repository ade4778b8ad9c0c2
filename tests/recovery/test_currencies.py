"""One refund in currencies of no, two and three decimals: the same amount wherever it is told."""

from urllib.parse import parse_qs

import pytest

from ledger.packet import resume_packet
from ledger.projection import project
from ledger.transitions import EffectState, RunState
from tests.fakes import stripe_endpoints, stripe_world
from tests.fakes.stripe import Fault as StripeFault
from tests.recovery.scenario import REFUNDS, finish, is_awaiting, posts, refund_of
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.world import World
from workflows.registry import definition_for

# What people read, beside what is sent.
AMOUNTS = [
    ("USD", 7_900, "USD 79.00"),
    ("USD", 5, "USD 0.05"),
    ("JPY", 7_900, "JPY 7900"),
    ("JPY", 1, "JPY 1"),
    ("BHD", 7_900, "BHD 7.900"),
    ("BHD", 10, "BHD 0.010"),
    ("KWD", 9_990, "KWD 9.990"),
]


@pytest.fixture(autouse=True)
def _kuwait_counts_in_thousandths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fake know one more of Stripe's currencies of three decimals."""
    known = {**stripe_world.EXPONENTS, "kwd": 3}
    monkeypatch.setattr(stripe_endpoints, "EXPONENTS", known)


@pytest.mark.parametrize("lost", [False, True], ids=["undisturbed", "answer lost"])
@pytest.mark.parametrize(("currency", "amount_minor", "written"), AMOUNTS)
def test_given_a_currency_when_refunded_then_books_ledger_and_mail_say_the_same_amount(
    currency: str, amount_minor: int, written: str, lost: bool
) -> None:
    # Given a customer who is shown, and approves, so many minor units of the charge's currency.
    world = World(wanted={**WANTED, "amount_minor": amount_minor, "currency": currency})
    if lost:
        world.stripe.fail_next(StripeFault.COMMIT_THEN_DROP, path_prefix=REFUNDS)
    world.run_until(is_awaiting)
    asked = world.ledger.pending_approval()
    assert asked is not None
    assert asked.payload["refund"]["amount_minor"] == amount_minor
    assert asked.payload["refund"]["currency"] == currency

    # When the run goes on to its end.
    finish(world)
    assert world.ledger.run.state is RunState.COMPLETED

    # Then the provider was asked for, and holds, exactly them.
    ((_, body),) = posts(world)
    assert parse_qs(body.decode())["amount"] == [str(amount_minor)]
    (made,) = world.stripe.world.refunds
    assert (made.amount, made.currency) == (amount_minor, currency.lower())
    # And the ledger holds them, as approved, as read back, and for the receipt.
    refund = refund_of(world.ledger)
    receipt = world.ledger.newest_effect("receipt")
    assert receipt is not None
    for effect in (refund, receipt):
        assert effect.state is EffectState.CONFIRMED
        assert effect.evidence is not None
        for fields in (effect.bound, effect.evidence.fields):
            assert (fields["amount_minor"], fields["currency"]) == (amount_minor, currency)
    # And the mail says it with the currency's own decimals and the refund's id.
    (mail,) = world.ses.sent
    assert mail.subject == f"Your refund of {written}"
    assert mail.text.startswith(f"We have refunded {written} to the payment method")
    assert made.id in mail.text
    # And so does what a resumed model is told.
    definition = definition_for(world.ledger)
    facts = project(definition, world.ledger, world.clock.now_ms())
    assert f"for {written} is confirmed" in resume_packet(facts, "").summary


@pytest.mark.parametrize(
    ("currency", "amount_minor"),
    [("BHD", 7_905), ("KWD", 9_999), ("ISK", 7_900), ("UGX", 7_900), ("XAU", 1), ("usd ", 1)],
)
def test_given_an_amount_that_the_provider_would_count_otherwise_then_nothing_is_started(
    currency: str, amount_minor: int
) -> None:
    world = World(wanted={**WANTED, "amount_minor": amount_minor, "currency": currency})

    response = world.customer.ask()

    assert response is not None
    assert response["statusCode"] == 422
    assert world.runs() == []
    assert world.orchestrator.executions == {}
    assert world.stripe.posts() == []
