"""The queue of due runs as SQS keeps it: at least once, given back for a while, dead in the end."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ledger.ports import Ports, TimeLeft
from reconciler.reconcile_worker import NotLookedAfter, look_after
from reconciler.sweeper import nominate

BATCH_SIZE_MESSAGES = 10
MAX_RECEIVE_COUNT = 5


@dataclass
class Message:
    """One message, known by its id."""

    message_id: str
    body: str
    received: int = 0


@dataclass
class FakeNominations:
    """A ``ledger.ports.Nominations`` with its dead-letter queue."""

    waiting: list[Message] = field(default_factory=list)
    dead: list[Message] = field(default_factory=list)
    given_back: list[str] = field(default_factory=list)
    """Every run id that a worker has answered it could not look after."""

    takes: int | None = None
    """How many messages it still takes; None takes all."""

    _numbers: Any = field(default_factory=count)

    def put(self, run_ids: Sequence[str]) -> int:
        """Take as many as it takes."""
        taken = run_ids if self.takes is None else run_ids[: self.takes]
        for run_id in taken:
            self.waiting.append(Message(f"message-{next(self._numbers)}", run_id))
        return len(taken)

    def put_again(self) -> None:
        """Let every message that waits be there twice, as SQS may deliver it."""
        self.put([found.body for found in self.waiting])

    def deliver(self, worker: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
        """Hand everything that waits now to ``worker`` in batches.

        What it gives back waits again, and all of a batch in which it died and answered nothing.
        """
        now, self.waiting = self.waiting, []
        for at in range(0, len(now), BATCH_SIZE_MESSAGES):
            batch = now[at : at + BATCH_SIZE_MESSAGES]
            answer = worker(sqs_event(batch))
            if answer is None:
                self._give_back(batch)
                continue
            failed = {found["itemIdentifier"] for found in answer["batchItemFailures"]}
            given_back = [found for found in batch if found.message_id in failed]
            self.given_back += [found.body for found in given_back]
            self._give_back(given_back)

    def _give_back(self, messages: list[Message]) -> None:
        for found in messages:
            found.received += 1
            (self.dead if found.received >= MAX_RECEIVE_COUNT else self.waiting).append(found)


def sqs_event(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the event with which Lambda hands a batch over."""
    return {
        "Records": [
            {
                "messageId": found.message_id,
                "receiptHandle": found.message_id,
                "body": found.body,
                "attributes": {"ApproximateReceiveCount": str(found.received + 1)},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
            }
            for found in messages
        ]
    }


def sweep(ports: Ports, time_left: TimeLeft) -> None:
    """Name what is due and look after it, in one process; what broke is given up."""
    queue = FakeNominations()
    nominate(ports.store, ports.clock, queue, time_left)
    for message in queue.waiting:
        with suppress(NotLookedAfter):
            look_after(ports, time_left, message.body)
