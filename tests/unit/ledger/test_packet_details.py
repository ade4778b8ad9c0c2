"""How much of a customer's text a packet holds beside its facts, and what an empty run is told."""

import pytest

from ledger.packet import MAX_PACKET_BYTES, MAX_UNTRUSTED_CHARACTERS, resume_packet
from ledger.task import Task
from ledger.transitions import RunState
from tests.unit.ledger.desk import facts_of, packet
from tests.unit.ledger.sample import RUN_ID, a_refund
from tests.unit.ledger.situations import opened
from tests.unit.ledger.support import an_approved_world, given
from tests.unit.ledger.test_packet import size_bytes


def test_given_facts_that_leave_little_room_when_told_then_a_text_has_a_sixth_of_what_is_left() -> (
    None
):
    world = an_approved_world()
    given(world, a_refund(bound={f"field_{number}": "x" * 255 for number in range(45)}))
    room_bytes = MAX_PACKET_BYTES - size_bytes(packet(world))

    made = packet(world, "x" * MAX_UNTRUSTED_CHARACTERS)

    assert 0 < room_bytes // 6 < MAX_UNTRUSTED_CHARACTERS
    assert len(made.untrusted_customer_text) == room_bytes // 6


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (RunState.ACTIVE, "Nothing was done yet."),
        (RunState.REVIEW, "Nothing was done yet."),
        (RunState.CLOSED, "Nothing was done."),
    ],
)
def test_given_a_run_without_writes_when_told_then_whether_one_may_still_follow(
    state: RunState, words: str
) -> None:
    facts = facts_of(opened()).model_copy(update={"not_begun": (), "effects": (), "state": state})

    assert resume_packet(facts, "").summary == words


def test_given_an_execution_when_it_acts_then_it_goes_by_its_name() -> None:
    actor = Task(run_id=RUN_ID, epoch=3).actor

    assert (actor.kind, actor.actor_id) == ("execution", f"{RUN_ID}-e3")
