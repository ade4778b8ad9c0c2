"""Golden views: what the three readers are shown in every situation, as files to read and review.

``GOLDEN=write .venv/bin/pytest tests/unit/ledger/test_projection.py`` writes them anew; the diff is
then the change that people will see.
"""

import json
import os
from pathlib import Path

from tests.unit.ledger.desk import facts_of, offered, packet, told
from tests.unit.ledger.support import World

FOLDER = Path(__file__).parent / "golden"
CUSTOMER_TEXT = "I moved abroad and do not use it any more."


def views(world: World) -> dict[str, object]:
    """Return the three readings of a run."""
    return {
        "customer": told(world).model_dump(mode="json"),
        "operator": {
            "facts": facts_of(world).model_dump(mode="json"),
            "offers": [found.model_dump(mode="json") for found in offered(world)],
        },
        "packet": packet(world, CUSTOMER_TEXT).model_dump(mode="json"),
    }


def kept(name: str, shown: dict[str, object]) -> dict[str, object]:
    """Return the golden view called ``name``, written from ``shown`` first where that is asked."""
    path = FOLDER / f"{name}.json"
    if os.environ.get("GOLDEN") == "write":
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(shown, indent=2, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
    golden: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return golden
