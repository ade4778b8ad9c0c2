"""A run whose version is not deployed goes on by a registered migration, or stops with a reason."""

import pytest

from ledger.approval import Approval
from ledger.checkpoint import Checkpoint
from ledger.errors import InvariantBroken, RetryLater, StaleExecution
from ledger.event import Actor, EventKind
from ledger.execution import MAX_MOVES, start_execution
from ledger.migration import DEPLOY_SECONDS, carry_over
from ledger.ports import ExecutionStatus, StartOutcome
from ledger.record import Record
from ledger.resume import next_state, resume
from ledger.run import RunLedger
from ledger.sweep import SweepResult
from ledger.task import Task
from ledger.transitions import EffectState, RunState
from ledger.versions import Migration, Versions, WayOn
from ledger.workflow import Stage, WorkflowDefinition
from tests.builders import evidence
from tests.unit.ledger.desk import facts_of, go_on, told
from tests.unit.ledger.sample import (
    DEFINITION,
    LEASE_SECONDS,
    PAYLOAD,
    REFUND_ID,
    RUN_ID,
    TASK,
    a_refund,
)
from tests.unit.ledger.situations import (
    SITUATIONS,
    awaiting_approval,
    opened,
    refund_confirmed,
    refund_unknown,
)
from tests.unit.ledger.support import (
    World,
    a_draft,
    a_world,
    an_approved_world,
    given,
    wait_until_due,
)
from tests.unit.ledger.versions import (
    FEE,
    REFUND,
    a_migration,
    altered,
    is_replaced,
    moves,
    renamed,
    renumbered,
    with_fee,
)

STARTER = Actor(kind="reconciler", actor_id="test")
REWORDED = renumbered(definition=altered("operations", 0, label="Money back"))
RUNS_ON = [
    name
    for name, make in SITUATIONS.items()
    if make().run().state in (RunState.ACTIVE, RunState.AWAITING_APPROVAL)
]


def goes_on(world: World, new: WorkflowDefinition) -> StartOutcome | None:
    """Let the run be continued, by code of the version that it is bound to afterwards."""
    loses_its_execution(world)
    outcome = start_execution(world.ports, RUN_ID, STARTER)
    if world.run().workflow == new.version:
        world.definition = new
    return outcome


def loses_its_execution(world: World) -> None:
    """Let the run need an execution: the one that it had is gone with its machine."""
    world.executions.statuses.clear()


def assert_in_review(world: World, *words: str) -> None:
    """Fail unless a person is told why the run stands still, and it was not moved."""
    run = world.run()
    assert run.state is RunState.REVIEW
    assert run.review_reason.startswith("no compatible version: give-back@2 is not deployed")
    assert all(word in run.review_reason for word in words)
    assert run.workflow == DEFINITION.version
    assert moves(world) == []


@pytest.mark.parametrize("name", RUNS_ON)
def test_given_any_point_of_a_run_when_its_version_is_replaced_then_it_ends_with_one_refund(
    name: str,
) -> None:
    # Given a run that stands anywhere, and its version replaced by one with other words.
    world = SITUATIONS[name]()
    refunds = len(world.payments.held)
    is_replaced(world, REWORDED)

    # When it is looked after until it has got somewhere: an unsettled effect is settled first.
    for _ in range(6):
        goes_on(world, REWORDED)
        if world.run().workflow == REWORDED.version:
            break
        world.clock.move_to(max(world.run().due_at_ms or 0, world.clock.now_ms()))
        world.sweep()
        world.payments.held[:] = [
            found.model_copy(update={"status": "done"}) for found in world.payments.held
        ]
    world.definition = REWORDED
    if world.run().state is not RunState.REVIEW:
        go_on(world)

    # Then it was moved once, by an event, and nothing was done twice.
    assert world.run().workflow == REWORDED.version
    if world.run().state is RunState.COMPLETED:
        assert len(moves(world)) == 1
        assert {found.mark for found in world.payments.held} == {
            found.effect_id
            for found in world.ledger.effects
            if found.operation == "refund" and found.state is EffectState.CONFIRMED
        }
    else:
        assert world.run().state is RunState.REVIEW
    assert len(world.payments.held) <= max(refunds, 1)


