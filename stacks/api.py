"""The door: an HTTP API that records what is asked, answers at once and waits for no effect."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk.aws_apigatewayv2 import (
    CfnStage,
    HttpApi,
    HttpMethod,
    HttpNoneAuthorizer,
    HttpStage,
    ThrottleSettings,
)
from aws_cdk.aws_apigatewayv2_authorizers import HttpUserPoolAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_logs import LogGroup
from aws_cdk.aws_ssm import StringParameter
from constructs import Construct

from ledger.contract import Need, ProviderContract
from stacks.access import (
    Access,
    ask_providers,
    change_runs,
    find_reviews,
    join,
    read_runs,
    ring_doorbells,
    start_executions,
)
from stacks.acknowledge import acknowledge
from stacks.code_asset import door_code
from stacks.deployment import Deployment
from stacks.function import LOG_RETENTION, LedgerFunction
from stacks.pages import CONSOLE_PATH, add_pages, limit_pages
from stacks.sign_in import SignIn

# Above any answer of ours, below API Gateway's own 30 s: a cold start still ends in our words.
FUNCTION_TIMEOUT_SECONDS = 15
# An operator's action reads what providers hold before it is answered. It is on record before that,
# so one that is cut short loses nothing.
ACT_TIMEOUT_SECONDS = 28
# A support desk's pace with room; more than this is a fault or an attack.
RATE_LIMIT_PER_SECOND = 20
BURST_LIMIT_REQUESTS = 40
# No address, path, query, user agent or claim: each could name a person.
ACCESS_LOG_FIELDS = {
    "request_id": "$context.requestId",
    "time": "$context.requestTime",
    "route": "$context.routeKey",
    "status": "$context.status",
    "latency_ms": "$context.responseLatency",
    "integration_error": "$context.integrationErrorMessage",
    "authorizer_error": "$context.authorizer.error",
}


class Route(NamedTuple):
    """One operation of the API and the function behind it."""

    name: str
    handler: str
    method: HttpMethod
    path: str
    access: Access
    timeout_seconds: int = FUNCTION_TIMEOUT_SECONDS
    open_because: str = ""
    """Why the route asks for no token, where it does not."""


class ApiStack(Stack):
    """The HTTP API, who may call it, and its functions."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        contracts: Mapping[str, ProviderContract],
        table: ITable,
    ) -> None:
        """Add the API. A route asks for a signed token of the user pool unless it says why not."""
        super().__init__(scope, construct_id, description="Recovery ledger: the API")
        self._deployment = deployment
        sign_in = SignIn(self, "SignIn", deployment=deployment)
        api = HttpApi(
            self,
            "Api",
            api_name=deployment.name,
            create_default_stage=False,
            default_authorizer=HttpUserPoolAuthorizer(
                "SignedIn", sign_in.pool, user_pool_clients=[sign_in.client]
            ),
        )
        self._add_routes(api, self._routes(table, contracts))
        pages = add_pages(self, api, deployment, sign_in)
        sign_in.return_to(api.api_endpoint, leave_to=CONSOLE_PATH)
        stage = self._stage(api)
        limit_pages(stage, pages)
        # What mails lead to. Stacks of workflow versions read it by this name.
        StringParameter(
            self,
            "SiteUrl",
            parameter_name=deployment.site_parameter,
            string_value=api.api_endpoint,
        )
        CfnOutput(self, "ApiUrl", value=stage.url)
        CfnOutput(self, "ConsoleUrl", value=f"{api.api_endpoint}{CONSOLE_PATH}")
        CfnOutput(self, "UserPoolId", value=sign_in.pool.user_pool_id)
        CfnOutput(self, "UserPoolClientId", value=sign_in.client.user_pool_client_id)

    def _routes(self, table: ITable, contracts: Mapping[str, ProviderContract]) -> list[Route]:
        return [
            Route(
                "StartRun",
                "api.start_run.handler",
                HttpMethod.POST,
                "/runs",
                join(
                    change_runs(table),
                    start_executions(self, self._deployment),
                    # What is asked is compared with what providers hold before anything is started.
                    ask_providers(self, self._deployment, contracts.values()),
                ),
            ),
            Route(
                "GetRun",
                "api.get_run.handler",
                HttpMethod.GET,
                "/runs/{run_id}",
                read_runs(table),
            ),
            Route(
                "DecideApproval",
                "api.decide_approval.handler",
                HttpMethod.POST,
                "/runs/{run_id}/approvals/{approval_id}/decision",
                join(change_runs(table), ring_doorbells(self, self._deployment)),
            ),
            Route(
                "GetArtifact",
                "api.get_artifact.handler",
                HttpMethod.GET,
                "/runs/{run_id}/artifact",
                join(
                    read_runs(table),
                    # Whose it is and whether it is there is read each time; the address that is
                    # handed out allows what this function may do, which is to read.
                    ask_providers(self, self._deployment, _keepers(contracts)),
                ),
            ),
            *self._operator_routes(table, contracts),
            self._notice_route(table, contracts),
            Route(
                "ResumePacket",
                "api.resume_packet.handler",
                HttpMethod.GET,
                "/runs/{run_id}/packet",
                read_runs(table),
            ),
        ]

    def _operator_routes(
        self, table: ITable, contracts: Mapping[str, ProviderContract]
    ) -> list[Route]:
        return [
            Route(
                "ListReviews",
                "api.list_reviews.handler",
                HttpMethod.GET,
                "/reviews",
                join(read_runs(table), find_reviews(table)),
            ),
            Route(
                "CustomerWords",
                "api.customer_words.handler",
                HttpMethod.GET,
                "/runs/{run_id}/customer-words",
                read_runs(table),
            ),
            Route(
                "OperatorView",
                "api.operator_view.handler",
                HttpMethod.GET,
                "/runs/{run_id}/view",
                read_runs(table),
            ),
            Route(
                "ActOnRun",
                "api.act_on_run.handler",
                HttpMethod.POST,
                "/runs/{run_id}/actions",
                join(
                    change_runs(table),
                    start_executions(self, self._deployment),
                    # To reconcile is to read; what is written is left to the stages.
                    ask_providers(self, self._deployment, contracts.values()),
                ),
                ACT_TIMEOUT_SECONDS,
            ),
        ]

    def _notice_route(self, table: ITable, contracts: Mapping[str, ProviderContract]) -> Route:
        return Route(
            "StripeNotice",
            "events.stripe_notice.handler",
            HttpMethod.POST,
            "/notices/stripe",
            join(
                change_runs(table),
                start_executions(self, self._deployment),
                # A notice only makes us read.
                ask_providers(self, self._deployment, contracts.values()),
            ),
            ACT_TIMEOUT_SECONDS,
            open_because="Stripe has no token; it signs what it sends, which the function checks.",
        )

    def _add_routes(self, api: HttpApi, routes: list[Route]) -> None:
        packages = {route.handler.partition(".")[0] for route in routes}
        code = {package: door_code(self._deployment, package) for package in sorted(packages)}
        for route in routes:
            function = LedgerFunction(
                self,
                route.name,
                deployment=self._deployment,
                code=code[route.handler.partition(".")[0]],
                handler=route.handler,
                timeout_seconds=route.timeout_seconds,
                access=route.access,
            )
            added = api.add_routes(
                authorizer=HttpNoneAuthorizer() if route.open_because else None,
                integration=HttpLambdaIntegration(f"{route.name}Integration", function),
                methods=[route.method],
                path=route.path,
            )
            if route.open_because:
                acknowledge(added[0], "APIG4", route.open_because)

    def _stage(self, api: HttpApi) -> HttpStage:
        stage = HttpStage(
            self,
            "Stage",
            auto_deploy=True,
            http_api=api,
            stage_name="$default",
            throttle=ThrottleSettings(
                burst_limit=BURST_LIMIT_REQUESTS, rate_limit=RATE_LIMIT_PER_SECOND
            ),
        )
        log_group = LogGroup(
            self, "AccessLog", retention=LOG_RETENTION, removal_policy=RemovalPolicy.DESTROY
        )
        resource = cast(CfnStage, stage.node.default_child)
        resource.access_log_settings = CfnStage.AccessLogSettingsProperty(
            destination_arn=log_group.log_group_arn, format=json.dumps(ACCESS_LOG_FIELDS)
        )
        return stage


def _keepers(contracts: Mapping[str, ProviderContract]) -> Iterator[ProviderContract]:
    """Yield the contracts of the providers that keep artifacts."""
    return (found for found in contracts.values() if Need.READ_ARTIFACTS in found.needs)
