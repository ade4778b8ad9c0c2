"""Where a payload stops being one: how deep it may be, and what a client is told."""

import unicodedata
from collections.abc import Callable

import pytest

from ledger.canonical import MAX_DEPTH_LEVELS, canonical_bytes
from ledger.errors import RequestRefused


def nested(levels: int, wrap: Callable[[object], object]) -> object:
    """Return a text with ``levels`` of containers around it."""
    value: object = "x"
    for _ in range(levels):
        value = wrap(value)
    return value


WRAPS = [
    pytest.param(lambda value: {"a": value}, id="objects"),
    pytest.param(lambda value: [value], id="arrays"),
]


@pytest.mark.parametrize("wrap", WRAPS)
def test_given_the_deepest_payload_there_may_be_when_written_then_it_is(
    wrap: Callable[[object], object],
) -> None:
    assert b'"x"' in canonical_bytes(nested(MAX_DEPTH_LEVELS - 1, wrap))


@pytest.mark.parametrize("wrap", WRAPS)
def test_given_one_level_more_when_written_then_it_is_refused(
    wrap: Callable[[object], object],
) -> None:
    with pytest.raises(RequestRefused, match="Nested deeper") as refused:
        canonical_bytes(nested(MAX_DEPTH_LEVELS, wrap))

    assert refused.value.problem == "invalid-payload"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1: "a"}, "Member names must be text"),
        ({"\u00e9": 1, "e\u0301": 2}, "appears twice"),
        (object(), "A object cannot be part of a payload"),
        (2**53, "No canonical form"),
    ],
    ids=["a name that is no text", "a name twice", "no JSON", "no exact number"],
)
def test_given_what_has_no_one_form_when_written_then_the_client_learns_what_kind_of_problem_it_is(
    value: object, words: str
) -> None:
    with pytest.raises(RequestRefused, match=words) as refused:
        canonical_bytes(value)

    assert refused.value.problem == "invalid-payload"


NAME = "caf\u00e9 ada@example.com"


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ({NAME: 1, unicodedata.normalize("NFD", NAME): 2}, "example"),
        ({"amount": 4_242_424_242_424_242_424}, "4242"),
        ({"amount": -4_242_424_242_424_242_424}, "4242"),
        ({"amount": 4242.5}, "4242"),
        ({"name": "ada \ud800"}, "ada"),
        ({7: "ada"}, "ada"),
    ],
    ids=["a name", "a large number", "a small number", "a fraction", "half a pair", "no name"],
)
def test_given_a_callers_words_when_they_are_refused_then_none_of_them_is_repeated(
    value: object, quoted: str
) -> None:
    with pytest.raises(RequestRefused) as refused:
        canonical_bytes(value)

    assert quoted not in refused.value.detail
