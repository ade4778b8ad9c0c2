"""What others reported about a deploy under a paused run, with its right outcome."""

from collections.abc import Callable
from typing import Any

import pytest

from ledger.approve import request_approval
from ledger.confirm import confirm_targets
from ledger.errors import StaleExecution
from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.perform import perform_stage
from ledger.ports import Ports
from ledger.resume import resume
from ledger.task import Task
from ledger.transitions import RunState
from ledger.workflow import Operation, Stage, WorkflowDefinition
from tests.fakes.clock import FakeClock, FakeTimeLeft
from tests.recovery.customer import Customer
from tests.recovery.desk import choose
from tests.recovery.functions import FUNCTION_MS, machine
from tests.recovery.invariants import check_invariants
from tests.recovery.scenario import finish, is_awaiting, posts, task
from tests.recovery.scenarios import scenarios, usual
from tests.recovery.scenarios.cancel_refund import WANTED
from tests.recovery.state_machine import Status
from tests.recovery.world import World
from workflows import registry

DEFINITION = usual().definition
CLAWBACK = "loyalty_clawback"


def next_version() -> WorkflowDefinition:
    """Return the next version: takes loyalty points back before it refunds, after a rename."""
    *before, refund, receipt = DEFINITION.stages
    renamed = before[-1].model_copy(update={"name": "stop_renewal"})
    checkpoint = DEFINITION.contract("renewal_cancelled")
    clawback = Operation(
        name=CLAWBACK,
        label="Loyalty clawback",
        provider="stripe_billing",
        checkpoint="points_taken_back",
        request_fields=("customer_id", "subscription_id"),
        fixed={"cancel_at": "period_end"},
        requires=("request_approved",),
    )
    stage = Stage(
        name=CLAWBACK,
        checkpoint="points_taken_back",
        timeout_seconds=60,
        operation=CLAWBACK,
        providers=("stripe_billing",),
    )
    return WorkflowDefinition.model_validate(
        {
            **dict(DEFINITION),
            "number": DEFINITION.number + 1,
            "stages": (*before[:-1], renamed, stage, refund, receipt),
            "operations": (*DEFINITION.operations, clawback),
            "contracts": (
                *DEFINITION.contracts,
                checkpoint.model_copy(update={"checkpoint": "points_taken_back"}),
            ),
        }
    )


NEXT = next_version()


def deploys(world: World, *versions: WorkflowDefinition) -> None:
    """Let exactly these versions' state machines be deployed from now on."""
    # The newer one has none of its own here: none of its executions is ever started.
    world.orchestrator.machines = {
        found.version: machine(DEFINITION.asl_path if found is NEXT else found.asl_path)
        for found in versions
    }


def loses_its_execution(world: World) -> None:
    """End the execution that waits, without a word to anybody."""
    (execution,) = world.orchestrator.executions.values()
    execution.end(Status.ABORTED)


