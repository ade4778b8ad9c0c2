"""A checkpoint is reached on evidence that shows all its contract asks for, and on no other."""

import pytest

from ledger.draft import Draft
from ledger.errors import ReviewRequired
from ledger.migration import migrate
from ledger.settle import check_proves, settle_confirmed
from ledger.transitions import EffectState, RunState
from tests.builders import evidence
from tests.unit.ledger.sample import BOUND, DEFINITION, OPERATOR, RUN_ID, a_record, a_refund
from tests.unit.ledger.support import World, an_approved_world, given
from tests.unit.ledger.versions import altered, is_replaced, renumbered

PROVEN = "refund_confirmed"
# The provider's own field, beyond what was approved and is compared.
ASKS_MORE = altered("contracts", 1, evidence_fields=(*BOUND, "balance_id"))


def a_world_that_asks_more() -> World:
    world = an_approved_world()
    world.definition = ASKS_MORE
    return world


def test_given_a_write_when_it_is_intended_then_it_is_set_down_what_has_to_prove_it() -> None:
    world = an_approved_world()

    world.perform()

    assert world.effect().proof_fields == DEFINITION.contract(PROVEN).evidence_fields


def test_given_a_record_that_shows_all_when_read_back_then_the_checkpoint_is_reached() -> None:
    world = an_approved_world()

    world.perform()

    assert world.ledger.proven(PROVEN) is not None


def test_given_a_record_that_shows_too_little_when_read_back_then_a_person_has_to_look() -> None:
    world = a_world_that_asks_more()

    with pytest.raises(ReviewRequired, match="does not show balance_id"):
        world.perform()

    assert world.effect().state is EffectState.CONFIRMED
    assert world.ledger.proven(PROVEN) is None
    assert world.run().state is RunState.REVIEW
    assert "does not show balance_id" in world.run().review_reason


def test_given_an_unproven_effect_when_its_stage_runs_again_then_nothing_is_sent_or_reached() -> (
    None
):
    world = a_world_that_asks_more()
    with pytest.raises(ReviewRequired):
        world.perform()
    sent = len(world.payments.calls)
    given(world, state=RunState.ACTIVE, review_reason="")

    with pytest.raises(ReviewRequired, match="does not show balance_id"):
        world.perform()

    assert len(world.payments.calls) == sent
    assert world.run().state is RunState.REVIEW


def test_given_an_effect_from_before_proofs_were_set_down_when_confirmed_then_as_it_was() -> None:
    effect = a_refund(EffectState.CONFIRMED, evidence=evidence(fields=BOUND))

    assert effect.proof_fields == ()
    check_proves(effect)


def test_given_evidence_found_by_a_look_up_when_it_shows_too_little_then_it_proves_nothing() -> (
    None
):
    world = an_approved_world()
    given(world, a_refund(EffectState.UNKNOWN, proof_fields=("balance_id",)))

    def found(draft: Draft) -> None:
        settle_confirmed(draft, world.effect(), a_record(), "found")

    world.change(found)

    assert world.ledger.proven(PROVEN) is None
    assert world.run().state is RunState.REVIEW


def test_given_a_write_not_made_yet_when_moved_to_another_version_then_its_proof_is_asked_for() -> (
    None
):
    world = an_approved_world()
    given(world, a_refund(proof_fields=tuple(BOUND)))
    newer = renumbered(definition=ASKS_MORE)
    is_replaced(world, newer)

    migrate(world.ports, RUN_ID, DEFINITION.version, OPERATOR)

    assert world.run().workflow == newer.version
    assert world.effect().proof_fields == (*BOUND, "balance_id")
