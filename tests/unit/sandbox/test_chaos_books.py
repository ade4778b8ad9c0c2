"""Two books that agree show no difference; each way in which they can differ is seen and named."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ledger.transitions import EffectState, RunState
from sandbox.chaos_books import (
    RECEIPT,
    REFUND,
    RENEWAL,
    EffectLine,
    LedgerBooks,
    MailLine,
    ProviderBooks,
    RefundLine,
    RunLine,
    compare,
)

Books = tuple[ProviderBooks, LedgerBooks]
ADDRESS = "one@chaos.example"


def agreeing() -> Books:
    """One run that is completed, and what it did outside."""
    confirmed = EffectState.CONFIRMED
    effects = (
        EffectLine("eff_renewal", RENEWAL, confirmed, "sub_1", record_id="sub_1"),
        EffectLine("eff_refund", REFUND, confirmed, "ch_1", 7900, "USD", record_id="re_1"),
        EffectLine("eff_receipt", RECEIPT, confirmed, "cus_1", 7900, "USD", record_id="mail_1"),
    )
    run = RunLine("run_1", ADDRESS, RunState.COMPLETED, "", 3, (1, 2, 3), effects)
    provider = ProviderBooks(
        refunds=(RefundLine("re_1", "ch_1", 7900, "USD", "eff_refund"),),
        charged_minor={"ch_1": 10_000},
        renewals_off=frozenset({"sub_1"}),
        mails=(MailLine("mail_1", (ADDRESS,), "Refund re_1 of USD 79.00."),),
    )
    return provider, LedgerBooks((run,), frozenset({"run_1"}))


def kinds(books: Books) -> set[str]:
    return {found.kind for found in compare(*books)}


def with_run(books: Books, **changes: object) -> Books:
    provider, ledger = books
    return provider, replace(ledger, runs=(replace(ledger.runs[0], **changes),))  # type: ignore[arg-type]


def with_effect(books: Books, operation: str, **changes: object) -> Books:
    effects = tuple(
        replace(found, **changes) if found.operation == operation else found  # type: ignore[arg-type]
        for found in books[1].runs[0].effects
    )
    return with_run(books, effects=effects)


def without_effect(books: Books, operation: str) -> Books:
    left = tuple(found for found in books[1].runs[0].effects if found.operation != operation)
    return with_run(books, effects=left)


def with_provider(books: Books, **changes: object) -> Books:
    return replace(books[0], **changes), books[1]  # type: ignore[arg-type]


def with_refund(books: Books, **changes: object) -> Books:
    return with_provider(books, refunds=(replace(books[0].refunds[0], **changes),))  # type: ignore[arg-type]


def test_books_that_agree_show_no_difference() -> None:
    assert compare(*agreeing()) == ()


@pytest.mark.parametrize("state", [EffectState.UNKNOWN, EffectState.ACCEPTED, EffectState.CONFLICT])
def test_a_refund_of_which_the_ledger_says_truthfully_that_it_is_not_proven_is_no_difference(
    state: EffectState,
) -> None:
    books = with_effect(agreeing(), REFUND, state=state, record_id=None)
    books = without_effect(with_provider(books, mails=()), RECEIPT)

    assert kinds(with_run(books, state=RunState.REVIEW, reason="found by nobody")) == set()


def test_a_refusal_leaves_neither_a_refund_nor_a_difference() -> None:
    books = with_effect(agreeing(), REFUND, state=EffectState.REJECTED, record_id=None)
    books = without_effect(with_provider(books, mails=(), refunds=()), RECEIPT)

    assert kinds(with_run(books, state=RunState.REVIEW, reason="refund is rejected")) == set()


DIFFERENCES: dict[str, Callable[[Books], Books]] = {
    "doubled refund": lambda books: with_provider(
        books,
        refunds=(*books[0].refunds, replace(books[0].refunds[0], refund_id="re_2")),
    ),
    "refund without effect": lambda books: with_refund(books, effect_id=None),
    "confirmed without refund": lambda books: with_provider(books, refunds=()),
    "denied refund": lambda books: with_effect(books, REFUND, state=EffectState.PLANNED),
    "other refund": lambda books: with_refund(books, amount_minor=7901),
    "too much back": lambda books: with_provider(books, charged_minor={"ch_1": 7899}),
    "renewal off without effect": lambda books: without_effect(books, RENEWAL),
    "confirmed, renewal on": lambda books: with_provider(books, renewals_off=frozenset()),
    "mail without receipt": lambda books: without_effect(books, RECEIPT),
    "doubled mail": lambda books: with_provider(books, mails=books[0].mails * 2),
    "denied mail": lambda books: with_effect(books, RECEIPT, state=EffectState.REJECTED),
    "mail of another refund": lambda books: with_provider(
        books, mails=(replace(books[0].mails[0], text="Refund re_2 of USD 79.00."),)
    ),
    "confirmed without mail": lambda books: with_provider(books, mails=()),
    "gap in the trail": lambda books: with_run(books, event_numbers=(1, 3)),
    "run that is lost": lambda books: (
        books[0],
        replace(books[1], asked=frozenset({"run_1", "run_2"})),
    ),
    "run that nobody asked for": lambda books: (books[0], replace(books[1], asked=frozenset())),
    "unsettled run": lambda books: with_run(books, state=RunState.ACTIVE),
    "no reason given": lambda books: with_run(books, state=RunState.REVIEW),
    "completed too early": lambda books: with_effect(books, REFUND, state=EffectState.UNKNOWN),
}


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_each_difference_is_seen(kind: str) -> None:
    assert kind in kinds(DIFFERENCES[kind](agreeing()))


@pytest.mark.parametrize(
    "changes",
    [{"amount_minor": 7900, "currency": "EUR"}, {"charge_id": "ch_2"}, {"amount_minor": 790}],
    ids=str,
)
def test_a_refund_that_is_not_what_was_meant_is_seen_in_each_field(
    changes: dict[str, object],
) -> None:
    assert "other refund" in kinds(with_refund(agreeing(), **changes))


@pytest.mark.parametrize("numbers", [(1, 2), (1, 2, 2, 3), (2, 1, 3), (1, 2, 3, 4)])
def test_a_trail_that_lost_doubled_or_moved_an_event_is_seen(numbers: tuple[int, ...]) -> None:
    assert kinds(with_run(agreeing(), event_numbers=numbers)) == {"gap in the trail"}


def test_evidence_of_another_refund_proves_nothing() -> None:
    assert "confirmed without refund" in kinds(with_effect(agreeing(), REFUND, record_id="re_2"))
