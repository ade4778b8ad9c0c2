"""A released version does for ever what it did when it was released."""

import json
from pathlib import Path

import pytest

from workflows.registry import REGISTRY
from workflows.release import release_digest

ROOT = Path(__file__).parents[3]
RELEASED = json.loads((ROOT / "statemachines" / "released.json").read_text(encoding="utf-8"))


def test_every_registered_version_has_a_release_digest() -> None:
    assert sorted(REGISTRY) == sorted(RELEASED)


@pytest.mark.parametrize("version", sorted(REGISTRY))
def test_a_released_version_still_does_what_it_did(version: str) -> None:
    definition = REGISTRY[version]
    asl = (ROOT / definition.asl_path).read_text(encoding="utf-8")

    assert release_digest(definition, asl) == RELEASED[version], (
        f"{version} is released and runs may be paused on it: make a new version instead"
    )


@pytest.mark.parametrize("version", sorted(REGISTRY))
def test_a_changed_retry_or_bound_field_changes_the_digest_and_a_comment_does_not(
    version: str,
) -> None:
    definition = REGISTRY[version]
    asl = json.loads((ROOT / definition.asl_path).read_text(encoding="utf-8"))
    released = release_digest(definition, json.dumps(asl))

    commented = {**asl, "Comment": "other words"}
    retried = {**asl, "TimeoutSeconds": asl["TimeoutSeconds"] + 1}
    operation = definition.operations[0]
    loosened = operation.model_copy(update={"needs_approval": not operation.needs_approval})
    changed = definition.model_copy(update={"operations": (loosened, *definition.operations[1:])})

    assert release_digest(definition, json.dumps(commented, indent=4)) == released
    assert release_digest(definition, json.dumps(retried)) != released
    assert release_digest(changed, json.dumps(asl)) != released
