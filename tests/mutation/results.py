"""What was found out, kept so that a run goes on where the last one stopped."""

import difflib
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.children import Outcome, Verdict
from tests.mutation.generate import Mutant

SEEN = frozenset({Verdict.KILLED, Verdict.HUNG})


@dataclass
class Results:
    """Outcomes by mutant, appended to a file as they come."""

    path: Path
    tests: Path
    code: Path

    def __post_init__(self) -> None:
        """Read what is known. An outcome counts while what it rests on is as it was."""
        self._digests: dict[str, str] = {}
        self.known: dict[str, Outcome] = {}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        for line in lines:
            key, verdict, test, basis = json.loads(line)
            outcome = Outcome(Verdict(verdict), test)
            if basis == self._basis(outcome):
                self.known[key] = outcome
            else:
                self.known.pop(key, None)

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Keep an outcome."""
        self.known[mutant.key] = outcome
        line = json.dumps([mutant.key, outcome.verdict, outcome.test, self._basis(outcome)])
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def missing(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """Return the mutants without an outcome."""
        return [mutant for mutant in mutants if mutant.key not in self.known]

    def _basis(self, outcome: Outcome) -> str:
        """Return a digest: of the file of the test that saw the mutant, or of all there is."""
        name = outcome.test.partition("::")[0]
        if name not in self._digests:
            files = [Path(name)] if name else [*self.tests.rglob("*.py"), *self.code.rglob("*.py")]
            present = sorted(path for path in files if path.is_file())
            content = b"\0".join(path.read_bytes() for path in present)
            self._digests[name] = hashlib.sha256(content).hexdigest()[:16]
        return self._digests[name]


def table(mutants: Sequence[Mutant], results: Results) -> tuple[list[tuple[str, ...]], float]:
    """Return a row of counts for each module and for all, and the score of all in percent."""
    by_module: dict[str, Counter[Verdict | None]] = {}
    for mutant in mutants:
        outcome = results.known.get(mutant.key)
        counts = by_module.setdefault(mutant.module.rpartition(".")[2], Counter())
        counts[outcome.verdict if outcome else None] += 1
    total: Counter[Verdict | None] = sum(by_module.values(), Counter())
    rows = [_row(name, counts) for name, counts in by_module.items()]
    return [*rows, _row("all", total)], _score(total)


def _row(name: str, counts: Counter[Verdict | None]) -> tuple[str, ...]:
    numbers = (counts.total(), *(counts[verdict] for verdict in Verdict), counts[None])
    return (name, *map(str, numbers), f"{_score(counts):.1f}")


def _score(counts: Counter[Verdict | None]) -> float:
    seen = sum(counts[verdict] for verdict in SEEN)
    return 100 * seen / counts.total() if counts else 100.0


def unnoticed(mutants: Sequence[Mutant], results: Results) -> list[tuple[Mutant, Verdict]]:
    """Return every mutant that was tried and that no test noticed."""
    tried = [(mutant, results.known.get(mutant.key)) for mutant in mutants]
    return [
        (mutant, outcome.verdict)
        for mutant, outcome in tried
        if outcome is not None and outcome.verdict not in SEEN
    ]


def survivors(left: Sequence[tuple[Mutant, Verdict]], reasons: Mapping[str, str]) -> str:
    """Return every change that no test noticed as a diff, with why it may live if that is known."""
    shown = []
    for mutant, verdict in left:
        head = f"{mutant.path.name}:{mutant.first_line} {mutant.function} {verdict} {mutant.key}"
        reason = reasons.get(mutant.key, "not read yet")
        shown.append("\n".join([head, *change_of(mutant), f"  {reason}", ""]))
    return "\n".join(shown)


def change_of(mutant: Mutant) -> list[str]:
    """Return the lines that a mutant takes away and puts in their place."""
    before = mutant.path.read_text(encoding="utf-8")
    lines = difflib.unified_diff(
        before.splitlines(), mutant.apply(before).splitlines(), n=0, lineterm=""
    )
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]
