"""An attempt that met no fault is kept without one."""

from collections.abc import Callable

from ledger.compare import Judgement, Verdict
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.provider import RecordStatus
from ledger.settle import lapsed, settle_accepted, settle_found
from ledger.transitions import EffectState
from tests.unit.ledger.sample import a_record, a_refund
from tests.unit.ledger.support import a_draft, an_approved_world, given

PENDING = a_record(status=RecordStatus.PENDING)
FAILED = a_record(status=RecordStatus.FAILED)


def fault_after(state: EffectState, settle: Callable[[Draft, Effect], Effect]) -> str:
    """Return the fault that is on record of an attempt that was ended by ``settle``."""
    world, effect = an_approved_world(), a_refund(state)
    given(world, effect)
    ended = settle(a_draft(world), effect).last_attempt
    assert ended is not None
    return ended.fault


def test_given_a_worker_that_never_came_back_when_its_lease_is_over_then_no_fault_is_kept() -> None:
    assert fault_after(EffectState.ATTEMPTING, lapsed) == ""


def test_given_an_accepted_write_when_kept_then_no_fault_is_kept() -> None:
    def accept(draft: Draft, effect: Effect) -> Effect:
        return settle_accepted(draft, effect, PENDING, "taken")

    assert fault_after(EffectState.ATTEMPTING, accept) == ""


def test_given_a_record_that_failed_when_found_then_the_no_is_kept_without_a_fault() -> None:
    failed = Judgement(verdict=Verdict.FAILED, reason="it failed", record=FAILED)

    def find(draft: Draft, effect: Effect) -> Effect:
        return settle_found(draft, effect, failed)

    assert fault_after(EffectState.ACCEPTED, find) == ""
