"""Stripe's library behind our seam: what it may say, keep and tell."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from ledger.contract import FaultKind
from ledger.provider import ProviderFault
from providers.stripe_client import PAGE_SIZE, StripeLibrary
from providers.stripe_transport import Answer
from tests.fakes.benches import EMAIL, fake_stripe, library
from tests.fakes.clock import FakeClock
from tests.fakes.stripe import FakeStripe, Fault


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeStripe:
    return fake_stripe(clock)


@dataclass(frozen=True)
class _Always:
    """A transport that brings one answer, whatever is asked."""

    answer: Answer

    def __call__(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        del method, path, headers, body
        return self.answer


def _answering(status: int, content: object) -> StripeLibrary:
    answer = Answer(status, {}, json.dumps(content).encode())
    return StripeLibrary("sk_test_1", "https://api.stripe.com", _Always(answer))


def test_a_record_that_stripe_does_not_know_is_none(fake: FakeStripe) -> None:
    api = library(fake)

    assert api.charge("ch_9") is None
    assert api.subscription("sub_9") is None
    assert api.customer("cus_9") is None


@pytest.mark.parametrize("content", [{}, "not found", {"error": "not found"}, {"error": {}}])
def test_a_404_of_something_in_between_proves_nothing(content: object) -> None:
    with pytest.raises(ProviderFault) as caught:
        _answering(404, content).charge("ch_1")

    assert (caught.value.status, caught.value.code) == (404, None)


@pytest.mark.parametrize(
    "content",
    [
        {"object": "charge", "id": "ch_1"},
        {"object": "charge", "id": "ch_1", "amount": "100", "email": EMAIL},
        {"object": ["charge"]},
        {"id": "ch_1"},
        None,
    ],
)
def test_a_record_without_the_fields_we_need_is_unreadable_and_not_quoted(content: object) -> None:
    with pytest.raises(ProviderFault) as caught:
        _answering(200, content).charge("ch_1")

    assert caught.value.kind is FaultKind.UNREADABLE
    assert EMAIL not in repr(caught.value.__cause__)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("fault", [Fault.COMMIT_THEN_500, Fault.UNAVAILABLE, Fault.LOCK_TIMEOUT])
def test_the_library_never_sends_a_second_request_by_itself(fake: FakeStripe, fault: Fault) -> None:
    fake.fail_next(fault)

    with pytest.raises(ProviderFault):
        library(fake).create_refund({"charge": "ch_1", "amount": 100}, "key_1")

    assert len(fake.posts()) == 1


def test_nothing_of_an_answer_reaches_the_log(
    fake: FakeStripe, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    customer = library(fake).customer("cus_1")

    assert customer is not None
    assert customer.email == EMAIL
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


def test_a_list_that_says_more_and_shows_nothing_ends_as_incomplete() -> None:
    endless = {"object": "list", "url": "/v1/refunds", "has_more": True, "data": []}

    listed = _answering(200, endless).refunds_of("ch_1")

    assert (listed.refunds, listed.complete) == ((), False)


def test_recent_refunds_come_a_page_at_a_time_newest_first(
    fake: FakeStripe, clock: FakeClock
) -> None:
    fake.world.make_refund("ch_1", 1)
    clock.pass_ms(60_000)
    made = [fake.world.make_refund("ch_1", 1).id for _ in range(PAGE_SIZE + 1)]

    first = library(fake).refunds_since(clock.now_ms() // 1000, None)
    second = library(fake).refunds_since(clock.now_ms() // 1000, first.refunds[-1].id)

    assert [found.id for found in (*first.refunds, *second.refunds)] == made[::-1]
    assert (len(first.refunds), first.complete, second.complete) == (PAGE_SIZE, False, True)
    assert (first.unreadable, second.unreadable) == (0, 0)


def test_a_recent_refund_that_cannot_be_read_is_counted_and_hides_no_other() -> None:
    entries = [{"id": "re_1", "object": "refund", "charge": None}, {"object": "refund"}, None]
    page = {"object": "list", "url": "/v1/refunds", "has_more": True, "data": entries}

    listed = _answering(200, page).refunds_since(0, None)

    assert [found.id for found in listed.refunds] == ["re_1"]
    assert (listed.unreadable, listed.complete) == (2, False)


def test_a_page_that_says_more_and_shows_nothing_cannot_be_gone_on_from() -> None:
    endless = {"object": "list", "url": "/v1/refunds", "has_more": True, "data": []}

    with pytest.raises(ProviderFault):
        _answering(200, endless).refunds_since(0, None)
