"""Try each mutant in a child process of its own: a fork of one that has everything loaded."""

import json
import os
import resource
import selectors
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from tests.mutation.generate import Mutant

# A mutant that never stops adding to a list must not take the machine's memory.
MAX_MEMORY_BYTES = 4 * 1024**3
# A test that takes this many times its usual processor time, and at least two seconds, hangs.
HANG_FACTOR = 20
HANG_SECONDS = 2.0


class Verdict(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    HUNG = "hung"  # a test did not end: seen as well
    SURVIVED = "survived"
    UNREACHED = "unreached"  # no test runs the line


@dataclass(frozen=True)
class Outcome:
    """A verdict, and the test that gave it (empty for none)."""

    verdict: Verdict
    test: str = ""


class HarnessFailed(Exception):
    """The harness itself went wrong: no verdict can be trusted."""


def limit_test(usual_seconds: float) -> None:
    """End this process when the test that begins now uses far more time than it usually does."""
    signal.setitimer(signal.ITIMER_PROF, max(HANG_SECONDS, usual_seconds * HANG_FACTOR))


def try_all(
    mutants: Iterable[Mutant], judge: Callable[[Mutant], Outcome], workers: int
) -> Iterator[tuple[Mutant, Outcome]]:
    """Yield each mutant with its outcome; ``judge`` runs in a child. Raises HarnessFailed."""
    waiting = iter(mutants)
    with selectors.DefaultSelector() as selector:
        while True:
            while len(selector.get_map()) < workers and (mutant := next(waiting, None)):
                pid, answers = _fork(mutant, judge)
                selector.register(answers, selectors.EVENT_READ, (mutant, pid))
            if not selector.get_map():
                return
            for ready, _ in selector.select():
                mutant, pid = ready.data
                selector.unregister(ready.fileobj)
                yield mutant, _outcome(mutant, pid, ready.fd)


def _fork(mutant: Mutant, judge: Callable[[Mutant], Outcome]) -> tuple[int, int]:
    answers, answer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(answer)
        return pid, answers
    try:
        os.close(answers)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        found = judge(mutant)
        os.write(answer, json.dumps([found.verdict, found.test]).encode())
    except BaseException:  # noqa: BLE001 - whatever it is, the parent has to hear of it
        os.write(answer, json.dumps(["", traceback.format_exc()]).encode())
    finally:
        os._exit(0)


def _outcome(mutant: Mutant, pid: int, answers: int) -> Outcome:
    with os.fdopen(answers, "rb") as stream:
        answer = stream.read()
    _, status = os.waitpid(pid, 0)
    if answer:
        verdict, text = json.loads(answer)
        if not verdict:
            raise HarnessFailed(f"{mutant}\n{text}")
        return Outcome(Verdict(verdict), text)
    hung = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
    return Outcome(Verdict.HUNG if hung else Verdict.KILLED)
