"""The pages: one function without any permission, open to everybody, since they hold no data."""

from collections.abc import Iterable
from typing import cast

from aws_cdk.aws_apigatewayv2 import (
    CfnRoute,
    CfnStage,
    HttpApi,
    HttpMethod,
    HttpNoneAuthorizer,
    HttpRoute,
    HttpStage,
)
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from stacks.access import Access
from stacks.acknowledge import acknowledge
from stacks.code_asset import page_code
from stacks.deployment import Deployment
from stacks.function import LedgerFunction
from stacks.sign_in import RETURN_PATH, SignIn

CONSOLE_PATH = "/console"
PATHS = (
    CONSOLE_PATH,
    "/console/{file}",
    "/approve/{run_id}/{approval_id}",
    "/artifact/{run_id}",
    RETURN_PATH,
)
# Reads a few files that came with it.
TIMEOUT_SECONDS = 5
OPEN_BECAUSE = "The pages are the same for everybody and hold no data: people sign in on them."


# One page is some fifteen small files, asked for at once: a few people opening one must not use up
# what the API's own routes allow, nor be refused half of a page.
RATE_LIMIT_PER_SECOND = 100
BURST_LIMIT_REQUESTS = 200


def add_pages(
    scope: Construct, api: HttpApi, deployment: Deployment, sign_in: SignIn
) -> list[HttpRoute]:
    """Add every page to ``api``, and return their routes."""
    function = LedgerFunction(
        scope,
        "Pages",
        deployment=deployment,
        code=page_code(deployment),
        handler="console.serve_page.handler",
        timeout_seconds=TIMEOUT_SECONDS,
        access=Access(
            (),
            {
                "SIGN_IN_URL": sign_in.url,
                "USER_POOL_CLIENT_ID": sign_in.client.user_pool_client_id,
            },
        ),
    )
    integration = HttpLambdaIntegration("PagesIntegration", function)
    routes = [
        route
        for path in PATHS
        for route in api.add_routes(
            authorizer=HttpNoneAuthorizer(),
            integration=integration,
            # Mail scanners ask by HEAD first.
            methods=[HttpMethod.GET, HttpMethod.HEAD],
            path=path,
        )
    ]
    for route in routes:
        acknowledge(route, "APIG4", OPEN_BECAUSE)
    return routes


def limit_pages(stage: HttpStage, routes: Iterable[HttpRoute]) -> None:
    """Give the routes of the pages limits of their own."""
    resource = cast(CfnStage, stage.node.default_child)
    limits = {
        "ThrottlingBurstLimit": BURST_LIMIT_REQUESTS,
        "ThrottlingRateLimit": RATE_LIMIT_PER_SECOND,
    }
    settings = {}
    for route in routes:
        settings[cast(CfnRoute, route.node.default_child).route_key] = limits
        # A limit for a route that is not there yet is refused.
        resource.node.add_dependency(route)
    resource.route_settings = settings