class TestC17DeployWhileARunIsPaused:
    def paused(self) -> World:
        world = World()
        world.run_until(is_awaiting)
        return world

    @pytest.mark.parametrize("execution_lives", [True, False])
    def test_a_paused_run_finishes_on_the_version_that_opened_it(
        self, execution_lives: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Given a run that waits for its yes, and a newer version deployed beside its own.
        world = self.paused()
        both = {**registry.REGISTRY, NEXT.version: NEXT}
        monkeypatch.setattr(registry, "REGISTRY", both)
        deploys(world, DEFINITION, NEXT)
        started: list[str] = []
        start = world.orchestrator.start

        def noted(workflow: str, *rest: Any) -> Any:
            started.append(workflow)
            return start(workflow, *rest)

        monkeypatch.setattr(world.orchestrator, "start", noted)
        if not execution_lives:
            loses_its_execution(world)

        # When it is approved and goes on, in its own execution or in a new one.
        finish(world)

        # Then everything was done by its own version, and nothing that only the newer one does.
        assert world.ledger.run.state is RunState.COMPLETED
        assert set(started) == (set() if execution_lives else {DEFINITION.version})
        assert {event.workflow for event in world.events} == {DEFINITION.version}
        assert CLAWBACK not in {effect.operation for effect in world.ledger.effects}
        assert len(posts(world)) == 1

    def test_without_its_version_a_run_stops_at_a_person_and_nothing_is_attempted(self) -> None:
        # Given a run that waits, whose execution ended, and whose version is deployed no more.
        world = self.paused()
        loses_its_execution(world)
        deploys(world, NEXT)

        # When its customer says yes.
        world.run()

        # Then a person is told why it stands still.
        check_invariants(world)
        run = world.ledger.run
        assert run.state is RunState.REVIEW
        assert run.review_reason.startswith(f"no compatible version: {DEFINITION.version}")
        assert world.ledger.effects == ()
        assert world.stripe.posts() == []

        # And once the version is back, they can let the run go on.
        deploys(world, DEFINITION)
        choose(world, RecoveryAction.RESUME)
        world.customer.decides_after_ms = 0
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED
        assert len(posts(world)) == 1


OLDER, NEWER = (scenarios()[f"cancel-refund@{number}"].definition for number in (3, 4))
WORKFLOW = OLDER.name
# What each version does, in its order.
ORDER = {
    OLDER.version: ["refund", "cancel_renewal", "receipt"],
    NEWER.version: ["cancel_renewal", "refund", "receipt"],
}


class TestC17TwoReleasedVersionsSideBySide:
    @pytest.fixture
    def world(self) -> World:
        """A run that waits on the older version, since which new runs use the newer one."""
        world = World(scenario=scenarios()[OLDER.version])
        world.customer.workflow = WORKFLOW
        world.run_until(is_awaiting)
        world.opened_on = NEWER
        return world

    def second(self, world: World, workflow: str) -> Customer:
        """Return another customer, who asks for the workflow from now on."""
        names = {"customer_id": "cus_2", "subscription_id": "sub_2", "charge_id": "ch_2"}
        customer = world.add_customer({**WANTED, **names})
        customer.workflow = workflow
        return customer

    @pytest.mark.parametrize("execution_lives", [True, False])
    def test_the_older_run_ends_on_its_own_code_while_new_runs_use_the_newer(
        self, world: World, execution_lives: bool
    ) -> None:
        # Given another customer, who asks for the same workflow after the deploy.
        if not execution_lives:
            loses_its_execution(world)
        other = self.second(world, WORKFLOW)

        # When everything goes on.
        finish(world)

        # Then each run did what its own version does, in that version's order.
        for customer, version in ((world.customer, OLDER.version), (other, NEWER.version)):
            ledger = world.ledger_of(customer)
            events = world.events_of(ledger)
            operations = {found.effect_id: found.operation for found in ledger.effects}
            confirmed = [e for e in events if e.kind is EventKind.EFFECT_CONFIRMED]
            assert ledger.run.state is RunState.COMPLETED
            assert {event.workflow for event in events} == {version}
            assert [operations[event.subject] for event in confirmed] == ORDER[version]
        assert len(world.stripe.world.refunds) == 2

    @pytest.mark.parametrize("asked", [WORKFLOW, OLDER.version])
    def test_a_repeat_of_the_older_request_is_the_older_run(self, asked: str) -> None:
        # Given a client that named the workflow, or the version that was current then.
        world = World(scenario=scenarios()[OLDER.version])
        world.customer.workflow = asked
        world.run_until(is_awaiting)

        # When it repeats its request after the deploy.
        world.opened_on = NEWER
        response = world.customer.ask()

        # Then it hears of the run that it has.
        assert response is not None
        assert response["statusCode"] == 202
        assert world.ledger.run.run_id in str(response["body"])
        finish(world)
        assert world.ledger.run.workflow == OLDER.version

    def test_a_new_run_of_the_older_version_is_refused_and_its_open_run_goes_on(
        self, world: World
    ) -> None:
        # When somebody who knows of no newer one names the older version.
        late = self.second(world, OLDER.version)
        response = late.ask()
        world.customers.remove(late)

        # Then the problem says what to name, and nothing was started.
        assert response is not None
        assert response["statusCode"] == 422
        assert "superseded-version" in str(response["body"])
        assert NEWER.version in str(response["body"])
        assert len(world.orchestrator.executions) == 1

        # And the run that is open ends as it would have.
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED
        assert len(posts(world)) == 1

    def test_the_same_key_and_another_request_is_still_refused(self, world: World) -> None:
        world.customer.workflow = NEWER.version
        response = world.customer.ask()

        assert response is not None
        assert response["statusCode"] == 409
        assert "idempotency-key-reused" in str(response["body"])


type Step = Callable[[Ports, Task], object]


def performs(stage: str) -> Step:
    """Return a stage of the newer version that has time enough."""
    clock = FakeClock()
    time_left = FakeTimeLeft(clock, clock.now_ms() + FUNCTION_MS)
    return lambda ports, task: perform_stage(ports, time_left, NEXT, task, stage)


class TestC17ARunIsNotCarriedOnByAnotherVersionsCode:
    STEPS: tuple[tuple[str, Step], ...] = (
        ("resume", lambda ports, task: resume(ports, NEXT, task)),
        (
            "confirm",
            lambda ports, task: confirm_targets(ports, NEXT, task, "account_confirmed"),
        ),
        (
            "ask",
            lambda ports, task: request_approval(ports, NEXT, task, "request_approved", "token"),
        ),
        *(
            (stage, performs(stage))
            for stage in ("stop_renewal", CLAWBACK, "issue_refund", "send_receipt")
        ),
    )

    @pytest.mark.parametrize(("name", "step"), STEPS, ids=[name for name, _ in STEPS])
    def test_newer_code_stops_before_it_reads_or_writes_anything(
        self, name: str, step: Step
    ) -> None:
        # Given a run of the older version, with everything approved.
        del name
        world = World()
        world.run_until(lambda ledger: ledger.proven("request_approved") is not None)
        before, asked = world.ledger, len(world.stripe.requests)

        # When code of the newer one is handed the run.
        handed = Task.model_validate(task(world))
        with pytest.raises(StaleExecution, match=f"belongs to {DEFINITION.version}"):
            world.processes.run("newer code", lambda ports: step(ports, handed))

        # Then nothing was written, nobody was asked, and the run's own version goes on.
        assert world.ledger == before
        assert len(world.stripe.requests) == asked
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED
        assert world.ledger.run.epoch == 1
        assert EventKind.REVIEW_REQUIRED not in {event.kind for event in world.events}
