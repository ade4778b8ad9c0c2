"""People: who asks for the run, who decides, who operates, and who meddles from outside."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from ledger.act import Choice, perform_action
from ledger.actions import offers
from ledger.admission import Opening, open_run
from ledger.approve import Decision, decide_approval
from ledger.canonical import digest
from ledger.errors import RequestRefused, RetryLater
from ledger.event import Actor
from ledger.execution import start_execution
from ledger.offer import Offer, RecoveryAction
from ledger.projection import project
from ledger.run import RunLedger
from ledger.status import ApprovalStatus, customer_status
from ledger.transitions import RunState
from ledger.update import load
from ledger.workflow import WorkflowDefinition
from providers.contracts import CONTRACTS
from tests.simulation.dice import Dice
from tests.simulation.faults import Fault
from tests.simulation.process import Process

if TYPE_CHECKING:
    from tests.simulation.world import World

CUSTOMER = Actor(kind="customer", actor_id="user-of-cus_1")
SECOND_PERSON = Actor(kind="customer", actor_id="second-user-of-cus_1")
OPERATOR = Actor(kind="operator", actor_id="operator-1")
THINKS_MS = (500, 1_800_000)
AROUND_EXPIRY_MS = (24 * 3_600_000 - 60_000, 24 * 3_600_000 + 60_000)
LOOKS_IN_MS = (10_000, 48 * 3_600_000)
PONDERS_MS = (1_000, 600_000)
MEDDLES_MS = (1_000, 10_800_000)
# A client repeats what got no answer, each time after twice as long: over half an hour in all.
FIRST_REPEAT_MS = 2_000
MAX_REPEATS = 10


def insist(process: Process, act: Callable[[], object]) -> None:
    """Do something as a client does that repeats what got no answer."""
    for number in range(MAX_REPEATS):
        try:
            act()
        except RetryLater:
            process.world.scheduler.pause(FIRST_REPEAT_MS << number)
        except RequestRefused:
            return
        else:
            return


def ask(process: Process, opening: Opening) -> None:
    """Open the run and start its first execution, as the door does."""

    def act() -> None:
        ledger = open_run(process.ports, process.world.deploys.to_open(), opening)
        if not ledger.run.execution_started:
            start_execution(process.ports, ledger.run.run_id, opening.actor)

    insist(process, act)


def customer_comes(world: "World", run_id: str, number: int) -> None:
    """Have the customer asked for a decision, and maybe a second person."""
    name = f"customer{number}"
    thinks = Dice(world.seed, f"{name} thinks")
    struck = world.plan.pick("decide", name, 0, thinks)
    if struck is Fault.SILENT:
        return
    low, high = AROUND_EXPIRY_MS if struck is Fault.DECIDES_LATE else THINKS_MS
    delay_ms = low + int(thinks.random() * (high - low))
    decision = Decision.DECLINE if struck is Fault.DECLINES else Decision.APPROVE
    wrong = struck is Fault.WRONG_DIGEST

    def body(process: Process, who: Actor, decided: Decision) -> None:
        insist(process, lambda: _decide(process, run_id, who, decided, wrong_digest=wrong))

    world.run_process("customer", name, lambda p: body(p, CUSTOMER, decision), delay_ms=delay_ms)
    if struck is Fault.DECIDES_TWICE:
        later_ms = delay_ms + int(thinks.random() * 60_000)
        world.run_process(
            "customer", f"{name}b", lambda p: body(p, CUSTOMER, decision), delay_ms=later_ms
        )
    if struck is Fault.TWO_PEOPLE:
        world.run_process(
            "customer",
            f"{name}c",
            lambda p: body(p, SECOND_PERSON, Decision.DECLINE),
            delay_ms=delay_ms + int(thinks.random() * 300),
        )
    if wrong:  # once the mistake is noticed
        world.run_process(
            "customer",
            f"{name}d",
            lambda p: insist(p, lambda: _decide(p, run_id, CUSTOMER, decision, wrong_digest=False)),
            delay_ms=delay_ms + 60_000,
        )


def _decide(
    process: Process, run_id: str, who: Actor, decision: Decision, *, wrong_digest: bool
) -> None:
    ledger = load(process.ports, run_id)
    definition = process.world.deploys.definition_of(ledger)
    asked = customer_status(project(definition, ledger, process.now_ms())).approval
    if asked is None:
        return
    process.shown_digest = _shown(asked, changed=wrong_digest)
    decide_approval(process.ports, run_id, asked.approval_id, process.shown_digest, decision, who)


def _shown(asked: ApprovalStatus, *, changed: bool) -> str:
    """Return the digest of what a person was really shown."""
    return digest({"shown": "something else"}) if changed else asked.digest


def operator_comes(world: "World", run_id: str) -> None:
    """Have an operator look at a run, while there are any left."""
    if world.operators_left <= 0:
        return
    world.operators_left -= 1
    number = world.operators_left
    rng = Dice(world.seed, f"operator{number} waits")
    low, high = LOOKS_IN_MS
    delay_ms = low + int(rng.random() ** 3 * (high - low))

    def body(process: Process) -> None:
        insist(process, lambda: _operate(process, run_id))
        left = process.world.store.load(run_id)
        if left is not None and left.run.state is RunState.REVIEW:
            operator_comes(process.world, run_id)

    world.run_process("operator", f"operator{number}", body, delay_ms=delay_ms)


def _operate(process: Process, run_id: str) -> None:
    seen = load(process.ports, run_id)
    definition = process.world.deploys.definition_of(seen)
    found = current_offers(process, definition, seen, process.now_ms())
    struck = process.pick("operate")
    chosen = _choose(process, found, allowed=struck is not Fault.FORBIDDEN_ACTION)
    if chosen is None:
        return
    view_version = seen.run.sequence
    if struck is Fault.STALE_VIEW:
        view_version = max(1, view_version - 1 - int(process.rng.random() * 3))
    process.world.scheduler.pause(process.between(PONDERS_MS))
    process.view_version = view_version
    choice = Choice(
        action=chosen.action,
        view_version=view_version,
        reason="seen in a simulation",
        effect_id=chosen.effect_id,
    )
    process.acted_by = definition
    perform_action(process.ports, definition, run_id, choice, OPERATOR)


def current_offers(
    process: Process, definition: WorkflowDefinition, ledger: RunLedger, now_ms: int
) -> tuple[Offer, ...]:
    """Return what the operator's screen offers."""
    return offers(definition, ledger, CONTRACTS.__getitem__, now_ms, process.ports.versions)


