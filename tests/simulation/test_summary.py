"""A summary that was interrupted is continued, and never by other code."""

import json
import platform
from pathlib import Path

import pytest

from tests.simulation import run, summary
from tests.simulation.check import Violation
from tests.simulation.report import one_line
from tests.simulation.summary import Summary, Tally
from tests.simulation.world import World


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


def test_violations_are_counted_over_a_resume_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(world: World) -> None:
        raise Violation("money" if world.seed % 2 else "mail", f"seed {world.seed}")

    monkeypatch.setattr(World, "run", fails)
    path = tmp_path / "simulation.json"
    for last in (31, 61):
        found = Summary.at(path, first=1)
        found.tally.add(run.run_chunk(range(found.next_seed, last)))
        found.write()

    again = Summary.at(path, first=1)

    assert again.tally.violated == {"money": 30, "mail": 30}
    assert list(again.tally.violations) == list(range(1, summary.MAX_LISTED + 1))
    assert json.loads(path.read_text())["violation_count"] == 60
    assert "60 violations" in one_line(again)


def test_a_summary_is_told_as_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "simulation.json"
    asked = ["--seeds", "30", "--jobs", "1", "--summary", str(path), "--markdown"]

    assert run.main(asked) == 0

    kept = Summary.at(path, first=1)
    shown = capsys.readouterr().out
    rows = [line.strip("|").split(" | ") for line in shown.splitlines() if line.startswith("| ")]
    told = {name.strip(): value.strip() for name, value in rows}
    assert told["schedules"] == "30 (seeds 1 to 30)"
    assert told["port calls"] == f"{kept.tally.steps:,}"
    assert told["violations"] == "0"
    rate = kept.tally.seeds_per_core_second
    assert int(told["schedules per core second"]) == pytest.approx(rate, abs=1)
    assert platform.python_version() in told["Python"]
    faults = kept.tally.faults
    assert {name: told[name] for name in faults} == {
        name: str(many) for name, many in faults.items()
    }
    for outcome, many in kept.tally.outcomes.items():
        version, _, end = outcome.partition(": ")
        (table,) = [
            part for part in shown.split("\n\n") if part.startswith(f"| runs of {version} ")
        ]
        assert f"| {end} | {many} |" in table.splitlines()


def test_tallies_add_up_whatever_their_order() -> None:
    first, second = run.run_chunk(range(1, 11)), run.run_chunk(range(11, 21))
    forwards, backwards = Tally(), Tally()
    for tally in (first, second):
        forwards.add(tally)
    for tally in (second, first):
        backwards.add(tally)
    assert forwards == backwards
    assert forwards.seeds == 20
