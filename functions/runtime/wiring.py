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

from adapters.aws_clients import dynamodb_client, secrets_client, step_functions_client
from adapters.dynamodb_store import DynamoDbStore
from adapters.lambda_time import LambdaContext, LambdaTime
from adapters.secrets import ApiKeySecret
from adapters.step_functions import StepFunctionsDoorbell, StepFunctionsExecutions
from adapters.system_clock import RandomIds, SystemClock
from ledger.contract import Need
from ledger.errors import InvariantBroken
from ledger.ports import Ports, TimeLeft
from ledger.provider import Contact, CustomerDirectory, Provider
from providers.contracts import CONTRACTS
from providers.stripe_api import StripeApi
from runtime.contract_only import ContractOnly
from runtime.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

    from providers.ses_client import SesClient

CLOCK = SystemClock()


def ports() -> Ports:
    """Return the ports of this invocation. Raises InvariantBroken for a missing setting."""
    return _joined(DeployedProviders(_settings()))


def ports_and_stripe() -> tuple[Ports, StripeApi]:
    """Return the ports, and Stripe for a look at what no effect of ours has named yet.

    Raises as ``ports`` and as ``DeployedProviders.stripe``.
    """
    providers = DeployedProviders(_settings())
    return _joined(providers), providers.stripe()


def signing_secret() -> str:
    """Return what Stripe signs its notices with. Raises RetryLater and InvariantBroken."""
    secret_id = _settings().stripe_secret_id
    if secret_id is None:
        raise InvariantBroken("STRIPE_SECRET_ID is not set; no notice can be checked.")
    return _api_key(secret_id).signing_secret()


def _joined(providers: "DeployedProviders") -> Ports:
    prefix = _settings().state_machine_arn_prefix or ""
    return Ports(
        store=_store(),
        clock=CLOCK,
        ids=RandomIds(),
        providers=providers,
        directory=DeployedDirectory(providers),
        executions=StepFunctionsExecutions(_step_functions(), prefix),
        doorbell=StepFunctionsDoorbell(_step_functions()),
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
        self._stripe: StripeApi | None = None
        means = {
            Need.STRIPE_SECRET: settings.stripe_secret_id,
            Need.SEND_MAIL: settings.mail_from,
        }
        self._means = {need for need, given in means.items() if given is not None}
        self._makers: Mapping[str, Callable[[], Provider]] = {
            "stripe_billing": self._make_billing,
            "stripe_refunds": self._make_refunds,
            "ses_mail": self._make_mail,
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

    def stripe(self) -> StripeApi:
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
        from providers.ses_client import SES_CONFIG, SesMailer
        from providers.ses_mail import SesMail

        if self._settings.mail_from is None:
            raise InvariantBroken("MAIL_FROM is not set; this function sends no mail.")
        mailer = SesMailer(
            cast("SesClient", boto3.client("sesv2", config=SES_CONFIG)),
            self._settings.mail_from,
            self._settings.mail_configuration_set,
        )
        return SesMail(mailer, DeployedDirectory(self))


class DeployedDirectory(CustomerDirectory):
    """The customer directory, joined when it is first asked."""

    def __init__(self, providers: DeployedProviders) -> None:
        """Ask Stripe through ``providers``."""
        self._providers = providers

    @override
    def contact(self, customer_id: str) -> Contact | None:
        from providers.stripe_customers import StripeCustomers

        return StripeCustomers(self._providers.stripe()).contact(customer_id)


@cache
def _settings() -> Settings:
    return Settings.from_environment()


@cache
def _store() -> DynamoDbStore:
    return DynamoDbStore(
        dynamodb_client(), _settings().ledger_table, time.sleep, random.SystemRandom().random
    )


@cache
def _step_functions() -> "SFNClient":
    return step_functions_client()


@cache
def _api_key(secret_id: str) -> ApiKeySecret:
    return ApiKeySecret(secrets_client(), secret_id, CLOCK)
