"""Permissions by purpose, each naming its actions. No grant of the library: those are wider."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from aws_cdk import ArnFormat, Stack
from aws_cdk.aws_dynamodb import ITable
from aws_cdk.aws_iam import PolicyStatement
from aws_cdk.aws_sqs import IQueue
from aws_cdk.aws_ssm import StringParameter

from ledger.contract import Need, ProviderContract
from providers.s3_layout import OWNER_FILE, PROJECTS_PREFIX, files_prefix
from providers.s3_promises import ARTIFACTS_PREFIX
from stacks.deployment import Deployment

DUE_INDEX = "due"
REVIEW_INDEX = "review"

READ_RUN = ("dynamodb:GetItem", "dynamodb:Query")
# A transaction is allowed by the actions it consists of, and every change is made of conditional
# puts. Nothing is ever deleted.
CHANGE_RUN = (*READ_RUN, "dynamodb:PutItem")

ONLY_TO_WRITE = frozenset({Need.SEND_MAIL, Need.SITE, Need.STORE_ARTIFACTS})
PREFIX_REASON = "Limited to this deployment's state machines, whose versions come and go."
OBJECTS_REASON = (
    "Limited to one kind of object in one bucket; there is one for each customer's wish."
)


class Accepted(NamedTuple):
    """A finding of the AWS Solutions rules that comes with an access, and why it is accepted."""

    rule: str
    reason: str


class Access(NamedTuple):
    """What a function is allowed, with the settings that tell it where."""

    statements: tuple[PolicyStatement, ...]
    environment: dict[str, str]
    accepted: tuple[Accepted, ...] = ()


def read_runs(table: ITable) -> Access:
    """Return the right to read the ledger."""
    return _ledger(table, READ_RUN)


def change_runs(table: ITable) -> Access:
    """Return the right to read the ledger and to append to it."""
    return _ledger(table, CHANGE_RUN)


def find_due(table: ITable) -> Access:
    """Return the right to read the index that nominates what is due."""
    return _index(table, DUE_INDEX)


def name_runs(queue: IQueue) -> Access:
    """Return the right to put due runs into the queue for the workers."""
    send = PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn])
    return Access((send,), {"NOMINATIONS_QUEUE_URL": queue.queue_url})


def take_from(queue: IQueue) -> Access:
    """Return what Lambda needs, in the function's name, to hand it what is in the queue."""
    take = PolicyStatement(
        actions=["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"],
        resources=[queue.queue_arn],
    )
    return Access((take,), {})


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
    makers = {
        Need.STRIPE_SECRET: _stripe_secret,
        Need.SEND_MAIL: _send_mail,
        Need.SITE: _site,
        Need.READ_ARTIFACTS: _read_artifacts,
        Need.STORE_ARTIFACTS: _store_artifacts,
    }
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
    query = PolicyStatement(actions=["dynamodb:Query"], resources=[index])
    return Access((query,), {"LEDGER_TABLE": table.table_name})


def _ledger(table: ITable, actions: Iterable[str]) -> Access:
    statement = PolicyStatement(actions=list(actions), resources=[table.table_arn])
    return Access((statement,), {"LEDGER_TABLE": table.table_name})


def _prefix_finding(resource: str, deployment: Deployment) -> Accepted:
    arn = f"arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:{resource}"
    return Accepted(f"IAM5[Resource::{arn}:{deployment.name}-*]", PREFIX_REASON)


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


def _site(stack: Stack, deployment: Deployment) -> Access:
    # By name and not by reference: an export would tie the stacks of versions to the API's.
    url = deployment.site_url or StringParameter.value_for_string_parameter(
        stack, deployment.site_parameter
    )
    return Access((), {"SITE_URL": url})


def _read_artifacts(stack: Stack, deployment: Deployment) -> Access:
    """Return the right to see what is stored, whose projects are, and which files they have.

    S3 lets nobody see an object's metadata who may not read the object.
    """
    artifacts, projects = deployment.artifacts_bucket(stack), deployment.projects_bucket
    environment = {"ARTIFACTS_BUCKET": artifacts, "PROJECTS_BUCKET": projects}
    # Without the right to list, an object that is not there is answered like a forbidden one.
    see = PolicyStatement(
        actions=["s3:GetBucketPublicAccessBlock", "s3:ListBucket"],
        resources=[_bucket(stack, artifacts)],
        conditions=_of_this_account(stack),
    )
    find = PolicyStatement(
        actions=["s3:ListBucket"],
        resources=[_bucket(stack, projects)],
        conditions={
            **_of_this_account(stack),
            "StringLike": {"s3:prefix": f"{PROJECTS_PREFIX}*"},
        },
    )
    read = join(
        _objects(stack, ["s3:GetObject"], artifacts, f"{ARTIFACTS_PREFIX}*"),
        _objects(stack, ["s3:GetObject"], projects, f"{PROJECTS_PREFIX}*/{OWNER_FILE}"),
    )
    return join(Access((see, find), environment), read)


def _store_artifacts(stack: Stack, deployment: Deployment) -> Access:
    """Return the right to store what is not there yet, and to read what goes into it."""
    write = ["s3:AbortMultipartUpload", "s3:PutObject"]
    return join(
        _objects(stack, write, deployment.artifacts_bucket(stack), f"{ARTIFACTS_PREFIX}*"),
        _objects(stack, ["s3:GetObject"], deployment.projects_bucket, f"{files_prefix('*')}*"),
    )


def _objects(stack: Stack, actions: list[str], bucket: str, keys: str) -> Access:
    objects = f"{_bucket(stack, bucket)}/{keys}"
    named = bucket.replace(stack.account, "<AWS::AccountId>").replace(stack.region, "<AWS::Region>")
    finding = f"IAM5[Resource::arn:<AWS::Partition>:s3:::{named}/{keys}]"
    statement = PolicyStatement(
        actions=actions, resources=[objects], conditions=_of_this_account(stack)
    )
    return Access((statement,), {}, accepted=(Accepted(finding, OBJECTS_REASON),))


def _of_this_account(stack: Stack) -> dict[str, dict[str, str]]:
    """Return the condition without which a bucket's name could be another account's bucket.

    Names are one for all accounts: whoever had taken it first would say whose projects are.
    """
    return {"StringEquals": {"aws:ResourceAccount": stack.account}}


def _bucket(stack: Stack, name: str) -> str:
    return f"arn:{stack.partition}:s3:::{name}"
