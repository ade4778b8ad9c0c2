"""Limits of an action that others share: the console, and DynamoDB."""

from pathlib import Path

import ledger
from adapters.change_check import MAX_ACTIONS
from ledger.act import MAX_EVENTS_OF_A_CHANGE, MAX_REASON_CHARACTERS, Choice
from ledger.offer import RecoveryAction
from tests.unit.ledger.desk import facts_of, take
from tests.unit.ledger.situations import refund_rejected

FUNCTIONS = Path(ledger.__path__[0]).parent
# Amazon DynamoDB API Reference, TransactWriteItems: "groups up to 100 action requests".
DYNAMODB_ACTIONS = 100


def test_given_the_limits_of_others_when_compared_then_an_action_keeps_to_them() -> None:
    script = (FUNCTIONS / "console/static/actions.js").read_text(encoding="utf-8")

    assert f"const MAX_REASON_CHARACTERS = {MAX_REASON_CHARACTERS};" in script
    assert MAX_EVENTS_OF_A_CHANGE == MAX_ACTIONS == DYNAMODB_ACTIONS


def test_given_a_choice_that_names_no_effect_when_performed_then_it_is_about_the_run() -> None:
    world = refund_rejected()
    chosen = Choice(
        action=RecoveryAction.MARK_ENGINEERING,
        view_version=facts_of(world).view_version,
        reason="the desk asked",
    )

    assert take(world, chosen).run.engineering
