"""One stack per workflow version: its state machine and a function per stage.

A stack of its own keeps a released version's template as it is, whatever is released beside it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_iam import PolicyStatement
from aws_cdk.aws_logs import LogGroup
from aws_cdk.aws_stepfunctions import (
    DefinitionBody,
    LogLevel,
    LogOptions,
    StateMachine,
    StateMachineType,
)
from constructs import Construct

from ledger.contract import ProviderContract
from ledger.workflow import Stage, WorkflowDefinition
from stacks.access import (
    Access,
    ask_providers,
    call_providers,
    change_runs,
    join,
    only_read,
    ring_doorbells,
)
from stacks.acknowledge import acknowledge
from stacks.code_asset import slice_code
from stacks.deployment import Deployment
from stacks.function import LOG_RETENTION, LedgerFunction
from stacks.machine_check import FUNCTION_TIMEOUT_SECONDS, check_machine
from stacks.machine_errors import RECONCILE, RESUME


class WorkflowStack(Stack):
    """One released version of one workflow."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: Deployment,
        definition: WorkflowDefinition,
        contracts: Mapping[str, ProviderContract],
        table: ITable,
    ) -> None:
        """Add what ``definition`` says, with the permissions that ``contracts`` ask for."""
        super().__init__(scope, construct_id, description=f"Recovery ledger: {definition.version}")
        self._deployment = deployment
        self._definition = definition
        self._contracts = contracts
        self._table = table
        self._code = slice_code(deployment, definition)
        self.functions = self._functions()
        self.state_machine = self._state_machine()

    def _functions(self) -> dict[str, LedgerFunction]:
        """Return the version's functions by the name that its state machine calls them."""
        providers = [name for stage in self._definition.stages for name in stage.providers]
        functions = {
            RESUME: self._function(
                RESUME, "workflows.resume.handler", FUNCTION_TIMEOUT_SECONDS[RESUME], Access((), {})
            ),
            RECONCILE: self._function(
                RECONCILE,
                "workflows.reconcile.handler",
                FUNCTION_TIMEOUT_SECONDS[RECONCILE],
                ask_providers(self, self._deployment, self._contracts_of(providers)),
            ),
        }
        for stage in self._definition.stages:
            functions[stage.state_name] = self._function(
                stage.state_name,
                f"{self._definition.slice_package}.{stage.name}.handler",
                stage.timeout_seconds,
                self._stage_access(stage),
            )
        return functions

    def _function(
        self, name: str, handler: str, timeout_seconds: int, access: Access
    ) -> LedgerFunction:
        version = Access((), {"WORKFLOW_SLICE": self._definition.slice_package})
        return LedgerFunction(
            self,
            name,
            deployment=self._deployment,
            code=self._code,
            handler=handler,
            timeout_seconds=timeout_seconds,
            access=join(change_runs(self._table), version, access),
        )

    def _stage_access(self, stage: Stage) -> Access:
        called = self._contracts_of(stage.providers)
        read = self._contracts_of(self._definition.read_again_in(stage))
        # A stage without a write only reads.
        needed = [*called, *only_read(read)] if stage.operation else only_read([*called, *read])
        access = call_providers(self, self._deployment, needed)
        if stage.rings_doorbell:
            access = join(access, ring_doorbells(self, self._deployment))
        return access

    def _contracts_of(self, providers: Iterable[str]) -> list[ProviderContract]:
        return [self._contracts[name] for name in providers]

    def _state_machine(self) -> StateMachine:
        definition = Path(self._definition.asl_path).read_text(encoding="utf-8")
        substitutions = {
            f"{name}FunctionArn": function.function_arn for name, function in self.functions.items()
        }
        check_machine(self._definition, definition)
        name = self._deployment.state_machine_name(self._definition.name, self._definition.number)
        machine = StateMachine(
            self,
            "StateMachine",
            definition_body=DefinitionBody.from_string(definition),
            definition_substitutions=substitutions,
            logs=LogOptions(
                destination=LogGroup(
                    self,
                    "StateMachineLog",
                    # Log delivery rewrites the policy of other groups once it grows too long;
                    # groups of this prefix are exempt.
                    log_group_name=f"/aws/vendedlogs/states/{name}",
                    removal_policy=RemovalPolicy.DESTROY,
                    retention=LOG_RETENTION,
                ),
                # Only ids pass through the machine, and still none of its data is logged.
                include_execution_data=False,
                level=LogLevel.ERROR,
            ),
            state_machine_name=name,
            state_machine_type=StateMachineType.STANDARD,
            tracing_enabled=True,
        )
        machine.add_to_role_policy(
            PolicyStatement(
                actions=["lambda:InvokeFunction"],
                resources=list(substitutions.values()),
            )
        )
        acknowledge(
            machine,
            "SF1",
            "Every step is an event in the ledger and in the execution's history; "
            "the log is for what failed.",
        )
        acknowledge(
            machine.role,
            "IAM5[Resource::*]",
            "Log delivery and X-Ray offer no permission by resource.",
        )
        workflow = "".join(word.capitalize() for word in self._definition.name.split("-"))
        CfnOutput(
            self,
            f"{workflow}V{self._definition.number}StateMachineArn",
            value=machine.state_machine_arn,
        )
        return machine
