"""A provider may answer with texts of any length: what is kept of them never fails a write."""

from collections.abc import Callable

import pytest

from ledger.contract import FaultKind
from ledger.errors import LedgerError, ReviewRequired
from ledger.provider import Authority, ProviderFault, RecordStatus
from ledger.short import MAX_TEXT_CHARACTERS, short_fields, short_text
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.notices import lands, notified
from tests.unit.ledger.sample import BOUND, LEASE_SECONDS, a_record
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import refund_accepted, refund_confirmed, refund_rejected
from tests.unit.ledger.support import World, a_world, an_approved_world, an_unknown_world
from tests.unit.ledger.test_confirm import WITH_TARGETS, confirm

LONG = "x" * 500_000
# Of one item at DynamoDB: 400 KB. What is kept here is one effect, one run or one event.
MAX_RECORD_BYTES = 400 * 1024


def lengthen(world: World, **changes: object) -> None:
    """Let everything that the provider holds carry texts of no sensible length."""
    world.payments.held = [
        found.model_copy(update={"provider_status": LONG, **changes})
        for found in world.payments.held
    ]


def confirmed_at_once() -> World:
    """A write whose answer carries the long texts."""
    world = an_approved_world()
    world.payments.script = [Step(fields={"note": LONG})]
    world.perform()
    return world


def found_again() -> World:
    """A lost answer whose record is found."""
    world = an_unknown_world(made=RecordStatus.DONE)
    lengthen(world, fields={**BOUND, "note": LONG})
    world.reconcile()
    return world


def finished_later() -> World:
    """An accepted record that fails, in many words."""
    world = refund_accepted()
    lengthen(world, status=RecordStatus.FAILED)
    world.reconcile()
    return world


def in_conflict() -> World:
    """Many records that may be ours, each with an id and a mark that is as long as its status."""
    world = an_unknown_world()
    world.payments.held = [a_record(record_id=f"{n}{LONG}", mark=LONG) for n in range(20)]
    lengthen(world)
    world.reconcile()
    return world


def beside_others() -> World:
    """A confirmed refund beside those of others."""
    world = refund_confirmed()
    world.payments.held += [
        a_record(record_id=f"re_{n}", mark=None, fields={**BOUND, "amount_minor": n})
        for n in range(20)
    ]
    lengthen(world)
    notified(world)
    return world


def contradicted() -> World:
    """A confirmed refund that is shown as something else."""
    world = refund_confirmed()
    lengthen(world, status=RecordStatus.FAILED)
    notified(world)
    return world


def late() -> World:
    """A refused refund that is there after all."""
    world = refund_rejected()
    lands(world)
    lengthen(world)
    notified(world)
    return world


def refused() -> World:
    """A refusal in many words."""
    world = an_approved_world()
    world.payments.script = [Step(None, ProviderFault(FaultKind.ANSWERED, 402, LONG))]
    with pytest.raises(ReviewRequired):
        world.perform()
    assert world.effect().state is EffectState.REJECTED
    return world


def unreadable() -> World:
    """A read that fails in many words."""
    world = an_unknown_world()
    world.payments.read_fault = ProviderFault(FaultKind.ANSWERED, 500, LONG)
    world.reconcile()
    return world


def not_allowed() -> World:
    """An owner who says at length why not."""
    world = an_approved_world()
    world.payments.allowed = Authority(allowed=False, reason=LONG, snapshot={"status": LONG})
    with pytest.raises(ReviewRequired):
        world.perform()
    assert world.run().state is RunState.REVIEW
    return world


def allowed() -> World:
    """An owner who says at length that the write may be made."""
    world = an_approved_world()
    world.payments.allowed = Authority(allowed=True, reason=LONG, snapshot={"status": LONG})
    world.perform()
    return world


def learned_late() -> World:
    """A worker that had lost its claim learns of a record."""
    world = an_approved_world()
    world.payments.script = [Step(fields={"note": LONG})]
    given_up(world)
    with pytest.raises(LedgerError):
        world.perform()
    assert world.effect().late_results
    return world


def never_left_late() -> World:
    """A worker that had lost its claim says at length that its request never left."""
    world = an_approved_world()
    world.payments.script = [Step(None, ProviderFault(FaultKind.NEVER_SENT, None, LONG))]
    given_up(world)
    with pytest.raises(LedgerError):
        world.perform()
    assert world.effect().state is EffectState.PLANNED
    return world


def given_up(world: World) -> None:
    """Let others take the worker for dead in the middle of its next call."""

    def give_up() -> None:
        world.payments.during_call = None
        held, world.payments.held = world.payments.held, []
        world.pass_seconds(LEASE_SECONDS)
        world.reconcile()
        world.payments.held = held

    world.payments.during_call = give_up


def targets_read() -> World:
    """An owner of a target who says much before anybody is asked."""
    world = a_world(WITH_TARGETS)
    snapshot: dict[str, str | int | bool] = {"refundable": 10_000, "note": LONG}
    world.payments.allowed = Authority(allowed=True, reason=LONG, snapshot=snapshot)
    confirm(world)
    return world


def targets_refused() -> World:
    """An owner of a target who says at length why not, before anybody is asked."""
    world = a_world(WITH_TARGETS)
    world.payments.allowed = Authority(allowed=False, reason=LONG, snapshot={})
    with pytest.raises(ReviewRequired):
        confirm(world)
    return world


@pytest.mark.parametrize(
    "happens",
    [
        confirmed_at_once,
        found_again,
        finished_later,
        in_conflict,
        beside_others,
        contradicted,
        late,
        refused,
        unreadable,
        not_allowed,
        allowed,
        learned_late,
        never_left_late,
        targets_read,
        targets_refused,
    ],
    ids=lambda happens: str(happens.__name__),
)
def test_given_texts_of_any_length_when_settled_then_every_record_can_be_stored(
    happens: Callable[[], World],
) -> None:
    world = happens()

    ledger = world.ledger
    stored = [ledger.run, *ledger.effects, *ledger.checkpoints, *ledger.approvals, *world.events]
    sizes = [len(found.model_dump_json().encode()) for found in stored]
    assert max(sizes) < MAX_RECORD_BYTES


def test_given_a_long_status_when_confirmed_then_its_beginning_is_kept() -> None:
    world = found_again()

    proof = world.effect().evidence

    assert world.effect().state is EffectState.CONFIRMED
    assert proof is not None
    assert proof.provider_status == "x" * (MAX_TEXT_CHARACTERS - 1) + "…"
    assert {name: proof.fields[name] for name in BOUND} == BOUND


@pytest.mark.parametrize("length", [0, 1, MAX_TEXT_CHARACTERS])
def test_given_a_text_that_may_be_kept_when_cut_then_it_is_as_it_was(length: int) -> None:
    assert short_text("y" * length) == "y" * length


def test_given_a_text_that_is_one_too_long_when_cut_then_it_is_as_long_as_may_be() -> None:
    assert len(short_text("y" * (MAX_TEXT_CHARACTERS + 1))) == MAX_TEXT_CHARACTERS


def test_given_numbers_and_flags_when_fields_are_cut_then_they_are_as_they_were() -> None:
    assert short_fields({"amount_minor": 10**12, "found": True, "name": "a"}) == {
        "amount_minor": 10**12,
        "found": True,
        "name": "a",
    }
