"""When a yes on record is enough, and what asking again writes down."""

from ledger.errors import ProviderUnavailable
from ledger.event import EventKind
from ledger.idempotency import approval_id_for
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    DEFINITION,
    NEVER_SENT,
    RUN_ID,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import meets
from tests.unit.ledger.support import a_world, an_approved_world

FIRST = approval_id_for(RUN_ID, 1)


def test_given_a_yes_that_was_spent_on_this_very_write_when_asked_again_then_nobody_is_asked() -> (
    None
):
    world = an_approved_world()
    meets(world, "refund", Step(None, NEVER_SENT), ProviderUnavailable)
    assert world.effect().state is EffectState.PLANNED
    assert world.effect().approval_id == FIRST

    ledger = world.ask("token-2")

    assert len(ledger.approvals) == 1
    assert world.doorbell.rung[-1] == "token-2"


def test_given_a_write_that_needs_no_yes_first_when_the_yes_has_run_out_then_it_is_asked_for() -> (
    None
):
    backwards = DEFINITION.model_copy(update={"operations": DEFINITION.operations[::-1]})
    world = a_world(backwards)
    world.approve()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)

    ledger = world.ask("token-2")

    assert len(ledger.approvals) == 2
    assert ledger.run.state is RunState.AWAITING_APPROVAL


def test_given_a_pending_request_when_asked_behind_another_bell_then_the_trail_names_it() -> None:
    world = a_world()
    world.ask()

    world.ask("token-2")

    assert world.kinds[-1] is EventKind.APPROVAL_WAIT_RENEWED
    assert world.events[-1].subject == FIRST
