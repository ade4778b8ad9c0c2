"""How long the present Lambda invocation may still run."""

from typing import Protocol


class LambdaContext(Protocol):
    """The part of Lambda's context object that tells the time left."""

    def get_remaining_time_in_millis(self) -> int:
        """Return milliseconds until Lambda ends the invocation."""


class LambdaTime:
    """``ledger.ports.TimeLeft`` of one invocation."""

    def __init__(self, context: LambdaContext) -> None:
        """Read the time from the invocation's own context, never from an earlier one's."""
        self._context = context

    def remaining_ms(self) -> int:
        """Return milliseconds until the invocation is ended from outside."""
        return self._context.get_remaining_time_in_millis()
