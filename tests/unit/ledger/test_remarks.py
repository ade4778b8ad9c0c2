"""What else is at a target: said once each, and of strangers only as many as can be taken in."""

import pytest

from ledger.compare import Judgement, Verdict
from ledger.event import EventKind
from ledger.remarks import MAX_WRITES_OF_OTHERS, note_remarks
from ledger.transitions import EffectState
from tests.builders import evidence
from tests.unit.ledger.sample import OF_ANOTHER_RUN, REFUND_ID, a_record, a_refund
from tests.unit.ledger.support import a_draft, a_world

MANY = 2 * MAX_WRITES_OF_OTHERS


def others(count: int) -> Judgement:
    """Return a judgement that shows so many writes of others, and one concern."""
    records = [a_record(record_id=f"re_other_{number}", mark=None) for number in range(count)]
    return Judgement(
        verdict=Verdict.MATCH, reason="", others=tuple(records), concerns=("a dispute is open",)
    )


@pytest.mark.parametrize("known", [0, 1, MAX_WRITES_OF_OTHERS - 1, MAX_WRITES_OF_OTHERS, MANY])
def test_given_remarks_already_when_many_strangers_show_then_only_what_there_is_room_for_is_added(
    known: int,
) -> None:
    draft = a_draft(a_world())
    before = tuple(f"known {number}" for number in range(known))

    effect = note_remarks(draft, a_refund(remarks=before), others(MANY))

    room = max(0, MAX_WRITES_OF_OTHERS - known)
    assert effect.remarks[:known] == before
    assert effect.remarks[known] == "a dispute is open"
    assert len(effect.remarks) == known + 1 + room


def test_given_a_stranger_when_noted_then_the_trail_says_at_which_effect_and_not_twice() -> None:
    draft = a_draft(a_world())
    refund = a_refund(EffectState.CONFIRMED, evidence=evidence(record_id="re_other_0"))

    effect = note_remarks(draft, refund, others(2))
    again = note_remarks(draft, effect, others(2))

    words = ("a dispute is open", "re_other_1 (succeeded) at the same target was not made by us")
    assert again.remarks == effect.remarks == words
    events = draft.change().events
    assert [event.reason for event in events] == list(words)
    assert {event.kind for event in events} == {EventKind.REMARK_NOTED}
    assert {event.subject for event in events} == {REFUND_ID}
    assert {(event.prior_state, event.state) for event in events} == {("confirmed", "confirmed")}


def test_given_a_write_of_another_effect_when_noted_then_it_is_told_apart_from_a_strangers() -> (
    None
):
    draft = a_draft(a_world())
    record = a_record(record_id="re_other", mark=OF_ANOTHER_RUN)

    effect = note_remarks(
        draft, a_refund(), Judgement(verdict=Verdict.ABSENT, reason="", others=(record,))
    )

    assert effect.remarks == ("re_other (succeeded) at the same target belongs to another effect",)
