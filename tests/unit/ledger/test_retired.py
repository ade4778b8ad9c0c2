"""A run whose version is no longer deployed can be seen, looked up and closed."""

import pytest

from ledger.act import Choice, perform_action
from ledger.actions import offers
from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.packet import resume_packet
from ledger.projection import project
from ledger.provider import RecordStatus
from ledger.retired import retired_definition
from ledger.status import customer_status
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import OPERATOR, RUN_ID
from tests.unit.ledger.situations import SITUATIONS
from tests.unit.ledger.support import World, an_unknown_world

ALLOWED_ACTIONS = {
    RecoveryAction.RECONCILE,
    RecoveryAction.MARK_ENGINEERING,
    RecoveryAction.CLOSE,
}


def in_review(world: World) -> World:
    world.change(lambda draft: draft.send_to_review("no compatible version"))
    return world


def allowed(world: World) -> set[RecoveryAction]:
    found = offers(
        retired_definition(world.ledger),
        world.ledger,
        lambda name: world.ports.providers[name].contract,
        world.clock.now_ms(),
    )
    return {offer.action for offer in found if offer.allowed}


@pytest.mark.parametrize("name", SITUATIONS)
def test_it_is_told_to_every_reader_and_can_be_closed_wherever_it_stood(name: str) -> None:
    world = SITUATIONS[name]()
    facts = project(retired_definition(world.ledger), world.ledger, world.clock.now_ms())

    assert customer_status(facts).run_id == RUN_ID
    assert resume_packet(facts, "words").run_id == RUN_ID
    assert {found.effect_id for found in facts.effects} == {
        found.effect_id for found in world.ledger.effects
    }
    assert allowed(world) <= ALLOWED_ACTIONS
    if world.run().state is RunState.REVIEW:
        assert RecoveryAction.CLOSE in allowed(world)


def test_its_unknown_effect_is_looked_up_and_nothing_goes_on() -> None:
    world = in_review(an_unknown_world(made=RecordStatus.DONE))
    assert allowed(world) == ALLOWED_ACTIONS
    choice = Choice(
        action=RecoveryAction.RECONCILE, view_version=world.run().sequence, reason="look"
    )

    perform_action(world.ports, retired_definition(world.ledger), RUN_ID, choice, OPERATOR)

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.REVIEW
    assert EventKind.EXECUTION_ASSIGNED not in world.kinds


def test_a_run_of_a_name_without_a_number_is_told_too() -> None:
    world = in_review(an_unknown_world())
    world.change(lambda draft: draft.set_run(engineering=True))
    ledger = world.ledger
    odd = ledger._replace(run=ledger.run.model_copy(update={"workflow": "odd"}))

    assert project(retired_definition(odd), odd, 0).run_id == RUN_ID
