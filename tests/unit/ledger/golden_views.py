"""Golden views: what the three readers are shown in every situation, as files to read and review.

``GOLDEN=write .venv/bin/pytest tests/unit/ledger/test_golden_views.py`` writes them anew; the diff
is then the change that people will see.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ledger.actions import offers
from ledger.contract import ProviderContract
from ledger.packet import resume_packet
from ledger.projection import project
from ledger.run import RunLedger
from ledger.status import customer_status
from ledger.versions import Versions
from ledger.workflow import WorkflowDefinition

FOLDER = Path(__file__).parent / "golden"
CUSTOMER_TEXT = "I moved abroad and do not use it any more."


def views(
    definition: WorkflowDefinition,
    ledger: RunLedger,
    contracts: Callable[[str], ProviderContract],
    now_ms: int,
    versions: Versions | None,
) -> dict[str, object]:
    """Return the three readings of a run."""
    facts = project(definition, ledger, now_ms)
    offered = offers(definition, ledger, contracts, now_ms, versions)
    return {
        "customer": customer_status(facts).model_dump(mode="json"),
        "operator": {
            "facts": facts.model_dump(mode="json"),
            "offers": [found.model_dump(mode="json") for found in offered],
        },
        "packet": resume_packet(facts, CUSTOMER_TEXT).model_dump(mode="json"),
    }


def kept(name: str, shown: dict[str, object]) -> dict[str, object]:
    """Return the golden view called ``name``, written from ``shown`` first where that is asked."""
    if os.environ.get("GOLDEN") == "write":
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(shown, indent=2, ensure_ascii=False)
        _path(name).write_text(f"{text}\n", encoding="utf-8")
    return golden(name)


def golden(name: str) -> dict[str, Any]:
    """Return the golden view called ``name``."""
    found: dict[str, Any] = json.loads(_path(name).read_text(encoding="utf-8"))
    return found


def _path(name: str) -> Path:
    return FOLDER / f"{name}.json"
