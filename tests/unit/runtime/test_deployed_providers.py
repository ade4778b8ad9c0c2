"""What a function is given decides which providers it can call, and which it can only judge."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest

from adapters.secrets import ApiKeySecret
from ledger.contract import Listing
from ledger.errors import InvariantBroken
from ledger.provider import Contact
from providers.contracts import CONTRACTS
from providers.s3_artifacts import S3Artifacts
from providers.s3_promises import COMPLETION_SECONDS
from providers.ses_artifact_link import SesArtifactLink
from providers.ses_mail import SesMail
from providers.stripe_api import RecentPage
from providers.stripe_audit import StripeRefundAudit
from providers.stripe_billing import StripeBilling
from providers.stripe_refunds import StripeRefunds
from runtime.contract_only import ContractOnly
from runtime.deployed_providers import DeployedDirectory, DeployedOwner, DeployedProviders
from runtime.settings import Settings
from tests.fakes.clock import FakeClock
from tests.ledger_table import FAKE_ACCOUNT
from tests.unit.runtime.every_setting import FULL

ROOT = Path(__file__).parents[3]
KINDS = {
    "stripe_billing": StripeBilling,
    "stripe_refunds": StripeRefunds,
    "ses_mail": SesMail,
    "ses_artifact_link": SesArtifactLink,
    "s3_artifacts": S3Artifacts,
}
_JOINS_ALL_BUT_STRIPE = """
import sys
from runtime import wiring
joined = wiring._providers()
made = [joined[name] for name in joined if not name.startswith("stripe_")]
sys.exit("loaded: stripe" if "stripe" in sys.modules or not made else 0)
"""


@pytest.fixture(autouse=True)
def _account() -> Iterator[None]:
    with mock.patch.dict("os.environ", FAKE_ACCOUNT):
        yield


def a_secret() -> ApiKeySecret:
    secret = mock.create_autospec(ApiKeySecret, instance=True)
    secret.api_key.return_value = "sk_test_deployed"
    return cast("ApiKeySecret", secret)


def providers(**settings: str) -> DeployedProviders:
    found = Settings.from_environment(settings)
    return DeployedProviders(found, FakeClock(), lambda _: a_secret())


def test_every_provider_with_a_contract_can_be_joined_and_no_other() -> None:
    joined = providers(**FULL)

    assert set(joined) == set(CONTRACTS)
    assert len(joined) == len(CONTRACTS)
    assert {name: type(joined[name]) for name in joined} == KINDS
    for name, contract in CONTRACTS.items():
        assert joined[name].contract is contract


def test_a_provider_is_made_once_and_only_when_it_is_asked_for() -> None:
    joined = providers(**FULL)

    assert joined["stripe_refunds"] is joined["stripe_refunds"]


def test_stripe_is_joined_once_under_the_key_of_the_secret_that_the_function_is_told() -> None:
    asked: list[str] = []

    def secret(secret_id: str) -> ApiKeySecret:
        asked.append(secret_id)
        return a_secret()

    joined = DeployedProviders(Settings.from_environment(FULL), FakeClock(), secret)
    assert asked == []

    assert joined.stripe() is joined.stripe()
    assert asked == ["stripe"]


def test_a_function_that_is_told_no_secret_has_no_stripe() -> None:
    with pytest.raises(InvariantBroken, match="STRIPE_SECRET_ID"):
        providers(LEDGER_TABLE="ledger").stripe()


def test_a_function_that_is_told_no_secret_can_audit_no_refund() -> None:
    with pytest.raises(InvariantBroken, match="STRIPE_SECRET_ID"):
        providers(LEDGER_TABLE="ledger").audit("stripe_refunds")


def test_whatever_a_contract_says_can_be_listed_is_read_for_the_audit_with_our_stripe() -> None:
    joined = providers(**FULL)
    listed = {name for name, found in CONTRACTS.items() if found.recent_records is not Listing.NONE}

    assert {name: type(joined.audit(name)) for name in listed} == {
        "stripe_refunds": StripeRefundAudit
    }
    nothing = RecentPage(refunds=(), unreadable=0, complete=True)
    with mock.patch.object(joined.stripe(), "refunds_since", return_value=nothing) as read:
        assert joined.audit("stripe_refunds").marked_since(2_000, "re_1").records == ()
    read.assert_called_once_with(2, "re_1")


def test_a_provider_that_cannot_be_listed_has_no_audit() -> None:
    with pytest.raises(KeyError):
        providers(**FULL).audit("ses_mail")


def test_a_contact_is_read_from_stripe_when_it_is_asked_for_and_not_before() -> None:
    joined = providers(**FULL)
    with mock.patch.object(joined, "stripe") as stripe:
        directory = DeployedDirectory(joined)
        assert stripe.call_count == 0
        stripe().customer.return_value = mock.Mock(deleted=False, email="ada@x.example")
        stripe().customer.return_value.name = "Ada"

        assert directory.contact("cus_1") == Contact(email="ada@x.example", name="Ada")

    stripe().customer.assert_called_once_with("cus_1")


def test_whose_an_artifact_is_says_the_provider_that_keeps_it() -> None:
    keeper = mock.Mock()
    owner = DeployedOwner(cast("DeployedProviders", {"s3_artifacts": keeper}))

    assert owner.authority({"a": 1}, {"email": "x"}) is keeper.authority.return_value
    keeper.authority.assert_called_once_with({"a": 1}, {"email": "x"})


def test_a_link_that_would_have_ended_is_judged_by_the_clock_of_the_function() -> None:
    clock = FakeClock()
    link = DeployedProviders(Settings.from_environment(FULL), clock, lambda _: a_secret())[
        "ses_artifact_link"
    ]

    assert link._now_ms() == clock.now_ms()  # type: ignore[attr-defined]


def test_a_function_that_never_calls_stripe_does_not_load_its_library() -> None:
    """In a process of its own: in this one others have loaded it."""
    result = subprocess.run(
        [sys.executable, "-c", _JOINS_ALL_BUT_STRIPE],
        env={"PYTHONPATH": str(ROOT / "functions"), **FULL, **FAKE_ACCOUNT},
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stderr


def test_a_function_without_a_sender_knows_the_mail_contract_and_cannot_send() -> None:
    mail = providers(LEDGER_TABLE="ledger", STRIPE_SECRET_ID="stripe")["ses_mail"]

    assert isinstance(mail, ContractOnly)
    assert mail.contract is CONTRACTS["ses_mail"]
    with pytest.raises(InvariantBroken, match="not deployed to call"):
        mail.call(cast("Any", None))


@pytest.mark.parametrize("setting", ["SITE_URL", "MAIL_FROM"])
def test_a_function_without_pages_or_a_sender_can_mail_no_link(setting: str) -> None:
    rest = {name: value for name, value in FULL.items() if name != setting}
    link = providers(**rest)["ses_artifact_link"]

    assert isinstance(link, ContractOnly)


@pytest.mark.parametrize("kind", ["ses_mail", "ses_artifact_link"])
def test_the_deployed_mail_client_sends_once_and_waits_as_long_as_its_contract(kind: str) -> None:
    mail = providers(**FULL)[kind]
    client: Any = mail._mailer._client  # type: ignore[attr-defined]
    config = client.meta.config

    assert config.retries["total_max_attempts"] == 1
    assert config.connect_timeout + config.read_timeout == (CONTRACTS[kind].call_timeout_seconds)


def test_a_function_that_is_told_no_bucket_can_store_no_archive() -> None:
    rest = {name: value for name, value in FULL.items() if name != "ARTIFACTS_BUCKET"}

    assert isinstance(providers(**rest)["s3_artifacts"], ContractOnly)


def test_the_deployed_s3_client_repeats_nothing_and_ends_within_the_time_for_completing() -> None:
    archives = providers(**FULL)["s3_artifacts"]
    client: Any = archives._store._client  # type: ignore[attr-defined]
    config = client.meta.config

    assert config.retries["total_max_attempts"] == 1
    assert config.connect_timeout + config.read_timeout <= COMPLETION_SECONDS
