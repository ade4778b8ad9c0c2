"""The sandbox deploys the same app: what differs is listed here, and nothing else may."""

from typing import Any

import pytest

from tests.infrastructure.conftest import Synthesize
from tests.infrastructure.templates import Assembly

DATA = {"AWS::Cognito::UserPool", "AWS::DynamoDB::Table", "AWS::S3::Bucket"}
STRIPE_API_BASE = "http://127.0.0.1:4242"
SIGN_IN_URL = "http://127.0.0.1:4566"


@pytest.fixture(scope="module")
def sandbox(synthesize: Synthesize) -> Assembly:
    """The app as the sandbox deploys it."""
    return synthesize(sandbox="true", stripe_api_base=STRIPE_API_BASE, sign_in_url=SIGN_IN_URL)


def as_on_aws(resource: dict[str, Any]) -> dict[str, Any]:
    """Return ``resource`` without the properties that may differ in the sandbox."""
    properties = dict(resource["Properties"])
    rest = {name: value for name, value in resource.items() if name != "Properties"}
    match resource["Type"]:
        case "AWS::Lambda::Function":
            for name in ("Architectures", "Layers", "Runtime"):
                properties.pop(name, None)
            environment = dict(properties["Environment"]["Variables"])
            environment.pop("STRIPE_API_BASE", None)
            environment.pop("SIGN_IN_URL", None)
            properties["Environment"] = environment
        case "AWS::DynamoDB::Table":
            properties.pop("DeletionProtectionEnabled")
        case "AWS::Cognito::UserPool":
            properties.pop("DeletionProtection")
        case "AWS::Cognito::UserPoolClient":
            properties.pop("ExplicitAuthFlows")
    if resource["Type"] in DATA:
        rest.pop("DeletionPolicy")
        rest.pop("UpdateReplacePolicy")
    return {**rest, "Properties": properties}


def test_the_sandbox_has_the_same_resources_but_the_layer(
    assembly: Assembly, sandbox: Assembly
) -> None:
    for there in assembly.templates():
        here = sandbox.template(there.name).body["Resources"]
        layers = set(there.resources("AWS::Lambda::LayerVersion"))

        assert set(here) == set(there.body["Resources"]) - layers
        for name, resource in here.items():
            assert as_on_aws(resource) == as_on_aws(there.body["Resources"][name]), name


def test_functions_run_under_lambdas_own_runtime_client(sandbox: Assembly) -> None:
    for _, handler, function in sandbox.each_function():
        assert function["Properties"]["Runtime"] == "provided.al2023", handler
        assert "Layers" not in function["Properties"], handler


def test_stripe_is_called_on_this_machine(sandbox: Assembly) -> None:
    bases = {
        variables["STRIPE_API_BASE"]
        for _, _, function in sandbox.each_function()
        if "STRIPE_SECRET_ID" in (variables := function["Properties"]["Environment"]["Variables"])
    }

    assert bases == {STRIPE_API_BASE}


def test_people_sign_in_on_this_machine(sandbox: Assembly) -> None:
    pages = sandbox.template("recovery-ledger-api").functions()["console.serve_page.handler"]

    assert pages["Properties"]["Environment"]["Variables"]["SIGN_IN_URL"] == SIGN_IN_URL


def test_nothing_is_kept(sandbox: Assembly) -> None:
    for template in sandbox.templates():
        for resource in template.body["Resources"].values():
            assert resource.get("DeletionPolicy", "Delete") == "Delete"
            assert resource["Properties"].get("DeletionProtectionEnabled", False) is False
            assert resource["Properties"].get("DeletionProtection", "INACTIVE") == "INACTIVE"


def test_on_aws_stripe_is_called_where_the_library_says(assembly: Assembly) -> None:
    for _, _, function in assembly.each_function():
        assert "STRIPE_API_BASE" not in function["Properties"]["Environment"]["Variables"]
