"""Both books as they are at rest, read from localstripe, the mail service and the ledger."""

from collections.abc import Sequence
from typing import Any

import httpx

from adapters.dynamodb_items import HEAD, run_id_of
from ledger.effect import Effect
from ledger.event import Event, EventKind
from ledger.run import RunLedger
from ledger.transitions import RunState
from providers.stripe_api import MARK
from sandbox.chaos_books import (
    RECEIPT,
    REFUND,
    EffectLine,
    LedgerBooks,
    MailLine,
    ProviderBooks,
    RefundLine,
    RunLine,
)
from sandbox.chaos_runs import Crowd, Customer
from sandbox.clients import aws_client
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.findings import subscription_at
from sandbox.ledger_view import ledger_store
from sandbox.mail import accepted_mail
from sandbox.stripe_seed import CHARGE_AMOUNT_MINOR
from sandbox.stripe_server import API_KEY

# A run that was recovered many times has about 60; more than this is a loop.
MAX_EVENTS = 1000
_PAGE_SIZE = 100
# A hundred thousand refunds, a hundred times what a chaos run makes.
_MAX_PAGES = 1000
_TIMEOUT_SECONDS = 10.0
# The sweeper looks at what is at rest too, and writes that it did.
_READINGS = 5
_TARGETS = ("charge_id", "subscription_id", "customer_id")


def read_books(
    sandbox: Sandbox, crowd: Crowd
) -> tuple[ProviderBooks, LedgerBooks, dict[str, tuple[Event, ...]]]:
    """Both books of one moment, and every run's events.

    Raises SandboxError when the ledger never stands still, or does not answer.
    """
    for _ in range(_READINGS):
        runs = _runs(sandbox)
        events = _events(sandbox, runs)
        provider = _provider_books(sandbox, crowd)
        if [run.run.sequence for run in _runs(sandbox)] == [run.run.sequence for run in runs]:
            return provider, _ledger_books(crowd, runs, events), events
    raise SandboxError("the ledger went on moving while its books were read")


def _provider_books(sandbox: Sandbox, crowd: Crowd) -> ProviderBooks:
    behind = sandbox.stripe.behind_url
    subscribers = [customer.subscriber for customer in crowd.customers]
    return ProviderBooks(
        refunds=tuple(_refund_line(refund) for refund in _every_refund(behind)),
        charged_minor={found.charge_id: CHARGE_AMOUNT_MINOR for found in subscribers},
        renewals_off=frozenset(
            found.subscription_id
            for found in subscribers
            if subscription_at(behind, found.subscription_id)["cancel_at_period_end"]
        ),
        mails=tuple(
            MailLine(mail.message_id, mail.to, mail.text)
            for mail in accepted_mail(sandbox.aws_port)
        ),
    )


def _every_refund(behind_url: str) -> list[dict[str, Any]]:
    """Of every charge there is, whoever made it. Raises SandboxError beyond all reason."""
    found: list[dict[str, Any]] = []
    params = {"limit": str(_PAGE_SIZE)}
    for _ in range(_MAX_PAGES):
        page = httpx.get(
            f"{behind_url}/v1/refunds",
            params=params,
            auth=(API_KEY, ""),
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
        )
        listed = page.raise_for_status().json()
        found += listed["data"]
        if not listed["has_more"]:
            return found
        params["starting_after"] = found[-1]["id"]
    raise SandboxError(f"the provider holds more than {_MAX_PAGES} pages of refunds")


def _refund_line(refund: dict[str, Any]) -> RefundLine:
    return RefundLine(
        refund_id=refund["id"],
        charge_id=refund["charge"],
        amount_minor=refund["amount"],
        currency=refund["currency"].upper(),
        effect_id=(refund.get("metadata") or {}).get(MARK),
    )


def _runs(sandbox: Sandbox) -> list[RunLedger]:
    """Every run of the table, asked for or not, in the order of their names."""
    pages = (
        aws_client("dynamodb", sandbox.aws_port)
        .get_paginator("scan")
        .paginate(
            TableName=sandbox.outputs.ledger_table,
            FilterExpression="sk = :head",
            ExpressionAttributeValues={":head": {"S": HEAD}},
            ConsistentRead=True,
        )
    )
    store = ledger_store(sandbox)
    names = sorted({run_id_of(item) for page in pages for item in page["Items"]})
    loaded = [store.load(name) for name in names]
    return [run for run in loaded if run is not None]


def _events(sandbox: Sandbox, runs: Sequence[RunLedger]) -> dict[str, tuple[Event, ...]]:
    store = ledger_store(sandbox)
    return {run.run.run_id: store.events(run.run.run_id, 0, MAX_EVENTS) for run in runs}


def _ledger_books(
    crowd: Crowd, runs: Sequence[RunLedger], events: dict[str, tuple[Event, ...]]
) -> LedgerBooks:
    by_customer = {customer.subscriber.customer_id: customer for customer in crowd.customers}
    return LedgerBooks(
        runs=tuple(
            _run_line(run, events[run.run.run_id], by_customer.get(run.run.customer_id))
            for run in runs
        ),
        asked=crowd.run_ids(),
    )


def _run_line(run: RunLedger, events: Sequence[Event], customer: Customer | None) -> RunLine:
    return RunLine(
        run_id=run.run.run_id,
        address=customer.address if customer else "",
        state=run.run.state,
        reason=_reason(run, events),
        sequence=run.run.sequence,
        event_numbers=tuple(event.sequence for event in events),
        effects=tuple(_effect_line(effect) for effect in run.effects),
    )


def _reason(run: RunLedger, events: Sequence[Event]) -> str:
    """Why it is with a person, or was closed."""
    if run.run.state is RunState.REVIEW:
        return run.run.review_reason
    closed = [event.reason for event in events if event.kind == EventKind.RUN_CLOSED]
    return closed[-1] if closed else ""


def _effect_line(effect: Effect) -> EffectLine:
    bound = effect.bound
    # A refund binds its charge and its customer; the first named is what it is of.
    target = next(str(bound[name]) for name in _TARGETS if name in bound)
    money = effect.operation in (REFUND, RECEIPT)
    return EffectLine(
        effect_id=effect.effect_id,
        operation=effect.operation,
        state=effect.state,
        target=target,
        amount_minor=int(str(bound["amount_minor"])) if money else 0,
        currency=str(bound["currency"]) if money else "",
        record_id=effect.evidence.record_id if effect.evidence else None,
        idempotency_key=effect.idempotency_key,
    )
