"""The contracts are data that anybody may import."""

import subprocess
import sys
from pathlib import Path

_LOADS_NOTHING_HEAVY = """
import sys
from providers.contracts import CONTRACTS
heavy = {"stripe", "boto3", "botocore", "requests", "urllib3"} & set(sys.modules)
sys.exit(f"loaded: {sorted(heavy)}" if heavy or not CONTRACTS else 0)
"""


def test_importing_the_contracts_loads_no_vendors_library() -> None:
    result = subprocess.run(
        [sys.executable, "-c", _LOADS_NOTHING_HEAVY],
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "functions")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stderr
