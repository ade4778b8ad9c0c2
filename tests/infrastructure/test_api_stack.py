"""The door: who may knock, how often, and what is written down about it."""

import json

import pytest

from tests.infrastructure.conftest import Synthesize
from tests.infrastructure.templates import Assembly, Template

STACK = "recovery-ledger-api"
GATEWAY_TIMEOUT_SECONDS = 30
# Pages that hold no data: people sign in on them.
PAGES = {
    f"{method} {path}"
    for method in ("GET", "HEAD")
    for path in (
        "/console",
        "/console/{file}",
        "/approve/{run_id}/{approval_id}",
        "/artifact/{run_id}",
        "/signed-in",
    )
}
# Who calls these has no token. Of a notice, the function itself checks Stripe's signature.
OPEN = {"POST /notices/stripe"} | PAGES


@pytest.fixture
def template(assembly: Assembly) -> Template:
    """The API's stack."""
    return assembly.template(STACK)


def test_the_routes_are_these(template: Template) -> None:
    routes = template.resources("AWS::ApiGatewayV2::Route").values()

    assert {found["Properties"]["RouteKey"] for found in routes} == {
        "POST /runs",
        "GET /runs/{run_id}",
        "POST /runs/{run_id}/approvals/{approval_id}/decision",
        "GET /runs/{run_id}/view",
        "POST /runs/{run_id}/actions",
        "GET /runs/{run_id}/packet",
        "GET /reviews",
        "GET /runs/{run_id}/customer-words",
        "GET /runs/{run_id}/artifact",
        *PAGES,
        "POST /notices/stripe",
    }


def test_every_other_route_asks_for_a_token_of_the_user_pool(template: Template) -> None:
    (authorizer,) = template.resources("AWS::ApiGatewayV2::Authorizer")
    (client,) = template.resources("AWS::Cognito::UserPoolClient")
    properties = template.only("AWS::ApiGatewayV2::Authorizer")["Properties"]

    assert properties["AuthorizerType"] == "JWT"
    assert properties["JwtConfiguration"]["Audience"] == [{"Ref": client}]
    for route in template.resources("AWS::ApiGatewayV2::Route").values():
        if route["Properties"]["RouteKey"] in OPEN:
            continue
        assert route["Properties"]["AuthorizationType"] == "JWT"
        assert route["Properties"]["AuthorizerId"] == {"Ref": authorizer}


def test_only_these_routes_ask_for_no_token(template: Template) -> None:
    routes = template.resources("AWS::ApiGatewayV2::Route").values()

    assert OPEN == {
        found["Properties"]["RouteKey"]
        for found in routes
        if found["Properties"]["AuthorizationType"] == "NONE"
    }


def test_a_notice_is_checked_by_the_function_that_reads_the_secret(template: Template) -> None:
    (route,) = (
        found["Properties"]
        for found in template.resources("AWS::ApiGatewayV2::Route").values()
        if found["Properties"]["RouteKey"] == "POST /notices/stripe"
    )
    integration = template.resources("AWS::ApiGatewayV2::Integration")[
        route["Target"]["Fn::Join"][1][1]["Ref"]
    ]
    function = template.resources("AWS::Lambda::Function")[
        integration["Properties"]["IntegrationUri"]["Fn::GetAtt"][0]
    ]

    assert function["Properties"]["Handler"] == "events.stripe_notice.handler"
    assert function["Properties"]["Environment"]["Variables"]["STRIPE_SECRET_ID"]


def test_nobody_can_change_whose_customer_they_are(template: Template) -> None:
    client = template.only("AWS::Cognito::UserPoolClient")["Properties"]

    assert {"custom:tenant_id", "custom:customer_id"} <= set(client["ReadAttributes"])
    assert client["WriteAttributes"] == ["locale"]


def test_nobody_can_sign_themselves_up(template: Template) -> None:
    pool = template.only("AWS::Cognito::UserPool")["Properties"]

    assert pool["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}


def test_passwords_are_not_sent_to_aws_in_clear(template: Template) -> None:
    client = template.only("AWS::Cognito::UserPoolClient")["Properties"]

    assert client["ExplicitAuthFlows"] == ["ALLOW_USER_SRP_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]


def test_the_users_stay_when_the_stack_goes(template: Template) -> None:
    pool = template.only("AWS::Cognito::UserPool")

    assert pool["DeletionPolicy"] == "Retain"
    assert pool["Properties"]["DeletionProtection"] == "ACTIVE"


def test_agents_and_operators_are_groups(template: Template) -> None:
    groups = template.resources("AWS::Cognito::UserPoolGroup").values()

    assert {found["Properties"]["GroupName"] for found in groups} == {"agents", "operators"}


def test_the_access_log_names_no_person(template: Template) -> None:
    settings = template.only("AWS::ApiGatewayV2::Stage")["Properties"]["AccessLogSettings"]

    assert set(json.loads(settings["Format"]).values()) == {
        "$context.authorizer.error",
        "$context.integrationErrorMessage",
        "$context.requestId",
        "$context.requestTime",
        "$context.responseLatency",
        "$context.routeKey",
        "$context.status",
    }


def test_the_stage_is_throttled(template: Template) -> None:
    settings = template.only("AWS::ApiGatewayV2::Stage")["Properties"]["DefaultRouteSettings"]

    assert settings == {"ThrottlingBurstLimit": 40, "ThrottlingRateLimit": 20}


def test_every_function_answers_before_api_gateway_gives_up(template: Template) -> None:
    for handler, function in template.functions().items():
        assert function["Properties"]["Timeout"] < GATEWAY_TIMEOUT_SECONDS, handler


def test_the_sandbox_signs_sample_users_in_by_password(synthesize: Synthesize) -> None:
    template = synthesize(sandbox="true").template(STACK)
    client = template.only("AWS::Cognito::UserPoolClient")["Properties"]

    assert "ALLOW_ADMIN_USER_PASSWORD_AUTH" in client["ExplicitAuthFlows"]
