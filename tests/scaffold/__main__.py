"""``python -m tests.scaffold``: what ``make new-workflow`` and its like run."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write what is asked for; return the exit status: 0, or 2 when nothing was written."""
    sys.path.insert(0, str(ROOT / "functions"))  # the functions' own import root
    from tests.scaffold.refusal import RefusedError
    from tests.scaffold.state_machine import new_machine
    from tests.scaffold.version import new_version
    from tests.scaffold.workflow import new_workflow

    parser = argparse.ArgumentParser(prog="python -m tests.scaffold", description=__doc__)
    parser.add_argument("what", choices=("workflow", "version", "machine"))
    parser.add_argument("name")
    parser.add_argument("--provider", default="", help="where the new workflow's write is made")
    asked = parser.parse_args(arguments)
    try:
        match asked.what:
            case "workflow":
                lines = new_workflow(asked.name, asked.provider, root)
            case "version":
                lines = new_version(asked.name, root)
            case _:
                lines = new_machine(asked.name, root)
    except RefusedError as refused:
        sys.stderr.write(f"Nothing was written. {refused}\n")
        return 2
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
