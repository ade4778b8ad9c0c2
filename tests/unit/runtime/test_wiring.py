"""What a function is joined to, from its settings alone."""

from collections.abc import Callable, Iterator
from typing import Any, cast
from unittest import mock
from urllib.parse import urlsplit

import pytest

from ledger.contract import Listing
from ledger.errors import InvariantBroken
from ledger.ports import Ports
from providers.contracts import CONTRACTS
from providers.s3_artifacts import S3Artifacts
from providers.s3_promises import COMPLETION_SECONDS
from providers.ses_artifact_link import SesArtifactLink
from providers.ses_mail import SesMail
from providers.stripe_billing import StripeBilling
from providers.stripe_refunds import StripeRefunds
from runtime import wiring
from runtime.contract_only import ContractOnly
from runtime.guarded_providers import GuardedProvider
from runtime.measured_providers import MeasuredProvider
from runtime.measured_store import MeasuredStore
from runtime.settings import Settings
from tests.ledger_table import FAKE_ACCOUNT

FULL = {
    "LEDGER_TABLE": "ledger",
    "STRIPE_SECRET_ID": "stripe",
    "MAIL_FROM": "from@example.com",
    "SITE_URL": "https://pages.example",
    "ARTIFACTS_BUCKET": "artifacts",
    "PROJECTS_BUCKET": "projects",
}
KINDS = {
    "stripe_billing": StripeBilling,
    "stripe_refunds": StripeRefunds,
    "ses_mail": SesMail,
    "ses_artifact_link": SesArtifactLink,
    "s3_artifacts": S3Artifacts,
}


@pytest.fixture(autouse=True)
def _account() -> Iterator[None]:
    secret = mock.Mock()
    secret.api_key.return_value = "sk_test_wiring"
    with (
        mock.patch.dict("os.environ", FAKE_ACCOUNT),
        mock.patch.object(wiring, "_api_key", return_value=secret),
    ):
        yield


def providers(**settings: str) -> wiring.DeployedProviders:
    return wiring.DeployedProviders(Settings.from_environment(settings))


def test_every_provider_with_a_contract_can_be_joined_and_no_other() -> None:
    joined = providers(**FULL)

    assert set(joined) == set(CONTRACTS)
    assert {name: type(joined[name]) for name in joined} == KINDS
    for name, contract in CONTRACTS.items():
        assert joined[name].contract is contract


def test_a_provider_is_made_once_and_only_when_it_is_asked_for() -> None:
    joined = providers(**FULL)

    assert joined["stripe_refunds"] is joined["stripe_refunds"]


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


def test_a_function_that_takes_notices_reads_the_secret_beside_the_key() -> None:
    secret = mock.Mock()
    secret.signing_secret.return_value = "whsec_wiring"
    with (
        mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)),
        mock.patch.object(wiring, "_api_key", return_value=secret) as read,
    ):
        assert wiring.signing_secret() == "whsec_wiring"

    read.assert_called_once_with("stripe")


def test_a_function_without_the_secret_can_check_no_notice() -> None:
    settings = Settings.from_environment({"LEDGER_TABLE": "ledger"})
    with (
        mock.patch.object(wiring, "_settings", return_value=settings),
        pytest.raises(InvariantBroken, match="STRIPE_SECRET_ID"),
    ):
        wiring.signing_secret()


def test_notices_are_followed_with_the_stripe_that_the_effects_are_read_with() -> None:
    joined = providers(**FULL)
    with (
        mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)),
        mock.patch.object(wiring, "DeployedProviders", return_value=joined),
        mock.patch.object(wiring, "_store"),
        mock.patch.object(wiring, "_step_functions"),
    ):
        ports, stripe = wiring.ports_and_stripe()

    assert set(ports.providers) == set(joined)
    assert stripe is joined.stripe()


def test_settings_name_what_is_missing() -> None:
    with pytest.raises(ValueError, match="LEDGER_TABLE"):
        Settings.from_environment({})


def test_artifacts_are_handed_out_from_the_bucket_that_they_are_stored_in() -> None:
    with mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)):
        address = wiring.artifact_links().url("artifacts/eff_1", 60)

    assert "artifacts" in urlsplit(address).netloc + urlsplit(address).path
    assert "X-Amz-Expires=60" in address


def test_a_function_that_is_told_no_bucket_hands_out_no_artifact() -> None:
    settings = Settings.from_environment({"LEDGER_TABLE": "ledger"})
    with (
        mock.patch.object(wiring, "_settings", return_value=settings),
        pytest.raises(InvariantBroken, match="ARTIFACTS_BUCKET"),
    ):
        wiring.artifact_links()


def test_every_provider_that_can_be_audited_is_and_no_other() -> None:
    listed = {name for name, found in CONTRACTS.items() if found.recent_records is not Listing.NONE}
    with mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)):
        assert set(wiring.audited()) == listed

    assert listed == {"stripe_refunds"}


def test_whatever_a_function_commits_or_calls_is_measured() -> None:
    with (
        mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)),
        mock.patch.object(wiring, "_store"),
        mock.patch.object(wiring, "_step_functions"),
        mock.patch.object(wiring, "_budget"),
    ):
        ports = wiring.ports()

    assert isinstance(ports.store, MeasuredStore)
    guarded = ports.providers["stripe_refunds"]
    assert isinstance(guarded, GuardedProvider)
    assert isinstance(guarded._provider, MeasuredProvider)


@pytest.mark.parametrize(
    ("joined", "held_back"),
    [(wiring.ports, 1), (wiring.ports_for_a_person, 0)],
    ids=["a machine", "a person"],
)
def test_a_breaker_is_asked_before_a_machine_reads_and_not_before_a_person_does(
    joined: Callable[[], Ports], held_back: int
) -> None:
    provider = mock.Mock(contract=CONTRACTS["stripe_refunds"])
    with (
        mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)),
        mock.patch.object(wiring, "_store"),
        mock.patch.object(wiring, "_step_functions"),
        mock.patch.object(wiring, "DeployedProviders", return_value={"stripe_refunds": provider}),
        mock.patch.object(wiring, "_budget") as budget,
    ):
        joined().providers["stripe_refunds"].look_up(mock.Mock())

    assert budget().admit.call_count == held_back
    assert budget().answered.call_count == 1


def test_a_function_that_names_runs_is_joined_to_the_queue_it_is_told() -> None:
    settings = Settings.from_environment({**FULL, "NOMINATIONS_QUEUE_URL": "https://queue.invalid"})
    with (
        mock.patch.object(wiring, "_settings", return_value=settings),
        mock.patch.object(wiring, "_sqs") as sqs,
    ):
        sqs().send_message_batch.return_value = {"Successful": [{"Id": "0"}]}
        assert wiring.nominations().put(["run_1"]) == 1

    assert sqs().send_message_batch.call_args.kwargs["QueueUrl"] == "https://queue.invalid"


def test_a_function_that_is_told_no_queue_names_no_run() -> None:
    with (
        mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)),
        pytest.raises(InvariantBroken, match="NOMINATIONS_QUEUE_URL"),
    ):
        wiring.nominations()
