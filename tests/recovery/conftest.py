"""Says at the end how much was covered, so that a harness that lost its grip shows."""

import pytest

COUNTED = "crash points"
RUNS = "runs"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add up what the tests recorded; the counts travel with the reports of every worker."""
    totals = {COUNTED: 0, RUNS: 0}
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name in totals and isinstance(value, int):
                totals[name] += value
    if totals[COUNTED]:
        terminalreporter.write_line(
            f"{totals[COUNTED]} crash points covered in {totals[RUNS]} runs of the workflow"
        )
