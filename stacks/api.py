"""The door: an HTTP API that records what is asked, answers at once and waits for no effect."""

import json
from collections.abc import Mapping
from typing import NamedTuple, cast

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk.aws_apigatewayv2 import CfnStage, HttpApi, HttpMethod, HttpStage, ThrottleSettings
from aws_cdk.aws_apigatewayv2_authorizers import HttpUserPoolAuthorizer
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_logs import LogGroup
from constructs import Construct

from ledger.contract import ProviderContract
from stacks.access import (
    Access,
    ask_providers,
    change_runs,
    join,
    read_runs,
    ring_doorbells,
    start_executions,
)
from stacks.code_asset import door_code
from stacks.deployment import Deployment
from stacks.function import LOG_RETENTION, LedgerFunction
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
        """Add the API. Every route asks for a signed token of the user pool."""
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
        stage = self._stage(api)
        CfnOutput(self, "ApiUrl", value=stage.url)
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
            *self._operator_routes(table, contracts),
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

    def _add_routes(self, api: HttpApi, routes: list[Route]) -> None:
        code = door_code(self._deployment, "api")
        for route in routes:
            function = LedgerFunction(
                self,
                route.name,
                deployment=self._deployment,
                code=code,
                handler=route.handler,
                timeout_seconds=route.timeout_seconds,
                access=route.access,
            )
            api.add_routes(
                integration=HttpLambdaIntegration(f"{route.name}Integration", function),
                methods=[route.method],
                path=route.path,
            )

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
