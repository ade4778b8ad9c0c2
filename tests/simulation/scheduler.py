"""Virtual time: whoever is due next goes on, one at a time, the same way for the same seed."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from weakref import WeakKeyDictionary

from greenlet import GreenletExit, getcurrent, greenlet

type Action = Callable[[], object]

_idle: WeakKeyDictionary[greenlet, list[greenlet]] = WeakKeyDictionary()
"""Hub to the greenlets that wait for something to run. Where something was raised, none is left."""


class Scheduler:
    """Runs greenlets and callbacks in the order of virtual time; ties go to whoever came first."""

    def __init__(self, start_ms: int) -> None:
        """Start at ``start_ms`` with nothing to do."""
        self.now_ms = start_ms
        self._hub = getcurrent()
        self._due: list[tuple[int, int, Action, bool]] = []
        self._count = 0
        self._busy: set[greenlet] = set()
        self._idle = _idle.setdefault(self._hub, [])

    def at(self, at_ms: int, action: Action, *, outside: bool = False) -> None:
        """Call ``action`` at a moment; one that is past means now.

        What is ``outside`` happens at its time even while we stand still.
        """
        self._count += 1
        at_ms = at_ms if at_ms > self.now_ms else self.now_ms
        heappush(self._due, (at_ms, self._count, action, outside))

    def spawn(self, delay_ms: int, body: Action) -> None:
        """Let ``body`` run as a greenlet of its own, ``delay_ms`` from now."""
        self.at(self.now_ms + delay_ms, lambda: self._begin(body))

    def _begin(self, body: Action) -> None:
        # A greenlet costs more to make than most bodies take.
        worker = self._idle.pop() if self._idle else greenlet(_work, parent=self._hub)
        self._busy.add(worker)
        worker.switch(self, body, self._hub)

    def ended(self, worker: greenlet) -> None:
        """Let a greenlet whose body has come to its end serve again, in this world or another."""
        self._busy.discard(worker)
        self._idle.append(worker)

    def pause(self, duration_ms: int) -> None:
        """Let others go on; return ``duration_ms`` later."""
        until_ms = self.now_ms + duration_ms
        if not self._due or self._due[0][0] > until_ms:
            self.now_ms = until_ms  # nobody else is due before that
            return
        self.at(self.now_ms + duration_ms, getcurrent().switch)
        self._hub.switch()

    def step(self) -> bool:
        """Let the next one go on. Return False when nobody is left."""
        if not self._due:
            return False
        at_ms, _, action, _ = heappop(self._due)
        if at_ms > self.now_ms:
            self.now_ms = at_ms
        action()
        return True

    def stand_still(self, duration_ms: int) -> None:
        """Let time pass in which only the outside acts; everybody else is late afterwards."""
        until_ms = self.now_ms + duration_ms
        passed = sorted(entry for entry in self._due if entry[3] and entry[0] <= until_ms)
        for entry in passed:
            self._due.remove(entry)
        heapify(self._due)
        for at_ms, _, action, _ in passed:
            self.now_ms = at_ms
            action()
        self.now_ms = until_ms

    def close(self) -> None:
        """End every greenlet that has not come to its end."""
        self._due.clear()
        for left in self._busy:
            if left:
                left.throw(GreenletExit)
        self._busy.clear()


def _work(scheduler: Scheduler, body: Action, hub: greenlet) -> None:
    me = getcurrent()
    while True:
        body()
        scheduler.ended(me)
        del scheduler, body  # an idle greenlet keeps no world alive
        scheduler, body, hub = hub.switch()


class Gate:
    """Something that one greenlet waits for, with a limit."""

    def __init__(self, scheduler: Scheduler) -> None:
        """Start closed."""
        self._scheduler = scheduler
        self._waiter: greenlet | None = None
        self._opened: object = None

    @property
    def is_open(self) -> bool:
        """Return whether somebody has opened it."""
        return self._opened is not None

    def open(self, with_what: object) -> bool:
        """Let the waiter go on with ``with_what``. Return whether it was the first to open."""
        if self._opened is not None:
            return False
        self._opened = with_what
        self._wake()
        return True

    def wait(self, limit_ms: int) -> object:
        """Return what the gate was opened with, None when the limit came first."""
        if self._opened is None:
            self._waiter = getcurrent()
            self._scheduler.at(self._scheduler.now_ms + limit_ms, self._wake)
            self._scheduler._hub.switch()
        return self._opened

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            self._scheduler.at(self._scheduler.now_ms, waiter.switch)