def test_given_an_approved_run_when_moved_then_the_event_says_from_where_to_where_and_why() -> None:
    world = an_approved_world()
    is_replaced(world, REWORDED)

    assert goes_on(world, REWORDED) is StartOutcome.STARTED

    (event,) = moves(world)
    assert event.reason == "the new one is better"
    assert event.actor == STARTER
    assert (event.subject, event.workflow) == ("give-back@3", "give-back@3")
    assert (event.prior_state, event.state) == ("give-back@2", "give-back@3")
    assert event.details == {
        "from_version": "give-back@2",
        "to_version": "give-back@3",
        "carried": "request_approved",
        "not_carried": "",
        "asks_again": "",
    }
    assert [found.sequence for found in world.events] == list(range(1, len(world.events) + 1))


def test_given_an_approved_run_when_moved_then_its_older_execution_is_fenced() -> None:
    world = an_approved_world()
    is_replaced(world, REWORDED)
    world.clock.pass_ms(1)

    goes_on(world, REWORDED)

    run = world.run()
    assert run.workflow == REWORDED.version
    assert (run.epoch, run.execution_started) == (2, False)
    assert run.start_not_before_ms == world.clock.now_ms()
    assert world.executions.starts[-1] == f"{RUN_ID}-e2"
    assert EventKind.EXECUTION_ASSIGNED in world.kinds
    for definition in (DEFINITION, REWORDED):
        with pytest.raises(StaleExecution):
            resume(world.ports, definition, TASK)
    assert resume(world.ports, REWORDED, Task(run_id=RUN_ID, epoch=2)) == "IssueRefund"


def test_given_other_time_limits_when_moved_then_they_count_from_here_on() -> None:
    world = an_approved_world()
    new = REWORDED.model_copy(update={"progress_deadline_seconds": 60, "max_executions": 7})
    is_replaced(world, new)

    goes_on(world, new)

    run = world.run()
    assert run.progress_deadline_seconds == 60
    assert run.max_executions == 1 + 7


def test_given_a_yes_when_only_words_changed_then_it_covers_the_write_of_the_new_version() -> None:
    world = an_approved_world()
    is_replaced(world, REWORDED)
    before = world.ledger.approvals

    goes_on(world, REWORDED)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert [found.approval_id for found in world.ledger.approvals] == [before[0].approval_id]
    assert len(world.payments.calls) == 1


@pytest.mark.parametrize(
    "new",
    [
        renumbered(definition=with_fee()),
        renumbered(definition=altered("operations", 0, moves_money=False)),
    ],
    ids=["another write", "another consequence"],
)
def test_given_a_yes_when_something_else_would_be_done_then_the_customer_decides_again(
    new: WorkflowDefinition,
) -> None:
    world = an_approved_world()
    is_replaced(world, new)

    goes_on(world, new)

    assert "would be done differs" in str(moves(world)[0].details["asks_again"])
    world.resume(Task(run_id=RUN_ID, epoch=2))
    asked = world.ask("token-2", Task(run_id=RUN_ID, epoch=2)).pending_approval()
    assert asked is not None
    assert set(asked.payload) == {found.name for found in new.approved_operations}
    assert world.payments.calls == []


@pytest.mark.parametrize("old_is_known", [True, False])
def test_given_an_open_question_when_moved_then_the_answer_to_it_counts(
    old_is_known: bool,
) -> None:
    world = awaiting_approval()
    is_replaced(world, REWORDED, old_is_known=old_is_known)

    goes_on(world, REWORDED)
    assert world.run().state is RunState.AWAITING_APPROVAL
    world.resume(Task(run_id=RUN_ID, epoch=2))
    world.ask("token-2", Task(run_id=RUN_ID, epoch=2))
    world.decide()
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert len(world.ledger.approvals) == 1


def stored_before(world: World) -> None:
    """Let the run's approval be one that was stored before consequences were kept."""
    approval = world.ledger.newest_approval()
    assert approval is not None
    digest = Approval.version_digest(DEFINITION.version, PAYLOAD)
    given(world, approval.model_copy(update={"consequences": {}, "digest": digest}))


