"""`python -m sandbox up|demo`."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from rich.console import Console

from sandbox.errors import SandboxError

# The function code's import root, as in Lambda: the sandbox reads the ledger with its own store.
_FUNCTIONS = Path(__file__).parents[1] / "functions"
_INTERRUPTED = 130


def main() -> int:
    """The exit status: 0 done, 1 not proven or not possible, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    parser.add_argument("command", choices=["up", "demo"])
    command = parser.parse_args().command
    sys.path.insert(0, str(_FUNCTIONS))
    # SIGINT too: a shell starts background commands with it ignored.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    console = Console()
    try:
        return _run(command, console)
    except KeyboardInterrupt:
        console.print("Interrupted; everything it started has ended", style="dim")
        return 0 if command == "up" else _INTERRUPTED
    except SandboxError as error:
        console.print(f"{error}", style="bold red", markup=False)
        return 1


def _run(command: str, console: Console) -> int:
    if command == "up":
        from sandbox.up import stay_up

        return stay_up(console)
    from sandbox.demo import run_demo

    return run_demo(console)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Ends this process as Ctrl-C does, through every `finally`."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
