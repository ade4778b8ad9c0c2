"""Permissions by purpose, each naming its actions. No grant of the library: those are wider."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from aws_cdk import ArnFormat, Stack
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_iam import PolicyStatement

from ledger.contract import Need, ProviderContract
from stacks.deployment import Deployment

DUE_INDEX = "due"
REVIEW_INDEX = "review"

READ_RUN = ("dynamodb:GetItem", "dynamodb:Query")
# A transaction is allowed by the actions it consists of, and every change is made of conditional
# puts. Nothing is ever deleted.
CHANGE_RUN = (*READ_RUN, "dynamodb:PutItem")

ONLY_TO_WRITE = frozenset({Need.SEND_MAIL})
PREFIX_REASON = "Limited to this deployment's state machines, whose versions come and go."


class Access(NamedTuple):
    """What a function is allowed, with the settings that tell it where."""

    statements: tuple[PolicyStatement, ...]
    environment: dict[str, str]
    accepted: tuple[str, ...] = ()
    """Findings of the AWS Solutions rules that come with it, see ``PREFIX_REASON``."""


def read_runs(table: ITable) -> Access:
    """Return the right to read the ledger."""
    return _ledger(table, READ_RUN)


def change_runs(table: ITable) -> Access:
    """Return the right to read the ledger and to append to it."""
    return _ledger(table, CHANGE_RUN)


def find_due(table: ITable) -> Access:
    """Return the right to read the index that nominates what is due."""
    return _index(table, DUE_INDEX)


def find_reviews(table: ITable) -> Access:
    """Return the right to read the index that nominates what waits for a person."""
    return _index(table, REVIEW_INDEX)


def start_executions(stack: Stack, deployment: Deployment) -> Access:
    """Return the right to give a run an execution, and to see what became of an earlier one."""
    prefix = deployment.state_machine_arn_prefix(stack)
    executions = stack.format_arn(
        service="states",
        resource="execution",
        resource_name=f"{deployment.name}-*",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    return Access(
        (
            PolicyStatement(actions=["states:StartExecution"], resources=[f"{prefix}*"]),
            PolicyStatement(actions=["states:DescribeExecution"], resources=[executions]),
        ),
        {"STATE_MACHINE_ARN_PREFIX": prefix},
        accepted=(
            _prefix_finding("execution", deployment),
            _prefix_finding("stateMachine", deployment),
        ),
    )


def ring_doorbells(stack: Stack, deployment: Deployment) -> Access:
    """Return the right to wake an execution of this deployment that waits for a decision."""
    machines = f"{deployment.state_machine_arn_prefix(stack)}*"
    statement = PolicyStatement(actions=["states:SendTaskSuccess"], resources=[machines])
    return Access((statement,), {}, accepted=(_prefix_finding("stateMachine", deployment),))


def call_providers(
    stack: Stack, deployment: Deployment, contracts: Iterable[ProviderContract]
) -> Access:
    """Return what the contracts of a function's providers ask for."""
    makers = {Need.STRIPE_SECRET: _stripe_secret, Need.SEND_MAIL: _send_mail}
    needs = {need for contract in contracts for need in contract.needs}
    return join(*(makers[need](stack, deployment) for need in sorted(needs)))


def ask_providers(
    stack: Stack, deployment: Deployment, contracts: Iterable[ProviderContract]
) -> Access:
    """Return what a function needs that only reads what providers hold."""
    return call_providers(stack, deployment, only_read(contracts))


def only_read(contracts: Iterable[ProviderContract]) -> Iterator[ProviderContract]:
    """Yield the contracts without the needs that only a write has."""
    for contract in contracts:
        yield contract.model_copy(update={"needs": contract.needs - ONLY_TO_WRITE})


def join(*accesses: Access) -> Access:
    """Return everything that ``accesses`` allow together."""
    environment: dict[str, str] = {}
    for access in accesses:
        environment |= access.environment
    return Access(
        tuple(found for access in accesses for found in access.statements),
        environment,
        tuple(found for access in accesses for found in access.accepted),
    )


def _index(table: ITable, name: str) -> Access:
    index = f"{table.table_arn}/index/{name}"
    return Access((PolicyStatement(actions=["dynamodb:Query"], resources=[index]),), {})


def _ledger(table: ITable, actions: Iterable[str]) -> Access:
    statement = PolicyStatement(actions=list(actions), resources=[table.table_arn])
    return Access((statement,), {"LEDGER_TABLE": table.table_name})


def _prefix_finding(resource: str, deployment: Deployment) -> str:
    arn = f"arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:{resource}"
    return f"IAM5[Resource::{arn}:{deployment.name}-*]"


def _stripe_secret(stack: Stack, deployment: Deployment) -> Access:
    # Secrets Manager ends the ARN of a secret with six characters of its own.
    secret = stack.format_arn(
        service="secretsmanager",
        resource="secret",
        resource_name=f"{deployment.stripe_secret_id}-??????",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    environment = {"STRIPE_SECRET_ID": deployment.stripe_secret_id}
    if deployment.stripe_api_base:
        environment["STRIPE_API_BASE"] = deployment.stripe_api_base
    read = PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[secret])
    return Access((read,), environment)


def _send_mail(stack: Stack, deployment: Deployment) -> Access:
    # SES checks the verified identity, which is the address or its whole domain.
    domain = deployment.mail_from.rpartition("@")[2]
    names = {
        f"configuration-set/{deployment.configuration_set}",
        f"identity/{deployment.mail_from}",
        f"identity/{domain}",
    }
    environment = {
        "MAIL_CONFIGURATION_SET": deployment.configuration_set,
        "MAIL_FROM": deployment.mail_from,
    }
    send = PolicyStatement(
        actions=["ses:SendEmail"],
        resources=[
            stack.format_arn(
                service="ses",
                resource=name,
                arn_format=ArnFormat.NO_RESOURCE_NAME,
            )
            for name in sorted(names)
        ],
        conditions={"StringEquals": {"ses:FromAddress": deployment.mail_from}},
    )
    return Access((send,), environment)
