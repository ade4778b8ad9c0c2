"""Deliberate faults in the engine: each is a mistake that somebody could make, and must be seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from unittest.mock import patch

from ledger import answer
from ledger.approval import Approval
from ledger.contract import ErrorClass, FaultKind
from ledger.event import EventKind
from tests.simulation import tampered_archives as archives
from tests.simulation import tampered_feeds as feeds
from tests.simulation import tampered_moves as moves
from tests.simulation import tampered_people as people
from tests.simulation import tampered_reads as reads
from tests.simulation import tampered_writes as writes
from tests.simulation.archives import ArchiveFault
from tests.simulation.bank import BankFault
from tests.simulation.deploys import Deploy
from tests.simulation.faults import Fault
from tests.simulation.tampering import Change, classified, everywhere, without


@dataclass(frozen=True)
class Mutant:
    """One deliberate fault, the rules that may see it, and what has to go wrong for it to show.

    What has to meet for some is rare among all that may go wrong; with a focus only that does.
    """

    change: Change
    rules: frozenset[str]
    focus: frozenset[StrEnum] = frozenset()
    first: int = 1
    """Where the search begins: what shows once in a thousand schedules is looked for nearby."""


def _mutant(change: Change, rules: str, *focus: StrEnum, first: int = 1) -> Mutant:
    return Mutant(change, frozenset(rules.split()), frozenset(focus), first)


def _read_as(meant: ErrorClass, *, kind: FaultKind | None = None, status: int = 0) -> Change:
    """Return a change that gives one kind of fault, or one status and above, another meaning."""

    def change(found_kind: FaultKind, found_status: int | None, found: ErrorClass) -> ErrorClass:
        same_status = bool(status) and found_status is not None and found_status >= status
        return meant if found_kind is kind or same_status else found

    return classified(change)


MUTANTS: Mapping[str, Mutant] = {
    "skip the claim": _mutant(writes.skip_the_claim, "claim"),
    "treat a timeout as refused": _mutant(
        _read_as(ErrorClass.REFUSED, kind=FaultKind.NO_ANSWER), "unknown"
    ),
    "treat a timeout as not reached": _mutant(
        _read_as(ErrorClass.NOT_REACHED, kind=FaultKind.NO_ANSWER), "unknown"
    ),
    "treat an unreadable answer as not reached": _mutant(
        _read_as(ErrorClass.NOT_REACHED, kind=FaultKind.UNREADABLE), "unknown"
    ),
    "treat a 500 as refused": _mutant(_read_as(ErrorClass.REFUSED, status=500), "unknown"),
    "treat a key in use as refused": _mutant(_read_as(ErrorClass.REFUSED, status=409), "unknown"),
    "retry on age": _mutant(reads.retry_on_age, "absence"),
    "send a mail again on age": _mutant(reads.mail_again_on_age, "unknown"),
    "forget the epoch": _mutant(people.forget_the_epoch, "fence"),
    "match by amount": _mutant(reads.match_by_amount, "confirmed"),
    "settle without the claim": _mutant(
        writes.settle_without_the_claim, "claim fence", Fault.STALL, Fault.STALL_AFTER, Fault.KILLED
    ),
    "confirm without reading back": _mutant(writes.confirm_without_reading_back, "confirmed"),
    "ignore the approval's expiry": _mutant(
        lambda: patch.object(Approval, "expired", lambda _self, _now_ms: False), "approval"
    ),
    "ignore the digest": _mutant(people.ignore_the_digest, "approval"),
    "spend an approval twice": _mutant(writes.spend_an_approval_twice, "approval"),
    "one absence read suffices": _mutant(reads.one_absence_read_suffices, "absence"),
    "no settle window between absence reads": _mutant(reads.no_settle_window, "absence"),
    "absence read dated by its end": _mutant(
        reads.absence_read_dated_by_its_end, "absence", Fault.REQUEST_LOST, Fault.STALL_AFTER
    ),
    "absence counted at commit time": _mutant(
        reads.absence_counted_at_commit_time,
        "absence",
        Fault.REQUEST_LOST,
        Fault.DUPLICATE_INVOCATION,
        Fault.STALL,
        first=7_201,
    ),
    "absence while the claim is live": _mutant(reads.absence_while_the_claim_is_live, "absence"),
    "a partial list is complete": _mutant(
        reads.partial_list_is_complete, "absence", Fault.REQUEST_LOST, Fault.READ_PARTIAL
    ),
    "a new key on every attempt": _mutant(writes.new_key_on_every_attempt, "key"),
    "a key used past its life": _mutant(writes.key_used_past_its_life, "key"),
    "a key conflict gets a new key": _mutant(writes.key_conflict_gets_a_new_key, "key"),
    "complete before the receipt": _mutant(writes.complete_before_the_receipt, "completed"),
    "receipt before the refund": _mutant(writes.receipt_before_the_refund, "confirmed mail"),
    "call a pending refund confirmed": _mutant(reads.call_a_pending_refund_confirmed, "confirmed"),
    "believe an old checkpoint": _mutant(
        reads.believe_an_old_checkpoint,
        "claim completed readers",
        BankFault.FAILS_LATER,
        Fault.STANDSTILL,
    ),
    "sweep without a claim": _mutant(people.sweep_without_a_claim, "sweep"),
    "sweep what is not due": _mutant(people.sweep_what_is_not_due, "sweep"),
    "ignore the view version": _mutant(people.ignore_the_view_version, "operator"),
    "do what is not allowed": _mutant(people.do_what_is_not_allowed, "operator"),
    "drop an effect's event": _mutant(without(EventKind.EFFECT_ACCEPTED), "trail"),
    "drop a checkpoint's event": _mutant(without(EventKind.CHECKPOINT_REACHED), "trail"),
    "send another amount": _mutant(writes.trust_the_checked_bytes, "claim money"),
    "ignore the owner of the target": _mutant(writes.ignore_the_owner, "authority"),
    "judge by an old view": _mutant(
        reads.judge_by_an_old_view, "liveness", Fault.DUPLICATE_INVOCATION, Fault.STALL
    ),
    "begin beside another worker": _mutant(writes.begin_beside_another_worker, "claim"),
    "a refusal speaks for earlier attempts": _mutant(
        lambda: everywhere(answer, "_earlier_unknown", lambda _: lambda _effect: False),
        "unknown",
        Fault.REQUEST_LOST,
        Fault.REFUSED,
    ),
    "believe a notice without looking": _mutant(
        feeds.believe_a_notice, "confirmed", BankFault.PENDING_THEN_DONE
    ),
    "contradict without looking": _mutant(feeds.contradict_without_looking, "contradicted"),
    "take a mail event of another effect": _mutant(
        feeds.take_an_event_of_another_mail,
        "confirmed told",
        Fault.ANSWER_LOST,
        Fault.MAIL_EVENT_LATE,
        Fault.MAIL_BOUNCES,
    ),
    "a redelivered bounce takes back a person's decision": _mutant(
        feeds.let_a_bounce_count_each_time,
        "told",
        Fault.MAIL_BOUNCES,
        Fault.MAIL_EVENT_TWICE,
    ),
    "overlook a bounce": _mutant(feeds.overlook_a_bounce, "told"),
    "take an answer for a bounce": _mutant(feeds.take_an_answer_for_a_bounce, "told"),
    "hide a bug in the log": _mutant(feeds.hide_a_bug_in_the_log, "swallowed"),
    "nobody looks after a waiting run": _mutant(people.nobody_looks_after_a_waiting_run, "way"),
    "promise the customer too much": _mutant(people.promise_the_customer_too_much, "readers"),
    "tell the model too much": _mutant(people.tell_the_model_too_much, "readers"),
    "move a run without an event": _mutant(moves.without_an_event, "move", Deploy.MIGRATES),
    "move a run while a write is in doubt": _mutant(
        moves.while_in_doubt, "move", Deploy.MIGRATES, Fault.ANSWER_LOST, Fault.REQUEST_LOST
    ),
    "move a run whose version is deployed": _mutant(
        moves.away_from_what_is_deployed, "move", Fault.KILLED
    ),
    "carry a checkpoint without checking it": _mutant(
        moves.carry_unchecked, "move", Deploy.UNPROVEN
    ),
    "lose a proof in a move": _mutant(moves.lose_a_proof, "move", Deploy.MIGRATES),
    "lose an effect's record in a move": _mutant(
        moves.plan_an_effect_anew, "move", Deploy.MIGRATES
    ),
    "leave the older execution in charge": _mutant(
        moves.keep_the_execution, "move", Deploy.MIGRATES
    ),
    "keep a yes to another consequence": _mutant(
        moves.keep_a_yes_to_something_else, "approval", Deploy.OTHER_CONSEQUENCE
    ),
    "ask anew after every move": _mutant(moves.ask_anew, "approval", Deploy.MIGRATES),
    "take something back without a yes to it": _mutant(
        moves.take_back_without_a_yes,
        "approval counter InvariantBroken",
        BankFault.PENDING_THEN_FAILED,
    ),
    "take something back by an execution": _mutant(
        moves.take_back_by_itself, "counter", BankFault.PENDING_THEN_FAILED
    ),
    "go on after something was taken back": _mutant(
        moves.go_on_after_all, "counter", BankFault.PENDING_THEN_FAILED
    ),
    "call what was taken back done": _mutant(
        moves.call_it_done, "readers", BankFault.PENDING_THEN_FAILED
    ),
    "confirm an archive without its digest": _mutant(
        archives.confirm_without_the_digest, "confirmed handed", ArchiveFault.ARCHIVE_REPLACED
    ),
    "call an archive that is open to all confirmed": _mutant(
        archives.confirm_while_open,
        "confirmed",
        ArchiveFault.BUCKET_OPENED,
    ),
    "archive what is not of the project": _mutant(archives.archive_something_else, "archive"),
    "store over what is there": _mutant(
        archives.begin_under_another_key, "claim archive InvariantBroken"
    ),
    "mail a link before the archive is confirmed": _mutant(
        archives.link_too_early, "claim mail readers", Fault.READ_NO_ANSWER, Fault.READ_ERROR
    ),
    "tell another end of a link": _mutant(archives.tell_another_end, "mail"),
    "lead to the page of another run": _mutant(archives.lead_elsewhere, "mail"),
    "mail a link without asking whose the archive is": _mutant(
        archives.ask_nobody_whose_it_is, "authority"
    ),
    "hand out what was replaced": _mutant(
        archives.hand_out_whatever_is_there, "handed", ArchiveFault.ARCHIVE_REPLACED
    ),
    "hand out what has ended": _mutant(archives.hand_out_for_ever, "handed"),
    "tell a reader that a link has no end": _mutant(archives.tell_no_end, "readers"),
}
