"""What Stripe does and `localstripe` does not: idempotency keys, refusals, paging, and faults.

An HTTP server in front of an unmodified localstripe. Its own controls lie under `/_sandbox/`.
"""
