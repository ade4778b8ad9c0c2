"""How each provider is made from what a function was given.

A provider is made when it is first asked for, and its module imported then: a function that never
calls Stripe does not load its library.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, cast, override

import boto3

from adapters.secrets import ApiKeySecret
from ledger.audit import Audited
from ledger.contract import Need
from ledger.errors import InvariantBroken
from ledger.ports import Clock
from ledger.provider import Authority, Contact, CustomerDirectory, Provider
from ledger.record import Scalar
from providers.contracts import CONTRACTS
from runtime.contract_only import ContractOnly
from runtime.settings import Settings

if TYPE_CHECKING:
    from providers.s3_client import S3Client
    from providers.ses_client import SesClient, SesMailer
    from providers.stripe_client import StripeLibrary

ARTIFACTS = "s3_artifacts"


class DeployedProviders(Mapping[str, Provider]):
    """Providers by name, each made when it is first asked for.

    One that this function was not given the means for still offers its contract.
    """

    def __init__(
        self, settings: Settings, clock: Clock, secret: Callable[[str], ApiKeySecret]
    ) -> None:
        """Make nothing yet. ``secret`` returns the secret of an id."""
        self._settings = settings
        self._clock = clock
        self._secret = secret
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
        self._audits: Mapping[str, Callable[[], Audited]] = {
            "stripe_refunds": self._audit_refunds,
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

    def audit(self, name: str) -> Audited:
        """Return what lists the recent records of a provider whose contract says that it can.

        Raises as ``stripe``.
        """
        return self._audits[name]()

    def stripe(self) -> "StripeLibrary":
        """Return Stripe under the key that is valid now. Raises RetryLater and InvariantBroken."""
        if self._stripe is None:
            from providers.stripe_client import StripeLibrary

            if self._settings.stripe_secret_id is None:
                raise InvariantBroken("STRIPE_SECRET_ID is not set; this function has no Stripe.")
            key = self._secret(self._settings.stripe_secret_id).api_key()
            self._stripe = StripeLibrary(key, self._settings.stripe_api_base)
        return self._stripe

    def _make_billing(self) -> Provider:
        from providers.stripe_billing import StripeBilling

        return StripeBilling(self.stripe())

    def _make_refunds(self) -> Provider:
        from providers.stripe_refunds import StripeRefunds

        return StripeRefunds(self.stripe())

    def _audit_refunds(self) -> Audited:
        from providers.stripe_audit import StripeRefundAudit

        return StripeRefundAudit(self.stripe())

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
            self._clock.now_ms,
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
