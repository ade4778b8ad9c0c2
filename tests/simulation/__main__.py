"""``python -m tests.simulation``."""

import sys
from pathlib import Path

# The functions' import root, as pytest and Lambda have it.
sys.path.insert(0, str(Path(__file__).parents[2] / "functions"))

from tests.simulation.run import main

if __name__ == "__main__":
    sys.exit(main())
