"""What is frozen when a version is released, as one digest."""

import json

from ledger.canonical import digest
from ledger.workflow import WorkflowDefinition


def release_digest(definition: WorkflowDefinition, asl: str) -> str:
    """Return a digest over the state machine and over what the version does to the outside.

    Formatting and comments are no part of it; a state, a retry or a bound field is.
    """
    return digest(
        {
            "state_machine": _without_comments(json.loads(asl)),
            "consequence": definition.consequence_digest(),
        }
    )


def _without_comments(part: object) -> object:
    match part:
        case dict():
            return {key: _without_comments(part[key]) for key in part if key != "Comment"}
        case list():
            return [_without_comments(item) for item in part]
        case _:
            return part
