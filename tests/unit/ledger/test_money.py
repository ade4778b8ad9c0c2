"""Money: integer minor units and a known currency, nothing coerced."""

import pytest
from pydantic import ValidationError

from ledger.money import Money


@pytest.mark.parametrize(
    ("amount_minor", "currency", "words"),
    [
        (7900, "USD", "USD 79.00"),
        (5, "USD", "USD 0.05"),
        (7900, "JPY", "JPY 7900"),
        (7900, "BHD", "BHD 7.900"),
    ],
)
def test_an_amount_is_written_with_its_currencys_own_decimals(
    amount_minor: int, currency: str, words: str
) -> None:
    assert str(Money(amount_minor=amount_minor, currency=currency)) == words


def test_a_currency_in_lower_case_is_the_same_currency() -> None:
    assert Money(amount_minor=1, currency="usd") == Money(amount_minor=1, currency="USD")


@pytest.mark.parametrize("currency", ["", "US", "USDT", "ZZZ", " USD", "XAU", "XXX"])
def test_what_nobody_is_paid_in_is_no_currency(currency: str) -> None:
    with pytest.raises(ValidationError):
        Money(amount_minor=1, currency=currency)


@pytest.mark.parametrize("amount", [7900.0, "7900", float("nan"), True, 0, -1, 2**53], ids=repr)
def test_an_amount_that_is_not_a_positive_integer_is_refused(amount: object) -> None:
    with pytest.raises(ValidationError):
        Money.model_validate({"amount_minor": amount, "currency": "USD"})


def test_the_largest_exact_amount_is_allowed() -> None:
    assert Money(amount_minor=2**53 - 1, currency="USD").amount_minor == 2**53 - 1
