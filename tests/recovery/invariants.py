"""What holds after every run, whatever happened on the way.

Each check reads the world only, so that any driver may call it: exhaustive crashes, named
scenarios, a simulation with several workers.
"""

import json
from collections.abc import Iterator
from urllib.parse import parse_qsl

from ledger.errors import InvariantBroken, LedgerError
from ledger.event import Event, EventKind
from ledger.resume import next_state
from ledger.run import RunLedger
from ledger.transitions import (
    EFFECT_TRANSITIONS,
    OPEN_RUN_STATES,
    RUN_TRANSITIONS,
    EffectState,
    RunState,
)
from tests.recovery.customer import CALLER_KEY, Customer
from tests.recovery.outside import CUSTOMER_EMAIL, CUSTOMER_NAME
from tests.recovery.world import World, cannot_be_looked_up
from workflows.registry import definition_for

# Parts too, since a text may be cut or joined anew.
PERSONAL_MARKERS = (CUSTOMER_EMAIL, CUSTOMER_NAME, CALLER_KEY, "zebra", "lovelace")
RESUME_POINTS = frozenset({"Reconcile", "Review", "Done"})

BEGINNINGS = frozenset(
    {
        EventKind.APPROVAL_REQUESTED,
        EventKind.APPROVAL_WAIT_RENEWED,
        EventKind.EFFECT_CLAIMED,
        EventKind.EFFECT_PLANNED,
        EventKind.EXECUTION_RESUMED,
        EventKind.RUN_COMPLETED,
    }
)


def check_invariants(world: World) -> None:
    """Raise AssertionError unless everything that must always hold does, for every run."""
    for ledger in world.runs():
        events = world.events_of(ledger)
        world.scenario.check(world, ledger)
        check_keys(world, ledger)
        check_events(ledger, events)
        check_fenced(ledger, events)
        check_rejections(world, ledger, events)
        check_nothing_personal(world, ledger, events)
        check_has_a_way_on(ledger)
    check_errors(world)
    for customer in world.customers:
        check_status_was_true(customer, world.ledger_of(customer))


def check_keys(world: World, ledger: RunLedger) -> None:
    """Every write of an effect carries the same bytes, and one key for each generation."""
    for effect in ledger.effects:
        writes = [
            (post.key, post.body)
            for post in world.stripe.posts()
            if ("metadata[effect_id]", effect.effect_id) in parse_qsl(post.body.decode())
        ]
        assert len({body for _, body in writes}) <= 1, f"{effect.operation} changed its bytes"
        assert len({key for key, _ in writes}) <= effect.generation, f"{effect.operation}: keys"


