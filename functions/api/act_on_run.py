"""``POST /runs/{run_id}/actions``: an operator's recovery action, once, on the view they saw."""

from http import HTTPStatus

from pydantic import Field

from api.door import Request, door
from api.operator_view import view_body
from api.problem import Response, respond
from api.typed_body import typed
from ledger.act import Choice, perform_action
from ledger.errors import RequestRefused
from ledger.offer import RecoveryAction
from ledger.ports import Ports
from ledger.record import Record
from ledger.update import load
from workflows.registry import definition_for


class ActionBody(Record):
    """What an operator sends: the action, the version of the view it was chosen on, and why."""

    action: str
    view_version: int = Field(gt=0)
    reason: str
    effect_id: str | None = None


def act_on_run(ports: Ports, request: Request) -> Response:
    """Return 200 with the view after the action.

    Raises RequestRefused unless an operator of the run's tenant asks, for what their view allows.
    """
    ledger = load(ports, request.path.get("run_id", ""))
    request.caller.check_may_operate(ledger.run)
    choice = _choice_of(typed(ActionBody, request.json_body()))
    definition = definition_for(ledger)
    acted = perform_action(ports, definition, ledger.run.run_id, choice, request.caller.actor)
    return respond(HTTPStatus.OK, view_body(ports, acted))


def _choice_of(body: ActionBody) -> Choice:
    try:
        action = RecoveryAction(body.action)
    except ValueError:
        raise RequestRefused(
            "invalid-request", f"The action is one of: {', '.join(RecoveryAction)}."
        ) from None
    return Choice(
        action=action,
        view_version=body.view_version,
        reason=body.reason,
        effect_id=body.effect_id,
    )


def _action_name(request: Request) -> str:
    """Return the action as it is recorded: one that we know, or none; never what was sent."""
    try:
        return RecoveryAction(str(request.json_body().get("action"))).value
    except (RequestRefused, ValueError):
        return "act_on_run"


handler = door(act_on_run, _action_name, past_breakers=True)
