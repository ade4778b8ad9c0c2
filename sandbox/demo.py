"""`python -m sandbox demo`: a refund of 79.00 USD survives its worker."""

import time

from rich.console import Console

from sandbox.demo_run import DemoRun, now_ms
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.findings import gather
from sandbox.story import tell
from sandbox.timeline import Timeline
from sandbox.workspace import STATE, workspace, write_whole

DEMO_FILE = STATE / "demo.json"


def run_demo(console: Console) -> int:
    """0 only if one refund, one receipt and a completed run are proven; writes demo.json."""
    started = time.monotonic()
    DEMO_FILE.unlink(missing_ok=True)
    with (
        workspace("demo") as directory,
        Sandbox(directory, report=lambda step: console.print(step, style="dim")) as sandbox,
    ):
        console.rule("A refund survives a killed worker")
        run = DemoRun(sandbox, Timeline(console, now_ms()))
        try:
            run.play()
        except SandboxError as trouble:
            console.print(f"The demo stopped: {trouble}", style="bold red")
            if not run.run_id:
                return 1
        found = gather(sandbox, run, seconds_total=time.monotonic() - started)
        write_whole(DEMO_FILE, found.model_dump_json(indent=2))
        tell(console, found, sandbox.subscriber.charge_id, run.digest, run.told())
    console.print(f"Everything is in {DEMO_FILE}", style="dim")
    return 0 if found.proven else 1
