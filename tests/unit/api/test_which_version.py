"""Which version a new run gets, and what becomes of a caller who names an older one."""

import pytest

from tests.recovery.scenarios import scenarios
from tests.recovery.world import World
from tests.unit.api.gateway import WISH, Gateway
from workflows import registry
from workflows.registry import CURRENT, OLDER, REGISTRY

NAME = "cancel-refund"
NEWER = CURRENT[NAME].version
OLD = next(found.version for found in OLDER if found.name == NAME)


def named(workflow: str) -> dict[str, object]:
    return {**WISH, "workflow": workflow}


@pytest.mark.parametrize("workflow", [NAME, NEWER])
def test_a_new_run_is_opened_on_the_current_version(gateway: Gateway, workflow: str) -> None:
    answer = gateway.ask(named(workflow))

    assert answer.status == 202
    assert answer.body["workflow"] == NEWER
    assert gateway.world.ledger.run.workflow == NEWER


def test_an_older_version_takes_no_new_run_and_the_problem_says_what_to_name(
    gateway: Gateway,
) -> None:
    answer = gateway.ask(named(OLD))

    answer.assert_problem(422, "superseded-version")
    assert answer.body["detail"] == (
        f"{OLD} takes no new runs; nothing was started. Name {NAME}, or {NEWER}. "
        "Its open runs go on."
    )
    assert gateway.starts == []
    assert gateway.world.runs() == []


def test_a_workflow_that_was_given_up_takes_no_new_run(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "CURRENT", {})

    answer = gateway.ask(named(NEWER))

    answer.assert_problem(422, "superseded-version")
    assert answer.body["detail"].endswith("nothing was started. Its open runs go on.")
    assert gateway.starts == []


@pytest.mark.parametrize("workflow", [NAME, OLD])
def test_a_repeat_after_a_deploy_is_the_run_that_the_key_opened(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, workflow: str
) -> None:
    # Given a run that was opened while the older version was the current one.
    gateway.world = World(scenario=scenarios()[OLD])
    with monkeypatch.context() as before:
        before.setattr(registry, "CURRENT", {NAME: REGISTRY[OLD]})
        opened = gateway.ask(named(workflow))
    assert opened.body["workflow"] == OLD

    # When the client sends the same again.
    again = gateway.ask(named(workflow))

    # Then it hears of that run, and nothing else was started.
    assert again.status == 202
    assert (again.body["run_id"], again.body["workflow"]) == (opened.body["run_id"], OLD)
    assert len(gateway.starts) == 1


def test_a_key_that_opened_a_run_opens_no_other_by_another_name(gateway: Gateway) -> None:
    assert gateway.ask(named(NEWER)).status == 202

    gateway.ask(named("nothing@1")).assert_problem(422, "unknown-workflow")
    gateway.ask(named(NAME)).assert_problem(409, "idempotency-key-reused")
    assert len(gateway.starts) == 1


def test_a_version_is_either_current_or_older() -> None:
    assert {found.name: found.version for found in CURRENT.values()} == {
        name: found.version for name, found in CURRENT.items()
    }
    assert not {found.version for found in CURRENT.values()} & {found.version for found in OLDER}
    assert len(REGISTRY) == len(CURRENT) + len(OLDER)
