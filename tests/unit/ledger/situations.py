"""Every situation that a run can be found in, each reached by what the product itself does."""

from collections.abc import Callable, Mapping

import pytest

from ledger.approve import Decision
from ledger.errors import (
    EffectPending,
    EffectUnknown,
    LedgerError,
    ProviderUnavailable,
    ReviewRequired,
)
from ledger.provider import ProviderRecord, RecordStatus
from ledger.transitions import EffectState
from tests.unit.ledger.desk import act
from tests.unit.ledger.notices import came_back, lands, notified
from tests.unit.ledger.sample import (
    APPROVAL_LIFETIME_SECONDS,
    CARD_DECLINED,
    KEY_CONFLICT,
    LEASE_SECONDS,
    NEVER_SENT,
    NO_ANSWER,
    RECEIPT_ID,
    RECOVERY_DEADLINE_SECONDS,
    a_record,
)
from tests.unit.ledger.scripted_provider import ScriptedProvider, Step
from tests.unit.ledger.support import World, a_world, an_approved_world


class WorkerDied(BaseException):
    """The process is gone in the middle of a call."""


def meets(world: World, operation: str, step: Step, raises: type[LedgerError]) -> None:
    """Let a stage meet what the provider does."""
    provider_of(world, operation).script = [step]
    with pytest.raises(raises):
        world.perform(operation)


def provider_of(world: World, operation: str) -> ScriptedProvider:
    """Return the provider of an operation."""
    return world.payments if operation == "refund" else world.post


def dies(world: World, operation: str) -> None:
    """Let the worker die inside the provider's call, which is carried out."""

    def die() -> None:
        raise WorkerDied

    provider = provider_of(world, operation)
    provider.during_call = die
    with pytest.raises(WorkerDied):
        world.perform(operation)
    provider.during_call = None


def refund_planned() -> World:
    """The refund's request never left."""
    world = an_approved_world()
    meets(world, "refund", Step(None, NEVER_SENT), ProviderUnavailable)
    return world


def refund_attempting() -> World:
    """The refund's worker died and its claim still holds."""
    world = an_approved_world()
    dies(world, "refund")
    return world


def refund_unknown() -> World:
    """The refund was made and its answer lost."""
    world = an_approved_world()
    meets(world, "refund", Step(RecordStatus.DONE, NO_ANSWER), EffectUnknown)
    world.pass_seconds(LEASE_SECONDS)
    return world


def refund_overdue() -> World:
    """The refund is unknown past its deadline; the provider cannot be read."""
    world = refund_unknown()
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    world.payments.read_fault = None
    return world


def refund_accepted() -> World:
    """The provider has taken the refund and not finished it."""
    world = an_approved_world()
    meets(world, "refund", Step(RecordStatus.PENDING), EffectPending)
    return world


def refund_confirmed() -> World:
    """The refund is read back and right; the receipt is next."""
    world = an_approved_world()
    world.perform()
    return world


def refund_rejected() -> World:
    """The provider said no."""
    world = an_approved_world()
    meets(world, "refund", Step(None, CARD_DECLINED), ReviewRequired)
    return world


def refund_failed_later() -> World:
    """The provider took the refund, and then it failed."""
    world = refund_accepted()
    world.payments.held[:] = [_failed(found) for found in world.payments.held]
    world.reconcile()
    return world


def refund_in_conflict() -> World:
    """A refund like ours is there, without our mark."""
    world = an_approved_world()
    world.payments.held.append(a_record(record_id="re_dashboard", mark=None))
    meets(world, "refund", Step(None, NO_ANSWER), EffectUnknown)
    world.pass_seconds(LEASE_SECONDS)
    world.reconcile()
    return world


def refund_key_in_conflict() -> World:
    """The provider knows our key with another request."""
    world = an_approved_world()
    meets(world, "refund", Step(None, KEY_CONFLICT), ReviewRequired)
    return world


def refund_vanished() -> World:
    """The provider took the refund and no longer shows it."""
    world = refund_accepted()
    world.payments.held.clear()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS // 2)
    world.reconcile()
    return world


def refund_contradicted() -> World:
    """The refund was confirmed and has failed since."""
    world = refund_confirmed()
    world.payments.held[:] = [_failed(found) for found in world.payments.held]
    with pytest.raises(ReviewRequired):
        world.perform("receipt")
    return world


def fresh_approval_pending() -> World:
    """The provider said no; the customer is asked again."""
    world = refund_rejected()
    act(world, "request_fresh_customer_approval")
    return world


def fresh_approval_granted() -> World:
    """The provider said no; the customer has said yes again."""
    world = fresh_approval_pending()
    world.decide(ordinal=2)
    return world


def fresh_approval_declined() -> World:
    """The provider said no, and then the customer did."""
    world = fresh_approval_pending()
    world.decide(Decision.DECLINE, ordinal=2)
    return world