def test_given_a_yes_stored_before_consequences_were_kept_when_moved_then_its_version_says() -> (
    None
):
    world = an_approved_world()
    stored_before(world)
    is_replaced(world, REWORDED)

    goes_on(world, REWORDED)
    go_on(world)

    assert world.run().state is RunState.COMPLETED
    assert len(world.ledger.approvals) == 1
    assert moves(world)[0].details["asks_again"] == ""


def test_given_such_a_yes_when_its_version_is_not_even_registered_then_the_customer_is_asked() -> (
    None
):
    world = an_approved_world()
    stored_before(world)
    is_replaced(world, REWORDED, old_is_known=False)

    goes_on(world, REWORDED)

    assert "give-back@2" in str(moves(world)[0].details["asks_again"])
    task = Task(run_id=RUN_ID, epoch=2)
    world.resume(task)
    world.ask("token-2", task)
    assert world.run().state is RunState.AWAITING_APPROVAL
    assert len(world.ledger.approvals) == 2


def test_given_a_renamed_checkpoint_when_moved_then_the_new_name_holds_the_old_proof() -> None:
    # Given a refund that is confirmed, and a version in which that claim has another name.
    world = refund_confirmed()
    world.clock.pass_ms(5)
    new = renumbered(definition=renamed("refund_confirmed", "money_returned"))
    is_replaced(world, new, {"refund_confirmed": "money_returned"})
    before = world.ledger.proven("refund_confirmed")

    # When the run is moved.
    goes_on(world, new)

    # Then the claim holds under its new name alone, with the same evidence, and the work goes on.
    ledger = world.ledger
    proof = ledger.proven("money_returned")
    assert before is not None
    assert proof is not None
    assert (proof.evidence, proof.effect_id) == (before.evidence, REFUND_ID)
    assert proof.reached_at_ms == world.clock.now_ms()
    (reached,) = [e for e in world.events if e.subject == "money_returned"]
    assert reached.reason == "carried from refund_confirmed of give-back@2"
    assert ledger.proven("refund_confirmed") is None
    assert world.effect().checkpoint == "money_returned"
    assert next_state(new, ledger) == "SendReceipt"
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert len(world.payments.calls) == 1
    assert world.post.calls[0].bound["refund_id"] == proof.evidence.record_id


def test_given_a_renamed_yes_when_an_open_question_is_answered_then_it_proves_the_new_name() -> (
    None
):
    world = awaiting_approval()
    new = renumbered(definition=renamed("request_approved", "customer_agreed"))
    is_replaced(world, new, {"request_approved": "customer_agreed"})

    goes_on(world, new)
    world.decide()

    assert world.ledger.proven("customer_agreed") is not None
    assert world.ledger.proven("request_approved") is None


def test_given_two_checkpoints_that_change_names_when_moved_then_neither_is_mistaken() -> None:
    world = refund_confirmed()
    turned = renamed("refund_confirmed", "request_approved", renamed("request_approved", "x"))
    new = renumbered(definition=renamed("x", "refund_confirmed", turned))
    is_replaced(
        world,
        new,
        {"request_approved": "refund_confirmed", "refund_confirmed": "request_approved"},
    )

    goes_on(world, new)

    refund, yes = (
        world.ledger.proven("request_approved"),
        world.ledger.proven("refund_confirmed"),
    )
    assert refund is not None
    assert refund.effect_id == REFUND_ID
    assert yes is not None
    assert yes.effect_id is None


def test_given_a_yes_that_does_not_meet_the_new_claim_when_moved_then_it_is_asked_for_again() -> (
    None
):
    world = an_approved_world()
    new = renumbered(
        definition=altered("contracts", 0, evidence_fields=("digest", "decided_by", "place"))
    )
    is_replaced(world, new)

    goes_on(world, new)

    assert world.ledger.proven("request_approved") is None
    assert "place" in str(moves(world)[0].details["not_carried"])
    assert EventKind.CHECKPOINT_WITHDRAWN in world.kinds
    assert told(world).proven == ()
    assert facts_of(world).next_state == "AskCustomer"
    task = Task(run_id=RUN_ID, epoch=2)
    world.resume(task)
    assert world.ask("token-2", task).run.state is RunState.AWAITING_APPROVAL
    world.decide(ordinal=2)
    assert world.ledger.proven("request_approved") is not None


