"""The customer's name and words: for operators who ask, marked as untrusted, erasable."""

import pytest

from tests.unit.api.gateway import AGENT, CUSTOMER, OPERATOR, STRANGER, WISH, Gateway

WORDS = "<script>alert(1)</script> I moved abroad."


def asked_with_words(gateway: Gateway) -> None:
    """Take a run with a text as far as it goes."""
    gateway.ask({**WISH, "customer_text": WORDS})
    gateway.world.run()


def test_an_operator_reads_name_and_words_as_they_are(gateway: Gateway) -> None:
    asked_with_words(gateway)

    answer = gateway.words()

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.body["untrusted_customer_text"] == WORDS
    assert answer.body["untrusted_customer_name"]


def test_reading_them_leaves_a_line_with_the_reader_and_without_the_words(
    gateway: Gateway,
) -> None:
    asked_with_words(gateway)

    gateway.words()

    line = gateway.attempts[-1]
    assert (line["actor_id"], line["action"]) == (OPERATOR["sub"], "customer_words")
    assert line["target"] == gateway.run_id
    assert "abroad" not in str(gateway.lines)


def test_words_that_were_erased_are_gone(gateway: Gateway) -> None:
    asked_with_words(gateway)
    gateway.world.store.erase_personal(gateway.run_id)

    assert set(gateway.words().body.values()) == {""}


@pytest.mark.parametrize("claims", [CUSTOMER, AGENT], ids=["customer", "agent"])
def test_only_operators_read_them(gateway: Gateway, claims: dict[str, str]) -> None:
    asked_with_words(gateway)

    gateway.words(claims).assert_problem(403, "not-permitted")


def test_another_tenants_run_is_not_there(gateway: Gateway) -> None:
    asked_with_words(gateway)

    gateway.words(STRANGER).assert_problem(404, "run-not-found")
