"""After a restore, a mail that the ledger has forgotten is not sent once more by itself."""

import copy
from typing import Any

import pytest

from ledger.errors import InvariantBroken, LedgerUnavailable
from ledger.event import EventKind
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from ledger.versions import Versions
from providers.contracts import CONTRACTS
from reconciler.after_restore import ANY_MAIL, COMMAND, REASON, AfterRestore, Restored
from reconciler.drift import PAGE_SIZE_RUNS
from tests.builders import a_change, a_run
from tests.recovery.scenario import HOUR_MS
from tests.recovery.world import World as WholeWorld
from tests.unit.ledger.desk import RESUME, act
from tests.unit.ledger.sample import DEFINITION, PAYMENTS, POST, REQUEST, RUN_ID
from tests.unit.ledger.situations import SITUATIONS, refund_confirmed, refund_overdue
from tests.unit.ledger.support import World, an_approved_world
from tests.unit.ledger.versions import a_migration, renumbered
from workflows.migrations import VERSIONS

SAME = Versions({DEFINITION.version: DEFINITION})
SAMPLE = {found.provider: found for found in (PAYMENTS, POST)}
OPEN = [name for name, make in SITUATIONS.items() if make().run().is_open]
MAIL_PROVEN = {"mail_attested"}


def look(world: World, versions: Versions = SAME) -> AfterRestore:
    """Return what a person has to decide about."""
    return Restored(versions, SAMPLE).look(world.store)


def apply(world: World, versions: Versions = SAME) -> None:
    """Let them decide."""
    restored = Restored(versions, SAMPLE)
    for run in restored.look(world.store).runs:
        restored.send_to_review(world.ports, run.run_id)


def test_given_a_receipt_that_a_restored_ledger_has_forgotten_when_applied_then_none_goes_out() -> (
    None
):
    # Given a run that is completed, and a ledger from before its receipt.
    world = WholeWorld()
    world.run_until(
        lambda ledger: any(
            found.operation == "refund" and found.state is EffectState.CONFIRMED
            for found in ledger.effects
        )
    )
    store: Any = world.store
    kept = copy.deepcopy({name: kept for name, kept in vars(store).items() if name != "_lock"})
    world.run()
    assert world.ledger.run.state is RunState.COMPLETED
    vars(store).update(kept)

    # When the command is run before the workers may write again.
    restored = Restored(VERSIONS, CONTRACTS)
    (doubtful,) = restored.look(world.store).runs
    restored.send_to_review(world.outside.join(world.orchestrator), doubtful.run_id)
    world.clock.pass_ms(HOUR_MS)
    world.run()

    # Then no second receipt went out, and a person is told why the run waits.
    assert doubtful.mails == ("receipt",)
    assert len(world.ses.sent) == 1
    assert (world.ledger.run.state, world.ledger.run.review_reason) == (RunState.REVIEW, REASON)


@pytest.mark.parametrize("name", OPEN)
def test_given_any_open_run_when_applied_then_it_waits_unless_its_mail_is_proven(name: str) -> None:
    world = SITUATIONS[name]()
    before = world.ledger

    apply(world)

    if name in MAIL_PROVEN:
        assert world.ledger == before
        return
    run = world.run()
    assert run.state is RunState.REVIEW
    assert REASON in (run.review_reason, *run.review_also)
    assert not run.review_recovers
    assert world.events[-1].actor == COMMAND
    assert world.ledger.effects == before.effects


@pytest.mark.parametrize("name", sorted(set(SITUATIONS) - set(OPEN)))
def test_given_a_run_that_has_ended_when_looked_at_then_nothing_is_to_be_decided(name: str) -> None:
    world = SITUATIONS[name]()

    assert look(world) == AfterRestore(runs=(), unreadable=(), complete=True)


@pytest.mark.parametrize("name", OPEN)
def test_given_it_was_applied_when_it_is_applied_again_then_nothing_is_written(name: str) -> None:
    world = SITUATIONS[name]()
    apply(world)
    events = world.events

    apply(world)

    assert world.events == events
    assert all(found.is_told for found in look(world).runs)


