"""Read again what was concluded before: a proof is only as fresh as the read that it rests on."""

from ledger.compare import Judgement, Verdict, judge
from ledger.contract import LookUp
from ledger.draft import Draft
from ledger.effect import Effect
from ledger.errors import EffectUnknown, ProviderUnavailable, ReviewRequired
from ledger.event import Actor, EventKind
from ledger.ports import Ports
from ledger.provider import ProviderCall, ProviderFault
from ledger.run import RunLedger
from ledger.settle import evidence_of, reopen_unknown
from ledger.transitions import EffectState
from ledger.update import update
from ledger.workflow import Operation


def check_still_absent(ports: Ports, run_id: str, effect: Effect, actor: Actor) -> None:
    """Return when an effect that is to be tried again still has no record.

    The absence that allowed the replay was proven by reads that may be hours old; by now the
    provider may have forgotten the key, and the first write may have landed.

    Raises:
        EffectUnknown: a record shows after all; the effect is unknown again.
        ProviderUnavailable: it could not be read; nothing was sent.
    """
    if not any(found.was_ever_unknown for found in effect.attempts):
        return
    judgement = _read(ports, run_id, effect)
    if judgement is None or judgement.verdict is Verdict.ABSENT:
        return

    def decide(draft: Draft) -> None:
        if draft.ledger.effect(effect.effect_id) == effect:
            reopen_unknown(draft, effect, f"its absence was proven, and now: {judgement.reason}")

    update(ports, run_id, actor, decide)
    raise EffectUnknown(f"{effect.operation} may exist after all; read first.")


def check_evidence_holds(
    ports: Ports, operation: Operation, ledger: RunLedger, actor: Actor
) -> None:
    """Return when every record that ``operation`` quotes is still what it was.

    Raises ReviewRequired when one is not, ProviderUnavailable when one could not be read.
    """
    quoted = {checkpoint for _, checkpoint, _ in operation.evidence_fields}
    for effect in ledger.effects:
        if effect.checkpoint in quoted and effect.state is EffectState.CONFIRMED:
            recheck_confirmed(ports, ledger.run.run_id, effect, actor)


def recheck_confirmed(ports: Ports, run_id: str, effect: Effect, actor: Actor) -> None:
    """Return when the owner still shows the record of a confirmed effect as it was proven.

    Raises:
        ReviewRequired: it does not; the effect is contradicted and the run in review.
        ProviderUnavailable: it could not be read.
    """
    judgement = _read(ports, run_id, effect)
    if judgement is None or judgement.verdict in (Verdict.MATCH, Verdict.INCOMPLETE):
        return

    def decide(draft: Draft) -> None:
        if draft.ledger.effect(effect.effect_id) != effect:
            return
        draft.move_effect(
            effect,
            EffectState.CONTRADICTED,
            EventKind.EFFECT_CONTRADICTED,
            judgement.reason,
            candidates=tuple(
                evidence_of(effect, found, draft.now_ms)
                for found in judgement.candidates or filter(None, (judgement.record,))
            ),
        )
        draft.send_to_review(f"{effect.operation} was confirmed, and now: {judgement.reason}")

    update(ports, run_id, actor, decide)
    raise ReviewRequired(f"{effect.operation} is no longer as it was confirmed.")


def _read(ports: Ports, run_id: str, effect: Effect) -> Judgement | None:
    """Return what the provider shows now, None when it cannot be asked."""
    provider = ports.providers[effect.provider]
    if provider.contract.look_up is LookUp.NONE:
        return None
    call = ProviderCall(
        run_id=run_id,
        effect_id=effect.effect_id,
        idempotency_key=effect.idempotency_key,
        bound=effect.bound,
        params=effect.request.stored_params(),
    )
    try:
        return judge(effect, provider.look_up(call))
    except ProviderFault as fault:
        raise ProviderUnavailable(
            f"{effect.provider} could not be read again ({fault}); nothing was sent."
        ) from fault
