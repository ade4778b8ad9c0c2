"""One table for what an AWS error means to the caller."""

from enum import StrEnum

from botocore.exceptions import (
    ChecksumError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
)
from botocore.exceptions import (
    ConnectionError as BotoConnectionError,
)
from botocore.parsers import ResponseParserError

from ledger.errors import InvariantBroken, LedgerError, RetryLater


class Fault(StrEnum):
    """What went wrong, by what may be done about it."""

    NO_ANSWER = "no_answer"  # it may have happened
    THROTTLED = "throttled"  # it did not happen: go slower
    CONTENDED = "contended"  # it did not happen: somebody is writing the same items
    CONDITION = "condition"  # it did not happen: the items are not as we expected
    TOKEN_REUSED = "token_reused"  # noqa: S105  the idempotency token came with another request
    REFUSED = "refused"  # it did not happen and never will


class TornReadError(Exception):
    """A read returned one part of a transaction and not yet the other."""


LOST_ANSWERS = (
    BotoConnectionError,
    ChecksumError,
    HTTPClientError,
    IncompleteReadError,
    ResponseParserError,
)

FAULT_BY_CODE = {
    "ConditionalCheckFailedException": Fault.CONDITION,
    "ExecutionLimitExceeded": Fault.THROTTLED,
    "IdempotentParameterMismatchException": Fault.TOKEN_REUSED,
    "KmsThrottlingException": Fault.THROTTLED,
    "ProvisionedThroughputExceededException": Fault.THROTTLED,
    "ReplicatedWriteConflictException": Fault.CONTENDED,
    "RequestLimitExceeded": Fault.THROTTLED,
    "Throttling": Fault.THROTTLED,
    "ThrottlingException": Fault.THROTTLED,
    "TooManyRequestsException": Fault.THROTTLED,
    "TransactionConflictException": Fault.CONTENDED,
    "TransactionInProgressException": Fault.CONTENDED,
}

# One cancelled transaction may give several reasons: the first that applies here decides. What
# no repeat can change comes before what a repeat may change.
FAULT_BY_CANCELLATION = (
    ("ValidationError", Fault.REFUSED),
    ("ItemCollectionSizeLimitExceeded", Fault.REFUSED),
    ("ConditionalCheckFailed", Fault.CONDITION),
    ("ThrottlingError", Fault.THROTTLED),
    ("ProvisionedThroughputExceeded", Fault.THROTTLED),
    ("TransactionConflict", Fault.CONTENDED),
)


def fault_of(error: Exception) -> Fault:
    """Return what ``error`` means. An error that no table lists is a refusal."""
    if isinstance(error, LOST_ANSWERS):
        return Fault.NO_ANSWER
    if isinstance(error, TornReadError):
        return Fault.CONTENDED
    if not isinstance(error, ClientError):
        return Fault.REFUSED
    if code_of(error) == "TransactionCanceledException":
        return _cancellation_fault(error)
    if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
        return Fault.NO_ANSWER
    return FAULT_BY_CODE.get(code_of(error), Fault.REFUSED)


def code_of(error: ClientError) -> str:
    """Return the service's own name for the error."""
    return error.response.get("Error", {}).get("Code", "")


def describe(error: Exception) -> str:
    """Return the error's codes without its message, which may quote what was sent."""
    if not isinstance(error, ClientError):
        return type(error).__name__
    return " ".join([error.operation_name, code_of(error), *cancellation_codes(error)])


def as_ledger_error(error: Exception) -> LedgerError:
    """Return the error to raise for a call outside the ledger's table."""
    if fault_of(error) in (Fault.NO_ANSWER, Fault.THROTTLED, Fault.CONTENDED):
        return RetryLater(f"AWS gave no useful answer ({describe(error)}); try again.")
    return InvariantBroken(
        f"AWS refused the call ({describe(error)}); check the function's permissions and settings."
    )


def cancellation_codes(error: ClientError) -> list[str]:
    """Return why each action of a transaction was cancelled; empty for any other error."""
    reasons = error.response.get("CancellationReasons", [])
    return [reason.get("Code", "None") for reason in reasons]


def _cancellation_fault(error: ClientError) -> Fault:
    codes = cancellation_codes(error)
    for code, fault in FAULT_BY_CANCELLATION:
        if code in codes:
            return fault
    # A reason that is newer than this table. Nothing was written, so a repeat is harmless.
    return Fault.THROTTLED
