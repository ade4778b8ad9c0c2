"""A provider that is no longer registered: its runs can be seen, marked and closed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from ledger.act import Choice, perform_action
from ledger.actions import offers
from ledger.errors import RequestRefused
from ledger.gone import contract_of, gone_contract, is_gone
from ledger.offer import Offer, RecoveryAction
from ledger.ports import Ports
from ledger.reconcile import reconcile_run
from ledger.retired import retired_definition
from ledger.run import RunLedger
from ledger.sweep import SWEEPER
from ledger.transitions import EffectState, RunState
from ledger.workflow import WorkflowDefinition
from tests.unit.ledger import test_counter as counter
from tests.unit.ledger.desk import CLOSE, MARK
from tests.unit.ledger.sample import (
    DEFINITION,
    OPERATOR,
    PAYMENTS,
    RECOVERY_DEADLINE_SECONDS,
    RUN_ID,
)
from tests.unit.ledger.situations import (
    SITUATIONS,
    mail_in_doubt,
    refund_in_conflict,
    refund_rejected,
    refund_unknown,
)
from tests.unit.ledger.support import World, given
from tests.unit.ledger.versions import a_migration, renumbered

DEFINITIONS = [lambda _: DEFINITION, retired_definition]
IN_REVIEW = [name for name, make in SITUATIONS.items() if make().run().state is RunState.REVIEW]


def without(world: World, *gone: str) -> Ports:
    """Return the world's ports as they are once these providers are registered no more."""
    left = {name: found for name, found in world.ports.providers.items() if name not in gone}
    return replace(world.ports, providers=left)


def offered(world: World, ports: Ports, definition: WorkflowDefinition) -> tuple[Offer, ...]:
    """Return what an operator is offered by those ports."""
    contracts = partial(contract_of, ports.providers)
    return offers(definition, world.ledger, contracts, world.clock.now_ms(), ports.versions)


def allowed(world: World, ports: Ports, definition: WorkflowDefinition) -> set[str]:
    """Return what an operator may do by those ports."""
    return {found.action for found in offered(world, ports, definition) if found.allowed}


def act(world: World, ports: Ports, definition: WorkflowDefinition, action: str) -> RunLedger:
    """Look, choose and perform."""
    chosen = Choice(
        action=RecoveryAction(action), view_version=world.run().sequence, reason="the desk asked"
    )
    return perform_action(ports, definition, RUN_ID, chosen, OPERATOR)


def test_given_a_contract_of_a_provider_that_is_gone_then_it_promises_nothing() -> None:
    contract = gone_contract("payments")

    assert is_gone(contract)
    assert contract.provider == "payments"
    assert not contract.absence_can_be_proven
    assert not contract.replay_after_absence
    assert not contract.confirmed_by_read
    assert contract.max_attempts == 0


def test_given_a_provider_that_is_there_when_asked_for_then_its_own_contract_is_told() -> None:
    world = World()

    assert contract_of(world.ports.providers, "payments") is PAYMENTS
    assert not is_gone(PAYMENTS)


@pytest.mark.parametrize("definition_of", DEFINITIONS, ids=["registered", "retired"])
def test_given_an_unknown_effect_at_a_provider_that_is_gone_when_closed_then_the_run_ends(
    definition_of: Callable[[RunLedger], WorkflowDefinition],
) -> None:
    # Given the sweeper, which could not read it, brought the run before a person.
    world = refund_unknown()
    ports = without(world, "payments")
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    with pytest.raises(KeyError):
        reconcile_run(ports, RUN_ID, SWEEPER)
    assert world.run().state is RunState.REVIEW
    definition = definition_of(world.ledger)

    # When an operator looks, marks it for an engineer, and closes it.
    assert allowed(world, ports, definition) == {MARK, CLOSE}
    act(world, ports, definition, MARK)
    closed = act(world, ports, definition, CLOSE)

    # Then it is closed, and what became of the refund stays unproven.
    assert closed.run.state is RunState.CLOSED
    assert world.effect().state is EffectState.UNKNOWN


