"""The only place where adapters and providers are joined to the domain's ports.

AWS clients live as long as the environment; everything else is joined anew for each invocation,
so that a rotated secret is used without a restart. A provider is made when it is first asked for:
a function that never calls Stripe does not load its library.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast, override

import boto3

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
from ledger.audit import Audited, MarkedPage
from ledger.contract import Need, ProviderContract
from ledger.errors import InvariantBroken
from ledger.ports import Nominations, Ports, TimeLeft
from ledger.provider import Authority, Contact, CustomerDirectory, Provider
from ledger.record import Scalar
from ledger.store import LedgerStore
from providers.contracts import CONTRACTS
from providers.stripe_api import StripeApi
from runtime.contract_only import ContractOnly
from runtime.guarded_providers import Budget, GuardedProviders
from runtime.measured_providers import MeasuredProviders, faults_counted
from runtime.measured_store import MeasuredStore
from runtime.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_stepfunctions import SFNClient

    from providers.s3_client import S3Client
    from providers.ses_client import SesClient, SesMailer
    from providers.stripe_client import StripeLibrary

CLOCK = SystemClock()
ARTIFACTS = "s3_artifacts"


def ports() -> Ports:
    """Return the ports of this invocation. Raises InvariantBroken for a missing setting."""
    return _joined(DeployedProviders(_settings()))


def ports_for_a_person() -> Ports:
    """Return the same for what a person does by hand, whom no breaker holds back. Raises as it."""
    return _joined(DeployedProviders(_settings()), holds_back=False)


def ports_and_stripe() -> tuple[Ports, StripeApi]:
    """Return the ports, and Stripe for a look at what no effect of ours has named yet.

    Raises as ``ports`` and as ``DeployedProviders.stripe``.
    """
    providers = DeployedProviders(_settings())
    return _joined(providers), providers.stripe()


def audited() -> Mapping[str, Audited]:
    """Return the providers whose contract says that their recent records can be listed.

    Raises as ``DeployedProviders.stripe``.
    """
    from providers.stripe_audit import StripeRefundAudit

    contract = CONTRACTS["stripe_refunds"]
    refunds = StripeRefundAudit(DeployedProviders(_settings()).stripe())
    return {contract.provider: MeasuredAudit(contract, refunds)}


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


def _joined(providers: "DeployedProviders", *, holds_back: bool = True) -> Ports:
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


class DeployedProviders(Mapping[str, Provider]):
    """Providers by name, each made when it is first asked for.

    One that this function was not given the means for still offers its contract.
    """

    def __init__(self, settings: Settings) -> None:
        """Make nothing yet."""
        self._settings = settings
        self._made: dict[str, Provider] = {}
        self._stripe: StripeLibrary | None = None
        means = {
            Need.STRIPE_SECRET: settings.stripe_secret_id,
            Need.SEND_MAIL: settings.mail_from,
            # One bucket tells where to read and where to store; what is allowed, the role says.
            Need.READ_ARTIFACTS: settings.artifacts_bucket,
            Need.STORE_ARTIFACTS: settings.artifacts_bucket,
            Need.SITE: settings.site_url,
        }
        self._means = {need for need, given in means.items() if given is not None}
        self._makers: Mapping[str, Callable[[], Provider]] = {
            "stripe_billing": self._make_billing,
            "stripe_refunds": self._make_refunds,
            "ses_mail": self._make_mail,
            "ses_artifact_link": self._make_artifact_link,
            ARTIFACTS: self._make_artifacts,
        }

    @override
    def __getitem__(self, name: str) -> Provider:
        if name not in self._made:
            contract = CONTRACTS[name]
            given = contract.needs <= self._means
            self._made[name] = self._makers[name]() if given else ContractOnly(contract)
        return self._made[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    @override
    def __len__(self) -> int:
        return len(self._makers)

    def stripe(self) -> "StripeLibrary":
        """Return Stripe under the key that is valid now."""
        if self._stripe is None:
            from providers.stripe_client import StripeLibrary

            if self._settings.stripe_secret_id is None:
                raise InvariantBroken("STRIPE_SECRET_ID is not set; this function has no Stripe.")
            key = _api_key(self._settings.stripe_secret_id).api_key()
            self._stripe = StripeLibrary(key, self._settings.stripe_api_base)
        return self._stripe

    def _make_billing(self) -> Provider:
        from providers.stripe_billing import StripeBilling

        return StripeBilling(self.stripe())

    def _make_refunds(self) -> Provider:
        from providers.stripe_refunds import StripeRefunds

        return StripeRefunds(self.stripe())

    def _make_mail(self) -> Provider:
        from providers.ses_mail import SesMail

        return SesMail(self._mailer(), DeployedDirectory(self))

    def _make_artifact_link(self) -> Provider:
        from providers.ses_artifact_link import SesArtifactLink

        if self._settings.site_url is None:
            raise InvariantBroken("SITE_URL is not set; this function leads to no page.")
        return SesArtifactLink(
            self._mailer(),
            DeployedDirectory(self),
            DeployedOwner(self),
            self._settings.site_url,
            CLOCK.now_ms,
        )

    def _make_artifacts(self) -> Provider:
        from providers.s3_artifacts import S3Artifacts
        from providers.s3_client import S3_CONFIG, S3ArtifactStore
        from providers.s3_projects import S3Projects

        artifacts, projects = self._settings.artifacts_bucket, self._settings.projects_bucket
        if artifacts is None or projects is None:
            raise InvariantBroken("ARTIFACTS_BUCKET or PROJECTS_BUCKET is not set.")
        client = cast("S3Client", boto3.client("s3", config=S3_CONFIG))
        return S3Artifacts(S3ArtifactStore(client, artifacts), S3Projects(client, projects))

    def _mailer(self) -> "SesMailer":
        from providers.ses_client import SES_CONFIG, SesMailer

        if self._settings.mail_from is None:
            raise InvariantBroken("MAIL_FROM is not set; this function sends no mail.")
        return SesMailer(
            cast("SesClient", boto3.client("sesv2", config=SES_CONFIG)),
            self._settings.mail_from,
            self._settings.mail_configuration_set,
        )


class MeasuredAudit:
    """An audited provider whose faults are counted as those of any other call."""

    def __init__(self, contract: ProviderContract, provider: Audited) -> None:
        """Pass everything on to ``provider``."""
        self._contract = contract
        self._provider = provider

    def marked_since(self, since_ms: int, after: str | None) -> MarkedPage:
        """Return what the provider returns. Raises ProviderFault."""
        with faults_counted(self._contract):
            return self._provider.marked_since(since_ms, after)


class DeployedDirectory(CustomerDirectory):
    """The customer directory, joined when it is first asked."""

    def __init__(self, providers: DeployedProviders) -> None:
        """Ask Stripe through ``providers``."""
        self._providers = providers

    @override
    def contact(self, customer_id: str) -> Contact | None:
        from providers.stripe_customers import StripeCustomers

        return StripeCustomers(self._providers.stripe()).contact(customer_id)


class DeployedOwner:
    """The provider that keeps artifacts, joined when it is first asked whose they are."""

    def __init__(self, providers: DeployedProviders) -> None:
        """Ask the one of ``providers``."""
        self._providers = providers

    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        """Return whether the customer may have the artifact now. Raises ProviderFault."""
        return self._providers[ARTIFACTS].authority(bound, personal)


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
