"""A released version does for ever what it did when it was released."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.workflow import WorkflowDefinition
from workflows.registry import REGISTRY
from workflows.release import release_digest

ROOT = Path(__file__).parents[3]
RELEASED = json.loads((ROOT / "statemachines" / "released.json").read_text(encoding="utf-8"))
VERSIONS = sorted(REGISTRY)


def machine_of(definition: WorkflowDefinition) -> dict[str, Any]:
    asl: dict[str, Any] = json.loads((ROOT / definition.asl_path).read_text(encoding="utf-8"))
    return asl


def test_no_released_version_has_vanished() -> None:
    assert set(RELEASED) <= set(REGISTRY)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_released_version_still_does_what_it_did(version: str) -> None:
    definition = REGISTRY[version]
    now = release_digest(definition, json.dumps(machine_of(definition)))

    assert RELEASED.get(version) == now, (
        f"If {version} was never released, its digest in statemachines/released.json is {now}. "
        "If it was, runs may be paused on it: make a new version instead."
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_comment_or_other_words_change_no_digest(version: str) -> None:
    definition = REGISTRY[version]
    asl = machine_of(definition)
    reworded = definition.model_copy(update={"summary": "other words"})

    assert release_digest(reworded, json.dumps({**asl, "Comment": "other"}, indent=4)) == (
        release_digest(definition, json.dumps(asl))
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "change",
    [
        {"approval_lifetime_seconds": 1},
        {"max_executions": 99},
        {"contracts": ()},
        {"stages": ()},
        {"operations": ()},
        {"request_type": WorkflowDefinition},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_a_version_does_is_part_of_its_digest(
    version: str, change: dict[str, Any]
) -> None:
    definition = REGISTRY[version]
    asl = json.dumps(machine_of(definition))

    changed = definition.model_copy(update=change)

    assert release_digest(changed, asl) != release_digest(definition, asl)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_changed_retry_is_a_changed_version(version: str) -> None:
    definition = REGISTRY[version]
    asl = machine_of(definition)
    before = release_digest(definition, json.dumps(asl))

    asl["States"]["Resume"]["Retry"][0]["MaxAttempts"] += 1

    assert release_digest(definition, json.dumps(asl)) != before
