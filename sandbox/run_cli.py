"""`python -m sandbox reviews`, and `status|view|act|packet RUN_ID`: a running sandbox by its API.

Each command signs in as the one whose reading it is: the customer, the operator, the agent.
"""

import json
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
from pydantic import ValidationError
from rich.console import Console

from sandbox.api_client import Api
from sandbox.errors import SandboxError
from sandbox.outputs import OUTPUTS_FILE, Outputs

REVIEWS = "reviews"
COMMANDS = {
    REVIEWS: "the runs that wait for a person, longest waiting first",
    "status": "what the customer is told",
    "view": "what an operator sees and may do",
    "act": "do one of these, on the view as it is now or as it was seen",
    "packet": "what an agent's model is told on resume",
}
# A thousand runs; more than these nobody reads from a terminal.
MAX_PAGES = 50


def add_run_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Adds the commands with their arguments."""
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary.capitalize())
        if name == REVIEWS:
            continue
        command.add_argument("run_id")
        if name == "act":
            command.add_argument("action", help="its name, as `view` lists it")
            command.add_argument("--reason", required=True, help="kept with the action")
            command.add_argument("--effect", help="which mail, for actions about one")
            command.add_argument(
                "--version", type=int, help="the view it was chosen on (default: the present one)"
            )


def run_command(arguments: Namespace, console: Console) -> int:
    """0 when the API did what was asked, 1 when it refused. Raises SandboxError without a sandbox.

    What it answers goes to standard output: lines for an operator, JSON for the others.
    """
    outputs = read_outputs()
    api = Api(outputs.api_url, outputs.api_host_header, outputs.tokens)
    try:
        if arguments.command == REVIEWS:
            return _list_reviews(api, console)
        return _show(_ask(api, arguments), arguments.command, console)
    except httpx.TransportError as trouble:
        raise SandboxError(f"the sandbox at {outputs.api_url} gives no answer: {trouble}") from None
    finally:
        api.close()


def read_outputs() -> Outputs:
    """The running sandbox's addresses and tokens. Raises SandboxError when none is up."""
    try:
        return Outputs.model_validate_json(OUTPUTS_FILE.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        raise SandboxError(
            f"no running sandbox is described in {OUTPUTS_FILE}; start one with: make sandbox"
        ) from None


def _ask(api: Api, arguments: Namespace) -> httpx.Response:
    path = f"/runs/{arguments.run_id}"
    match arguments.command:
        case "status":
            return api.call("customer", "GET", path)
        case "packet":
            return api.call("agent", "GET", f"{path}/packet")
        case "view":
            return api.call("operator", "GET", f"{path}/view")
    version = arguments.version
    if version is None:
        seen = api.call("operator", "GET", f"{path}/view")
        if not seen.is_success:
            return seen
        version = seen.json()["facts"]["view_version"]
    chosen = {"action": arguments.action, "view_version": version, "reason": arguments.reason}
    if arguments.effect is not None:
        chosen["effect_id"] = arguments.effect
    return api.call("operator", "POST", f"{path}/actions", chosen)


def _list_reviews(api: Api, console: Console) -> int:
    cursor: str | None = ""
    found = 0
    for _ in range(MAX_PAGES):
        answer = api.call("operator", "GET", f"/reviews?cursor={cursor}" if cursor else "/reviews")
        if not answer.is_success:
            return _refused(answer, console)
        page = answer.json()
        found += len(page["reviews"]) + len(page["unreadable"])
        unreadable = [
            f"{run_id}  cannot be read: tell an engineer" for run_id in page["unreadable"]
        ]
        for lines in (*map(_review_lines, page["reviews"]), unreadable):
            for line in lines:
                console.print(line, markup=False, highlight=False, soft_wrap=True)
        cursor = page["next_cursor"]
        if cursor is None:
            if not found:
                console.print("Nothing waits for a person now")
            return 0
    console.print(f"More than {MAX_PAGES} pages wait; these waited longest", style="bold")
    return 0


def _review_lines(review: Mapping[str, Any]) -> list[str]:
    known = [
        f"{words}: {', '.join(review[name])}"
        for name, words in (
            ("unknown", "unknown"),
            ("contrary", "refused or differs"),
            ("confirmed", "confirmed"),
        )
        if review[name]
    ]
    return [
        f"{review['run_id']}  {review['amount']}  waits since "
        f"{_moment(review['waiting_since_ms'])}",
        f"  {review['reason']}",
        *(f"  {line}" for line in known),
    ]


def _refused(answer: httpx.Response, console: Console) -> int:
    refusal = f"{answer.status_code} {answer.text}"
    console.print(refusal, style="bold red", markup=False, soft_wrap=True)
    return 1


def _show(answer: httpx.Response, command: str, console: Console) -> int:
    if not answer.is_success:
        return _refused(answer, console)
    if command in ("view", "act"):
        _show_view(answer.json(), console)
    else:
        text = json.dumps(answer.json(), indent=2, ensure_ascii=False)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    return 0


def _since(effect: Mapping[str, Any]) -> str:
    return ", taken back since" if effect.get("undone") else ""


def _moment(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _clocks(effect: Mapping[str, Any]) -> list[str]:
    """Until when the effect's key protects, and until when it is to be settled."""
    lines = []
    if effect["key_protects_until_ms"] is not None:
        lines.append(
            f"key {effect['generation']} first used {_moment(effect['key_first_used_at_ms'])}, "
            f"protects until {_moment(effect['key_protects_until_ms'])}"
        )
    if effect["overdue_at_ms"] is not None:
        told = ", which has passed" if effect["overdue"] else ""
        lines.append(f"recovery deadline {_moment(effect['overdue_at_ms'])}{told}")
    return lines


def _candidate(found: Mapping[str, Any]) -> str:
    """A record that may or may not be ours, or that stands in the way."""
    fields = ", ".join(f"{name} {value}" for name, value in sorted(found["fields"].items()))
    return (
        f"candidate {found['record_id']} at {found['source']}: {found['provider_status']}, "
        f"{fields}, read {_moment(found['read_at_ms'])}"
    )


def _show_view(view: Mapping[str, Any], console: Console) -> None:
    facts = view["facts"]
    reason = f": {facts['review_reason']}" if facts["review_reason"] else ""
    for line in (
        f"{facts['run_id']}  {facts['workflow']}  view {facts['view_version']}",
        f"{facts['state']}{reason}",
        *(f"and since: {also}" for also in facts["review_also"]),
        *(f"found out since: {label}" for label in facts["settled_in_review"]),
        f"last verified checkpoint: {facts['last_verified_checkpoint']}",
        *(
            f"{effect['label']}: {effect['state']}{_since(effect)}  {effect['record_id'] or ''}  "
            f"{effect['attempts']} attempts  {effect['effect_id']}"
            for effect in facts["effects"]
        ),
        *(
            f"{effect['label']}: {line}"
            for effect in facts["effects"]
            for line in (
                *effect["remarks"],
                *_clocks(effect),
                *map(_candidate, effect["candidates"]),
            )
        ),
        *(f"{label}: not begun" for label in facts["not_begun"]),
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for offer in view["offers"]:
        style = "" if offer["allowed"] else "dim"
        console.print(_offer_line(offer), style=style, markup=False, soft_wrap=True)


def _offer_line(offer: Mapping[str, Any]) -> str:
    """The action as `act` takes it, then what follows from it or why it is not allowed."""
    about = f" --effect {offer['effect_id']}" if offer["effect_id"] else ""
    if not offer["allowed"]:
        return f"may not  {offer['action']}{about}: {offer['refused_because']}"
    consequence = offer["consequence"]
    follows = [
        f"{verb} {', '.join(consequence[what])}"
        for verb, what in (("reads", "reads"), ("may write", "writes"))
        if consequence[what]
    ]
    if consequence["moves_money"]:
        follows.append("moves money")
    effect = f" [{'; '.join(follows)}]" if follows else ""
    return f"may      {offer['action']}{about}: {consequence['words']}{effect}"
