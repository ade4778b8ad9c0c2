"""What holds for every write to Stripe's v1 API, with the source of each value.

Sources: [idempotency] docs.stripe.com/api/idempotent_requests, [errors] docs.stripe.com/api/errors
and docs.stripe.com/error-codes, [rate] docs.stripe.com/rate-limits.
"""

from ledger.contract import ErrorClass, ErrorRule, FaultKind

# Ours. Stripe answers most calls well under 2 s. A stage makes up to three (authority, write,
# read-back), and all of them have to fit into one invocation.
CALL_TIMEOUT_SECONDS = 10

# Ours. Looking a refund up asks twice, for the charge and for its refunds, in the time of one call.
# A query given up costs nothing.
QUERY_TIMEOUT_SECONDS = 5

# [idempotency] "keys can be removed from the system automatically after they're at least 24 hours
# old". A key reused after that is a new request.
KEY_LIFETIME_SECONDS = 24 * 3600

# Ours. Covers clocks that differ by minutes and a call that begins just before the end.
KEY_MARGIN_SECONDS = 3600

# Ours. A write that we gave up after CALL_TIMEOUT_SECONDS may still be running at Stripe. Three
# times the timeout leaves it room to land before a read counts towards its absence.
SETTLE_WINDOW_SECONDS = 30

# Ours. One read could run beside the write that it looks for; two, apart by the settle window,
# could not both miss it.
ABSENCE_READS = 2

# Ours. Time for two reads a settle window apart, each waiting for the sweeper's next minute at
# worst. Later than that, reading has been prevented and somebody should know.
RECOVERY_DEADLINE_SECONDS = 180

# docs.stripe.com/refunds ("Failed refunds"): a bank may return a refund that had succeeded, "up to
# 30 days from the post date". The reads between are ours: most returns come within days.
RECHECKS_AFTER_SECONDS = tuple(days * 24 * 3600 for days in (1, 5, 14, 30))

# Ours. While the key lives each attempt is harmless; five without an answer is an outage.
MAX_ATTEMPTS = 5

# The first matching row wins, so a code stands before the status that it refines. 5xx, 409 other
# than a key in use, and whatever is not listed stay unknown: [idempotency] a 500 is saved under
# the key after the request began to run, so it says nothing about the effect.
ERRORS: tuple[ErrorRule, ...] = (
    ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.NEVER_SENT),
    # [errors] type of "the same key with other parameters or another endpoint".
    ErrorRule(
        error_class=ErrorClass.KEY_CONFLICT, kind=FaultKind.ANSWERED, code="idempotency_error"
    ),
    # [errors] "the idempotency key provided is currently being used in another request".
    ErrorRule(
        error_class=ErrorClass.SAME_KEY_AGAIN,
        kind=FaultKind.ANSWERED,
        status=409,
        code="idempotency_key_in_use",
    ),
    # [errors] says that the charge is refunded, not by whom.
    ErrorRule(
        error_class=ErrorClass.COMPARE, kind=FaultKind.ANSWERED, code="charge_already_refunded"
    ),
    # [rate] too many requests, or lock_timeout: turned away before it ran. [idempotency] such an
    # answer is not saved under the key, so the same key may be sent again.
    ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.ANSWERED, status=429),
    # [errors] 400 a parameter, 401 the API key, 402 valid but refused, 403 permission, 404 target.
    *(
        ErrorRule(error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, status=status)
        for status in (400, 401, 402, 403, 404)
    ),
)
