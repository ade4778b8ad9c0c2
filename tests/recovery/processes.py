"""Processes: one at a time does something, each may die or freeze, none outlives its memory."""

from collections.abc import Callable
from io import StringIO

from ledger.ports import Ports
from tests.recovery.logs import log_into
from tests.recovery.said_metrics import measured, metrics_into
from tests.recovery.tap import ProcessDied, Tap


class Processes:
    """Runs code in processes of named kinds, each warm until it dies."""

    def __init__(self, tap: Tap, join: Callable[[], Ports]) -> None:
        """Give each new process the ports that ``join`` returns."""
        self.log = StringIO()
        """What all of them logged."""

        self.metrics = StringIO()
        """What all of them measured, as they said it."""

        self.raised: list[BaseException] = []
        """Every exception that left one of them."""

        self._tap = tap
        self._join = join
        self._warm: dict[str, Ports] = {}
        self._give_up: list[Callable[[], None]] = []
        """For each process that runs now, the innermost last: what its caller does if it hangs."""

    def run[T](
        self, kind: str, act: Callable[[Ports], T], give_up: Callable[[], None] | None = None
    ) -> T:
        """Return what ``act`` returns in a process of its kind.

        Raises ProcessDied; the next process of the kind starts with nothing in memory. Other
        exceptions are noted and raised.
        """
        before, self._tap.process = self._tap.process, kind
        self._give_up.append(give_up or _nothing)
        try:
            if kind not in self._warm:
                self._warm[kind] = measured(self._join())
            with log_into(self.log), metrics_into(self.metrics):
                return act(self._warm[kind])
        except ProcessDied:
            self._warm.pop(kind, None)
            raise
        except Exception as error:
            self.raised.append(error)
            raise
        finally:
            self._give_up.pop()
            self._tap.process = before

    def freeze_running(self, others: Callable[[], None]) -> None:
        """Let the running process's caller give it up and ``others`` act, then go on with it."""
        kind = self._tap.process
        self._give_up[-1]()
        others()
        self._tap.process = kind


def _nothing() -> None:
    return None
