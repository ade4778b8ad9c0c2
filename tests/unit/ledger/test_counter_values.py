"""Who made a counter-effect is on record under one name, told apart from the sweeper."""

from ledger.counter import RECONCILER
from ledger.sweep import SWEEPER


def test_given_a_counter_effect_on_record_when_read_then_who_made_it_is_still_known() -> None:
    assert (RECONCILER.kind, RECONCILER.actor_id) == ("reconciler", "counter")
    assert RECONCILER != SWEEPER
