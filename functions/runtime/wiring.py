"""The only place where adapters and providers are joined to the domain's ports.

AWS clients live as long as the environment; everything else is joined anew for each invocation,
so that a rotated secret is used without a restart.
"""

import random
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from adapters.artifact_links import S3ArtifactLinks
from adapters.aws_clients import (
    dynamodb_client,
    secrets_client,
    signing_client,
    sqs_client,
    step_functions_client,
)
from adapters.dynamodb_breakers import DynamoDbBreakers
from adapters.dynamodb_store import DynamoDbStore
from adapters.lambda_time import LambdaContext, LambdaTime
from adapters.secrets import ApiKeySecret
from adapters.sqs_nominations import SqsClient, SqsNominations
from adapters.step_functions import StepFunctionsDoorbell, StepFunctionsExecutions
from adapters.system_clock import RandomIds, SystemClock
from ledger.artifact import ArtifactLinks
from ledger.audit import Audited
from ledger.contract import Listing
from ledger.errors import InvariantBroken
from ledger.ports import Nominations, Ports, TimeLeft
from ledger.store import LedgerStore
from providers.contracts import CONTRACTS
from providers.stripe_api import StripeApi
from runtime.breaker_budget import Budget
from runtime.deployed_providers import DeployedDirectory, DeployedProviders
from runtime.guarded_providers import GuardedProviders
from runtime.measured_providers import MeasuredAudit, MeasuredProviders
from runtime.measured_store import MeasuredStore
from runtime.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_stepfunctions import SFNClient

CLOCK = SystemClock()


def ports() -> Ports:
    """Return the ports of this invocation. Raises InvariantBroken for a missing setting."""
    return _joined(_providers())


def ports_for_a_person() -> Ports:
    """Return the same for what a person does by hand, whom no breaker holds back. Raises as it."""
    return _joined(_providers(), holds_back=False)


def ports_and_stripe() -> tuple[Ports, StripeApi]:
    """Return the ports, and Stripe for a look at what no effect of ours has named yet.

    Raises as ``ports`` and as ``DeployedProviders.stripe``.
    """
    providers = _providers()
    return _joined(providers), providers.stripe()


def audited() -> Mapping[str, Audited]:
    """Return the providers whose contract says that their recent records can be listed.

    Raises as ``DeployedProviders.audit``.
    """
    providers = _providers()
    return {
        name: MeasuredAudit(contract, providers.audit(name))
        for name, contract in CONTRACTS.items()
        if contract.recent_records is not Listing.NONE
    }


def artifact_links() -> ArtifactLinks:
    """Return what makes addresses of artifacts. Raises InvariantBroken for a missing setting."""
    bucket = _settings().artifacts_bucket
    if bucket is None:
        raise InvariantBroken("ARTIFACTS_BUCKET is not set; this function hands out no artifact.")
    return S3ArtifactLinks(signing_client(), bucket)


def ledger_store() -> LedgerStore:
    """Return the ledger's store alone, for a function that only asks what is due."""
    return _store()


def nominations() -> Nominations:
    """Return the queue of due runs. Raises InvariantBroken for a missing setting."""
    queue_url = _settings().nominations_queue_url
    if queue_url is None:
        raise InvariantBroken("NOMINATIONS_QUEUE_URL is not set; this function names no runs.")
    return SqsNominations(_sqs(), queue_url)


def signing_secret() -> str:
    """Return what Stripe signs its notices with. Raises RetryLater and InvariantBroken."""
    secret_id = _settings().stripe_secret_id
    if secret_id is None:
        raise InvariantBroken("STRIPE_SECRET_ID is not set; no notice can be checked.")
    return _api_key(secret_id).signing_secret()


def _joined(providers: DeployedProviders, *, holds_back: bool = True) -> Ports:
    prefix = _settings().state_machine_arn_prefix or ""
    return Ports(
        store=MeasuredStore(_store()),
        clock=CLOCK,
        ids=RandomIds(),
        # Outermost: what is held back is no fault of the provider, and is not measured as one.
        providers=GuardedProviders(MeasuredProviders(providers), _budget(), holds_back=holds_back),
        directory=DeployedDirectory(providers),
        executions=StepFunctionsExecutions(_step_functions(), prefix),
        doorbell=StepFunctionsDoorbell(_step_functions()),
        versions=None,  # the registry is in few functions' code; their handlers add it
    )


def time_left(context: LambdaContext) -> TimeLeft:
    """Return how long the invocation of ``context`` may still run."""
    return LambdaTime(context)


def _providers() -> DeployedProviders:
    return DeployedProviders(_settings(), CLOCK, _api_key)


@cache
def _settings() -> Settings:
    return Settings.from_environment()


@cache
def _store() -> DynamoDbStore:
    return DynamoDbStore(
        _dynamodb(), _settings().ledger_table, time.sleep, random.SystemRandom().random
    )


@cache
def _budget() -> Budget:
    return Budget(DynamoDbBreakers(_dynamodb(), _settings().ledger_table), CLOCK)


@cache
def _dynamodb() -> "DynamoDBClient":
    return dynamodb_client()


@cache
def _step_functions() -> "SFNClient":
    return step_functions_client()


@cache
def _sqs() -> SqsClient:
    return sqs_client()


@cache
def _api_key(secret_id: str) -> ApiKeySecret:
    return ApiKeySecret(secrets_client(), secret_id, CLOCK)
