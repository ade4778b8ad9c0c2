"""The pages: open to everybody, without any permission, and the way to sign in on them."""

from typing import Any

import pytest

from tests.infrastructure.conftest import ROOT
from tests.infrastructure.templates import Assembly, Template, text

STACK = "recovery-ledger-api"
FIRST_PARTS = {"approve", "artifact", "console", "signed-in"}
HANDLER = "console.serve_page.handler"


@pytest.fixture
def template(assembly: Assembly) -> Template:
    """The API's stack."""
    return assembly.template(STACK)


@pytest.fixture
def client(template: Template) -> dict[str, Any]:
    """The one client of the user pool."""
    return dict(template.only("AWS::Cognito::UserPoolClient")["Properties"])


def test_the_function_of_the_pages_holds_them_and_nothing_of_the_ledger(
    assembly: Assembly, template: Template
) -> None:
    code = assembly.code(template, HANDLER)
    ours = ROOT / "functions" / "console"

    assert {path.name for path in code.iterdir()} == {"console"}
    assert {path.name for path in (code / "console" / "static").iterdir()} == {
        path.name for path in (ours / "static").iterdir()
    }


def test_the_function_of_the_pages_may_do_nothing(template: Template) -> None:
    assert template.function_statements(HANDLER) == []


def test_only_the_pages_are_served_by_it(template: Template) -> None:
    (function,) = (
        name
        for name, found in template.resources("AWS::Lambda::Function").items()
        if found["Properties"]["Handler"] == HANDLER
    )
    integrations = {
        name
        for name, found in template.resources("AWS::ApiGatewayV2::Integration").items()
        if found["Properties"]["IntegrationUri"] == {"Fn::GetAtt": [function, "Arn"]}
    }
    served = {
        found["Properties"]["RouteKey"]
        for found in template.resources("AWS::ApiGatewayV2::Route").values()
        if found["Properties"]["Target"]["Fn::Join"][1][1]["Ref"] in integrations
    }

    assert {route.split(" ")[0] for route in served} == {"GET", "HEAD"}
    assert not {route for route in served if route.split(" ")[1].startswith("/runs")}


def test_opening_pages_uses_up_nothing_of_what_the_api_allows(template: Template) -> None:
    stage = template.only("AWS::ApiGatewayV2::Stage")
    routes = {
        name: found["Properties"]["RouteKey"]
        for name, found in template.resources("AWS::ApiGatewayV2::Route").items()
    }
    pages = {key for key in routes.values() if key.split(" ")[1].split("/")[1] in FIRST_PARTS}

    assert stage["Properties"]["RouteSettings"] == {
        key: {"ThrottlingBurstLimit": 200, "ThrottlingRateLimit": 100} for key in pages
    }
    # CloudFormation refuses a limit of a route that it has not made yet.
    assert {name for name, key in routes.items() if key in pages} <= set(stage["DependsOn"])


def test_people_sign_in_by_a_code_and_no_token_is_in_an_address(client: dict[str, Any]) -> None:
    assert client["AllowedOAuthFlows"] == ["code"]
    assert client["AllowedOAuthScopes"] == ["openid"]
    assert client["AllowedOAuthFlowsUserPoolClient"] is True
    # A page could keep no secret; the challenge that each sign-in makes takes its place.
    assert client["GenerateSecret"] is False
    assert client["SupportedIdentityProviders"] == ["COGNITO"]


def test_the_sign_in_pages_send_people_back_to_ours_and_nowhere_else(
    template: Template, client: dict[str, Any]
) -> None:
    (api,) = template.resources("AWS::ApiGatewayV2::Api")

    assert [text(url) for url in client["CallbackURLs"]] == [f"<{api}.ApiEndpoint>/signed-in"]
    assert [text(url) for url in client["LogoutURLs"]] == [f"<{api}.ApiEndpoint>/console"]


def test_the_page_is_told_where_its_own_pool_signs_people_in(template: Template) -> None:
    variables = template.functions()[HANDLER]["Properties"]["Environment"]["Variables"]
    (client,) = template.resources("AWS::Cognito::UserPoolClient")
    (domain,) = template.resources("AWS::Cognito::UserPoolDomain")

    assert variables["USER_POOL_CLIENT_ID"] == {"Ref": client}
    assert text(variables["SIGN_IN_URL"]) == (
        f"https://<{domain}>.auth.<AWS::Region>.amazoncognito.com"
    )


def test_the_address_of_the_console_is_told(template: Template) -> None:
    (api,) = template.resources("AWS::ApiGatewayV2::Api")

    assert text(template.body["Outputs"]["ConsoleUrl"]["Value"]) == f"<{api}.ApiEndpoint>/console"