def test_given_proof_of_a_write_that_does_not_meet_the_new_claim_then_a_person_looks() -> None:
    world = refund_confirmed()
    new = renumbered(definition=altered("contracts", 1, evidence_fields=("arrival",)))
    is_replaced(world, new)

    assert goes_on(world, new) is StartOutcome.NO_SUCH_VERSION

    assert_in_review(world, "refund_confirmed is done", "arrival")


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (altered("operations", 0, provider="post"), "at payments, and give-back@3 makes it at"),
        (altered("operations", 0, checkpoint="paid"), "proves refund_confirmed, and"),
        (altered("operations", 0, request_fields=("charge_id",)), "with other fields"),
        (altered("operations", 0, fixed={"currency": "EUR"}), "with other fields"),
        (altered("operations", 0, name="give_back"), "has no such write"),
    ],
    ids=["provider", "checkpoint", "fewer fields", "other values", "name"],
)
def test_given_a_write_that_the_new_version_does_otherwise_when_moved_then_a_person_looks(
    new: WorkflowDefinition, words: str
) -> None:
    world = SITUATIONS["refund_planned"]()
    is_replaced(world, renumbered(definition=new))

    goes_on(world, new)

    assert_in_review(world, words)
    assert len(world.payments.calls) == 1  # the one that never left


def test_given_a_claim_that_is_left_behind_when_its_write_is_done_then_a_person_looks() -> None:
    world = refund_confirmed()
    is_replaced(world, REWORDED, {"refund_confirmed": None})

    goes_on(world, REWORDED)

    assert_in_review(world, "refund_confirmed is done")


class WantsMore(Record):
    """A request with a field that older ones do not have."""

    customer_id: str
    charge_id: str
    amount_minor: int
    currency: str
    reason: str


def test_given_a_request_that_the_new_version_does_not_take_then_a_person_looks() -> None:
    world = opened()
    is_replaced(world, REWORDED.model_copy(update={"request_type": WantsMore}))

    goes_on(world, REWORDED)

    assert_in_review(world, "the request on record is none of give-back@3 (1 fields)")
    assert "ch_1" not in world.run().review_reason


def with_a_look(owner: str = "payments", fields: tuple[str, ...] = ()) -> WorkflowDefinition:
    """Return a version that looks at the account before it refunds."""
    look = Stage(name="look", checkpoint="looked_at", timeout_seconds=30, providers=("payments",))
    contract = DEFINITION.contracts[0].model_copy(
        update={"checkpoint": "looked_at", "owner": owner, "evidence_fields": fields}
    )
    refund = REFUND.model_copy(update={"requires": ("looked_at", "request_approved")})
    ask, *rest = DEFINITION.stages
    return WorkflowDefinition.model_validate(
        {
            **dict(DEFINITION),
            "number": 3,
            "stages": (ask, look, *rest),
            "operations": (refund, *DEFINITION.operations[1:]),
            "contracts": (*DEFINITION.contracts, contract),
        }
    )


def looked_at() -> Checkpoint:
    """Return proof that the account was looked at."""
    return Checkpoint(
        name="looked_at", evidence=evidence(source="payments", fields={}), reached_at_ms=1
    )


@pytest.mark.parametrize(
    ("new", "looks_again"),
    [(with_a_look(), False), (with_a_look(fields=("plan",)), True)],
    ids=["meets it", "does not meet it"],
)
def test_given_a_look_that_nothing_rests_on_yet_when_moved_then_it_is_made_again_if_it_has_to_be(
    new: WorkflowDefinition, looks_again: bool
) -> None:
    world = an_approved_world()
    given(world, looked_at())
    is_replaced(world, new)

    goes_on(world, new)

    assert world.run().workflow == new.version
    assert (world.ledger.proven("looked_at") is None) == looks_again
    assert next_state(new, world.ledger) == ("Look" if looks_again else "IssueRefund")


