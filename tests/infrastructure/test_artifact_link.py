"""Where mails lead to, and what the function may do that hands artifacts out."""

import json
from typing import Any

import pytest

from ledger.workflow import WorkflowDefinition
from tests.infrastructure.conftest import Synthesize
from tests.infrastructure.templates import Assembly, Template, actions, arns, text
from workflows.registry import REGISTRY

API = "recovery-ledger-api"
HANDLER = "api.get_artifact.handler"
PARAMETER = "/recovery-ledger/site-url"
VERSION = "recovery-ledger-cancel-refund-v4"
SENDER = "workflows.cancel_refund.v4.send_receipt.handler"


@pytest.fixture
def template(assembly: Assembly) -> Template:
    """The API's stack."""
    return assembly.template(API)


@pytest.fixture(scope="module")
def linking(synthesize: Synthesize) -> Assembly:
    """The app with a version whose last stage mails a link."""
    return synthesize([_mailing_links(REGISTRY["cancel-refund@4"])])


def _mailing_links(definition: WorkflowDefinition) -> WorkflowDefinition:
    *others, last = definition.stages
    links = last.model_copy(update={"providers": (*last.providers, "ses_artifact_link")})
    return definition.model_copy(update={"stages": (*others, links)})


def variables(assembly: Assembly, stack: str, handler: str) -> dict[str, Any]:
    """Return the settings of one function."""
    function = assembly.template(stack).functions()[handler]
    return dict(function["Properties"]["Environment"]["Variables"])


def test_the_function_that_hands_out_may_read_archives_and_change_nothing(
    template: Template,
) -> None:
    allowed = template.function_statements(HANDLER)

    assert {name.partition(":")[2] for found in allowed for name in actions(found)} == {
        "GetBucketPublicAccessBlock",
        "GetItem",
        "GetObject",
        "ListBucket",
        "Query",
    }


def test_of_objects_it_reads_archives_and_whose_a_project_is_and_no_file_of_a_project(
    template: Template,
) -> None:
    objects = [
        arn
        for found in template.function_statements(HANDLER)
        if "s3:GetObject" in actions(found)
        for arn in arns(found)
    ]

    assert len(objects) == 2
    assert [arn for arn in objects if arn.endswith("/artifacts/*")]
    assert [arn for arn in objects if arn.endswith("/projects/*/owner.json")]


def test_it_is_told_no_secret_and_no_sender(assembly: Assembly) -> None:
    told = variables(assembly, API, HANDLER)

    assert told["ARTIFACTS_BUCKET"]
    assert not {"STRIPE_SECRET_ID", "MAIL_FROM", "SITE_URL"} & set(told)


def test_the_address_of_the_pages_is_kept_under_a_name_of_this_deployment(
    template: Template,
) -> None:
    (api,) = template.resources("AWS::ApiGatewayV2::Api")
    kept = template.only("AWS::SSM::Parameter")["Properties"]

    assert kept["Name"] == PARAMETER
    assert text(kept["Value"]) == f"<{api}.ApiEndpoint>"


def test_a_version_that_mails_links_is_told_where_they_lead_by_that_name(
    linking: Assembly,
) -> None:
    parameter = variables(linking, VERSION, SENDER)["SITE_URL"]["Ref"]
    template = linking.template(VERSION)

    assert template.body["Parameters"][parameter] == {
        "Default": PARAMETER,
        "Type": "AWS::SSM::Parameter::Value<String>",
    }
    # No export ties the version to the API's stack; it only has to be there first.
    assert API not in json.dumps(template.body)
    manifest = json.loads((linking.path / "manifest.json").read_text(encoding="utf-8"))
    assert API in manifest["artifacts"][VERSION]["dependencies"]


def test_only_the_stage_that_mails_links_is_told(linking: Assembly) -> None:
    told = {
        handler
        for template, handler, function in linking.each_function()
        if "SITE_URL" in function["Properties"]["Environment"]["Variables"]
        and template.name == VERSION
    }

    assert told == {SENDER}


def test_a_deployment_with_pages_elsewhere_leads_there(synthesize: Synthesize) -> None:
    assembly = synthesize(
        [_mailing_links(REGISTRY["cancel-refund@4"])], site_url="https://shop.example"
    )

    assert variables(assembly, VERSION, SENDER)["SITE_URL"] == "https://shop.example"


def test_a_version_that_mails_no_links_knows_nothing_of_the_pages(assembly: Assembly) -> None:
    assert "SITE_URL" not in json.dumps(assembly.template(VERSION).body)
