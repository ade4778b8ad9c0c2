"""What holds after every run, whatever happened on the way.

Each check reads the world only, so that any driver may call it: exhaustive crashes, named
scenarios, a simulation with several workers.
"""

import json
from collections.abc import Iterator
from urllib.parse import parse_qsl

from ledger.errors import InvariantBroken, LedgerError
from ledger.event import Event
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from tests.recovery.customer import CALLER_KEY, Customer
from tests.recovery.ledger_checks import check_ledger
from tests.recovery.outside import CUSTOMER_EMAIL, CUSTOMER_NAME
from tests.recovery.world import World, cannot_be_looked_up
from workflows.registry import definition_for

# Parts too, since a text may be cut or joined anew.
PERSONAL_MARKERS = (CUSTOMER_EMAIL, CUSTOMER_NAME, CALLER_KEY, "zebra", "lovelace")
# More runs than any world has.
MANY = 100


def check_invariants(world: World, only_closing_because: str = "") -> None:
    """Raise AssertionError unless everything that must always hold does, for every run.

    ``only_closing_because`` is for a case whose right outcome is that a person closes the run.
    """
    for ledger in world.runs():
        world.scenario.check(world, ledger)
        check_run(world, ledger, only_closing_because)
    check_errors(world)
    for customer in world.customers:
        check_status_was_true(customer, world.ledger_of(customer))


def check_run(world: World, ledger: RunLedger, only_closing_because: str = "") -> None:
    """Raise AssertionError unless all that must hold of a run of any workflow does."""
    events = world.events_of(ledger)
    check_keys(world, ledger)
    check_ledger(ledger, events, world.clock.now_ms(), PERSONAL_MARKERS, only_closing_because)
    check_is_found(world, ledger)
    check_rejections(world, ledger, events)
    check_nothing_personal(world)


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


def check_rejections(world: World, ledger: RunLedger, events: tuple[Event, ...]) -> None:
    """An effect is called refused on the provider's own word: neither age nor silence is one."""
    failed = {
        made.metadata.get("effect_id")
        for made in world.stripe.world.refunds
        if made.status(world.clock.now_ms()) in ("failed", "canceled")
    }
    for effect in ledger.effects:
        if any(e.subject == effect.effect_id and e.state == EffectState.REJECTED for e in events):
            spoken = (
                effect.idempotency_key in world.outside.refused_keys or effect.effect_id in failed
            )
            assert spoken, f"{effect.operation} is called refused, and nobody refused it"


def check_nothing_personal(world: World) -> None:
    """No name, no address, no caller's own key in anything that leaves a process.

    What a run's records and its trail hold is checked with them.
    """
    for where, text in texts_of(world):
        lowered = text.lower()
        for marker in PERSONAL_MARKERS:
            assert marker.lower() not in lowered, f"{marker!r} is in {where}"


def texts_of(world: World) -> Iterator[tuple[str, str]]:
    """Yield every text that left a process of the world, and where it went."""
    for name, execution in world.orchestrator.executions.items():
        yield "an execution's data", f"{name} {json.dumps(execution.carried)}"
    for post in world.stripe.posts():
        yield "an idempotency key", str(post.key)
        yield "a request to the provider", json.dumps(parse_qsl(post.body.decode()))
    for mail in world.ses.sent:
        yield "a mail's tags", json.dumps(dict(mail.tags))
    for error in world.processes.raised:
        yield "an error", f"{type(error).__name__} {error}"
    for body in world.queued:
        yield "a message of the queue", body
    for dead in world.queue.dead:
        yield "a dead letter", dead.body
    yield "the metrics", world.processes.metrics.getvalue()
    yield "the log", world.processes.log.getvalue()


def check_is_found(world: World, ledger: RunLedger) -> None:
    """A run that is due is found by the sweeper, and one in review by its tenant's operators."""
    run, store = ledger.run, world.store
    if run.due_at_ms is not None:
        shards = (store.due(name, run.due_at_ms, MANY, None) for name in store.due_shards)
        assert any(run.run_id in page.run_ids for page in shards), "no sweeper finds the run"
    waiting = {place.run_id for place in store.in_review(run.tenant_id, MANY, None).places}
    assert (run.run_id in waiting) == (run.state is RunState.REVIEW), "the list of reviews lies"


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
