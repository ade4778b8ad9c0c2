"""A run whose archive is stored and whose link was mailed, written straight into a ledger.

The archive is really stored, and the mail is in the words that would be sent: only the engine that
would have done both is left out.
"""

from dataclasses import dataclass
from typing import Any

from ledger.effect import Effect, Evidence, FrozenRequest
from ledger.event import EventKind
from ledger.idempotency import effect_id_for, idempotency_key_for, run_id_for
from ledger.provider import Intent, Provider, ProviderCall
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import EffectState, RunState
from providers.ses_artifact_link import KIND
from tests.builders import a_change, a_run, an_attempt, an_event

ARCHIVE = "archive"
DELIVERY = "deliver_link"
# No version of this name is deployed: what a page and a route show hangs on no workflow.
WORKFLOW = "bundle-delivery@7"
SITE_URL = "https://pages.example"


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Whose run it is, and what is to be seen of it."""

    customer_id: str
    tenant_id: str
    project_id: str
    now_ms: int
    delivery: EffectState | None = EffectState.CONFIRMED
    """The state of the mail; None: it was not begun."""

    valid_until_ms: int | None = None
    """Until when the link works; None: as long as the archive says."""

    run: RunState = RunState.COMPLETED
    key: str = "export-1"
    changes: tuple[tuple[str, Any], ...] = ()
    """Fields of the delivery that are otherwise."""

    @property
    def run_id(self) -> str:
        """Return the id of the run."""
        return run_id_for(self.tenant_id, "agent", self.key)


def write_delivered(store: LedgerStore, archives: Provider, wish: Wish) -> RunLedger:
    """Store the archive, and write the run that has delivered it; return it as it is kept."""
    archive = stored_archive(archives, wish)
    effects = [archive]
    if wish.delivery is not None:
        effects.append(delivery_of(archive, wish))
    run = a_run(
        run_id=wish.run_id,
        tenant_id=wish.tenant_id,
        customer_id=wish.customer_id,
        workflow=WORKFLOW,
        state=wish.run,
        request={"customer_id": wish.customer_id, "project_id": wish.project_id},
        opened_at_ms=wish.now_ms,
        due_at_ms=None,
    )
    commit_id = f"commit-{wish.run_id}"
    event = an_event(
        run_id=run.run_id,
        kind=EventKind.RUN_OPENED,
        at_ms=wish.now_ms,
        workflow=WORKFLOW,
        commit_id=commit_id,
    )
    store.commit(a_change(commit_id, run=run, effects=tuple(effects), events=(event,)))
    kept = store.load(run.run_id)
    assert kept is not None
    return kept


def stored_archive(archives: Provider, wish: Wish) -> Effect:
    """Store the archive, read it back, and return the write as it was proven."""
    bound: dict[str, Scalar] = {
        "customer_id": wish.customer_id,
        "project_id": wish.project_id,
        "scope": "project",
        "schema": 1,
    }
    effect_id = effect_id_for(wish.run_id, ARCHIVE, 1)
    request = _frozen(archives, wish, ARCHIVE, effect_id, bound)
    call = ProviderCall(
        run_id=wish.run_id,
        effect_id=effect_id,
        idempotency_key="key_archive",
        bound=bound,
        params=request.params(),
    )
    archives.call(call)
    (record,) = archives.look_up(call).records
    proof = Evidence(
        source="s3_artifacts",
        record_id=record.record_id,
        provider_status=record.provider_status,
        fields=record.fields,
        read_at_ms=wish.now_ms,
    )
    return _effect(
        wish, ARCHIVE, "s3_artifacts", bound, request, EffectState.CONFIRMED, evidence=proof
    )


def delivery_of(archive: Effect, wish: Wish) -> Effect:
    """Return the mail that leads to the archive, in the state that is wished for."""
    assert archive.evidence is not None
    assert wish.delivery is not None
    bound: dict[str, Scalar] = {
        "customer_id": wish.customer_id,
        "project_id": wish.project_id,
        "artifact_id": archive.evidence.record_id,
        "valid_until_ms": wish.valid_until_ms or archive.evidence.fields["valid_until_ms"],
    }
    subject, text = KIND.write({**bound, "page": f"{SITE_URL}/artifact/{wish.run_id}"})
    effect_id = effect_id_for(wish.run_id, DELIVERY, 1)
    tags = {"effect_id": effect_id, "run_id": wish.run_id}
    request = FrozenRequest.create({"subject": subject, "text": text, "tags": tags})
    proof = None
    if wish.delivery in (EffectState.ACCEPTED, EffectState.CONFIRMED):
        proof = Evidence(
            source="ses_artifact_link",
            record_id="message-1",
            provider_status="accepted",
            fields=bound,
            read_at_ms=wish.now_ms,
        )
    return _effect(
        wish,
        DELIVERY,
        "ses_artifact_link",
        bound,
        request,
        wish.delivery,
        evidence=proof,
        **dict(wish.changes),
    )


def _frozen(
    provider: Provider, wish: Wish, operation: str, effect_id: str, bound: dict[str, Scalar]
) -> FrozenRequest:
    intent = Intent(run_id=wish.run_id, effect_id=effect_id, operation=operation, bound=bound)
    return FrozenRequest.create(provider.compose(intent))


def _effect(
    wish: Wish,
    operation: str,
    provider: str,
    bound: dict[str, Scalar],
    request: FrozenRequest,
    state: EffectState,
    **more: Any,
) -> Effect:
    attempt = an_attempt(claimed_at_ms=wish.now_ms, lease_until_ms=wish.now_ms + 30_000)
    return Effect.model_validate(
        {
            "effect_id": effect_id_for(wish.run_id, operation, 1),
            "operation": operation,
            "provider": provider,
            "instance": 1,
            "state": state,
            "bound": bound,
            "request": request,
            "idempotency_key": idempotency_key_for(wish.run_id, operation, bound, 1, 1),
            "generation": 1,
            "checkpoint": f"{operation}_proven",
            "approval_id": None,
            "recovery_deadline_seconds": 900,
            "pending_deadline_seconds": 900,
            "attempts": (attempt,),
            **more,
        }
    )
