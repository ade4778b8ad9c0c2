"""Before anybody is asked, every target is as the request says."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ledger.checkpoint import CompletionContract
from ledger.confirm import confirm_targets
from ledger.contract import FaultKind
from ledger.errors import ProviderUnavailable, ReviewRequired
from ledger.event import EventKind
from ledger.provider import Authority, Contact, ProviderFault
from ledger.transitions import RunState
from ledger.workflow import Stage, WorkflowDefinition
from tests.unit.ledger.sample import DEFINITION, RUN_ID, TASK
from tests.unit.ledger.support import World, a_world

CONFIRMED = "targets_confirmed"
WITH_TARGETS = WorkflowDefinition.model_validate(
    {
        **dict(DEFINITION),
        "stages": (
            Stage(
                name="confirm",
                checkpoint=CONFIRMED,
                timeout_seconds=60,
                providers=("payments",),
            ),
            *DEFINITION.stages,
        ),
        "contracts": (
            CompletionContract(
                checkpoint=CONFIRMED,
                claim="The charge was read.",
                owner="payments",
                evidence_fields=("refund_refundable",),
            ),
            *DEFINITION.contracts,
        ),
    }
)
WITHOUT_MAIL = WorkflowDefinition.model_validate(
    {
        **dict(WITH_TARGETS),
        "stages": WITH_TARGETS.stages[:-1],
        "operations": WITH_TARGETS.operations[:-1],
        "contracts": WITH_TARGETS.contracts[:-1],
    }
)
REFUSED = Authority(allowed=False, reason="the charge is disputed", snapshot={})


class NoContact:
    def contact(self, customer_id: str) -> Contact | None:
        del customer_id
        return None


class UnreadableDirectory:
    def contact(self, customer_id: str) -> Contact | None:
        del customer_id
        raise ProviderFault(FaultKind.NO_ANSWER)


def confirm(world: World, **ports: object) -> None:
    confirm_targets(replace(world.ports, **ports), WITH_TARGETS, TASK, CONFIRMED)  # type: ignore[arg-type]


def test_the_evidence_is_what_was_read_and_nothing_of_the_request() -> None:
    world = a_world(WITH_TARGETS)

    confirm(world)

    checkpoint = world.ledger.proven(CONFIRMED)
    assert checkpoint is not None
    assert checkpoint.evidence.fields == {"refund_refundable": 10000}


def test_the_contact_is_kept_beside_what_was_kept_before() -> None:
    world = a_world(WITH_TARGETS)
    before = world.store.personal(RUN_ID)
    assert before is not None

    confirm(world)

    after = world.store.personal(RUN_ID)
    assert after is not None
    assert set(before.fields) | {"email", "name"} == set(after.fields)


def test_confirming_again_reads_and_writes_nothing() -> None:
    world = a_world(WITH_TARGETS)
    confirm(world)
    events = len(world.kinds)
    world.payments.allowed = REFUSED

    confirm(world)

    assert len(world.kinds) == events


def test_a_target_that_does_not_allow_it_goes_to_review_with_the_reason() -> None:
    world = a_world(WITH_TARGETS)
    world.payments.allowed = REFUSED

    with pytest.raises(ReviewRequired, match="disputed"):
        confirm(world)

    assert world.run().state is RunState.REVIEW
    assert "disputed" in world.run().review_reason
    assert world.ledger.proven(CONFIRMED) is None


def test_a_customer_without_an_address_goes_to_review() -> None:
    world = a_world(WITH_TARGETS)

    with pytest.raises(ReviewRequired, match="no mail address for the receipt email"):
        confirm(world, directory=NoContact())


def test_a_version_that_writes_to_nobody_reads_and_keeps_no_contact() -> None:
    world = a_world(WITHOUT_MAIL, personal=False)

    confirm_targets(
        replace(world.ports, directory=UnreadableDirectory()), WITHOUT_MAIL, TASK, CONFIRMED
    )

    assert world.ledger.proven(CONFIRMED) is not None
    assert world.store.personal(RUN_ID) is None


def cannot_be_read(world: World) -> dict[str, object]:
    world.payments.authority_fault = ProviderFault(FaultKind.NO_ANSWER)
    return {}


@pytest.mark.parametrize(
    "outage", [cannot_be_read, lambda _world: {"directory": UnreadableDirectory()}]
)
def test_an_owner_that_cannot_be_read_is_asked_again_later(
    outage: Callable[[World], dict[str, object]],
) -> None:
    world = a_world(WITH_TARGETS)

    with pytest.raises(ProviderUnavailable):
        confirm(world, **outage(world))

    assert world.run().state is RunState.ACTIVE


def test_a_worker_that_was_overtaken_does_not_judge_by_its_older_read() -> None:
    world = a_world(WITH_TARGETS)

    def a_duplicate_is_faster() -> None:
        world.payments.during_authority = None
        confirm(world)
        world.payments.allowed = REFUSED

    world.payments.during_authority = a_duplicate_is_faster

    confirm(world)

    assert world.run().state is RunState.ACTIVE
    assert world.kinds.count(EventKind.CHECKPOINT_REACHED) == 1
