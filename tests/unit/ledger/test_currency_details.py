"""How many decimals a currency has, for whoever has to write an amount."""

import pytest

from ledger.money import exponent_of


@pytest.mark.parametrize(
    ("code", "decimals"), [("USD", 2), ("JPY", 0), ("BHD", 3), ("XAU", None)], ids=str
)
def test_given_a_code_of_the_standard_when_asked_then_its_decimals(
    code: str, decimals: int | None
) -> None:
    assert exponent_of(code) == decimals


@pytest.mark.parametrize("code", ["usd", "ZZZ", "", None, 840, True], ids=repr)
def test_given_anything_else_when_asked_then_there_are_none(code: object) -> None:
    assert exponent_of(code) is None