@pytest.mark.parametrize("there", [True, False])
def test_given_a_write_that_rests_on_a_look_when_that_does_not_hold_then_a_person_looks(
    there: bool,
) -> None:
    # A look after the write would see what we have done, and take it for a reason to refuse.
    world = refund_confirmed()
    if there:
        given(world, looked_at())
    is_replaced(world, with_a_look(fields=("plan",)))

    goes_on(world, DEFINITION)

    assert_in_review(world, "looked_at is not proven as give-back@3 asks", "refund, which rests")


def test_given_an_effect_of_unknown_outcome_when_continued_then_it_is_settled_before_the_move() -> (
    None
):
    # Given a refund whose answer was lost, and its version gone.
    world = refund_unknown()
    is_replaced(world, REWORDED)
    loses_its_execution(world)

    # When the run is continued before anybody has asked the provider.
    assert start_execution(world.ports, RUN_ID, STARTER) is StartOutcome.HELD_BACK

    # Then it waits as it is, is due, and nobody is called for.
    assert world.run().state is RunState.ACTIVE
    assert world.run().workflow == DEFINITION.version
    due_at_ms = world.run().due_at_ms
    assert due_at_ms is not None

    # And the sweeper settles it first and moves the run then.
    world.clock.move_to(due_at_ms)
    assert world.sweep() is SweepResult.STARTED
    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().workflow == REWORDED.version
    world.definition = REWORDED
    go_on(world)
    assert world.run().state is RunState.COMPLETED
    assert len(world.payments.calls) == 1


def test_given_a_worker_inside_its_call_when_continued_then_the_run_is_not_moved_under_it() -> None:
    world = SITUATIONS["refund_attempting"]()
    is_replaced(world, REWORDED)

    assert goes_on(world, REWORDED) is StartOutcome.HELD_BACK

    assert world.run().workflow == DEFINITION.version
    world.pass_seconds(LEASE_SECONDS)
    world.sweep()
    assert world.run().workflow == REWORDED.version


@pytest.mark.parametrize(
    "versions",
    [
        Versions({REWORDED.version: REWORDED}),
        Versions({}, (a_migration(REWORDED),)),
        Versions(
            {REWORDED.version: REWORDED},
            (a_migration(REWORDED).model_copy(update={"from_version": "give-back@1"}),),
        ),
    ],
    ids=["none registered", "to nothing that is registered", "from another"],
)
def test_given_no_migration_when_continued_then_a_person_looks(versions: Versions) -> None:
    world = an_approved_world()
    world.versions = versions
    world.executions.machines = {REWORDED.version}

    assert goes_on(world, REWORDED) is StartOutcome.NO_SUCH_VERSION

    assert_in_review(world)
    assert world.payments.calls == []


def test_given_a_process_that_knows_no_versions_then_it_leaves_the_run_to_one_that_does() -> None:
    world = an_approved_world()
    is_replaced(world, REWORDED)
    versions, world.versions = world.versions, None
    before = world.ledger

    assert goes_on(world, REWORDED) is StartOutcome.HELD_BACK

    assert world.ledger == before
    world.versions = versions
    world.clock.move_to(world.run().due_at_ms or 0)
    assert world.sweep() is SweepResult.STARTED
    assert world.run().workflow == REWORDED.version


def test_given_a_version_that_is_deployed_when_continued_then_nothing_moves_by_itself() -> None:
    world = an_approved_world()
    is_replaced(world, REWORDED)
    world.executions.machines = {DEFINITION.version, REWORDED.version}

    assert goes_on(world, REWORDED) is StartOutcome.STARTED

    assert world.run().workflow == DEFINITION.version
    assert moves(world) == []


def test_given_several_migrations_when_continued_then_the_newest_version_is_the_one() -> None:
    world = an_approved_world()
    newest = renumbered(9)
    world.versions = Versions(
        {found.version: found for found in (REWORDED, newest, renumbered(4))},
        tuple(a_migration(found) for found in (REWORDED, newest, renumbered(4), renumbered(11))),
    )
    world.executions.machines = {newest.version}

    goes_on(world, newest)

    assert world.run().workflow == "give-back@9"
    assert len(moves(world)) == 1


