"""``POST /notices/stripe``: Stripe says that something changed, and the ledger looks for itself.

A notice can come early, twice, out of order or never, so nothing is concluded from it: it nominates
effects, and each is read at Stripe as the sweeper would. What could not be done is answered with
503, and Stripe sends the notice again, for up to three days (docs.stripe.com/webhooks).
"""

import base64
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import cast

from aws_lambda_powertools.utilities.typing import LambdaContext

from ledger.errors import LedgerError, ProviderUnavailable, TooLittleTime
from ledger.event import Actor
from ledger.notice import look_again
from ledger.ports import Ports, TimeLeft
from ledger.provider import ProviderFault
from providers.stripe_api import StripeApi
from providers.stripe_notice import (
    MAX_BODY_BYTES,
    NoticeRefused,
    Reference,
    check_signature,
    nominated_by,
    reference_in,
)
from runtime.log import log, log_failure
from runtime.metrics import flushed
from runtime.problem import Response, problem_response
from runtime.wiring import CLOCK, ports_and_stripe, signing_secret, time_left

STRIPE = Actor(kind="reconciler", actor_id="stripe-notice")
# Looking again reads at Stripe and writes to the ledger; do not begin what cannot end.
MIN_REMAINING_MS = 12_000
# Ours. Stripe keeps to its own schedule; others who knock should not knock at once.
RETRY_AFTER_SECONDS = 30


def follow(ports: Ports, stripe: StripeApi, time_left: TimeLeft, about: Reference) -> int:
    """Return how many effects were looked at again.

    One that fails does not hide those behind it. The first failure is raised in the end, so that
    the notice comes again: a LedgerError as ``look_again`` raises it, or TooLittleTime.
    """
    try:
        nominations = nominated_by(stripe, about)
    except ProviderFault as fault:
        raise ProviderUnavailable(f"Stripe could not be read ({fault}).") from fault
    failures: list[Exception] = []
    for run_id, effect_id in nominations:
        if time_left.remaining_ms() < MIN_REMAINING_MS:
            failures.append(TooLittleTime("Not every effect could be looked at in this time."))
            break
        try:
            known = look_again(ports, run_id, effect_id, STRIPE)
            log("notice", run_id=run_id, outcome="looked again" if known else "not ours")
        except Exception as error:  # noqa: BLE001  raised below
            log_failure("this effect was not looked at again", error, run_id=run_id)
            failures.append(error)
    if failures:
        raise failures[0]
    return len(nominations)


@flushed
def handler(event: Mapping[str, object], context: LambdaContext) -> Response:
    """Return 200 once nothing is left to do, 400 for what is no notice of Stripe's, 503 otherwise.

    It never raises. Each request leaves one line of the same fields.
    """
    attempt = {"actor_id": STRIPE.actor_id, "action": "notice", "target": ""}
    try:
        about = _verified(event)
        if about is None:
            log("attempt", **attempt, outcome="ignored", count=0)
            return _received()
        attempt["target"] = about.record_id
        ports, stripe = ports_and_stripe()
        count = follow(ports, stripe, time_left(context), about)
    except NoticeRefused as refused:
        log("attempt", **attempt, outcome=refused.problem, reason=refused.detail)
        return problem_response(HTTPStatus.BAD_REQUEST, refused.problem, refused.detail)
    except Exception as error:  # noqa: BLE001  the log has the place, and the notice comes again
        outcome = "try-again" if isinstance(error, LedgerError) else "internal-error"
        log_failure("attempt", error, **attempt, outcome=outcome)
        return _try_again()
    log("attempt", **attempt, outcome="done", count=count)
    return _received()


def _verified(event: Mapping[str, object]) -> Reference | None:
    """Return what a genuine notice is about. The secret is read only for what could be one."""
    headers = cast("Mapping[str, str]", event.get("headers") or {})
    header = {name.lower(): value for name, value in headers.items()}.get("stripe-signature")
    if not header:
        raise NoticeRefused("notice-unsigned", "There is no Stripe-Signature header.")
    body = _body_of(event)
    check_signature(body, header, signing_secret(), CLOCK.now_ms())
    return reference_in(body)


def _body_of(event: Mapping[str, object]) -> bytes:
    """Return the bytes that were signed, as they were sent."""
    body = cast("str", event.get("body") or "")
    # Base64 takes four characters for three bytes.
    if len(body) > MAX_BODY_BYTES * 4 // 3 + 4:
        raise NoticeRefused("notice-malformed", f"The body is over {MAX_BODY_BYTES} bytes.")
    try:
        if event.get("isBase64Encoded"):
            return base64.b64decode(body, validate=True)
        return body.encode()
    except ValueError:  # each of the ways in which either fails; its text quotes the body
        raise NoticeRefused("notice-malformed", "The body cannot be read.") from None


def _received() -> Response:
    return {
        "statusCode": int(HTTPStatus.OK),
        "headers": {"content-type": "application/json", "cache-control": "no-store"},
        "body": json.dumps({"received": True}),
    }


def _try_again() -> Response:
    return problem_response(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "try-again",
        "This notice could not be followed now. Nothing was lost; send it again.",
        {"retry-after": str(RETRY_AFTER_SECONDS)},
    )
