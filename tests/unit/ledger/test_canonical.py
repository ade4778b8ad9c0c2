"""One canonical form: equal payloads digest equally everywhere, doubtful ones are refused."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from ledger.canonical import MAX_DEPTH_LEVELS, canonical_bytes, digest
from ledger.errors import RequestRefused

FUNCTIONS = Path(__file__).parents[3] / "functions"
PAYLOAD: dict[str, object] = {
    "charge": "ch_1",
    "amount_minor": 7900,
    "currency": "USD",
    "customer": "Zo\u00eb",
    "id": UUID("12345678-1234-5678-1234-567812345678"),
    "on": date(2026, 1, 2),
}
GOLDEN = "sha256:e74c890e33af3e20682e7b6faf33fab366f2be96ec9327e228c9c43d3c188883"


def test_the_digest_of_a_known_payload_never_changes() -> None:
    assert digest(PAYLOAD) == GOLDEN


@pytest.mark.parametrize("seed", ["0", "4242"])
def test_another_process_with_another_hash_seed_finds_the_same_digest(seed: str) -> None:
    program = (
        "from ledger.canonical import digest;"
        "print(digest({k: 7900 if k == 'amount_minor' else k for k in {'b', 'a', 'amount_minor'}}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(FUNCTIONS)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip() == digest({"a": "a", "b": "b", "amount_minor": 7900})


@pytest.mark.parametrize(
    "equal",
    [
        pytest.param(dict(reversed(PAYLOAD.items())), id="members reordered"),
        pytest.param({**PAYLOAD, "amount_minor": Decimal(7900)}, id="read back from DynamoDB"),
        pytest.param({**PAYLOAD, "amount_minor": Decimal("7900.00")}, id="whole decimal"),
        pytest.param({**PAYLOAD, "customer": "Zoe\u0308"}, id="name decomposed"),
        pytest.param({**PAYLOAD, "id": str(PAYLOAD["id"])}, id="id as text"),
        pytest.param({**PAYLOAD, "on": "2026-01-02"}, id="date as text"),
    ],
)
def test_payloads_that_mean_the_same_have_one_digest(equal: dict[str, object]) -> None:
    assert digest(equal) == GOLDEN


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({**PAYLOAD, "amount_minor": 7901}, id="amount"),
        pytest.param({**PAYLOAD, "amount_minor": "7900"}, id="amount as text"),
        pytest.param({**PAYLOAD, "customer": "Zoe"}, id="name"),
        pytest.param({**PAYLOAD, "note": None}, id="extra member"),
        pytest.param({**PAYLOAD, "amount_minor": [7900]}, id="amount in a list"),
    ],
)
def test_payloads_that_differ_have_different_digests(other: dict[str, object]) -> None:
    assert digest(other) != GOLDEN


def test_true_and_one_are_not_the_same_payload() -> None:
    assert canonical_bytes({"flag": True}) == b'{"flag":true}'
    assert digest({"flag": True}) != digest({"flag": 1})


def test_a_moment_keeps_its_offset() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    assert canonical_bytes([moment, None]) == b'["2026-01-02T03:04:05+00:00",null]'


@pytest.mark.parametrize(
    "amount",
    [
        7900.0,
        float("nan"),
        float("inf"),
        Decimal("79.5"),
        Decimal("NaN"),
        2**53,
        -(2**53),
        b"7900",
        bytearray(b"7900"),
        {7900},
        pytest.param(object(), id="an object"),
    ],
    ids=repr,
)
def test_an_amount_without_one_exact_form_is_refused(amount: object) -> None:
    with pytest.raises(RequestRefused) as refused:
        digest({"amount_minor": amount})

    assert refused.value.problem == "invalid-payload"


@pytest.mark.parametrize("amount", [Decimal("Infinity"), Decimal("-Infinity"), Decimal("sNaN")])
def test_a_decimal_that_is_no_number_is_refused(amount: Decimal) -> None:
    with pytest.raises(RequestRefused):
        digest({"amount_minor": amount})


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(RequestRefused):
        digest({"note": "\ud800"})


def test_two_names_that_are_one_after_normalisation_are_refused() -> None:
    with pytest.raises(RequestRefused, match="twice"):
        digest({"Zo\u00eb": 1, "Zoe\u0308": 2})


def test_a_member_name_that_is_not_text_is_refused() -> None:
    with pytest.raises(RequestRefused, match="names must be text"):
        digest({1: "one"})


def test_nesting_up_to_the_limit_is_read_and_beyond_it_refused() -> None:
    deepest: object = "bottom"
    for _ in range(MAX_DEPTH_LEVELS - 1):
        deepest = [deepest]

    assert b"bottom" in canonical_bytes(deepest)
    with pytest.raises(RequestRefused, match="deeper"):
        canonical_bytes([deepest])
