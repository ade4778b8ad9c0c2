"""Words that are stored, or that others send: renaming one would orphan what is on record."""

from enum import StrEnum

import pytest

from ledger.approval import ApprovalState
from ledger.approve import Decision
from ledger.attempt import AttemptOutcome
from ledger.effect import ATTESTED
from ledger.event import EventKind
from ledger.offer import RecoveryAction
from ledger.provider import RecordStatus
from ledger.transitions import EffectState, RunState
from ledger.workflow import LEDGER

WORDS: dict[type[StrEnum], str] = {
    ApprovalState: "pending approved declined",
    AttemptOutcome: "running accepted refused not_reached unknown found absent",
    Decision: "approve decline",
    EffectState: ("planned attempting accepted confirmed unknown rejected conflict contradicted"),
    EventKind: (
        "run_opened run_migrated execution_assigned execution_resumed checkpoint_reached "
        "checkpoint_withdrawn approval_requested approval_wait_renewed approval_wait_ended "
        "approval_granted approval_declined approval_lapsed effect_planned effect_claimed "
        "effect_accepted effect_confirmed effect_unknown effect_rejected effect_not_reached "
        "effect_conflict effect_contradicted effect_overdue key_lapsing rechecked recheck_missed "
        "remark_noted absence_read absence_proven provider_unreadable reconcile_read "
        "reconcile_read_failed late_result_recorded operator_acted sweep_claimed review_required "
        "review_ended run_completed run_closed"
    ),
    RecordStatus: "done pending failed",
    RecoveryAction: (
        "reconcile_provider_state resume_from_checkpoint request_fresh_customer_approval "
        "mark_for_engineering_review close_without_further_action treat_as_sent send_again "
        "move_to_registered_version offer_counter_effect"
    ),
    RunState: "active awaiting_approval review completed closed",
}


@pytest.mark.parametrize(("kind", "words"), WORDS.items(), ids=[kind.__name__ for kind in WORDS])
def test_given_words_on_record_when_read_by_this_code_then_each_is_still_known(
    kind: type[StrEnum], words: str
) -> None:
    assert {found.value for found in kind} == set(words.split())


def test_given_evidence_on_record_when_read_then_whose_word_it_is_is_still_known() -> None:
    assert (ATTESTED, LEDGER) == ("attested", "ledger")
