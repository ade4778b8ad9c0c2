"""The check made now, before every consequential write, that it is still allowed."""

from collections.abc import Mapping

from ledger.canonical import digest
from ledger.consequence import what_changed
from ledger.effect import Effect
from ledger.errors import ProviderUnavailable, ReviewRequired
from ledger.ports import Ports
from ledger.provider import Authority, ProviderFault
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.workflow import Operation, WorkflowDefinition


def bound_fields(operation: Operation, ledger: RunLedger) -> dict[str, Scalar]:
    """Return the fields that identify the write, from the request, the version and evidence.

    Raises ReviewRequired when evidence that the write must quote is missing.
    """
    bound = bound_from_request(operation, ledger.run.request)
    for name, checkpoint_name, evidence_field in operation.evidence_fields:
        checkpoint = ledger.proven(checkpoint_name)
        if checkpoint is None:
            raise ReviewRequired(f"{operation.name} needs {checkpoint_name}, which is not proven.")
        bound[name] = checkpoint.value(evidence_field)
    return bound


def bound_from_request(operation: Operation, request: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the bound fields that the request and the version alone decide."""
    return {name: request[name] for name in operation.request_fields} | dict(operation.fixed)


def approval_payload(
    definition: WorkflowDefinition, ledger: RunLedger
) -> dict[str, dict[str, Scalar]]:
    """Return what a person is asked: every write that needs a yes and is not proven yet."""
    return {
        operation.name: bound_from_request(operation, ledger.run.request)
        for operation in definition.approved_operations
        if ledger.proven(operation.checkpoint) is None
    }


def missing_grant(
    definition: WorkflowDefinition, effect: Effect, ledger: RunLedger, now_ms: int
) -> str:
    """Return why the newest approval does not cover the effect; empty when it does."""
    if not definition.operation(effect.operation).needs_approval:
        return ""
    return missing_yes(definition, ledger, effect.operation, effect.bound, effect.effect_id, now_ms)


def missing_yes(
    definition: WorkflowDefinition,
    ledger: RunLedger,
    operation: str,
    bound: dict[str, Scalar],
    effect_id: str,
    now_ms: int,
) -> str:
    """Return why the newest approval does not cover this write; empty when it does."""
    approval = ledger.newest_approval()
    if approval is None:
        return "nothing was approved yet"
    refusal = approval.refusal(operation, bound, effect_id, now_ms)
    return refusal or what_changed(definition, ledger, approval)


def check_consequence(effect: Effect, consequence: Mapping[str, Scalar]) -> None:
    """Raise ReviewRequired when the frozen bytes would do something else than was approved."""
    approved = {name: effect.bound.get(name) for name in consequence}
    if digest(approved) != digest(dict(consequence)):
        raise ReviewRequired(
            f"The frozen request of {effect.effect_id} differs from its approved fields; "
            "nothing was sent."
        )


def read_authority(
    ports: Ports, provider: str, bound: Mapping[str, Scalar], personal: Mapping[str, str]
) -> Authority:
    """Return whether customer and target allow the write now, from the system that owns them.

    Raises ProviderUnavailable when that system cannot be read; nothing was sent.
    """
    try:
        return ports.providers[provider].authority(bound, personal)
    except ProviderFault as fault:
        raise ProviderUnavailable(
            f"{provider} could not be read to check authority ({fault}); nothing was sent, "
            "the same call may be repeated."
        ) from fault
