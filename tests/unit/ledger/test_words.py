"""Words that outlive the code that wrote them: in stored runs, in answers, in clients' requests.

A run that was stored under an older word could not be read again, so none of these is changed.
A new word is added here with the code that writes it.
"""

import importlib
import pkgutil
from enum import StrEnum

import pytest

import ledger
from ledger.approval import ApprovalState
from ledger.approve import Decision
from ledger.attempt import AttemptOutcome
from ledger.contract import FaultKind
from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.provider import RecordStatus
from ledger.transitions import EffectState, RunState

KEPT_WORDS: dict[type[StrEnum], str] = {
    RunState: "active awaiting_approval review completed closed",
    EffectState: "planned attempting accepted confirmed unknown rejected conflict contradicted",
    AttemptOutcome: "running accepted refused not_reached unknown found absent",
    ApprovalState: "pending approved declined",
    RecordStatus: "done pending failed",
    FaultKind: "never_sent no_answer answered unreadable",
    EventKind: """
        run_opened execution_assigned execution_resumed checkpoint_reached
        approval_requested approval_wait_renewed approval_wait_ended
        approval_granted approval_declined approval_lapsed
        effect_planned effect_claimed effect_accepted effect_confirmed effect_unknown
        effect_rejected effect_not_reached effect_conflict effect_contradicted effect_overdue
        key_lapsing rechecked recheck_missed remark_noted absence_read absence_proven
        provider_unreadable reconcile_read reconcile_read_failed late_result_recorded
        operator_acted sweep_claimed review_required review_ended run_completed run_closed
        run_migrated checkpoint_withdrawn
    """,
    Decision: "approve decline",
    RecoveryAction: """
        reconcile_provider_state resume_from_checkpoint request_fresh_customer_approval
        mark_for_engineering_review close_without_further_action treat_as_sent send_again
        move_to_registered_version offer_counter_effect
    """,
}


def every_enumeration() -> list[type[StrEnum]]:
    """Return the enumerations of the domain."""
    modules = [
        importlib.import_module(f"ledger.{found.name}")
        for found in pkgutil.iter_modules(ledger.__path__)
    ]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, StrEnum)
        and value.__module__ == module.__name__
    ]


@pytest.mark.parametrize("words", KEPT_WORDS, ids=lambda words: words.__name__)
def test_given_stored_runs_and_known_clients_when_words_are_compared_then_none_has_changed(
    words: type[StrEnum],
) -> None:
    assert set(KEPT_WORDS[words].split()) <= set(words)


@pytest.mark.parametrize("words", every_enumeration(), ids=lambda words: words.__name__)
def test_given_a_word_in_a_log_or_a_metric_when_searched_in_the_code_then_it_is_its_name(
    words: type[StrEnum],
) -> None:
    if words is not RecoveryAction:  # named by consequence, and kept above
        assert [word.value for word in words] == [word.name.lower() for word in words]
