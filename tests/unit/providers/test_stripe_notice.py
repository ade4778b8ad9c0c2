"""Whether a notice is Stripe's, which record it is about, and which effects that nominates."""

import hashlib
import hmac
import json
from typing import Any

import pytest
import stripe

from ledger.provider import ProviderFault
from providers.stripe_api import Refund, RefundList, Subscription
from providers.stripe_notice import (
    HANDLED,
    MAX_BODY_BYTES,
    MAX_HEADER_ITEMS,
    TOLERANCE_SECONDS,
    Kind,
    Nomination,
    NoticeRefused,
    Reference,
    check_signature,
    nominated_by,
    reference_in,
)
from tests.builders import NOW_MS
from tests.fakes.benches import fake_stripe, library
from tests.fakes.clock import FakeClock
from tests.fakes.stripe import Fault

SECRET = "whsec_sample"
NOW_SECONDS = NOW_MS // 1000
BODY = json.dumps(
    {"type": "refund.created", "note": "Zoë Łukasz 山田"}, ensure_ascii=False
).encode()
RUN_ID = "run_" + "a" * 26
EFFECT_ID = "eff_" + "b" * 26
MARKS = {"run_id": RUN_ID, "effect_id": EFFECT_ID}


def mac(body: bytes = BODY, secret: str = SECRET, at_seconds: int = NOW_SECONDS) -> str:
    """Return a signature, worked out without the code under test."""
    signed = str(at_seconds).encode() + b"." + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def header(*signatures: str, at_seconds: int = NOW_SECONDS) -> str:
    return ",".join([f"t={at_seconds}", *(f"v1={found}" for found in signatures)])


def refused(header: str, body: bytes = BODY, secret: str = SECRET) -> str:
    """Return the kind of the refusal."""
    with pytest.raises(NoticeRefused) as caught:
        check_signature(body, header, secret, NOW_MS)
    return caught.value.problem


def test_a_signature_that_openssl_made_is_accepted() -> None:
    # printf '1767225600.{"id": "evt_1"}' | openssl dgst -sha256 -hmac whsec_sample
    made = "d5efe3fa4681ca99d669d6e6bbf5cc7d52904cff57922762cb66c7c6161c20e3"

    check_signature(b'{"id": "evt_1"}', f"t=1767225600,v1={made}", "whsec_sample", NOW_MS)


def test_what_stripes_own_library_signs_is_accepted_and_the_other_way_round() -> None:
    text = BODY.decode()
    theirs = stripe.WebhookSignature.generate_signature_header(text, SECRET, NOW_SECONDS)

    check_signature(BODY, theirs, SECRET, NOW_MS)
    assert stripe.WebhookSignature.verify_header(text, header(mac()), SECRET)


@pytest.mark.parametrize("age_seconds", [0, TOLERANCE_SECONDS, -TOLERANCE_SECONDS])
def test_a_signature_within_the_tolerance_is_accepted(age_seconds: int) -> None:
    at_seconds = NOW_SECONDS - age_seconds

    check_signature(BODY, header(mac(at_seconds=at_seconds), at_seconds=at_seconds), SECRET, NOW_MS)


@pytest.mark.parametrize(
    "age_seconds", [TOLERANCE_SECONDS + 1, -TOLERANCE_SECONDS - 1, NOW_SECONDS]
)
def test_an_old_or_a_future_signature_is_refused(age_seconds: int) -> None:
    at_seconds = NOW_SECONDS - age_seconds

    assert refused(header(mac(at_seconds=at_seconds), at_seconds=at_seconds)) == "notice-too-old"


def test_an_old_signature_under_a_new_time_is_refused() -> None:
    old = NOW_SECONDS - TOLERANCE_SECONDS - 1

    assert refused(header(mac(at_seconds=old))) == "notice-unsigned"


def test_another_secret_is_refused() -> None:
    assert refused(header(mac(secret="whsec_other"))) == "notice-unsigned"


def test_while_a_secret_is_rolled_one_fitting_signature_of_two_is_enough() -> None:
    old, new = mac(secret="whsec_old"), mac()

    check_signature(BODY, header(old, new), SECRET, NOW_MS)
    check_signature(BODY, header(new, old), SECRET, NOW_MS)


@pytest.mark.parametrize(
    "tampered",
    [
        BODY + b" ",
        BODY[:-1],
        BODY.replace(b"refund", b"charge"),
        BODY.decode().encode("utf-16"),
        b"",
    ],
)
def test_a_body_that_was_changed_is_refused(tampered: bytes) -> None:
    assert refused(header(mac()), tampered) == "notice-unsigned"


def test_a_body_that_is_no_text_is_signed_like_any_other() -> None:
    body = b"\xff\xfe\x00"

    check_signature(body, header(mac(body)), SECRET, NOW_MS)


@pytest.mark.parametrize(
    "garbled",
    [
        "",
        "garbled",
        f"t={NOW_SECONDS}",
        f"v1={mac()}",
        f"t={NOW_SECONDS},v0={mac()}",
        f"t={NOW_SECONDS},V1={mac()}",
        f"t={NOW_SECONDS},v1=",
        f"t={NOW_SECONDS},v1={mac().upper()}",
        f"t={NOW_SECONDS},v1={mac()[:-1]}",
        f"t={NOW_SECONDS},v1=é山",
        f"t={NOW_SECONDS},v1=\ud800",
        f"t=,v1={mac()}",
        f"t=now,v1={mac()}",
        f"t=-1,v1={mac()}",
        f"t={NOW_SECONDS}.0,v1={mac()}",
        f"t=١٧٦٧٢٢٥٦٠٠,v1={mac()}",
        f"t={'9' * 400},v1={mac()}",
        f"t={NOW_SECONDS},t={NOW_SECONDS},v1={mac()}",
        f"t={NOW_SECONDS}," + ",".join([f"v1={'0' * 64}"] * MAX_HEADER_ITEMS) + f",v1={mac()}",
    ],
)
def test_a_garbled_header_is_refused_without_more(garbled: str) -> None:
    assert refused(garbled) == "notice-unsigned"


