"""Text that wants to be more than text, and a ledger that holds it wherever text can be."""

from dataclasses import replace
from typing import Any

from ledger.approval import Approval, ApprovalState
from ledger.event import Actor, EventKind
from ledger.idempotency import approval_id_for, run_id_for
from ledger.run import PersonalFields, Run
from ledger.store import LedgerStore
from ledger.transitions import EffectState, RunState
from tests.builders import (
    a_change,
    a_checkpoint,
    a_run,
    an_approval,
    an_attempt,
    an_effect,
    an_event,
    evidence,
)

OVERRIDE = "\u202e"
# What each shows on a page: the same, but for the character that nobody would see.
OVERRIDE_SHOWN = "U+202E"
PAYLOADS = {
    "image": "<img src=x onerror=\"canary('image')\">",
    "script": "</script><script>canary('script')</script>",
    "svg": "\"><svg onload=canary('svg')>",
    "textarea": "</textarea><iframe srcdoc=\"<script>parent.canary('frame')</script>\">",
    "address": "javascript:canary('address')//https://dashboard.stripe.com/refunds/re_1",
    "template": "${canary('template')} {{constructor.constructor('canary(1)')()}} <%= canary(1) %>",
    "override": f"re_1{OVERRIDE}gnp.dnufer\u2066\u200b\u0000 not paid",
}


def as_shown(payload: str) -> str:
    """Return the payload as a page shows it."""
    return "".join(
        character if character.isprintable() else f"U+{ord(character):04X}" for character in payload
    )


def hostile_review(store: LedgerStore, tenant_id: str, now_ms: int, text: str) -> str:
    """Write a run in review that holds ``text`` wherever the ledger keeps text; return its id.

    Nothing is due, so nobody looks after it by machine.
    """
    run_id = run_id_for(tenant_id, "hostile", "review")
    run = a_run(
        **_run(run_id, tenant_id, now_ms, text),
        state=RunState.REVIEW,
        review_reason=text,
        review_since_ms=now_ms,
    )
    found = evidence(
        source=text, record_id=text, provider_status=text, fields={"customer_id": text, text: text}
    )
    effects = tuple(
        an_effect(
            effect_id=f"eff_{text}_{operation}",
            operation=operation,
            provider=provider,
            state=state,
            bound={"charge_id": text, "currency": text, "amount_minor": 7900, text: text},
            idempotency_key=text,
            approval_id=None,
            attempts=(an_attempt(attempt_id=text, fault=text),),
            evidence=found,
            candidates=(found,),
            remarks=(text,),
            overdue=True,
            unsettled_since_ms=now_ms,
        )
        for operation, provider, state in (
            ("cancel_renewal", "stripe_billing", EffectState.CONFIRMED),
            ("refund", "stripe_refunds", EffectState.CONFLICT),
            ("receipt", "ses_mail", EffectState.UNKNOWN),
        )
    )
    approval = _approval(run_id, now_ms, text)
    decided = approval.model_copy(update={"state": ApprovalState.APPROVED, "decided_by": text})
    checkpoint = a_checkpoint(name="account_confirmed", evidence=found, effect_id=None)
    _commit(
        store, run, now_ms, text, effects=effects, approvals=(decided,), checkpoints=(checkpoint,)
    )
    return run_id


def hostile_question(
    store: LedgerStore, tenant_id: str, customer_id: str, now_ms: int, text: str
) -> tuple[str, str]:
    """Write a run that asks its customer for a yes to ``text``; return its id and the request's."""
    run_id = run_id_for(tenant_id, "hostile", "question")
    fields = _run(run_id, tenant_id, now_ms, text) | {"customer_id": customer_id}
    approval = _approval(run_id, now_ms, text)
    run = a_run(**fields, state=RunState.AWAITING_APPROVAL)
    _commit(store, run, now_ms, text, approvals=(approval,))
    return run_id, approval.approval_id


def _run(run_id: str, tenant_id: str, now_ms: int, text: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "tenant_id": tenant_id,
        "customer_id": text,
        "request": {
            "customer_id": text,
            "subscription_id": text,
            "charge_id": text,
            "amount_minor": 7900,
            "currency": text,
        },
        "opened_at_ms": now_ms,
        "due_at_ms": None,
    }


def _approval(run_id: str, now_ms: int, text: str) -> Approval:
    payload = {"refund": {"charge_id": text, "amount_minor": 7900, "currency": text}}
    return an_approval(
        approval_id=approval_id_for(run_id, 1),
        payload={**payload, text: {text: text}},
        requested_at_ms=now_ms,
        expires_at_ms=now_ms + 3_600_000,
    )


def _commit(store: LedgerStore, run: Run, now_ms: int, text: str, **records: Any) -> None:
    commit_id = f"commit-{run.run_id}"
    event = an_event(
        run_id=run.run_id,
        sequence=1,
        at_ms=now_ms,
        kind=EventKind.OPERATOR_ACTED,
        actor=Actor(kind=text, actor_id=text),
        reason=text,
        subject=text,
        prior_state=text,
        state=f"{text}.",
        commit_id=commit_id,
    )
    change = a_change(commit_id, run=run, **records)
    fields = {"name": text, "customer_text": text}
    personal = PersonalFields(run_id=run.run_id, fields=fields)
    store.commit(replace(change, events=(event,), personal=personal))