def test_given_only_a_look_when_looked_then_nothing_is_written() -> None:
    world = refund_confirmed()
    before, events = world.ledger, world.events

    (found,) = look(world).runs

    assert (found.run_id, found.mails, found.is_told) == (RUN_ID, ("receipt",), False)
    assert (world.ledger, world.events) == (before, events)


def test_given_a_review_that_would_end_by_itself_when_applied_then_it_does_not() -> None:
    world = refund_overdue()
    assert world.run().review_recovers

    apply(world)
    world.reconcile()

    assert world.effect().state is EffectState.CONFIRMED
    assert (world.run().state, world.run().review_reason) == (RunState.REVIEW, REASON)


def test_given_an_operator_lets_it_go_on_when_resumed_then_the_mail_is_sent() -> None:
    world = refund_confirmed()
    apply(world)

    act(world, RESUME)

    assert world.run().state is RunState.ACTIVE


def test_given_a_run_that_was_settled_meanwhile_when_written_then_it_is_left_as_it_is() -> None:
    world = SITUATIONS["completed"]()
    events = world.events

    Restored(SAME, SAMPLE).send_to_review(world.ports, RUN_ID)

    assert world.events == events


@pytest.mark.parametrize(
    ("versions", "mails"),
    [
        (Versions(), (ANY_MAIL,)),
        (Versions({"give-back@3": renumbered()}, (a_migration(renumbered()),)), ("receipt",)),
    ],
    ids=["to none", "by a migration"],
)
def test_given_a_version_that_is_gone_when_looked_at_then_its_run_is_found_all_the_same(
    versions: Versions, mails: tuple[str, ...]
) -> None:
    (found,) = look(refund_confirmed(), versions).runs

    assert found.mails == mails


def test_given_a_mail_service_that_is_gone_when_looked_at_then_its_mails_count_as_well() -> None:
    world = refund_confirmed()

    (found,) = Restored(SAME, {"payments": PAYMENTS}).look(world.store).runs

    assert found.mails == ("receipt",)


def more_runs(world: World, count: int) -> None:
    """Put more open runs into the ledger."""
    for number in range(count):
        head = a_run(
            run_id=f"run_extra{number}", workflow=DEFINITION.version, request=REQUEST, due_at_ms=1
        )
        world.store.commit(a_change(f"commit-{number}", run=head))


def test_given_more_runs_than_a_page_when_applied_then_each_of_them_waits() -> None:
    world = an_approved_world()
    more_runs(world, PAGE_SIZE_RUNS + 7)

    apply(world)

    found = look(world)
    assert len(found.runs) == PAGE_SIZE_RUNS + 8
    assert all(run.is_told for run in found.runs)


def test_given_more_runs_than_are_read_when_looked_at_then_it_says_so() -> None:
    world = an_approved_world()
    more_runs(world, 3)

    assert not Restored(SAME, SAMPLE, max_runs=3).look(world.store).complete
    assert Restored(SAME, SAMPLE, max_runs=4).look(world.store).complete


def test_given_a_run_that_cannot_be_read_when_looked_at_then_it_is_named_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()
    more_runs(world, 1)
    load = world.store.load

    def broken(run_id: str) -> RunLedger | None:
        if run_id == RUN_ID:
            raise InvariantBroken("a record of newer code")
        return load(run_id)

    monkeypatch.setattr(world.store, "load", broken)

    found = look(world)

    assert found.unreadable == (RUN_ID,)
    assert [run.run_id for run in found.runs] == ["run_extra0"]


def test_given_a_store_that_gives_no_answer_when_applied_then_it_breaks_off_and_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = an_approved_world()
    more_runs(world, 2)
    commit = world.store.commit
    written: list[Any] = []

    def one(change: Any) -> None:
        if written:
            raise LedgerUnavailable("no answer")
        written.append(change)
        commit(change)

    monkeypatch.setattr(world.store, "commit", one)
    with pytest.raises(LedgerUnavailable):
        apply(world)
    monkeypatch.setattr(world.store, "commit", commit)

    apply(world)

    assert all(run.is_told for run in look(world).runs)
    told = [event for event in world.events if event.kind is EventKind.REVIEW_REQUIRED]
    assert len(told) == 1
