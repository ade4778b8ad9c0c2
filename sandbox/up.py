"""`python -m sandbox up`: the system on this machine until interrupted."""

import threading
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from sandbox.environment import Sandbox
from sandbox.outputs import OUTPUTS_FILE, Outputs
from sandbox.workspace import shown_at, workspace, write_whole

# Tokens are good for an hour; new ones come well before that.
_TOKEN_RENEWAL_SECONDS = 45 * 60


def stay_up(console: Console) -> int:
    """Never returns before it is interrupted.

    Its outputs are shown in a file of its own for as long as it is up: `.sandbox/outputs.json`, or
    `.sandbox/up-2/outputs.json` and so on while an earlier one has that.
    """
    with (
        workspace("up") as directory,
        Sandbox(directory, report=lambda step: console.print(step, style="dim")) as sandbox,
    ):
        shown = shown_at(directory, "up", OUTPUTS_FILE.name)
        try:
            _write(shown, sandbox.outputs)
            _describe(console, sandbox.outputs, shown)
            _renew_until_interrupted(lambda: _write(shown, sandbox.sign_in_again()))
        finally:
            shown.unlink(missing_ok=True)
    return 0


def _renew_until_interrupted(renew: Callable[[], None]) -> None:
    """Bounded by the interrupt alone: staying up is the command's purpose."""
    never = threading.Event()
    while not never.wait(_TOKEN_RENEWAL_SECONDS):
        renew()


def _write(shown: Path, outputs: Outputs) -> None:
    write_whole(shown, outputs.model_dump_json(indent=2))


def _describe(console: Console, outputs: Outputs, shown: Path) -> None:
    console.rule("The sandbox is up; Ctrl-C ends it")
    for name, value in (
        ("API", f"{outputs.api_url}  with header  Host: {outputs.api_host_header}"),
        ("Console", outputs.console_url),
        ("Sign in", f"{outputs.sign_in_names['operator']}  {outputs.sign_in_password}"),
        ("AWS", outputs.aws_endpoint),
        ("Stripe", f"{outputs.stripe_url}  faults: POST {outputs.stripe_control_url}/faults"),
        ("Mail", outputs.mail_url),
        ("All of it", f"{shown}  (addresses, ids, sign-in tokens)"),
    ):
        console.print(f"{name:<10} {value}", highlight=False, soft_wrap=True)
