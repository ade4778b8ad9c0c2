"""What must hold after every step, judged by what the providers really did and were really asked.

The ledger's own word is never taken for the outside: claims are matched with the requests that
arrived, confirmations with reads that were made, refusals with what a provider said.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from ledger.effect import Effect
from ledger.event import Event, EventKind
from ledger.run import RunLedger
from ledger.store import Change
from ledger.transitions import RunState
from ledger.workflow import WorkflowDefinition
from tests.simulation import decisions, moves, settlements, trail
from tests.simulation.ending import check_ending
from tests.simulation.outside import Mail
from tests.simulation.readers import Situation, check_readers
from tests.simulation.told import Told

if TYPE_CHECKING:
    from tests.simulation.process import Process
    from tests.simulation.world import World


class Violation(BaseException):
    """An invariant does not hold. No handler of the engine may swallow it."""

    def __init__(self, rule: str, text: str) -> None:
        """Name the rule and say what breaks it."""
        super().__init__(f"{rule}: {text}")
        self.rule = rule


@dataclass(frozen=True)
class Read:
    """A complete read of a provider: when it began and was answered, which marks it showed."""

    began_ms: int
    answered_ms: int
    marks: frozenset[str]


class Check:
    """Watches one world."""

    def __init__(self, world: "World") -> None:
        """Start with nothing seen."""
        self.world = world
        self.trails: dict[str, trail.Trail] = defaultdict(trail.Trail)
        self.situations: dict[str, Situation] = defaultdict(Situation)
        self.claimed: dict[str, Effect] = {}
        """Effect id to the effect as its newest claim left it."""

        self.lease_ends_ms: dict[str, int] = {}
        """Effect id to the true time at which its newest claim lapses."""

        self.reads: dict[str, list[Read]] = defaultdict(list)
        """Provider to its complete reads."""

        self.sends_wanted: Counter[str] = Counter()
        """Run to how often an operator wanted its mail to be sent once more."""

        self.told = Told(self)
        self.attested: set[str] = set()
        """Effects that are confirmed by a person's word alone."""

        self.ended: set[str] = set()
        """Runs that were closed or completed once, whatever brought them back since."""

        self.asked: dict[str, WorkflowDefinition] = {}
        """Approval to the definition of the version that asked for it."""

        self.counters_offered: set[str] = set()
        """Effects that an operator has offered to take back."""

        self.moved: set[str] = set()
        """Runs that go on as another version than the one they were opened on."""

        self.looked_again: set[str] = set()
        """Runs that an operator had looked up again: what a review was for may be past."""

    def fail(self, rule: str, text: str) -> NoReturn:
        """Raise Violation."""
        raise Violation(rule, text)

    def require(self, rule: str, text: str, *, holds: object) -> None:
        """Raise Violation unless it holds."""
        if not holds:
            self.fail(rule, text)

    def runs(self) -> list[RunLedger]:
        """Return every run as it stands."""
        found = [self.world.store.load(run_id) for run_id in self.world.run_ids]
        return [ledger for ledger in found if ledger is not None]

    # Hooks of the ledger.

    def committed(
        self, process: "Process", before: RunLedger | None, after: RunLedger, change: Change
    ) -> None:
        """Check a change that was just written."""
        known = self.trails[after.run.run_id]
        trail.check_change(self, known, process, before, after, change)
        if before is not None:
            moves.check_move(self, process, before, after, change)
        for event in change.events:
            self._event(process, before, after, event, change)
        check_open_run(self, after)
        check_readers(self, after, change)

    def _event(
        self,
        process: "Process",
        before: RunLedger | None,
        after: RunLedger,
        event: Event,
        change: Change,
    ) -> None:
        match event.kind:
            case EventKind.EFFECT_CLAIMED if before is not None:
                settlements.check_claim(self, process, before, after, event)
            case EventKind.SWEEP_CLAIMED if before is not None:
                due_ms = before.run.due_at_ms
                due = due_ms is not None and due_ms <= event.at_ms
                self.require("sweep", "a run was swept that is not due", holds=due)
                process.swept.add(after.run.run_id)
            case EventKind.OPERATOR_ACTED if before is not None:
                decisions.check_operator(self, process, before, event)
            case EventKind.APPROVAL_GRANTED | EventKind.APPROVAL_DECLINED if before is not None:
                decisions.check_decision(self, process, before, after, event)
            case EventKind.RUN_MIGRATED if before is not None:
                moved = before.run.workflow != after.run.workflow
                self.require("move", "told of a run that stays", holds=moved)
            case EventKind.APPROVAL_REQUESTED if before is not None:
                decisions.check_request(self, before, after, event)
            case EventKind.RUN_CLOSED:
                self.ended.add(after.run.run_id)
            case EventKind.RUN_COMPLETED:
                self.ended.add(after.run.run_id)
                settlements.check_completed(self, after)
            case _ if any(found.effect_id == event.subject for found in change.effects):
                settlements.check_settled(self, process, before, after, event, change)

    # Hooks of the outside.

    def external_call(self, process: "Process", run_id: str, what: str) -> None:
        """Check that a sweeper acts on the outside only for a run it has claimed."""
        if process.kind == "sweeper":
            claimed = run_id in process.swept
            self.require("sweep", f"{what} for a run that was not claimed", holds=claimed)

    def was_read(self, provider: str, began_ms: int) -> None:
        """Keep in mind that a provider was read completely, and what it showed."""
        marks = self.world.outside.marks(provider)
        self.reads[provider].append(Read(began_ms, self.world.scheduler.now_ms, marks))

    def write_begins(
        self,
        process: "Process",
        site: str,
        mark: str,
        sent: Mapping[str, object],
        key: str | None = None,
    ) -> None:
        """Check that a request is what this very process has claimed.

        ``sent`` is in the terms of the frozen request; ``key`` is None where none is sent.
        """
        for owner in (site, *self.world.outside.owners.get(site, ())):
            asked = owner in process.has_read
            self.require("authority", f"{process.name} has not asked the owner", holds=asked)
        attempt_id = process.claims.get(mark)
        self.require("claim", f"{process.name} writes without a claim", holds=attempt_id)
        effect = process.claimed[mark]
        own = key is None or key == effect.idempotency_key
        self.require("claim", "a key that was not claimed", holds=own)
        wanted = json.loads(effect.request.body)
        self.require("claim", "bytes that were not frozen", holds=wanted == dict(sent))

    def mail_accepted(self, mail: Mail) -> None:
        """Check a mail that was just accepted."""
        ledger, effect = self.effect(mail.mark)
        of_its_kind = [found for found in ledger.effects if found.operation == effect.operation]
        marks = {found.effect_id for found in of_its_kind}
        outside = self.world.outside
        mails = [found for found in outside.mails if found.mark in marks]
        # One for each thing that was proven, and one more each time a person wants it.
        told = {tuple(sorted(found.bound.items())) for found in of_its_kind}
        allowed = len(told) + self.sends_wanted[ledger.run.run_id]
        self.require("mail", f"{len(mails)} mails", holds=len(mails) <= allowed)
        same = sum(found.mark == mail.mark for found in mails)
        self.require("mail", f"{same} mails of one effect", holds=same == 1)
        outside.check_mail(self, ledger, effect, mail)

    def effect(self, effect_id: str) -> tuple[RunLedger, Effect]:
        """Return the effect with its run. Raises Violation when there is none."""
        found = next((run for run in self.runs() if run.effect(effect_id) is not None), None)
        if found is None:
            self.fail("claim", "a write with the mark of no effect")
        return found, found.require_effect(effect_id)

    def at_the_end(self) -> None:
        """Check that everything has come to a truthful end."""
        check_ending(self)


def check_open_run(check: Check, ledger: RunLedger) -> None:
    """An open run is looked after at a known time; a review says why, and nothing else does."""
    run = ledger.run
    owed = run.is_open or any(found.recheck_at_ms() is not None for found in ledger.effects)
    if (run.due_at_ms is not None) != owed:
        check.fail("way", "no due time")
    if run.state is RunState.REVIEW and not run.review_reason:
        check.fail("way", "a review without a reason")