def test_given_a_version_that_this_deploy_brings_when_opened_before_it_then_the_run_waits() -> None:
    world = a_world(execution_started=False)
    world.versions = Versions({DEFINITION.version: DEFINITION})
    world.executions.deployed = False

    assert goes_on(world, DEFINITION) is StartOutcome.HELD_BACK
    assert world.run().state is RunState.ACTIVE

    # And once it is there, the next look starts it.
    world.executions.deployed = True
    wait_until_due(world)
    world.sweep()
    name = world.run().execution_name
    assert world.executions.statuses == {name: ExecutionStatus.RUNNING}


def test_given_a_registered_version_that_never_comes_when_too_long_then_a_person_looks() -> None:
    world = a_world(execution_started=False)
    world.versions = Versions({DEFINITION.version: DEFINITION})
    world.executions.deployed = False
    world.clock.at_ms += DEPLOY_SECONDS * 1000

    assert goes_on(world, DEFINITION) is StartOutcome.NO_SUCH_VERSION

    assert_in_review(world)


def test_given_migrations_in_a_circle_when_no_version_is_deployed_then_a_person_looks() -> None:
    world = an_approved_world()
    back = a_migration(REWORDED).model_copy(
        update={"from_version": REWORDED.version, "to_version": DEFINITION.version}
    )
    world.versions = Versions(
        {found.version: found for found in (DEFINITION, REWORDED)}, (a_migration(REWORDED), back)
    )
    world.executions.deployed = False

    assert goes_on(world, REWORDED) is StartOutcome.NO_SUCH_VERSION

    assert world.run().state is RunState.REVIEW
    assert f"moved {MAX_MOVES} times" in world.run().review_reason
    assert len(moves(world)) == MAX_MOVES


def test_given_a_version_that_is_gone_too_when_moved_on_then_each_step_leaves_its_event() -> None:
    world = an_approved_world()
    newest = renumbered(4)
    onward = a_migration(newest).model_copy(update={"from_version": REWORDED.version})
    world.versions = Versions(
        {found.version: found for found in (REWORDED, newest)}, (a_migration(REWORDED), onward)
    )
    world.executions.machines = {newest.version}

    assert goes_on(world, newest) is StartOutcome.STARTED

    assert [(found.prior_state, found.state) for found in moves(world)] == [
        ("give-back@2", "give-back@3"),
        ("give-back@3", "give-back@4"),
    ]
    go_on(world)
    assert world.run().state is RunState.COMPLETED


def test_given_two_who_continue_the_run_at_once_then_it_is_moved_once_and_started_once() -> None:
    world = an_approved_world()
    is_replaced(world, REWORDED)

    def faster() -> None:
        start_execution(world.ports, RUN_ID, STARTER)

    world.store.rivals = [faster]

    outcome = goes_on(world, REWORDED)

    assert outcome is StartOutcome.ALREADY_RUNNING
    assert len(moves(world)) == 1
    assert world.run().epoch == 2


