"""The names that follow from a workflow's name, and which names there cannot be."""

import keyword
import re
from dataclasses import dataclass

from stacks.machine_check import AWAIT, ENDS, LOST, RECONCILED, WHERE
from stacks.machine_errors import PAUSE, RECONCILE, RESUME
from tests.scaffold.refusal import RefusedError

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# Step Functions allows 80 characters for a state machine's name, which begins with the
# deployment's; and lines that hold the name have to stay within a hundred.
MAX_NAME_CHARACTERS = 30
# The workflow's write is called as the workflow, and stands beside these.
OTHER_MODULES = frozenset({"confirm_targets", "contract", "request_approval"})
OTHER_STATES = frozenset({RESUME, WHERE, PAUSE, RECONCILE, RECONCILED, AWAIT, LOST, *ENDS})


@dataclass(frozen=True)
class Names:
    """A workflow's name as it is written in each place."""

    workflow: str

    @property
    def package(self) -> str:
        """Return the name of the workflow's package, and of its one write."""
        return self.workflow.replace("-", "_")

    @property
    def words(self) -> str:
        """Return the name as a sentence begins."""
        return self.workflow.replace("-", " ").capitalize()

    @property
    def type_name(self) -> str:
        """Return what the names of its types begin with."""
        return "".join(word.capitalize() for word in self.workflow.split("-"))

    def constant(self, number: int) -> str:
        """Return what the registry calls a version."""
        return f"{self.package.upper()}_{number}"


def names_of(workflow: str) -> Names:
    """Return the names of a workflow. Raises RefusedError for what is no workflow's name."""
    if not NAME.fullmatch(workflow):
        raise RefusedError(
            f"{workflow!r} is no name for a workflow: write what it does in small letters, "
            "its words joined by hyphens, for example NAME=pause-subscription."
        )
    if len(workflow) > MAX_NAME_CHARACTERS:
        raise RefusedError(
            f"{workflow!r} has {len(workflow)} characters; {MAX_NAME_CHARACTERS} are the most that "
            "a state machine's name and the lines of the code leave room for."
        )
    names = Names(workflow)
    if keyword.iskeyword(names.package):
        raise RefusedError(f"{workflow!r} is a word of Python; choose another name.")
    if names.package in OTHER_MODULES or names.type_name in OTHER_STATES:
        raise RefusedError(
            f"{workflow!r} is what another part of every workflow is called; choose another name."
        )
    return names
