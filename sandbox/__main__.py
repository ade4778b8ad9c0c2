"""`python -m sandbox up|demo|reviews|status|view|act|packet|large-file`."""

import argparse
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from sandbox.errors import SandboxError
from sandbox.interrupts import interrupt_on_stop_signals
from sandbox.run_cli import add_run_commands, read_outputs, run_command
from sandbox.surroundings import reach_this_machine_directly

# The function code's import root, as in Lambda: the sandbox reads the ledger with its own store.
_FUNCTIONS = Path(__file__).parents[1] / "functions"
_INTERRUPTED = 130
LARGE_MIB = 200
_NOT_LINUX = "The sandbox needs Linux, on Windows in WSL: it reads /proc. This is {}."


def main() -> int:
    """The exit status: 0 done, 1 not proven or not possible, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("up", help="the embedded AWS, until interrupted")
    commands.add_parser("demo", help="a refund survives a killed worker")
    add_run_commands(commands)
    large = commands.add_parser("large-file", help="add one to the sample project, for an export")
    large.add_argument(
        "--mib", type=int, default=LARGE_MIB, help=f"its size (default: {LARGE_MIB})"
    )
    arguments = parser.parse_args()
    sys.path.insert(0, str(_FUNCTIONS))
    console = Console(highlight=False)
    if sys.platform != "linux":
        console.print(_NOT_LINUX.format(sys.platform), style="bold red")
        return 1
    interrupt_on_stop_signals()
    reach_this_machine_directly(os.environ)
    try:
        return _run(arguments, console)
    except KeyboardInterrupt:
        console.print("Interrupted; everything it started has ended", style="dim")
        return 0 if arguments.command == "up" else _INTERRUPTED
    except SandboxError as error:
        console.print(f"{error}", style="bold red", markup=False, soft_wrap=True)
        return 1
    except (BotoCoreError, ClientError, httpx.HTTPError) as error:
        reason = f"A server of the sandbox could not be used: {error}"
        console.print(reason, style="bold red", markup=False, soft_wrap=True)
        return 1


def _run(arguments: argparse.Namespace, console: Console) -> int:
    if arguments.command == "up":
        from sandbox.up import stay_up

        return stay_up(console)
    if arguments.command == "demo":
        from sandbox.demo import run_demo

        return run_demo(console)
    if arguments.command == "large-file":
        from sandbox.project_seed import add_large_file

        outputs = read_outputs()
        port = urlsplit(outputs.aws_endpoint).port
        add_large_file(int(port or 0), outputs.project_id, arguments.mib)
        return 0
    return run_command(arguments, console)


if __name__ == "__main__":
    sys.exit(main())
