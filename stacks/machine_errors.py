"""Where every error has to lead in a state machine, so that none of them begins a second write."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ledger import errors
from ledger.errors import LedgerError, RetryLater
from stacks.machine import Catcher, TaskState

# Nothing was begun, so the same state is entered again. A released machine is frozen: a class that
# is added later is not asked of it, and leads to its pause.
RETRIED = frozenset(
    {
        "EffectInProgress",
        "Lambda.TooManyRequestsException",
        "LedgerMoved",
        "LedgerUnavailable",
        "ProviderUnavailable",
        "TooLittleTime",
    }
)
# What a process that is gone, or gave no answer, is called by the service; and what the ledger
# says of a write whose outcome is open.
DOUBTS = frozenset(
    {
        "EffectPending",
        "EffectUnknown",
        "Lambda.ServiceException",
        "Lambda.Unknown",
        "Runtime.ExitError",
        "Sandbox.Timedout",
        "States.Timeout",
    }
)
# Further names that Step Functions and Lambda use, from their documentation.
OTHER_SERVICE_ERRORS = frozenset(
    {
        "Lambda.AWSLambdaException",
        "Lambda.ClientExecutionTimeoutException",
        "Lambda.SdkClientException",
        "States.DataLimitExceeded",
        "States.HeartbeatTimeout",
        "States.Permissions",
        "States.QueryEvaluationError",
        "States.Runtime",
        "States.TaskFailed",
    }
)
THE_REST = "States.ALL"
INPUT = "{% $states.context.Execution.Input %}"

RESUME, RECONCILE, PAUSE, FENCED = "Resume", "Reconcile", "Pause", "Fenced"
# From these nothing is written outside before the ledger, or the provider, was asked.
ASKING = frozenset({RECONCILE, PAUSE})


def _names(root: type[LedgerError]) -> frozenset[str]:
    return frozenset(
        name
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, root)
    )


RETRIABLE = RETRIED | _names(RetryLater)
KNOWN = _names(LedgerError) | RETRIED | DOUBTS | OTHER_SERVICE_ERRORS


def wrong_retries(name: str, state: TaskState) -> Iterator[str]:
    """Yield what is wrong with what the state called ``name`` does again."""
    retried = [error for retrier in state.retry for error in retrier.error_equals]
    for error in sorted(RETRIED - set(retried)):
        yield f"{name} does not retry {error}, which began nothing"
    for error in sorted(set(retried) - RETRIABLE):
        yield f"{name} retries {error}, after which something may have begun"
    yield from _named_twice(f"{name} retries", retried)


def wrong_catches(
    name: str, state: TaskState, targets: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """Yield what is wrong with where errors of a state lead; ``targets`` says where they must."""
    caught = {error: catcher for catcher in state.catch for error in catcher.error_equals}
    yield from _named_twice(
        f"{name} catches", [error for found in state.catch for error in found.error_equals]
    )
    for error in sorted({*targets, THE_REST} - set(caught)):
        yield f"{name} does not catch {error}"
    for error, catcher in sorted(caught.items()):
        allowed = targets.get(error, ASKING)
        if error == THE_REST:
            yield from _wrong_rest(name, state, catcher)
        elif error not in KNOWN:
            yield f"{name} catches {error}, which nobody raises"
        elif catcher.next not in allowed:
            yield f"{name} leads {error} to {catcher.next}, not to {_any_of(allowed)}"
    for catcher in state.catch:
        if catcher.output != INPUT:
            yield f"{name} passes on other data than its input after {catcher.error_equals[0]}"


def _wrong_rest(name: str, state: TaskState, catcher: Catcher) -> Iterator[str]:
    # The States Language asks for this; a wildcard before others would also hide them.
    if catcher.error_equals != [THE_REST] or state.catch[-1] != catcher:
        yield f"{name} catches {THE_REST} beside or before others"
    if catcher.next != PAUSE:
        yield f"{name} leads an error that nobody named to {catcher.next}, not to {PAUSE}"


def _named_twice(what: str, named: list[str]) -> Iterator[str]:
    for error, times in Counter(named).items():
        if times > 1:
            yield f"{what} {error} twice: only the first counts"


def _any_of(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))
