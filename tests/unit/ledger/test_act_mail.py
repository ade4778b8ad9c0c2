"""What follows when an operator decides about a mail that nobody can be asked about."""

from collections.abc import Callable

import pytest

from adapters.memory_store import MemoryStore
from ledger.actions import offers
from ledger.idempotency import effect_id_for
from ledger.offer import RecoveryAction
from ledger.provider import RecordStatus
from ledger.retired import retired_definition
from ledger.transitions import EffectState, RunState
from providers.contracts import CONTRACTS
from tests.builders import NOW_MS
from tests.delivered import Wish, write_delivered
from tests.fakes.archive_bench import archive_world
from tests.unit.ledger.desk import (
    AGAIN,
    ASK,
    RECONCILE,
    SENT,
    act,
    go_on,
    offer,
)
from tests.unit.ledger.sample import (
    CARD_DECLINED,
    OPERATOR,
    RECEIPT_ID,
    RUN_ID,
)
from tests.unit.ledger.scripted_provider import Step
from tests.unit.ledger.situations import (
    mail_in_conflict,
    mail_in_doubt,
    mail_rejected,
    mail_superseded,
)
from tests.unit.ledger.support import World, given

SECOND_RECEIPT_ID = effect_id_for(RUN_ID, "receipt", 2)


def test_a_mail_that_is_taken_as_sent_is_not_sent_again_and_the_run_completes() -> None:
    world = mail_in_doubt()

    act(world, SENT, RECEIPT_ID)
    go_on(world)

    mail = world.effect(RECEIPT_ID)
    assert mail.state is EffectState.CONFIRMED
    assert mail.evidence is not None
    assert mail.evidence.fields == mail.bound
    assert OPERATOR.actor_id not in mail.evidence.model_dump_json()  # the customer may see it
    assert world.run().state is RunState.COMPLETED
    assert len(world.post.calls) == 1


def test_given_the_last_execution_was_used_when_a_mail_is_taken_as_sent_then_it_completes() -> None:
    world = mail_in_doubt()
    given(world, epoch=world.run().max_executions)

    act(world, SENT, RECEIPT_ID)

    assert world.run().state is RunState.ACTIVE
    go_on(world)
    assert world.run().state is RunState.COMPLETED


def test_a_mail_that_was_something_else_can_be_taken_as_sent() -> None:
    world = mail_in_conflict()

    act(world, SENT, RECEIPT_ID)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert len(world.post.calls) == 1


@pytest.mark.parametrize("make", [mail_in_doubt, mail_rejected, mail_in_conflict])
def test_a_mail_that_is_sent_again_is_another_mail(make: Callable[[], World]) -> None:
    world = make()

    act(world, AGAIN, RECEIPT_ID)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert [call.effect_id for call in world.post.calls] == [RECEIPT_ID, SECOND_RECEIPT_ID]
    first, second = world.effect(RECEIPT_ID), world.effect(SECOND_RECEIPT_ID)
    assert first.bound == second.bound
    assert first.idempotency_key != second.idempotency_key
    assert second.state is EffectState.CONFIRMED
    assert first.state is not EffectState.CONFIRMED


def test_a_second_mail_in_doubt_is_put_to_the_operator_again() -> None:
    world = mail_rejected()
    world.post.script = [Step(None, CARD_DECLINED)]

    act(world, AGAIN, RECEIPT_ID)
    go_on(world)

    assert world.run().state is RunState.REVIEW
    assert not offer(world, AGAIN, RECEIPT_ID).allowed
    assert offer(world, AGAIN, SECOND_RECEIPT_ID).allowed


def test_a_mail_given_up_stands_in_nobodys_way() -> None:
    world = mail_superseded()
    world.payments.held[:] = [
        found.model_copy(update={"status": RecordStatus.FAILED}) for found in world.payments.held
    ]
    go_on(world)
    assert world.effect().state is EffectState.CONTRADICTED

    act(world, RECONCILE)

    assert offer(world, ASK).allowed


def test_a_decision_about_a_mail_says_which_mail() -> None:
    world = mail_in_doubt()

    assert offer(world, SENT, RECEIPT_ID).label == "Treat as sent: Receipt email"
    assert offer(world, AGAIN, RECEIPT_ID).label == "Send again: Receipt email"


def test_a_mail_of_another_kind_is_decided_about_like_a_receipt() -> None:
    wish = Wish(
        customer_id="cus_1",
        tenant_id="tenant-1",
        project_id="prj_1",
        now_ms=NOW_MS,
        delivery=EffectState.UNKNOWN,
        run=RunState.REVIEW,
    )
    ledger = write_delivered(MemoryStore(), archive_world().provider, wish)
    deployed = retired_definition(ledger).model_copy(update={"retired": False})

    found = offers(deployed, ledger, CONTRACTS.__getitem__, NOW_MS)

    about = {one.action: one for one in found if one.effect_id}
    link = effect_id_for(wish.run_id, "deliver_link", 1)
    assert {one.effect_id for one in about.values()} == {link}
    assert about[RecoveryAction.TREAT_AS_SENT].label == "Treat as sent: Deliver link"
    assert about[RecoveryAction.SEND_AGAIN].label == "Send again: Deliver link"
    assert all(one.allowed for one in about.values())
