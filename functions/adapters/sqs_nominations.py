"""The queue of due runs on SQS. A message holds a run's id and nothing else."""

from collections.abc import Mapping, Sequence
from itertools import batched
from typing import Protocol

from botocore.exceptions import ClientError

from adapters.aws_faults import LOST_ANSWERS, as_ledger_error

BATCH_SIZE_MESSAGES = 10  # the most that SendMessageBatch takes


class SqsClient(Protocol):
    """The one call that is made."""

    def send_message_batch(
        self,
        *,
        QueueUrl: str,  # noqa: N803  SQS's own name
        Entries: Sequence[Mapping[str, str]],  # noqa: N803
    ) -> Mapping[str, Sequence[object]]:
        """Return what was taken and what was not, entry by entry."""


class SqsNominations:
    """``ledger.ports.Nominations`` over one queue."""

    def __init__(self, client: SqsClient, queue_url: str) -> None:
        """Send to the queue at ``queue_url``."""
        self._client = client
        self._queue_url = queue_url

    def put(self, run_ids: Sequence[str]) -> int:
        """Return how many were taken. Raises RetryLater, or InvariantBroken for a refusal.

        A message that was not taken is not sent again here: its run stays due, and the next tick
        names it anew.
        """
        return sum(self._send(part) for part in batched(run_ids, BATCH_SIZE_MESSAGES))

    def _send(self, run_ids: Sequence[str]) -> int:
        entries = [{"Id": str(at), "MessageBody": found} for at, found in enumerate(run_ids)]
        try:
            answer = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        except (ClientError, *LOST_ANSWERS) as error:
            raise as_ledger_error(error) from error
        return len(answer.get("Successful", ()))
