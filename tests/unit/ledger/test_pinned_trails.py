"""Every event of every situation, pinned: what an auditor finds years later, with its references.

``GOLDEN=write .venv/bin/pytest tests/unit/ledger/test_pinned_trails.py`` writes the trails anew;
the diff is then the change that auditors will see. Reasons are words, and not pinned.
"""

import json
import os
from pathlib import Path

import pytest

from ledger.event import Event
from tests.unit.ledger.situations import SITUATIONS

FOLDER = Path(__file__).parent / "trails"


def line(event: Event) -> str:
    """Return an event as one line."""
    moved = f"{event.prior_state or '-'} > {event.state or '-'}"
    details = json.dumps(event.details, sort_keys=True) if event.details else ""
    words = (event.sequence, event.kind, event.subject or "-", moved, event.actor.kind, details)
    return " ".join(str(word) for word in words).strip()


@pytest.mark.parametrize("name", SITUATIONS)
def test_given_a_situation_when_its_trail_is_read_then_each_event_says_what_it_is_about(
    name: str,
) -> None:
    trail = [line(event) for event in SITUATIONS[name]().events]
    path = FOLDER / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        FOLDER.mkdir(exist_ok=True)
        path.write_text("\n".join([*trail, ""]), encoding="utf-8")

    assert trail == path.read_text(encoding="utf-8").splitlines()


def test_given_a_pinned_trail_when_looked_for_then_there_is_its_situation() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SITUATIONS)
