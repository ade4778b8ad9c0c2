"""`python -m sandbox up`: the system on this machine until interrupted."""

import threading
from collections.abc import Callable

from rich.console import Console

from sandbox.environment import Sandbox
from sandbox.outputs import Outputs
from sandbox.workspace import STATE, workspace, write_whole

OUTPUTS_FILE = STATE / "outputs.json"
# Tokens are good for an hour; new ones come well before that.
_TOKEN_RENEWAL_SECONDS = 45 * 60


def stay_up(console: Console) -> int:
    """Never returns before it is interrupted; outputs.json is there exactly as long as it is up."""
    with (
        workspace("up") as directory,
        Sandbox(directory, report=lambda step: console.print(step, style="dim")) as sandbox,
    ):
        try:
            _write(sandbox.outputs)
            _describe(console, sandbox.outputs)
            _renew_until_interrupted(sandbox.sign_in_again)
        finally:
            OUTPUTS_FILE.unlink(missing_ok=True)
    return 0


def _renew_until_interrupted(sign_in: Callable[[], Outputs]) -> None:
    """Bounded by the interrupt alone: staying up is the command's purpose."""
    never = threading.Event()
    while not never.wait(_TOKEN_RENEWAL_SECONDS):
        _write(sign_in())


def _write(outputs: Outputs) -> None:
    write_whole(OUTPUTS_FILE, outputs.model_dump_json(indent=2))


def _describe(console: Console, outputs: Outputs) -> None:
    console.rule("The sandbox is up; Ctrl-C ends it")
    for name, value in (
        ("API", f"{outputs.api_url}  with header  Host: {outputs.api_host_header}"),
        ("AWS", outputs.aws_endpoint),
        ("Stripe", f"{outputs.stripe_url}  faults: POST {outputs.stripe_control_url}/faults"),
        ("Mail", outputs.mail_url),
        ("All of it", f"{OUTPUTS_FILE}  (addresses, ids, sign-in tokens)"),
    ):
        console.print(f"{name:<10} {value}", highlight=False, soft_wrap=True)
