"""A new version of a workflow: a copy of the newest one under the next number."""

import re
from pathlib import Path

from tests.scaffold.names import Names, names_of
from tests.scaffold.refusal import RefusedError
from tests.scaffold.registry_edit import REGISTRY, entered, instruction
from tests.scaffold.written import refuse_existing, tidied, write_all

COUNTERS = "functions/workflows/counters.py"


def new_version(workflow: str, root: Path) -> list[str]:
    """Write the next version of ``workflow`` and return what to do next, a line each.

    Raises RefusedError when there is no such workflow; then nothing is written.
    """
    names = names_of(workflow)
    newest = _newest_number(names, root)
    number = newest + 1
    old_slice = root / f"functions/workflows/{names.package}/v{newest}"
    copied = {
        f"functions/workflows/{names.package}/v{number}/{path.name}": path
        for path in sorted(old_slice.glob("*.py"))
    }
    copied[_asl_path(names, number)] = root / _asl_path(names, newest)
    files = {
        path: _renumbered(source.read_text(encoding="utf-8"), names, newest)
        for path, source in copied.items()
    }
    package = f"workflows.{names.package}.v{number}"
    constants = names.constant(number), names.constant(newest)
    registry = entered((root / REGISTRY).read_text(encoding="utf-8"), package, *constants)
    refuse_existing(files, root)
    lists = {} if registry is None else {REGISTRY: registry}
    counters = _with_counters((root / COUNTERS).read_text(encoding="utf-8"), names, newest)
    if counters is not None:
        lists[COUNTERS] = counters
    files |= tidied(lists, root)
    write_all(files, root)
    notes = [] if registry is not None else [instruction(package, *constants)]
    return [*(f"wrote {path}" for path in files), *notes, *_next_steps(names, newest)]


def _newest_number(names: Names, root: Path) -> int:
    slices = (root / "functions" / "workflows" / names.package).glob("v*/contract.py")
    numbers = [int(path.parent.name[1:]) for path in slices if path.parent.name[1:].isdecimal()]
    if not numbers:
        raise RefusedError(
            f"There is no workflow {names.workflow!r}. For a new one: make new-workflow "
            f"NAME={names.workflow}."
        )
    newest = max(numbers)
    if not (root / _asl_path(names, newest)).is_file():
        raise RefusedError(f"{names.workflow}@{newest} has no state machine to copy.")
    return newest


def _asl_path(names: Names, number: int) -> str:
    return f"statemachines/{names.package}/v{number}.asl.json"


def _renumbered(text: str, names: Names, newest: int) -> str:
    """Return ``text`` with every name of the old version as that of the next one."""
    number = newest + 1
    text = re.sub(rf"\b{names.workflow}@{newest}\b", f"{names.workflow}@{number}", text)
    text = re.sub(rf"\b{names.package}\.v{newest}\b", f"{names.package}.v{number}", text)
    return re.sub(rf"^(    number=){newest},$", rf"\g<1>{number},", text, flags=re.MULTILINE)


def _with_counters(text: str, names: Names, newest: int) -> str | None:
    """Return the list with the same counter-effects for the next version, None without any."""
    entry = re.search(rf'"{names.workflow}@{newest}": \([\w,\s]*\)', text)
    if entry is None:
        return None
    copy = entry[0].replace(f"@{newest}", f"@{newest + 1}", 1)
    return f"{text[: entry.end()]}, {copy}{text[entry.end() :]}"


def _next_steps(names: Names, newest: int) -> list[str]:
    old, new = f"{names.workflow}@{newest}", f"{names.workflow}@{newest + 1}"
    return [
        "",
        f"New runs are opened on {new} now; those of {old} finish on it. Next:",
        f"1. functions/workflows/{names.package}/v{newest + 1}: change what shall be different.",
        f"2. make new-machine NAME={new}, if a stage or a time limit has changed.",
        f"3. {COUNTERS}: what may be taken back, by version; copied where there was something.",
        f"4. functions/workflows/migrations.py: an entry from {old}, if open runs shall be moved.",
        "5. statemachines/released.json: add the digest that this prints, once it is as it shall",
        "   stay: .venv/bin/pytest tests/unit/workflows/test_released_versions.py",
        "6. make test",
        "What a change means for runs under way: docs/versions.md",
    ]
