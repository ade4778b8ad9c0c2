"""A packet at its very limit, and one that nothing can be taken away from any more."""

from ledger.packet import MAX_PACKET_BYTES, resume_packet
from tests.unit.ledger.desk import facts_of, packet
from tests.unit.ledger.sample import RECEIPT_ID, a_refund
from tests.unit.ledger.situations import refund_confirmed
from tests.unit.ledger.support import World, an_approved_world, given
from tests.unit.ledger.test_packet import size_bytes


def two_writes(filling: int) -> World:
    """Return a world whose first write is too much, and whose second fills what is left."""
    world = an_approved_world()
    given(
        world,
        a_refund(bound={f"field_{number}": "x" * 255 for number in range(100)}),
        a_refund(effect_id=RECEIPT_ID, operation="receipt", bound={"note": "x" * filling}),
    )
    return world


def test_given_facts_of_exactly_the_limit_when_told_then_no_more_is_left_out() -> None:
    room = MAX_PACKET_BYTES - size_bytes(packet(two_writes(0)))

    exact, over = packet(two_writes(room)), packet(two_writes(room + 1))

    assert size_bytes(exact) == MAX_PACKET_BYTES
    assert [found.fields_left_out for found in exact.effects] == [True, False]
    assert [found.fields_left_out for found in over.effects] == [True, True]


def test_given_too_much_without_any_write_when_told_then_no_more_writes_are_counted_than_are() -> (
    None
):
    facts = facts_of(refund_confirmed())
    endless = facts.model_copy(update={"not_begun": ("x" * MAX_PACKET_BYTES,)})

    made = resume_packet(endless, "")

    assert made.effects == ()
    assert made.effects_left_out == len(facts.counting_effects)
