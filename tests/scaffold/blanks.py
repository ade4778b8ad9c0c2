"""What a developer has still to fill in, in the files that were written for a workflow."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = "FILL " + "IN"  # in two parts, so that this line carries no mark
GUIDE = "docs/new-workflow.md"


def blanks_of(workflow: str, root: Path = ROOT) -> list[str]:
    """Return the place and the words of every mark that is left in a workflow's files."""
    package = workflow.replace("-", "_")
    paths = [
        *sorted((root / "functions" / "workflows" / package).rglob("*.py")),
        *sorted((root / "tests").rglob(f"test_{package}.py")),
        *sorted((root / "tests").rglob(f"scenarios/{package}.py")),
    ]
    return [found for path in paths for found in _blanks_in(path, root)]


def fill_in(file: str, what: str) -> None:
    """Raise AssertionError with what is to be written in the place of this call."""
    path = "/".join(Path(file).parts[-4:])  # as it is called from the top of the tree
    raise AssertionError(f"{path}: {what}, in the place of the call to fill_in. See {GUIDE}.")


def _blanks_in(path: Path, root: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{path.relative_to(root)}:{number}: {_words(line)}"
        for number, line in enumerate(lines, start=1)
        if MARK in line or "fill_in(__file__" in line
    ]


def _words(line: str) -> str:
    return line.strip().lstrip("# ").strip('"')
