"""Where the mail service's events come from."""

import json

import pytest

from tests.infrastructure.conftest import Synthesize
from tests.infrastructure.templates import Assembly, Template, text

STACK = "recovery-ledger-mail"
OURS = "recovery-ledger-receipts"


@pytest.fixture
def template(assembly: Assembly) -> Template:
    """The mail stack."""
    return assembly.template(STACK)


def test_receipts_are_sent_with_a_set_of_this_deployment(
    assembly: Assembly, template: Template
) -> None:
    assert template.only("AWS::SES::ConfigurationSet")["Properties"]["Name"] == OURS
    told = {
        function["Properties"]["Environment"]["Variables"].get("MAIL_CONFIGURATION_SET")
        for _, _, function in assembly.each_function()
        if "MAIL_FROM" in function["Properties"]["Environment"]["Variables"]
    }
    assert told == {OURS}


def test_what_became_of_a_mail_is_put_on_the_default_bus(template: Template) -> None:
    (set_name,) = template.resources("AWS::SES::ConfigurationSet")
    resource = template.only("AWS::SES::ConfigurationSetEventDestination")
    destination = resource["Properties"]["EventDestination"]

    assert resource["Properties"]["ConfigurationSetName"] == OURS
    assert resource["DependsOn"] == [set_name]
    assert destination["Enabled"] is True
    assert text(destination["EventBridgeDestination"]["EventBusArn"]).endswith(":event-bus/default")
    assert set(destination["MatchingEventTypes"]) == {
        "bounce",
        "complaint",
        "delivery",
        "reject",
        "send",
    }


def test_no_mail_is_sent_before_its_set_exists(assembly: Assembly) -> None:
    manifest = json.loads((assembly.path / "manifest.json").read_text(encoding="utf-8"))
    workflow = manifest["artifacts"]["recovery-ledger-cancel-refund-v4"]

    assert STACK in workflow["dependencies"]


def test_a_set_that_exists_is_used_and_not_made(synthesize: Synthesize) -> None:
    template = synthesize(mail_configuration_set="shop").template(STACK)
    destination = template.only("AWS::SES::ConfigurationSetEventDestination")["Properties"]

    assert template.resources("AWS::SES::ConfigurationSet") == {}
    assert destination["ConfigurationSetName"] == "shop"
