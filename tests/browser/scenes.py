"""Runs that wait for a person, brought about at the provider as it happens in life."""

from typing import Any

from ledger.idempotency import run_id_for
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import RunState
from sandbox.findings import refunds_of
from sandbox.stripe_seed import REFUND_AMOUNT_MINOR
from sandbox.waiting import wait_for
from tests.builders import a_change, a_run
from tests.e2e.conftest import PATIENCE_SECONDS, Person

REFUND = {"method": "POST", "path": "/v1/refunds"}
# Long enough for the test to change what the provider shows; it is released well before.
HELD_SECONDS = 60

# More than these scenes bring about.
DROPPED_NOTICES = 50


def refund_that_differs(person: Person, customer_text: str = "") -> tuple[str, str]:
    """Return run and refund: while its answer was on the way, the provider began to show another
    amount, so the run is in review. No notice comes of it, so only what people do is seen."""
    person.sandbox.stripe.arm_notice({"fault": "dropped", "times": DROPPED_NOTICES})
    person.sandbox.stripe.arm(
        {"match": REFUND, "fault": "commit_then_hold", "seconds": HELD_SECONDS}
    )
    asked = person.api.start_run(
        f"{person.email}-differs", {**person.request(), "customer_text": customer_text}
    )
    run_id = str(asked.raise_for_status().json()["run_id"])
    person.approve(run_id)
    refund = wait_for(lambda: _refund(person), "the refund", PATIENCE_SECONDS)
    refund_id = str(refund["id"])
    person.sandbox.stripe.show(refund_id, {"amount": 1})
    person.sandbox.stripe.release_held()
    wait_until_review(person, run_id)
    return run_id, refund_id


def show_it_right(person: Person, refund_id: str) -> None:
    """Let the provider show the refund as it was approved."""
    person.sandbox.stripe.show(refund_id, {"amount": REFUND_AMOUNT_MINOR})


def refund_that_is_refused(person: Person) -> str:
    """Return a run whose refund the provider has refused for good."""
    person.sandbox.stripe.arm(
        {"match": REFUND, "fault": "refuse", "status": 402, "code": "charge_disputed"}
    )
    run_id = person.ask()
    person.approve(run_id)
    wait_until_review(person, run_id)
    return run_id


def waiting_run(store: LedgerStore, tenant_id: str, now_ms: int, number: int) -> str:
    """Write a run that waits for a person, each later than the one of the number before it."""
    run_id = run_id_for(tenant_id, "scene", f"{number}")
    run = a_run(
        run_id=run_id,
        tenant_id=tenant_id,
        state=RunState.REVIEW,
        review_reason="a person has to look",
        review_since_ms=now_ms + number,
        due_at_ms=None,
    )
    store.commit(a_change(f"commit-{run_id}", run=run))
    return run_id


def wait_until_review(person: Person, run_id: str) -> RunLedger:
    """Return the run once a person has to look at it."""

    def look() -> RunLedger | None:
        ledger = person.ledger(run_id)
        return ledger if ledger.run.state is RunState.REVIEW else None

    return wait_for(look, "the review", PATIENCE_SECONDS)


def _refund(person: Person) -> dict[str, Any] | None:
    found = refunds_of(person.sandbox.stripe.behind_url, person.subscriber.charge_id)
    return found[0] if found else None
