"""What is kept of mutants that were read: each once, with its change and a reason of its own."""

import json
from collections import Counter
from pathlib import Path

from tests.mutation.reasons import REASONS, reasons_in

ROOT = Path(__file__).parents[3]


def test_given_reasons_on_file_when_read_then_each_names_its_change_once_and_says_why() -> None:
    kept = json.loads((ROOT / REASONS).read_text(encoding="utf-8"))
    entries = [entry for found in kept.values() for entry in found]

    keys = Counter(entry["key"] for entry in entries)
    assert [key for key, times in keys.items() if times > 1] == []
    assert [entry for entry in entries if not entry["change"] or len(entry["reason"]) < 20] == []
    assert set(kept) <= {path.stem for path in (ROOT / "functions/ledger").glob("*.py")}
    assert len(reasons_in(ROOT / REASONS)) == len(entries)


def test_given_no_file_when_read_then_every_survivor_is_still_to_be_read(tmp_path: Path) -> None:
    assert reasons_in(tmp_path / "reasons.json") == {}
