"""What processes of the sandbox inherit from the machine: as little as they need."""

import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from sandbox.ports import LOOPBACK

# What would reach a real account, or slow Python down; and colours, which a log cannot show.
_UNWANTED = ("AWS_", "PYTHON", "CDK_", "MINISTACK_", "XDG_", "FORCE_COLOR")
_DIRECT = (LOOPBACK, "localhost")
# Python reads the first where both are set, other programs only one of them.
_DIRECT_NAMES = ("no_proxy", "NO_PROXY")
# The unpacked CDK library, 213 MB: made once, and good for exactly the installed one.
_CDK_LIBRARY_CACHE = "jsii-cache"


def child_environment(state_dir: Path) -> dict[str, str]:
    """This process's environment, with home and temporary files under `state_dir` instead.

    Both folders are made. Nothing in it reaches a real account, or a proxy for this machine.
    """
    home, temporary = state_dir / "home", state_dir / "tmp"
    for directory in (home, temporary):
        directory.mkdir(parents=True, exist_ok=True)
    environment = clean_environment()
    environment |= {"HOME": str(home), "TMPDIR": str(temporary), "NO_COLOR": "1"}
    environment.setdefault(
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT", str(Path(sys.prefix) / _CDK_LIBRARY_CACHE)
    )
    return environment


def clean_environment() -> dict[str, str]:
    """This process's environment without what a program on this machine must not be told."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(_UNWANTED)
    }
    reach_this_machine_directly(environment)
    return environment


def reach_this_machine_directly(environment: MutableMapping[str, str]) -> None:
    """Keeps requests to this machine away from a proxy; other exceptions from it stay."""
    hosts = ",".join(dict.fromkeys([*_exceptions(environment), *_DIRECT]))
    for name in _DIRECT_NAMES:
        environment[name] = hosts


def _exceptions(environment: Mapping[str, str]) -> list[str]:
    listed = ",".join(environment.get(name, "") for name in _DIRECT_NAMES)
    return [host for host in (part.strip() for part in listed.split(",")) if host]