def check_events(ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """Replay the trail: gapless, each state following from the one before, ending where we are."""
    numbers = [event.sequence for event in events]
    assert numbers == list(range(1, ledger.run.sequence + 1)), f"gaps in {numbers}"
    states: dict[str, str] = {}
    version = events[0].workflow
    known = {ledger.run.run_id} | {effect.effect_id for effect in ledger.effects}
    for event in events:
        assert event.actor.kind, f"{event} names no actor"
        assert event.reason, f"{event} gives no reason"
        if event.kind is EventKind.RUN_MIGRATED:
            assert event.prior_state == version, f"{event} does not follow from {version}"
            version = event.state
        assert event.workflow == version, f"{event} is of another version than {version}"
        if event.subject in known and event.state:
            _check_move(event, states.get(event.subject, ""), is_run=event.run_id == event.subject)
            states[event.subject] = event.state
    assert version == ledger.run.workflow, "the run went over to another version without an event"
    assert states.pop(ledger.run.run_id) == ledger.run.state, "the run moved without an event"
    assert states == {effect.effect_id: effect.state.value for effect in ledger.effects}
    reached = {e.subject: e.at_ms for e in events if e.kind is EventKind.CHECKPOINT_REACHED}
    assert reached == {found.name: found.reached_at_ms for found in ledger.checkpoints}


def check_fenced(ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """An execution that was replaced begins nothing more. What it learns late is still kept."""
    for event in events:
        if event.actor.kind == "execution" and event.kind in BEGINNINGS:
            owner = f"{ledger.run.run_id}-e{event.epoch}"
            assert event.actor.actor_id == owner, f"{event} was written by a replaced execution"


def _check_move(event: Event, before: str, *, is_run: bool) -> None:
    assert event.prior_state == before, f"{event} does not follow from {before!r}"
    if not before:
        assert event.state == (RunState.ACTIVE if is_run else EffectState.PLANNED)
    elif event.state != before and is_run:
        assert event.state in RUN_TRANSITIONS[RunState(before)], event
    elif event.state != before:
        assert event.state in EFFECT_TRANSITIONS[EffectState(before)], event


def check_rejections(world: World, ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """An effect is called refused on the provider's own word: neither age nor silence is one.

    A refusal speaks for its own attempt only, so it does not end an unknown that came before.
    """
    failed = {
        made.metadata.get("effect_id")
        for made in world.stripe.world.refunds
        if made.status(world.clock.now_ms()) in ("failed", "canceled")
    }
    for effect in ledger.effects:
        history = [event.state for event in events if event.subject == effect.effect_id]
        for number, state in enumerate(history):
            if state != EffectState.REJECTED:
                continue
            spoken = (
                effect.idempotency_key in world.outside.refused_keys or effect.effect_id in failed
            )
            assert spoken, f"{effect.operation} is called refused, and nobody refused it"
            unknown_at = max(_positions(history[:number], EffectState.UNKNOWN), default=-1)
            accepted_at = max(_positions(history[:number], EffectState.ACCEPTED), default=-1)
            assert accepted_at >= unknown_at, f"{effect.operation}: unknown became refused"


def _positions(history: list[str], state: EffectState) -> list[int]:
    return [number for number, found in enumerate(history) if found == state]


def check_nothing_personal(world: World, ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """No name, no address, no caller's own key anywhere but in the one erasable record."""
    for where, text in _texts(world, ledger, events):
        lowered = text.lower()
        for marker in PERSONAL_MARKERS:
            assert marker.lower() not in lowered, f"{marker!r} is in {where}"
    for effect in ledger.effects:
        assert len(effect.idempotency_key) < 255
        assert str(ledger.run.customer_id) not in effect.idempotency_key


def _texts(world: World, ledger: RunLedger, events: tuple[Event, ...]) -> Iterator[tuple[str, str]]:
    yield "the ledger", repr(ledger)
    for event in events:
        yield f"event {event.sequence}", event.model_dump_json()
    for name, execution in world.orchestrator.executions.items():
        yield "an execution's data", f"{name} {json.dumps(execution.carried)}"
    for post in world.stripe.posts():
        yield "an idempotency key", str(post.key)
        yield "a request to the provider", json.dumps(parse_qsl(post.body.decode()))
    for mail in world.ses.sent:
        yield "a mail's tags", json.dumps(dict(mail.tags))
    for error in world.processes.raised:
        yield "an error", f"{type(error).__name__} {error}"
    yield "the log", world.processes.log.getvalue()


def check_has_a_way_on(ledger: RunLedger) -> None:
    """An open run is looked after at a known time and has a next step.

    One that has ended rests, or is looked after once more while an owner may take its word back.
    """
    run = ledger.run
    owed = any(effect.recheck_at_ms() is not None for effect in ledger.effects)
    assert (run.due_at_ms is not None) == (run.state in OPEN_RUN_STATES or owed), run
    definition = definition_for(ledger)
    states = RESUME_POINTS | {stage.state_name for stage in definition.stages}
    assert next_state(definition, ledger) in states
    for effect in ledger.effects:
        assert EFFECT_TRANSITIONS[effect.state], f"{effect.effect_id} can go nowhere"
    assert RUN_TRANSITIONS[run.state], f"{run.run_id} can go nowhere"
    if run.state is RunState.REVIEW:
        assert run.review_reason, "a review without a reason"
    else:
        assert not run.review_reason, "a reason without a review"


def check_errors(world: World) -> None:
    """Only errors of our own tree leave a process, and none that says "this is a bug"."""
    for error in world.processes.raised:
        assert isinstance(error, LedgerError), f"{type(error).__name__}: {error}"
        assert not isinstance(error, InvariantBroken), f"InvariantBroken: {error}"
    assert not world.queue.given_back, "a worker met a bug: see the log"


def check_status_was_true(customer: Customer, ledger: RunLedger) -> None:
    """The customer never saw "completed" before it was, nor a step back from it."""
    words = [status["status"] for status in customer.statuses]
    if RunState.COMPLETED in words:
        assert ledger.run.state is RunState.COMPLETED
        assert words.index(RunState.COMPLETED) == len(words) - 1
    definition = definition_for(ledger)
    taken_back = {found.operation for found in ledger.undone_effects()}
    for status in customer.statuses:
        for effect in status["effects"]:
            checkpoint = definition.operation(effect["operation"]).checkpoint
            was_true = ledger.proven(checkpoint) or effect["operation"] in taken_back
            assert not effect["record_id"] or was_true, effect


def check_outcome(world: World) -> None:
    """Every run is completed, unless a mail may or may not have gone: then a person is told so.

    A lost answer about a mail cannot be looked up, so a fault that hit while a mail's claim was
    open leaves that one question, and nothing else, to a person.
    """
    for ledger in world.runs():
        if ledger.run.state is not RunState.COMPLETED:
            assert world.mail_in_doubt, f"not completed, without need: {ledger.run}"
            _check_only_mail_is_open(ledger)


def _check_only_mail_is_open(ledger: RunLedger) -> None:
    (mail,) = (effect for effect in ledger.effects if effect.state is not EffectState.CONFIRMED)
    assert cannot_be_looked_up(mail), mail
    assert mail.state is EffectState.UNKNOWN
    assert ledger.run.state is RunState.REVIEW
    assert ledger.run.review_recovers, "news of the mail must end the review"
    assert ledger.run.review_reason.startswith(f"{mail.operation} is unknown past its deadline")