def test_given_a_process_that_dies_after_the_move_then_the_sweeper_starts_what_was_assigned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()
    is_replaced(world, REWORDED)
    start = world.executions.start

    def dies_the_second_time(workflow: str, *rest: object) -> StartOutcome:
        if workflow == REWORDED.version:
            raise RetryLater("no answer")
        return start(workflow, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(world.executions, "start", dies_the_second_time)
        with pytest.raises(RetryLater):
            goes_on(world, REWORDED)

    world.clock.move_to(world.run().due_at_ms or 0)
    assert world.sweep() is SweepResult.STARTED
    assert len(moves(world)) == 1
    assert world.executions.statuses[f"{RUN_ID}-e2"] is ExecutionStatus.RUNNING


def test_given_obstacles_when_somebody_moves_the_run_all_the_same_then_nothing_is_written() -> None:
    world = refund_confirmed()
    new = renumbered(definition=altered("operations", 0, provider="post"))
    draft = a_draft(world)

    with pytest.raises(InvariantBroken, match="obstacles"):
        carry_over(draft, WayOn(DEFINITION, new, a_migration(new)))

    assert draft.is_empty


def test_given_a_contradicted_write_when_moved_then_its_proof_is_not_carried() -> None:
    world = refund_confirmed()
    given(world, a_refund(EffectState.CONTRADICTED))
    new = renumbered(definition=renamed("refund_confirmed", "money_returned"))
    is_replaced(world, new, {"refund_confirmed": "money_returned"})

    goes_on(world, new)

    assert world.run().workflow == new.version
    ledger: RunLedger = world.ledger
    assert ledger.proven("money_returned") is None
    assert ledger.proven("request_approved") is not None
    assert ledger.proven("refund_confirmed") is None
    assert world.effect().checkpoint == "money_returned"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"to_version": "other@3"}, "same workflow"),
        ({"to_version": "give-back@2"}, "same workflow"),
        ({"checkpoints": {"a": "c", "b": "c"}}, "become one"),
        ({"reason": ""}, "reason"),
    ],
    ids=["another workflow", "itself", "two become one", "no reason"],
)
def test_a_migration_that_could_not_be_meant_is_refused(
    fields: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Migration.model_validate({**dict(a_migration(REWORDED)), **fields})


def test_what_a_migration_names_and_its_versions_do_not_have_is_told() -> None:
    migration = a_migration(
        REWORDED, {"never": "receipt_sent", "refund_confirmed": "request_approved"}
    )

    told_of = migration.misfits(DEFINITION, REWORDED)

    assert "give-back@2 has no never" in told_of
    assert "two become request_approved" in told_of
    assert a_migration(REWORDED, {"receipt_sent": "x"}).misfits(DEFINITION, REWORDED) == [
        "give-back@3 has no x"
    ]
    assert a_migration(REWORDED).misfits(DEFINITION, REWORDED) == []


def test_given_a_write_that_comes_first_from_now_on_when_moved_then_it_is_made_after_all() -> None:
    # Given a refund that is confirmed, and a version that takes a fee before it refunds.
    world = refund_confirmed()
    fee = with_fee(fee=FEE.model_copy(update={"needs_approval": False}))
    ask, refund, take, receipt = fee.stages
    later = REFUND.model_copy(update={"requires": ("request_approved", "fee_taken")})
    new = WorkflowDefinition.model_validate(
        {
            **dict(fee),
            "number": 3,
            "stages": (ask, take, refund, receipt),
            "operations": (later, *fee.operations[1:]),
        }
    )
    is_replaced(world, new)

    # When the run goes over.
    goes_on(world, new)

    # Then what is missing is done, and what was done is not done again.
    assert world.run().workflow == new.version
    assert next_state(new, world.ledger) == "TakeFee"
    task = Task(run_id=RUN_ID, epoch=2)
    world.perform("fee", task)
    assert next_state(new, world.ledger) == "SendReceipt"
    assert len(world.payments.calls) == 2


def test_given_a_yes_that_does_not_hold_when_a_write_rests_on_it_then_it_is_asked_for_again() -> (
    None
):
    # To be asked once more harms nobody, unlike a look at what we have changed since.
    world = refund_confirmed()
    more = altered("contracts", 0, evidence_fields=("digest", "decided_by", "place"))
    is_replaced(world, renumbered(definition=more))

    goes_on(world, renumbered(definition=more))

    assert world.run().workflow == "give-back@3"
    assert world.ledger.proven("request_approved") is None


def test_given_a_claim_that_is_left_behind_when_it_is_named_so_then_it_is_no_misfit() -> None:
    migration = a_migration(REWORDED, {"receipt_sent": None, "refund_confirmed": None})

    assert migration.misfits(DEFINITION, REWORDED) == []


def test_a_workflow_whose_name_holds_the_sign_is_told_by_its_whole_name() -> None:
    fields = {**dict(a_migration(REWORDED)), "from_version": "a@b@1", "to_version": "a@c@2"}

    with pytest.raises(ValueError, match="same workflow"):
        Migration.model_validate(fields)
    assert Migration.model_validate({**fields, "to_version": "a@b@2", "reason": "x"}).reason == "x"
