"""`python -m sandbox demo`: a refund of 79.00 USD survives its worker."""

import time
from pathlib import Path

from rich.console import Console

from sandbox.demo_run import DemoRun, now_ms
from sandbox.environment import Sandbox
from sandbox.errors import SandboxError
from sandbox.findings import gather
from sandbox.story import tell
from sandbox.timeline import Timeline
from sandbox.workspace import shown_at, workspace, write_whole


def run_demo(console: Console) -> int:
    """0 only if all of `Findings.proven` holds, which is then in demo.json.

    That is `.sandbox/demo.json`, or `.sandbox/demo-2/demo.json` and so on beside another demo.
    """
    started = time.monotonic()
    with workspace("demo") as directory:
        demo_file = shown_at(directory, "demo", "demo.json")
        # What an earlier demo proved says nothing about this one, however this one ends.
        demo_file.unlink(missing_ok=True)
        return _run_in(directory, demo_file, console, started)


def _run_in(directory: Path, demo_file: Path, console: Console, started: float) -> int:
    with Sandbox(directory, report=lambda step: console.print(step, style="dim")) as sandbox:
        console.rule("A refund survives a killed worker")
        run = DemoRun(sandbox, Timeline(console, now_ms()))
        try:
            run.play()
        except SandboxError as trouble:
            console.print(
                f"The demo stopped: {trouble}", style="bold red", markup=False, soft_wrap=True
            )
            if not run.run_id:
                return 1
        found = gather(sandbox, run, seconds_total=time.monotonic() - started)
        write_whole(demo_file, found.model_dump_json(indent=2))
        tell(console, found, sandbox.subscriber.charge_id, run.told())
    console.print(f"Everything is in {demo_file}", style="dim", soft_wrap=True)
    return 0 if found.proven else 1