@pytest.mark.parametrize("name", IN_REVIEW)
def test_given_both_providers_gone_when_any_run_in_review_is_looked_at_then_it_can_be_closed(
    name: str,
) -> None:
    world = SITUATIONS[name]()
    ports = without(world, "payments", "post")
    for definition in (DEFINITION, retired_definition(world.ledger)):
        assert CLOSE in allowed(world, ports, definition)
        for found in offered(world, ports, definition):
            if not found.allowed:
                with pytest.raises(RequestRefused) as refused:
                    act(world, ports, definition, found.action)
                assert refused.value.problem == "action-not-allowed"

    assert act(world, ports, DEFINITION, CLOSE).run.state is RunState.CLOSED


def test_given_a_refused_refund_at_a_provider_that_is_gone_when_looked_at_then_that_is_said() -> (
    None
):
    world = refund_rejected()

    found = offered(world, without(world, "payments"), DEFINITION)

    reasons = {offer.action: offer.refused_because for offer in found}
    for action in (RecoveryAction.RESUME, RecoveryAction.REQUEST_APPROVAL):
        assert reasons[action].startswith("No longer registered: payments.")
    assert reasons[RecoveryAction.CLOSE] == ""
    assert not {RecoveryAction.TREAT_AS_SENT, RecoveryAction.SEND_AGAIN} & set(reasons)


def test_given_a_mail_that_rests_on_what_is_gone_when_looked_at_then_it_is_not_sent() -> None:
    world = mail_in_doubt()

    assert allowed(world, without(world, "payments"), DEFINITION) == {MARK, CLOSE}


def test_given_a_mail_service_that_is_gone_when_looked_at_then_nobody_is_offered_to_vouch() -> None:
    world = mail_in_doubt()

    found = offered(world, without(world, "post"), DEFINITION)

    assert {offer.action for offer in found if offer.allowed} == {MARK, CLOSE}
    assert not [offer for offer in found if offer.effect_id]


def test_given_one_of_two_unsettled_effects_is_at_what_is_gone_then_the_other_is_asked() -> None:
    world = mail_in_doubt()
    given(world, world.effect().model_copy(update={"state": EffectState.UNKNOWN}))
    ports = without(world, "post")
    assert "reconcile_provider_state" in allowed(world, ports, DEFINITION)

    act(world, ports, DEFINITION, "reconcile_provider_state")

    assert world.effect().state is EffectState.CONFIRMED


def test_given_a_run_that_is_under_way_when_looked_at_then_what_it_is_refused_for_is_that() -> None:
    world = refund_unknown()

    found = offered(world, without(world, "payments"), DEFINITION)

    reasons = {offer.action: offer.refused_because for offer in found}
    assert reasons[RecoveryAction.RESUME] == "The run is not in review."


def test_given_a_conflict_at_a_provider_that_is_gone_when_looked_at_then_a_move_is_refused() -> (
    None
):
    world = refund_in_conflict()
    new = renumbered()
    assert world.versions is not None
    world.versions = type(world.versions)({new.version: new}, (a_migration(new),))

    found = offered(world, without(world, "payments"), DEFINITION)

    (move,) = (offer for offer in found if offer.action is RecoveryAction.MOVE)
    assert move.refused_because.startswith("No longer registered: payments.")


def test_given_what_takes_it_back_is_gone_when_looked_at_then_a_counter_effect_is_refused() -> None:
    world = counter.fee_refused()
    (before,) = (
        offer
        for offer in offered(world, world.ports, world.definition)
        if offer.action is RecoveryAction.OFFER_COUNTER
    )
    assert before.allowed

    found = offered(world, without(world, "payments"), world.definition)

    (after,) = (offer for offer in found if offer.action is RecoveryAction.OFFER_COUNTER)
    assert after.refused_because.startswith("No longer registered: payments")
