"""What is changed in a module, one place at a time, and what is left as it is."""

from pathlib import Path

from tests.mutation.generate import Mutant, mutants_of

SOURCE = '''"""A module."""

from enum import StrEnum

LIMIT = 3
TABLE = {"planned": frozenset({"open"})}


class Word(StrEnum):
    """Words."""

    OPEN = "open"


class Door:
    """A door."""

    @property
    def key(self) -> str:
        """Return a key."""
        return f"{self.name}-e{self.number}"

    def close(self, count: int = 1) -> bool:
        """Close it."""
        if self.locked:
            raise ValueError("The door is locked.")
        self.note("door-closed")
        return len(self.guests) < LIMIT
'''


def mutants_in(tmp_path: Path, source: str = SOURCE) -> list[Mutant]:
    """Return the mutants of a text."""
    path = tmp_path / "door.py"
    path.write_text(source, encoding="utf-8")
    return mutants_of("ledger.door", path)


def lines_of(tmp_path: Path) -> set[tuple[str, str]]:
    """Return each changed line with the function that it is in."""
    before = SOURCE.splitlines()
    return {
        (mutant.function, line.strip())
        for mutant in mutants_in(tmp_path)
        for line in mutant.apply(SOURCE).splitlines()
        if line not in before
    }


def test_given_a_method_when_changed_then_its_conditions_calls_and_words_are(
    tmp_path: Path,
) -> None:
    assert lines_of(tmp_path) >= {
        ("Door.close", "if not self.locked:"),
        ("Door.close", "pass"),
        ("Door.close", "self.note(None)"),
        ("Door.close", 'self.note("XXdoor-closedXX")'),
        ("Door.close", "return len(self.guests) <= LIMIT"),
    }


def test_given_a_property_when_changed_then_the_key_it_puts_together_is(tmp_path: Path) -> None:
    assert ("Door.key", 'return f"XX{self.name}-e{self.number}"') in lines_of(tmp_path)


def test_given_what_an_import_runs_when_changed_then_it_belongs_to_no_function(
    tmp_path: Path,
) -> None:
    assert {line for function, line in lines_of(tmp_path) if not function} >= {
        "LIMIT = 4",
        "LIMIT = None",
        "TABLE = {}",
        'TABLE = {"planned": frozenset(set())}',
        'OPEN = "XXopen"',
        "def close(self, count: int = 2) -> bool:",
    }


def test_given_a_sentence_for_people_when_mutants_are_made_then_it_stays(tmp_path: Path) -> None:
    for mutant in mutants_in(tmp_path):
        assert "The door is locked." in mutant.apply(SOURCE)


def test_given_any_mutant_when_applied_then_it_compiles_and_differs_in_its_statement_only(
    tmp_path: Path,
) -> None:
    before = SOURCE.splitlines()
    mutants = mutants_in(tmp_path)

    for mutant in mutants:
        changed = mutant.apply(SOURCE)
        compile(changed, "door.py", "exec")
        after = changed.splitlines()
        assert after != before
        assert after[: mutant.first_line - 1] == before[: mutant.first_line - 1]
        untouched = len(before) - mutant.last_line
        assert after[len(after) - untouched :] == before[mutant.last_line :]
    assert len({mutant.key for mutant in mutants}) == len(mutants) > 15


def test_given_a_line_added_above_when_mutants_are_made_again_then_their_keys_are_the_same(
    tmp_path: Path,
) -> None:
    moved = SOURCE.replace("class Door:", "class Hinge:\n    size = 3\n\n\nclass Door:")
    keys = {mutant.key for mutant in mutants_in(tmp_path)}

    assert keys < {mutant.key for mutant in mutants_in(tmp_path, moved)}
