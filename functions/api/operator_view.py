"""``GET /runs/{run_id}/view``: the facts of a run, and what an operator may do about it."""

from functools import partial
from http import HTTPStatus

from api.asked import amount_of, asked
from api.door import Request, door
from api.problem import Response, respond
from ledger.actions import offers
from ledger.gone import contract_of
from ledger.money import exponent_of
from ledger.packet import resume_packet
from ledger.ports import Ports
from ledger.projection import RunFacts, project
from ledger.run import RunLedger
from ledger.update import load
from workflows.registry import definition_for

# What led to the present state is in the newest events; the whole trail is in the ledger.
TRAIL_EVENTS = 50
TRAIL_FIELDS = {"sequence", "at_ms", "kind", "actor", "reason", "subject", "prior_state", "state"}


def operator_view(ports: Ports, request: Request) -> Response:
    """Return 200 with facts and offers; times are milliseconds since 1970, as in the ledger.

    Raises RequestRefused unless an operator of the run's tenant asks.
    """
    ledger = load(ports, request.path.get("run_id", ""))
    request.caller.check_may_operate(ledger.run)
    return respond(HTTPStatus.OK, view_body(ports, ledger))


def view_body(ports: Ports, ledger: RunLedger) -> dict[str, object]:
    """Return what an operator sees: ``facts`` at one version, and every action with its offer.

    ``summary`` is the sentence that a resumed model is told too.
    """
    definition = definition_for(ledger)
    now_ms = ports.clock.now_ms()
    facts = project(definition, ledger, now_ms)
    offered = offers(
        definition, ledger, partial(contract_of, ports.providers), now_ms, ports.versions
    )
    return {
        "summary": resume_packet(facts, "").summary,
        "amount": amount_of(ledger.run.request),
        "exponents": _exponents(facts),
        "facts": facts.model_dump(mode="json"),
        "offers": [offer.model_dump(mode="json") for offer in offered],
        "asked": asked(definition, facts.approval.payload) if facts.approval else [],
        "trail": _trail(ports, ledger),
    }


def _exponents(facts: RunFacts) -> dict[str, int]:
    """Return the decimals of every currency in the facts, for who writes amounts as people do."""
    told = [
        fields
        for effect in facts.effects
        for fields in (effect.bound, *(found.fields for found in effect.candidates))
    ]
    codes = {str(fields.get("currency")) for fields in told}
    found = {code: exponent_of(code) for code in sorted(codes)}
    return {code: exponent for code, exponent in found.items() if exponent is not None}


def _trail(ports: Ports, ledger: RunLedger) -> list[dict[str, object]]:
    """Return the newest events of this version of the run, oldest first."""
    newest = ledger.run.sequence
    shown = min(newest, TRAIL_EVENTS)
    events = ports.store.events(ledger.run.run_id, newest - shown, shown)
    return [event.model_dump(mode="json", include=TRAIL_FIELDS) for event in events]


handler = door(operator_view)
