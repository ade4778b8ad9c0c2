"""What a request that leaves something out says about it: nothing."""

from ledger.admission import open_run
from tests.unit.ledger.support import World
from tests.unit.ledger.test_admission import an_opening


def test_given_a_request_without_a_customers_words_when_opened_then_none_are_kept() -> None:
    world = World()

    opened = open_run(world.ports, world.definition, an_opening())

    assert world.store.personal(opened.run.run_id) is None
