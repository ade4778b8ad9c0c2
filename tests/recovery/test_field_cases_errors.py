"""What others reported about errors that mean three different things, with the right outcome."""

import json
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from ledger.event import EventKind
from ledger.transitions import EffectState, RunState
from providers.stripe_transport import Answer
from tests.fakes.ses import MailFault
from tests.fakes.stripe import Fault as StripeFault
from tests.recovery.desk import renewal_is_off
from tests.recovery.invariants import check_invariants
from tests.recovery.scenario import (
    REFUNDS,
    finish,
    posts,
    receipt_of,
    refund_of,
    refund_path,
)
from tests.recovery.world import World


def answer(status: int, error: dict[str, str] | None = None, body: bytes | None = None) -> Answer:
    """Return an answer in Stripe's form, or with exactly ``body``."""
    content = json.dumps({"error": error or {"type": "api_error"}}).encode()
    return Answer(status, {}, content if body is None else body)


LOST = answer(500)
KEY_IN_USE = answer(409, {"type": "idempotency_error", "code": "idempotency_key_in_use"})


class TestC13OneTableForWhatAnErrorMeans:
    def answered(self, *answers: Answer) -> World:
        """Return the world after the refund's first calls were answered so and not carried out."""
        world = World()
        world.run_until(renewal_is_off)
        world.outside.next_answers = list(answers)
        world.run()
        return world

    @pytest.mark.parametrize(
        "lost",
        [
            *(answer(status) for status in (302, 409, 418, 500, 502, 503, 504)),
            answer(200, body=b""),
            answer(200, body=b'{"id": "re_'),
            answer(200, body=b"[]"),
            KEY_IN_USE,
            answer(400, {"type": "invalid_request_error", "code": "charge_already_refunded"}),
        ],
        ids=lambda found: f"{found.status} {found.body[:60]!r}",
    )
    def test_whatever_is_not_listed_is_looked_up_before_the_same_request_is_made_again(
        self, lost: Answer
    ) -> None:
        world = self.answered(lost)
        finish(world)
        assert refund_path(world)[:4] == ["planned", "attempting", "unknown", "planned"]
        assert world.ledger.run.state is RunState.COMPLETED
        (made,) = posts(world)
        assert made[0] == refund_of(world.ledger).idempotency_key

    @pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
    def test_a_definite_no_to_the_only_attempt_is_a_no(self, status: int) -> None:
        world = self.answered(answer(status))
        world.outside.refused_keys.add(refund_of(world.ledger).idempotency_key)
        check_invariants(world)
        assert refund_path(world) == ["planned", "attempting", "rejected"]
        assert world.ledger.run.state is RunState.REVIEW
        assert posts(world) == []

    @pytest.mark.parametrize(
        "second",
        [
            *(answer(status) for status in (302, 400, 401, 402, 403, 404, 409, 429, 500, 503)),
            answer(200, body=b""),
            KEY_IN_USE,
        ],
        ids=lambda found: f"{found.status} {found.body[:60]!r}",
    )
    def test_an_answer_to_the_second_attempt_speaks_not_for_the_first(self, second: Answer) -> None:
        world = self.answered(LOST, second)
        finish(world)
        assert refund_path(world)[:6] == ["planned", "attempting", "unknown"] * 2
        assert EventKind.EFFECT_REJECTED not in {event.kind for event in world.events}
        assert len(world.stripe.world.refunds) == 1

    def test_a_second_attempt_that_never_left_says_nothing_of_the_first(self) -> None:
        world = World()
        world.run_until(renewal_is_off)
        for fault in (StripeFault.DROP_BEFORE_COMMIT, StripeFault.NEVER_SENT):
            world.stripe.fail_next(fault, path_prefix=REFUNDS)
        finish(world)
        assert EventKind.EFFECT_REJECTED not in {event.kind for event in world.events}
        assert len(refund_of(world.ledger).attempts) == 3
        assert len(set(posts(world))) == 1
        assert len(world.stripe.world.refunds) == 1

    @pytest.mark.parametrize("fault", [MailFault.NEVER_SENT, MailFault.THROTTLE])
    def test_a_mail_that_surely_did_not_go_is_sent_once_when_it_can_be(
        self, fault: MailFault
    ) -> None:
        world = World()
        for _ in range(2):
            world.ses.fail_next(fault)
        finish(world)
        assert world.ledger.run.state is RunState.COMPLETED
        assert len(world.ses.sent) == 1

    def test_a_mail_that_was_refused_is_no_reason_to_touch_the_refund(self) -> None:
        world = World()
        world.ses.fail_next(MailFault.REJECT)
        world.run()
        world.outside.refused_keys.add(receipt_of(world.ledger).idempotency_key)
        check_invariants(world)
        assert world.ledger.run.state is RunState.REVIEW
        assert refund_of(world.ledger).state is EffectState.CONFIRMED
        assert world.ses.sent == []
        assert world.ses.sends_tried == 1

    @pytest.mark.parametrize(
        "lost",
        [
            *(
                ClientError(
                    {
                        "Error": {"Code": "InternalFailure", "Message": "sample"},
                        "ResponseMetadata": cast("Any", {"HTTPStatusCode": status}),
                    },
                    "SendEmail",
                )
                for status in (500, 502, 503, 504)
            ),
            ReadTimeoutError(endpoint_url="https://email.invalid"),
            ConnectionClosedError(endpoint_url="https://email.invalid"),
        ],
        ids=str,
    )
    def test_a_mail_that_may_have_gone_is_not_sent_again(
        self, lost: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = World()
        tried = []

        def send(**request: Any) -> Any:
            tried.append(request)
            raise lost

        monkeypatch.setattr(world.ses, "send_email", send)
        world.mail_in_doubt = True
        finish(world)
        assert len(tried) == 1
        assert world.ledger.run.state is RunState.REVIEW
