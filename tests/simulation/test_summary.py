"""A summary that was interrupted is continued, and never by other code."""

import json
from pathlib import Path

import pytest

from tests.simulation import run, summary
from tests.simulation.summary import Summary, Tally


def test_a_simulation_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "simulation.json"
    begun = Summary.at(path, first=1)
    begun.tally.add(run.run_chunk(range(1, 21)))
    begun.write()

    assert run.main(["--seeds", "40", "--jobs", "1", "--summary", str(path)]) == 0

    kept = json.loads(path.read_text())
    whole = run.run_chunk(range(1, 41))
    assert (kept["seeds"], kept["steps"]) == (40, whole.steps)
    assert kept["faults"] == whole.faults
    assert kept["outcomes"] == whole.outcomes
    assert kept["violation_count"] == 0
    assert Summary.at(path, first=1).next_seed == 41


def test_a_summary_of_other_code_is_not_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "simulation.json"
    begun = Summary.at(path, first=1)
    begun.tally.add(run.run_chunk(range(1, 6)))
    begun.write()
    assert Summary.at(path, first=1).next_seed == 6

    monkeypatch.setattr(summary, "code_digest", lambda: "sha256:other")

    assert Summary.at(path, first=1).next_seed == 1


def test_tallies_add_up_whatever_their_order() -> None:
    first, second = run.run_chunk(range(1, 11)), run.run_chunk(range(11, 21))
    forwards, backwards = Tally(), Tally()
    for tally in (first, second):
        forwards.add(tally)
    for tally in (second, first):
        backwards.add(tally)
    assert forwards == backwards
    assert forwards.seeds == 20