def second_refund_confirmed() -> World:
    """The second refund, approved after the first was refused, is confirmed."""
    world = fresh_approval_granted()
    world.perform()
    return world


def attempts_used_up() -> World:
    """Three refunds were lost and proven absent."""
    world = an_approved_world()
    for _ in range(world.payments.contract.max_attempts):
        meets(world, "refund", Step(None, NO_ANSWER), EffectUnknown)
        world.prove_absence()
    with pytest.raises(ReviewRequired):
        world.perform()
    return world


def mail_attempting() -> World:
    """The receipt's worker died; the run is in review and the claim has lapsed."""
    world = refund_confirmed()
    dies(world, "receipt")
    world.change(lambda draft: draft.send_to_review("somebody looks"))
    world.pass_seconds(LEASE_SECONDS)
    return world


def mail_in_doubt() -> World:
    """The receipt's answer was lost, and nothing has told since whether it went out."""
    world = refund_confirmed()
    meets(world, "receipt", Step(RecordStatus.DONE, NO_ANSWER), EffectUnknown)
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS + LEASE_SECONDS)
    world.reconcile()
    return world


def mail_rejected() -> World:
    """The mail service said no."""
    world = refund_confirmed()
    meets(world, "receipt", Step(None, CARD_DECLINED), ReviewRequired)
    return world


def mail_in_conflict() -> World:
    """The mail service took something else than was asked."""
    world = refund_confirmed()
    meets(world, "receipt", Step(fields={"refund_id": "re_other"}), ReviewRequired)
    return world


def mail_superseded() -> World:
    """An operator lets the mail be sent again; the second one is not sent yet."""
    world = mail_in_doubt()
    act(world, "send_again", RECEIPT_ID)
    return world


def mail_attested() -> World:
    """An operator takes the mail as sent."""
    world = mail_in_doubt()
    act(world, "treat_as_sent", RECEIPT_ID)
    return world


def opened() -> World:
    """The run is open and nothing was asked yet."""
    return a_world()


def awaiting_approval() -> World:
    """The customer is asked."""
    world = a_world()
    world.ask()
    return world


def approval_lapsed() -> World:
    """The customer did not answer in time."""
    world = awaiting_approval()
    world.pass_seconds(APPROVAL_LIFETIME_SECONDS)
    world.resume()
    return world


def in_engineering() -> World:
    """An operator has marked a refused refund for an engineer."""
    world = refund_rejected()
    act(world, "mark_for_engineering_review")
    return world


def completed() -> World:
    """Everything is proven."""
    world = refund_confirmed()
    world.perform("receipt")
    world.resume()
    return world


def declined() -> World:
    """The customer said no before anything was done."""
    world = awaiting_approval()
    world.decide(Decision.DECLINE)
    return world


def closed_in_doubt() -> World:
    """An operator closed the run with the refund unknown."""
    world = refund_overdue()
    act(world, "close_without_further_action")
    assert world.effect().state is EffectState.UNKNOWN
    return world


def closed_in_conflict() -> World:
    """An operator closed the run with the refund in conflict."""
    world = refund_in_conflict()
    act(world, "close_without_further_action")
    return world


def refund_made_twice() -> World:
    """The first refund, which was refused, is there after all, and so is the second."""
    world = second_refund_confirmed()
    lands(world)
    notified(world)
    return world


def receipt_bounced() -> World:
    """The receipt came back after the run had completed."""
    world = completed()
    came_back(world)
    return world


def found_out_in_review() -> World:
    """A person asked for a review; the refund became overdue in it, and then it was found."""
    world = refund_unknown()
    world.change(lambda draft: draft.send_to_review("somebody looks"))
    world.payments.read_fault = NO_ANSWER
    world.pass_seconds(RECOVERY_DEADLINE_SECONDS)
    world.reconcile()
    world.payments.read_fault = None
    world.reconcile()
    return world


def _failed(record: ProviderRecord) -> ProviderRecord:
    return record.model_copy(update={"status": RecordStatus.FAILED, "provider_status": "failed"})


SITUATIONS: Mapping[str, Callable[[], World]] = {
    found.__name__: found
    for found in (
        opened,
        awaiting_approval,
        approval_lapsed,
        declined,
        refund_planned,
        refund_attempting,
        refund_unknown,
        refund_overdue,
        refund_accepted,
        refund_confirmed,
        refund_rejected,
        refund_failed_later,
        refund_in_conflict,
        refund_key_in_conflict,
        refund_vanished,
        refund_contradicted,
        fresh_approval_pending,
        fresh_approval_granted,
        fresh_approval_declined,
        second_refund_confirmed,
        attempts_used_up,
        mail_attempting,
        mail_in_doubt,
        mail_rejected,
        mail_in_conflict,
        mail_superseded,
        mail_attested,
        in_engineering,
        completed,
        closed_in_doubt,
        closed_in_conflict,
        refund_made_twice,
        receipt_bounced,
        found_out_in_review,
    )
}
