"""Make an approved counter-effect: by the same steps as every write, and outside of any execution.

It is no stage of a state machine, and released state machines are frozen. So the reconciler, which
looks after every run that is due, makes it once the customer has said yes to exactly this.
"""

from typing import override

from ledger.approval import ApprovalState
from ledger.draft import Draft
from ledger.errors import ApprovalNeeded, ReconcileFirst, ReviewRequired
from ledger.event import Actor
from ledger.perform import perform
from ledger.ports import Ports, TimeLeft
from ledger.task import Task
from ledger.transitions import RunState
from ledger.update import load, update
from ledger.workflow import WorkflowDefinition

RECONCILER = Actor(kind="reconciler", actor_id="counter")


class CounterTask(Task):
    """What the reconciler acts for, in the place of an execution."""

    @property
    @override
    def actor(self) -> Actor:
        return RECONCILER


def perform_counter(ports: Ports, time_left: TimeLeft, run_id: str) -> None:
    """Make the counter-effect that the customer has approved, at most once; see ``perform``.

    Afterwards a person has to look, whatever it came to. One whose outcome is not known is looked
    up as any other.

    Raises RetryLater when nothing was begun; the run stays due.
    """
    ledger = load(ports, run_id)
    approval = ledger.counter_approval()
    asked_for = approval is not None and approval.state is ApprovalState.APPROVED
    if approval is None or not asked_for or ledger.run.state is not RunState.ACTIVE:
        return
    if ports.versions is None:
        return  # a process that knows the versions comes by
    definition = ports.versions.definition(ledger.run.workflow)
    name = _counter_in(definition, approval.payload)
    if definition is None or name is None:
        _stop(ports, run_id, f"no compatible version: {ledger.run.workflow} is not registered")
        return
    task = CounterTask(run_id=run_id, epoch=ledger.run.epoch)
    try:
        perform(ports, time_left, definition, task, name)
    except ApprovalNeeded as needed:
        _stop(ports, run_id, str(needed))
    except (ReconcileFirst, ReviewRequired):
        return  # on record: the sweeper reads on, or a person looks
    else:
        label = definition.operation(name).label
        _stop(ports, run_id, f"{label}: done, as the customer approved; the rest is not done")


def _counter_in(
    definition: WorkflowDefinition | None, payload: dict[str, dict[str, str | int | bool]]
) -> str | None:
    counters = definition.counter_operations if definition else ()
    return next((found.name for found in counters if found.name in payload), None)


def _stop(ports: Ports, run_id: str, reason: str) -> None:
    def decide(draft: Draft) -> None:
        if draft.ledger.run.state is RunState.ACTIVE:
            draft.send_to_review(reason)

    update(ports, run_id, RECONCILER, decide)
