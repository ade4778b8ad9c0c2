"""What an operator is offered and shown where something is missing that is there as a rule."""

from functools import partial

import pytest

from ledger.approval import Approval
from ledger.effect import Effect
from ledger.gone import contract_of
from ledger.inbox import review_summary
from ledger.mail_actions import send_again, treat_as_sent
from ledger.offer import RecoveryAction
from ledger.run import RunLedger
from ledger.situation import LOOKABLE_STATES, Situation
from ledger.transitions import EffectState, RunState
from ledger.versions import Versions
from tests.builders import NOW_MS, a_run, an_effect
from tests.unit.ledger.desk import MOVE, facts_of, offer, offered
from tests.unit.ledger.sample import DEFINITION, PAYLOAD, a_refund
from tests.unit.ledger.situations import refund_confirmed
from tests.unit.ledger.support import World, an_approved_world, given
from tests.unit.ledger.test_move import REWORDED, in_review, replaced
from tests.unit.ledger.versions import RECEIPT, REFUND, a_migration


def a_situation(*effects: Effect, gone: bool = False) -> Situation:
    """Return a run with these effects, whose providers are there or gone."""
    providers = {} if gone else World().ports.providers
    ledger = RunLedger(run=a_run(state=RunState.REVIEW), effects=effects)
    return Situation(DEFINITION, ledger, partial(contract_of, providers), NOW_MS)


def test_given_a_mail_that_the_version_does_not_know_when_offered_then_it_goes_by_its_name() -> (
    None
):
    mail = an_effect(operation="farewell", provider="post", state=EffectState.UNKNOWN)
    situation = a_situation(mail)

    assert treat_as_sent(situation, mail).label == "Treat as sent: farewell"
    assert send_again(situation, mail).label == "Send again: farewell"


def test_given_a_confirmed_write_without_a_record_when_listed_then_its_name_is_said() -> None:
    run = a_run(state=RunState.REVIEW, workflow=DEFINITION.version)
    ledger = RunLedger(run=run, effects=(a_refund(EffectState.CONFIRMED),))

    found = review_summary(DEFINITION, ledger, NOW_MS)

    assert found is not None
    assert found.confirmed == ("Refund",)


@pytest.mark.parametrize("state", RunState)
def test_given_a_reason_of_an_earlier_review_when_shown_then_only_in_review(
    state: RunState,
) -> None:
    world = an_approved_world()
    given(world, state=state, review_reason="somebody looks")

    shown = facts_of(world).review_reason
    assert shown == ("somebody looks" if state is RunState.REVIEW else "")


def test_given_a_write_to_come_when_its_provider_is_gone_then_that_one_is_named() -> None:
    situation = a_situation(gone=True)

    assert situation.gone((REFUND,), DEFINITION) == ["payments"]
    # The receipt quotes the refund, which is looked at again before it is sent.
    assert situation.gone((RECEIPT,), DEFINITION) == ["payments", "post"]
    assert situation.gone((), DEFINITION) == []
    assert a_situation().gone((REFUND, RECEIPT), DEFINITION) == []


@pytest.mark.parametrize("state", sorted(EffectState))
def test_given_an_effect_at_a_provider_that_is_gone_then_it_counts_while_it_is_not_settled(
    state: EffectState,
) -> None:
    gone = a_situation(a_refund(state), gone=True).gone((), DEFINITION)

    assert gone == (["payments"] if state in LOOKABLE_STATES else [])


def test_given_a_yes_stored_without_consequences_when_a_move_is_offered_then_it_holds() -> None:
    world = replaced(in_review(an_approved_world()))
    approval = world.ledger.newest_approval()
    assert approval is not None
    digest = Approval.version_digest(approval.workflow, PAYLOAD)
    given(world, approval.model_copy(update={"consequences": {}, "digest": digest}))

    assert "new decision" not in offer(world, MOVE).consequence.words


def test_given_a_migration_when_the_way_on_is_asked_for_then_it_begins_at_the_old_version() -> None:
    migration = a_migration(REWORDED)
    both = Versions({found.version: found for found in (DEFINITION, REWORDED)}, (migration,))
    new_only = Versions({REWORDED.version: REWORDED}, (migration,))

    assert both.way_on(DEFINITION.version) == (DEFINITION, REWORDED, migration)
    assert new_only.way_on(DEFINITION.version) == (None, REWORDED, migration)


def test_given_no_migration_when_offered_then_no_move_is_among_it() -> None:
    world = in_review(refund_confirmed())

    assert RecoveryAction.MOVE not in {found.action for found in offered(world)}
