"""Findings of the AWS Solutions rules that are accepted: each real, each with its reason."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from aws_cdk import App
from cdk_nag import AwsSolutionsChecks

from providers.contracts import CONTRACTS
from stacks.deployment import Deployment
from stacks.service import add_service
from workflows.registry import REGISTRY

ACKNOWLEDGED = "aws:cdk:acknowledged-rules"
NAMESPACE = "Annotation::"

Accepted = tuple[str, str, str]
"""The path of a construct, a rule and the reason."""


class AcceptsNothing:
    """Stands where findings are accepted, and accepts none."""

    @classmethod
    def of(cls, _scope: object) -> "AcceptsNothing":
        """Return itself for any construct."""
        return cls()

    def acknowledge(self, *_rules: object) -> None:
        """Do nothing."""


@pytest.fixture
def app(context: dict[str, str], layer_path: Path) -> App:
    """An app without stacks."""
    return App(context={**context, "layer_path": str(layer_path)})


def add_stacks(app: App) -> None:
    """Add the stacks to ``app``."""
    add_service(app, Deployment.from_context(app.node), REGISTRY.values(), CONTRACTS)


def accepted_in(app: App) -> Iterator[Accepted]:
    """Yield what is accepted anywhere in ``app``."""
    for construct in app.node.find_all():
        for entry in construct.node.metadata:
            if entry.type == ACKNOWLEDGED:
                for rule, reason in entry.data.items():
                    yield construct.node.path, rule.removeprefix(NAMESPACE), reason


def findings_in(app: App) -> set[tuple[str, str]]:
    """Return the path and the rule of everything that the rules find in ``app``."""
    return {
        (resource.construct_path or "", violation.rule_name)
        for violation in AwsSolutionsChecks(app).validate_scope(app).violations
        for resource in violation.violating_resources
    }


def test_nothing_is_found_that_was_not_accepted(app: App) -> None:
    add_stacks(app)

    assert findings_in(app) == set()


def test_every_accepted_finding_is_a_real_one(
    app: App, context: dict[str, str], layer_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_stacks(app)
    monkeypatch.setattr("stacks.acknowledge.Validations", AcceptsNothing)
    unaccepted = App(context={**context, "layer_path": str(layer_path)})
    add_stacks(unaccepted)
    findings = findings_in(unaccepted)

    for path, rule, _ in accepted_in(app):
        assert any(
            found_rule == rule and found_path.startswith(path)
            for found_path, found_rule in findings
        ), (path, rule)


def test_every_accepted_finding_has_a_reason(app: App) -> None:
    add_stacks(app)
    reasons = {reason for _, _, reason in accepted_in(app)}

    assert reasons
    assert all(len(reason.split()) > 5 for reason in reasons)
