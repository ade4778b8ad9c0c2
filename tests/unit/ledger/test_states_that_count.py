"""In which states a write is there, may be looked up, or is for a person to decide."""

import pytest

from ledger.errors import ReviewRequired
from ledger.instance import check_no_other
from ledger.mail_actions import send_again
from ledger.transitions import UNSETTLED_EFFECT_STATES, EffectState
from tests.builders import an_effect
from tests.unit.ledger.sample import a_refund
from tests.unit.ledger.test_instance_details import instance, ledger_of
from tests.unit.ledger.test_offer_details import a_situation
from tests.unit.ledger.versions import REFUND

DISPUTED = (EffectState.CONFLICT, EffectState.CONTRADICTED)


def test_given_one_that_is_there_when_another_is_claimed_then_a_person_decides() -> None:
    second = instance(2, EffectState.PLANNED)

    for state in (EffectState.CONFIRMED, *DISPUTED):
        with pytest.raises(ReviewRequired, match=f"is {state}"):
            check_no_other(ledger_of(instance(1, state), second), REFUND, second)


def test_given_a_refund_when_its_state_is_in_dispute_or_doubt_then_it_can_be_looked_up() -> None:
    lookable = {state for state in EffectState if a_situation(a_refund(state)).lookable()}

    assert lookable == {*UNSETTLED_EFFECT_STATES, *DISPUTED}


def test_given_a_mail_when_no_read_can_tell_of_it_then_a_person_may_send_it_again() -> None:
    for state in (EffectState.UNKNOWN, EffectState.REJECTED, *DISPUTED):
        mail = an_effect(operation="farewell", provider="post", state=state)
        assert send_again(a_situation(mail), mail).allowed, state
