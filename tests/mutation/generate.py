"""Every mutant of a module: one change each, kept as a small edit of its text."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from tests.mutation.operators import LEFT_ALONE_CALLS, changes, changes_of_a_word


@dataclass(frozen=True)
class Mutant:
    """One changed place of a module."""

    module: str
    path: Path
    key: str
    """Stays the same while the function or class around it does, wherever it moves to."""

    function: str
    """The outermost function around the change, as ``method`` or ``Class.method``.

    Empty for what an import runs: tables, fields, default values.
    """

    first_line: int
    last_line: int
    """The statement that holds the change: no other line runs it."""

    start: int
    end: int
    text: str
    """The characters from ``start`` to ``end`` are replaced by ``text``."""

    def apply(self, source: str) -> str:
        """Return the module's text with the change."""
        return source[: self.start] + self.text + source[self.end :]


@dataclass(frozen=True)
class _Place:
    original: cst.CSTNode
    changed: cst.CSTNode
    function: str
    lines: CodeRange


def mutants_of(module: str, path: Path) -> list[Mutant]:
    """Return the mutants of one module, in the order of its text. Equal ones count once."""
    source = path.read_text(encoding="utf-8")
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    tree = wrapper.module
    found: dict[str, Mutant] = {}
    at = source.index(tree.code_for_node(tree.body[0])) if tree.body else 0
    for statement in tree.body:
        before = tree.code_for_node(statement)
        for place in _places(statement, positions):
            after = tree.code_for_node(_replaced(statement, place))
            key = hashlib.sha256(f"{module}\0{before}\0{after}".encode()).hexdigest()[:16]
            start, end, text = _difference(before, after)
            found[key] = Mutant(
                module=module,
                path=path,
                key=key,
                function=place.function,
                first_line=place.lines.start.line,
                last_line=place.lines.end.line,
                start=at + start,
                end=at + end,
                text=text,
            )
        at += len(before)
    return list(found.values())


def known_mutants_of(path: Path, work: Path) -> list[Mutant]:
    """Return the mutants of one module of the ledger, made only once for each text of it."""
    content = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    kept = work / "made" / f"{path.stem}-{content}.json"
    if not kept.exists():
        made = mutants_of(f"ledger.{path.stem}", path)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([asdict(mutant) | {"path": ""} for mutant in made]), "utf-8")
    found = json.loads(kept.read_text("utf-8"))
    return [Mutant(**{**mutant, "path": path}) for mutant in found]


def _replaced(statement: cst.CSTNode, place: _Place) -> cst.CSTNode:
    replaced = statement.deep_replace(place.original, place.changed)
    if not isinstance(replaced, cst.CSTNode):
        raise TypeError("a statement cannot be taken out of its module")
    return replaced


def _places(statement: cst.CSTNode, positions: Mapping[cst.CSTNode, CodeRange]) -> Iterator[_Place]:
    visitor = _Visitor(statement, positions)
    statement.visit(visitor)
    yield from visitor.places


class _Visitor(cst.CSTVisitor):
    """Collects the changes of one statement of a module, with the function that each is in."""

    def __init__(self, statement: cst.CSTNode, positions: Mapping[cst.CSTNode, CodeRange]) -> None:
        super().__init__()
        self.places: list[_Place] = []
        self._positions = positions
        self._names: list[str] = []
        self._functions = 0
        self._in_words = _is_enumeration(statement)
        self._statements: list[CodeRange] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Annotation | cst.Decorator) or _is_left_alone(node):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            if not self._functions:
                self._names.append(node.name.value)
            self._functions += isinstance(node, cst.FunctionDef)
        if isinstance(node, cst.BaseStatement | cst.BaseSmallStatement):
            self._statements.append(self._positions[node])
        self._collect(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.BaseStatement | cst.BaseSmallStatement):
            self._statements.pop()
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._functions -= isinstance(original_node, cst.FunctionDef)
            if not self._functions:
                self._names.pop()

    def visit_FunctionDef_params(self, node: cst.FunctionDef) -> None:  # noqa: N802, ARG002
        """Default values are made by the import, not by the call."""
        self._functions -= 1

    def leave_FunctionDef_params(self, node: cst.FunctionDef) -> None:  # noqa: N802, ARG002
        self._functions += 1

    def _collect(self, node: cst.CSTNode) -> None:
        if not self._statements:
            return
        function = ".".join(self._names) if self._functions else ""
        found = changes_of_a_word(node) if self._in_words and not function else changes(node)
        self.places.extend(
            _Place(node, changed, function, self._statements[-1]) for changed in found
        )


def _is_enumeration(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.ClassDef) and any(
        isinstance(base.value, cst.Name) and base.value.value == "StrEnum"
        for base in statement.bases
    )


def _is_left_alone(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in LEFT_ALONE_CALLS
    )


def _difference(before: str, after: str) -> tuple[int, int, str]:
    """Return the span of ``before`` that differs, and what stands there in ``after``."""
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next(
        (i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start
    )
    return start, len(before) - tail, after[start : len(after) - tail]


def modules_of(package: Path, wanted: Sequence[str]) -> list[Path]:
    """Return the files of a package, or of the wanted modules of it. Raises ValueError."""
    files = {path.stem: path for path in sorted(package.glob("*.py")) if path.stem != "__init__"}
    unknown = [name for name in wanted if name not in files]
    if unknown:
        raise ValueError(f"{package.name} has no module {', '.join(unknown)}")
    return [files[name] for name in wanted] if wanted else list(files.values())
