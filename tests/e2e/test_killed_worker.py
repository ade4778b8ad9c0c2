"""The headline, for real: processes are killed, answers are lost, and nobody is paid twice."""

from collections.abc import Mapping
from typing import Any

import pytest

from ledger.event import EventKind
from ledger.transitions import EffectState
from tests.e2e.conftest import Person
from tests.e2e.evidence import assert_refunded_once_and_told_once

REFUND = {"method": "POST", "path": "/v1/refunds"}
RENEWAL = {"method": "POST", "path": "/v1/subscriptions/*"}


def states_of(person: Person, run_id: str, operation: str) -> list[str]:
    [effect] = [found for found in person.ledger(run_id).effects if found.operation == operation]
    return [
        event.state
        for event in person.events(run_id)
        if event.subject == effect.effect_id and event.state
    ]


@pytest.mark.parametrize(
    ("match", "operation"),
    [(REFUND, "refund"), (RENEWAL, "cancel_renewal")],
    ids=["refund", "renewal"],
)
def test_a_worker_killed_after_the_commit_is_recovered_without_a_second_write(
    person: Person, match: Mapping[str, Any], operation: str
) -> None:
    person.sandbox.stripe.arm({"match": match, "fault": "commit_then_kill"})

    run_id = person.ask()
    person.approve(run_id)
    person.wait_until_closed(run_id)

    [kill] = person.sandbox.stripe.fired()
    assert kill["killed"], "no worker process was really killed"
    assert_refunded_once_and_told_once(person, run_id)
    assert len(person.sandbox.stripe.requests(kill["method"], kill["path"])) == 1
    assert states_of(person, run_id, operation) == [
        EffectState.PLANNED,
        EffectState.ATTEMPTING,
        EffectState.UNKNOWN,
        EffectState.CONFIRMED,
    ]
    # The state machine's own catch did it: no other execution was needed.
    assert person.ledger(run_id).run.epoch == 1


@pytest.mark.parametrize("fault", ["commit_then_drop", "commit_then_500"])
def test_an_answer_lost_inside_the_worker_is_looked_up_not_repeated(
    person: Person, fault: str
) -> None:
    person.sandbox.stripe.arm({"match": REFUND, "fault": fault})

    run_id = person.ask()
    person.approve(run_id)
    person.wait_until_closed(run_id)

    assert_refunded_once_and_told_once(person, run_id)
    assert len(person.sandbox.stripe.requests("POST", "/v1/refunds")) == 1


def test_a_request_that_was_lost_before_the_commit_is_sent_again_under_the_same_key(
    person: Person,
) -> None:
    person.sandbox.stripe.arm({"match": REFUND, "fault": "drop_before_commit"})

    run_id = person.ask()
    person.approve(run_id)
    person.wait_until_closed(run_id)

    assert_refunded_once_and_told_once(person, run_id)
    first, second = person.sandbox.stripe.requests("POST", "/v1/refunds")
    assert first["idempotency_key"] == second["idempotency_key"]
    assert first["body"] == second["body"]
    kinds = [event.kind for event in person.events(run_id)]
    assert EventKind.ABSENCE_PROVEN in kinds