def _choose(process: Process, found: tuple[Offer, ...], *, allowed: bool) -> Offer | None:
    candidates = [offer for offer in found if offer.allowed is allowed]
    # Closing ends a story that might have gone wrong later, so it is chosen less often.
    dull = (RecoveryAction.CLOSE, RecoveryAction.MARK_ENGINEERING)
    lively = [offer for offer in candidates if offer.action not in dull]
    if lively and process.rng.random() < 0.8:
        candidates = lively
    return candidates[int(process.rng.random() * len(candidates))] if candidates else None


def meddlers_come(world: "World") -> None:
    """Have colleagues, banks and customers change what the providers hold, now and then."""
    rng = Dice(world.seed, "meddlers")
    for number in range(2):
        struck = world.plan.pick("world", "world", number, rng)
        low, high = MEDDLES_MS
        at_ms = world.scheduler.now_ms + low + int(rng.random() ** 4 * (high - low))
        if struck is not None:
            world.scheduler.at(at_ms, _meddling(world, struck))


def _meddling(world: "World", struck: StrEnum) -> Callable[[], None]:
    def act() -> None:
        if struck is Fault.RESTLESS:
            for run_id in world.run_ids:
                operator_comes(world, run_id)
        else:
            world.outside.meddle(struck)

    return act
