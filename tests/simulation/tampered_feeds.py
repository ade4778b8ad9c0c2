"""Deliberate faults in what is made of notices, of mail events, and of bugs that a log hides."""

from contextlib import AbstractContextManager
from typing import Any, NoReturn
from unittest.mock import patch

from events import mail_event
from ledger import notice, settle, sweep
from ledger.draft import Draft
from ledger.provider import ProviderRecord, RecordStatus
from ledger.transitions import EffectState
from ledger.update import load, update
from tests.simulation.tampering import everywhere


def believe_a_notice() -> AbstractContextManager[object]:
    """Take a notice about an accepted write for the read that would confirm it."""

    def wrap(original: Any) -> Any:
        def look_again(ports: Any, run_id: str, effect_id: str, actor: Any) -> Any:
            def decide(draft: Draft) -> None:
                effect = draft.ledger.effect(effect_id)
                if effect is None or effect.state is not EffectState.ACCEPTED:
                    return
                assert effect.evidence is not None
                record = ProviderRecord(
                    record_id=effect.evidence.record_id,
                    status=RecordStatus.DONE,
                    provider_status="notified",
                    mark=effect_id,
                    fields=effect.evidence.fields,
                )
                settle.settle_confirmed(draft, effect, record, "a notice came")

            if ports.store.load(run_id) is not None:
                update(ports, run_id, actor, decide)
            return original(ports, run_id, effect_id, actor)

        return look_again

    return everywhere(notice, "look_again", wrap)


def contradict_without_looking() -> AbstractContextManager[object]:
    """Take a notice about a confirmed write for the word that it failed."""

    def recheck(ports: Any, run_id: str, effect: Any, actor: Any) -> bool:
        record = ProviderRecord(
            record_id=effect.evidence.record_id,
            status=RecordStatus.FAILED,
            provider_status="notified",
            mark=effect.effect_id,
            fields=effect.evidence.fields,
        )

        def decide(draft: Draft) -> None:
            if draft.ledger.effect(effect.effect_id) == effect:
                notice._take_back(draft, effect.effect_id, record, "a notice came")

        update(ports, run_id, actor, decide)
        return False

    return patch.object(notice, "recheck_confirmed", recheck)


def take_an_event_of_another_mail() -> AbstractContextManager[object]:
    """Take an event for one about the newest mail of the run, whatever its tag says."""

    def wrap(original: Any) -> Any:
        def tell(ports: Any, run_id: str, _effect_id: str, record: Any, actor: Any) -> Any:
            newest = load(ports, run_id).newest_effect("receipt")
            assert newest is not None
            about = record.model_copy(update={"mark": newest.effect_id})
            return original(ports, run_id, newest.effect_id, about, actor)

        return tell

    return everywhere(notice, "tell", wrap)


def let_a_bounce_count_each_time() -> AbstractContextManager[object]:
    """Let a bounce that is delivered again take back what a person has decided about it."""

    def wrap(original: Any) -> Any:
        def tell(ports: Any, run_id: str, effect_id: str, record: Any, actor: Any) -> Any:
            def decide(draft: Draft) -> None:
                if record.status is RecordStatus.FAILED:
                    accepted = record.model_copy(update={"status": RecordStatus.DONE})
                    notice._take_back(draft, effect_id, accepted, "it came back")

            told = original(ports, run_id, effect_id, record, actor)
            update(ports, run_id, actor, decide)
            return told

        return tell

    return everywhere(notice, "tell", wrap)


def overlook_a_bounce() -> AbstractContextManager[object]:
    """Remember that a mail came back, and leave it at that."""
    return everywhere(notice, "_take_back", lambda _: lambda *_told: None)


def take_an_answer_for_a_bounce() -> AbstractContextManager[object]:
    """Take what an out-of-office answer comes as for a mail that came back."""
    return patch.object(mail_event, "_MAY_BE_AN_ANSWER", ("Transient", "None of these"))


def hide_a_bug_in_the_log() -> AbstractContextManager[object]:
    """Let the sweep of a run that stands still fail, which the sweeper logs and goes on from."""

    def replace(*_run: object) -> NoReturn:
        raise KeyError("execution")

    return everywhere(sweep, "_replace", lambda _: replace)
