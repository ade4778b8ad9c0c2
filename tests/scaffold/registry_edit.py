"""Enter a version into the registry's source text."""

import re

REGISTRY = "functions/workflows/registry.py"

_IMPORT = re.compile(r"^from workflows\.[\w.]+ import .+$", re.MULTILINE)
_CURRENT = re.compile(
    r"(CURRENT: Mapping\[str, WorkflowDefinition\] = \{\s*"
    r"definition\.name: definition\s+for definition in \()([\w,\s]*)(\)\s*\})"
)
_OLDER = re.compile(r"(OLDER: tuple\[WorkflowDefinition, \.\.\.\] = \()([\w,\s]*)(\))")


def entered(text: str, slice_package: str, constant: str, superseded: str = "") -> str | None:
    """Return the registry with one version more in ``CURRENT``, not yet formatted.

    ``superseded`` is the constant that moves to ``OLDER`` for it. None when the text does not look
    as expected: then a person edits it.
    """
    first, current, older = _IMPORT.search(text), _CURRENT.search(text), _OLDER.search(text)
    if first is None or current is None or older is None:
        return None
    taking, kept = _names(current[2]), _names(older[2])
    if superseded:
        if superseded not in taking:
            return None
        taking.remove(superseded)
        kept.append(superseded)
    taking.append(constant)
    line = f"from {slice_package}.contract import DEFINITION as {constant}\n"
    text = _CURRENT.sub(rf"\g<1>{_tuple_of(taking)}\g<3>", text)
    text = _OLDER.sub(rf"\g<1>{_tuple_of(kept)}\g<3>", text)
    return text[: first.start()] + line + text[first.start() :]


def instruction(slice_package: str, constant: str, superseded: str = "") -> str:
    """Return what a person has to write into the registry."""
    moved = f", and move {superseded} from CURRENT to OLDER" if superseded else ""
    return (
        f"{REGISTRY} does not look as expected and was left alone. Write into it: "
        f'"from {slice_package}.contract import DEFINITION as {constant}", add {constant} to '
        f"CURRENT{moved}."
    )


def _names(inside: str) -> list[str]:
    return [name.strip() for name in inside.split(",") if name.strip()]


def _tuple_of(names: list[str]) -> str:
    # The comma makes a tuple of one name; the formatter takes it away where it is not needed.
    return ", ".join(names) + ("," if len(names) == 1 else "")
