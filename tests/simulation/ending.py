"""How a run may end once faults have stopped: done, closed, or in review for a true reason."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from ledger.contract import LookUp
from ledger.effect import Effect
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from providers.contracts import CONTRACTS
from tests.simulation.outside import OTHER_EMAIL, Outside, Reason, Truth
from tests.simulation.settlements import taken_back

if TYPE_CHECKING:
    from tests.simulation.check import Check


def check_ending(check: "Check") -> None:
    """Raise Violation unless every run has come to rest, for a reason that is so."""
    for ledger in check.runs():
        state = ledger.run.state
        rests = state in (RunState.COMPLETED, RunState.CLOSED, RunState.REVIEW)
        check.require("liveness", f"the run is left {state}", holds=rests)
        if state is RunState.REVIEW:
            _check_review(check, ledger)


def outcome_of(check: "Check", ledger: RunLedger) -> str:
    """Return how a run ended, as a kind to count."""
    if ledger.run.state is not RunState.REVIEW:
        return str(ledger.run.state)
    reason = ledger.run.review_reason
    return f"review: {_kind_of(_reasons(type(check.world.outside)), reason)}"


def _kind_of(reasons: "Reasons", reason: str) -> str:
    """Return the kind of a review's reason, the reason itself when it is of none."""
    return next((kind for kind, (found, _) in reasons.items() if found.search(reason)), reason)


def _check_review(check: "Check", ledger: RunLedger) -> None:
    reason = ledger.run.review_reason
    reasons = _reasons(type(check.world.outside))
    kind = _kind_of(reasons, reason)
    check.require("liveness", f"a review for no known reason: {reason}", holds=kind in reasons)
    operation = re.split(r"[ :]", reason, maxsplit=1)[0]
    effect = ledger.newest_effect(operation)
    so = reasons[kind][1](check, ledger, effect)
    check.require("liveness", f"a review for what is not so: {reason}", holds=so)
    for found in ledger.unsettled_effects():
        can_be_read = CONTRACTS[found.provider].look_up is not LookUp.NONE
        pending = found.state is EffectState.ACCEPTED
        left = can_be_read and not pending and ledger.run.review_recovers
        check.require("liveness", f"{found.operation} was never settled", holds=not left)


def _is(*states: EffectState) -> Truth:
    return lambda check, ledger, effect: (
        ledger.run.run_id in check.looked_again or (effect is not None and effect.state in states)
    )


def _has_ended(check: "Check", ledger: RunLedger, _effect: Effect | None) -> bool:
    return ledger.run.run_id in check.ended


def _address_changed(check: "Check", _ledger: RunLedger, _effect: Effect | None) -> bool:
    outside: Outside = check.world.outside
    return outside.email == OTHER_EMAIL


def _was_removed(check: "Check", ledger: RunLedger, _effect: Effect | None) -> bool:
    return ledger.run.workflow in check.world.deploys.removed


def _was_taken_back(check: "Check", ledger: RunLedger, _effect: Effect | None) -> bool:
    """Return whether it was; what was found out since stands beside the reason, and after it."""
    since = any(
        found.compensates is not None and found.state is EffectState.CONTRADICTED
        for found in ledger.effects
    )
    looked_again = ledger.run.run_id in check.looked_again
    return (
        since
        or looked_again
        or any(taken_back(ledger, found.effect_id) for found in ledger.effects)
    )


def _ran_out(check: "Check", ledger: RunLedger, _effect: Effect | None) -> bool:
    """Return whether a yes to a counter-effect ran out before it could be used."""
    now_ms = check.world.scheduler.now_ms + check.world.max_skew_ms
    return any(
        found.compensates is not None and found.expires_at_ms <= now_ms
        for found in ledger.approvals
    )


def _always(_check: "Check", _ledger: RunLedger, _effect: Effect | None) -> bool:
    return True


COMMON: tuple[Reason, ...] = (
    ("outcome after the end", r" is \w+ after the run had ended: ", _has_ended),
    ("contradicted", r"was confirmed, and now", _is(EffectState.CONTRADICTED)),
    ("overdue unknown", r"is unknown past its deadline", _is(EffectState.UNKNOWN)),
    ("overdue pending", r"is accepted past its deadline", _is(EffectState.ACCEPTED)),
    ("refused", r": the provider refused", _is(EffectState.REJECTED)),
    ("failed at the provider", r": the provider says", _is(EffectState.REJECTED)),
    (
        "stuck",
        r" is (rejected|conflict|contradicted)$",
        _is(EffectState.REJECTED, EffectState.CONFLICT, EffectState.CONTRADICTED),
    ),
    (
        "conflict",
        r": (found with|\d+ records carry|a record that was seen|the provider knows this key"
        r"|the provider accepted a|the provider holds a second|absent, and)",
        _is(EffectState.CONFLICT, EffectState.CONTRADICTED),
    ),
    ("late record", r": a record appeared after the run was closed", _has_ended),
    ("late answer", r": an answer came after the run had ended", _has_ended),
    ("not decided in time", r"did not decide in time", _always),
    ("yes not used in time", r": the approval has expired\. Nothing was sent\.$", _ran_out),
    ("declined after part", r"declined after part of the work", _always),
    ("asked in vain", r"was asked \d+ times without a usable yes", _always),
    ("executions used up", r"\d+ executions ended without finishing", _always),
    ("attempts used up", r"\d+ attempts were made", _always),
    (
        "address changed",
        r"address is no longer",
        _address_changed,
    ),
    ("no version", r"no compatible version: [^ ]+ is not deployed$", _was_removed),
    ("no move", r"no compatible version: .* cannot be moved to", _was_removed),
    (
        "taken back",
        r"(: done, as the customer approved; the rest is not done|was done and taken back)$",
        _was_taken_back,
    ),
)
"""What any run may stop for. A scenario adds what its providers may give reason for."""

type Reasons = Mapping[str, tuple[re.Pattern[str], Truth]]


@cache
def _reasons(outside: type[Outside]) -> Reasons:
    return {
        kind: (re.compile(pattern), truth) for kind, pattern, truth in (*COMMON, *outside.reasons)
    }
