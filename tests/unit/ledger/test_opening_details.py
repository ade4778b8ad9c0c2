"""What opening a run asks of the owners, and what it keeps apart."""

from collections.abc import Mapping

import pytest

from ledger.admission import Opening, check_targets, open_run
from ledger.provider import Authority
from ledger.record import Scalar
from ledger.transitions import RunState
from tests.unit.ledger.sample import AGENT, BOUND, DEFINITION, REQUEST
from tests.unit.ledger.support import World
from tests.unit.ledger.versions import with_fee


def opening(text: str = "") -> Opening:
    """Return a caller's request, with what the customer wrote."""
    return Opening(
        tenant_id="tenant-1",
        actor=AGENT,
        caller_key="request-1",
        request=dict(REQUEST),
        customer_text=text,
    )


def test_given_a_customers_words_when_opened_then_they_are_kept_only_where_they_can_be_erased() -> (
    None
):
    world = World()

    ledger = open_run(world.ports, DEFINITION, opening("I moved abroad"))

    personal = world.store.personal(ledger.run.run_id)
    assert personal is not None
    assert personal.fields == {"customer_text": "I moved abroad"}
    assert "abroad" not in repr(ledger)


def test_given_no_words_when_opened_then_there_is_nothing_to_erase() -> None:
    world = World()

    ledger = open_run(world.ports, DEFINITION, opening())

    assert world.store.personal(ledger.run.run_id) is None


def test_given_a_request_when_opened_by_any_release_then_its_digest_is_the_same() -> None:
    world = World()

    ledger = open_run(world.ports, DEFINITION, opening())

    # A release that made another digest of it would refuse the caller's own repeat.
    assert ledger.run.request_digest == (
        "sha256:37eef5819fdf0c62b74731dad81954c47a9103136917fcefdd88101d11ac3175"
    )
    (event,) = world.store.events(ledger.run.run_id, 0, 10)
    assert (event.subject, event.state) == (ledger.run.run_id, RunState.ACTIVE)


def test_given_several_writes_that_need_a_yes_when_opened_then_each_owner_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    asked: list[tuple[dict[str, Scalar], dict[str, str]]] = []

    def authority(bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        asked.append((dict(bound), dict(personal)))
        return Authority(allowed=True, reason="", snapshot={"refundable": len(asked)})

    monkeypatch.setattr(world.payments, "authority", authority)

    snapshot = check_targets(world.ports, with_fee(), dict(REQUEST))

    assert asked == [(BOUND, {}), ({"charge_id": "ch_1"}, {})]
    assert snapshot == {"refund_refundable": 1, "fee_refundable": 2}