def test_other_schemes_and_spaces_beside_the_signature_do_no_harm() -> None:
    check_signature(BODY, f"v0=abc, t={NOW_SECONDS}, v1={mac()}, v9=", SECRET, NOW_MS)


def notice(kind: object, found: object) -> bytes:
    return json.dumps({"type": kind, "data": {"object": found}}).encode()


def test_exactly_these_notices_are_followed() -> None:
    assert set(HANDLED) == {
        "charge.dispute.closed",
        "charge.dispute.created",
        "charge.refund.updated",
        "charge.refunded",
        "customer.subscription.deleted",
        "customer.subscription.updated",
        "refund.created",
        "refund.failed",
        "refund.updated",
    }


@pytest.mark.parametrize("kind", sorted(HANDLED))
def test_of_each_notice_one_id_is_used(kind: str) -> None:
    about, member = HANDLED[kind]
    record_id = {Kind.CHARGE: "ch_1", Kind.SUBSCRIPTION: "sub_1"}[about]
    others = {"id": "re_9", "amount": 1, "status": "failed", "metadata": MARKS, "email": "a@b.c"}

    assert reference_in(notice(kind, {**others, member: record_id})) == Reference(about, record_id)


@pytest.mark.parametrize(
    "kind", ["customer.created", "refund", "", "REFUND.CREATED", "payout.paid"]
)
def test_another_notice_is_about_nothing_of_ours(kind: str) -> None:
    assert reference_in(notice(kind, {"id": "ch_1", "charge": "ch_1"})) is None


@pytest.mark.parametrize(
    "record_id",
    [
        None,
        "",
        7,
        ["ch_1"],
        {"id": "ch_1"},
        "re_1",
        "ch_",
        "ch_1\n",
        "ch_1/../x",
        "ch_é",
        "ch_" + "x" * 300,
    ],
)
def test_an_id_of_another_shape_is_not_asked_for(record_id: object) -> None:
    assert reference_in(notice("refund.created", {"charge": record_id})) is None
    assert reference_in(notice("customer.subscription.updated", {"id": record_id})) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"refund.created"',
        b"{",
        b"\xff",
        b"[" * 200_000,
        b'{"type": "refund.created"}',
        b'{"type": "refund.created", "data": null}',
        b'{"type": "refund.created", "data": {"object": "ch_1"}}',
        b'{"type": 1, "data": {"object": {}}}',
        b'{"type": "x", "data": {"object": {"a": "' + b"x" * MAX_BODY_BYTES + b'"}}}',
    ],
    ids=range(13),
)
def test_a_body_that_is_no_event_is_refused_without_quoting_it(body: bytes) -> None:
    with pytest.raises(NoticeRefused) as caught:
        reference_in(body)

    assert caught.value.problem == "notice-malformed"
    assert "refund" not in caught.value.detail


class Held:
    """A Stripe that holds one charge's refunds and one subscription."""

    def __init__(self, *metadata: dict[str, str] | None) -> None:
        self._metadata = metadata

    def refunds_of(self, charge_id: str) -> RefundList:
        made = [
            Refund(
                id=f"re_{number}",
                amount=1,
                charge=charge_id,
                currency="usd",
                status="succeeded",
                metadata=metadata,
            )
            for number, metadata in enumerate(self._metadata)
        ]
        return RefundList(tuple(made), complete=True)

    def subscription(self, subscription_id: str) -> Subscription | None:
        if not self._metadata:
            return None
        return Subscription(
            id=subscription_id,
            customer="cus_1",
            status="active",
            cancel_at_period_end=True,
            metadata=self._metadata[0],
        )


def nominations(kind: Kind, *metadata: dict[str, str] | None) -> tuple[Nomination, ...]:
    held: Any = Held(*metadata)
    return nominated_by(held, Reference(kind, "ch_1"))


def test_a_refund_without_a_mark_leads_to_those_that_have_one_each_once() -> None:
    other = {"run_id": RUN_ID, "effect_id": "eff_" + "c" * 26}

    assert nominations(Kind.CHARGE, None, MARKS, {}, other, MARKS) == (
        Nomination(RUN_ID, EFFECT_ID),
        Nomination(RUN_ID, other["effect_id"]),
    )


@pytest.mark.parametrize(("metadata", "count"), [((), 0), ((None,), 0), ((MARKS,), 1)])
def test_a_subscription_leads_to_whoever_wrote_last(
    metadata: tuple[dict[str, str] | None, ...], count: int
) -> None:
    assert len(nominations(Kind.SUBSCRIPTION, *metadata)) == count


@pytest.mark.parametrize(
    "marks",
    [
        {"run_id": RUN_ID},
        {"effect_id": EFFECT_ID},
        {**MARKS, "run_id": "somebody@example.com"},
        {**MARKS, "run_id": RUN_ID + "\n"},
        {**MARKS, "effect_id": RUN_ID},
        {**MARKS, "effect_id": EFFECT_ID.upper()},
    ],
)
def test_what_somebody_else_wrote_as_a_mark_nominates_nobody(marks: dict[str, str]) -> None:
    assert nominations(Kind.CHARGE, marks) == ()


def test_an_answer_of_stripe_that_is_none_is_a_fault() -> None:
    held = fake_stripe(FakeClock())
    held.fail_next(Fault.UNAVAILABLE, "GET")

    with pytest.raises(ProviderFault):
        nominated_by(library(held), Reference(Kind.CHARGE, "ch_1"))
