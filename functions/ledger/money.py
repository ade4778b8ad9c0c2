"""Money is integer minor units with an ISO 4217 currency."""

from collections.abc import Mapping
from typing import Annotated

from iso4217 import Currency
from pydantic import AfterValidator, Field, ValidationError

from ledger.record import Record, Scalar

# The largest integer that every JSON reader holds exactly (RFC 8785 section 3.2.2.3).
MAX_AMOUNT_MINOR = 2**53 - 1


def _known_currency(code: str) -> str:
    upper = code.upper()
    try:
        exponent = Currency(upper).exponent
    except ValueError as error:
        raise ValueError("not an ISO 4217 currency code") from error
    if exponent is None:  # gold, test codes, "no currency": nothing a customer is paid in
        raise ValueError("a currency without a minor unit")
    return upper


CurrencyCode = Annotated[str, AfterValidator(_known_currency)]
"""An ISO 4217 code, kept in upper case: ``usd`` and ``USD`` are one currency."""

AmountMinor = Annotated[int, Field(strict=True, gt=0, le=MAX_AMOUNT_MINOR)]
"""A positive amount in minor units (cents for USD, yen for JPY, fils for BHD)."""


class Money(Record):
    """An amount of one currency."""

    amount_minor: AmountMinor
    currency: CurrencyCode

    def __str__(self) -> str:
        """Return the amount as people write it, for example ``USD 79.00``."""
        exponent = Currency(self.currency).exponent
        if not exponent:
            return f"{self.currency} {self.amount_minor}"
        major, minor = divmod(self.amount_minor, 10**exponent)
        return f"{self.currency} {major}.{minor:0{exponent}d}"


def exponent_of(code: object) -> int | None:
    """Return the currency's decimals, None for what is no ISO 4217 code in upper case."""
    # The library lists lower-case names too, and then refuses them.
    known = isinstance(code, str) and code.isupper() and code in Currency.__members__
    return Currency(code).exponent if known else None


def money_in(fields: Mapping[str, Scalar]) -> Money | None:
    """Return the amount that ``fields`` name, None when they name none that can be told."""
    named = {name: fields.get(name) for name in Money.model_fields}
    try:
        return Money.model_validate(named)
    except ValidationError:
        return None
