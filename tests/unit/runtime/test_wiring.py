"""What a function is joined to, from its settings alone."""

from collections.abc import Iterator
from typing import Any, cast
from unittest import mock

import pytest

from ledger.errors import InvariantBroken
from providers.contracts import CONTRACTS
from providers.ses_mail import SesMail
from providers.stripe_billing import StripeBilling
from providers.stripe_refunds import StripeRefunds
from runtime import wiring
from runtime.contract_only import ContractOnly
from runtime.settings import Settings
from tests.ledger_table import FAKE_ACCOUNT

FULL = {"LEDGER_TABLE": "ledger", "STRIPE_SECRET_ID": "stripe", "MAIL_FROM": "from@example.com"}
KINDS = {"stripe_billing": StripeBilling, "stripe_refunds": StripeRefunds, "ses_mail": SesMail}


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


def test_the_deployed_mail_client_sends_once_and_waits_as_long_as_its_contract() -> None:
    mail = providers(**FULL)["ses_mail"]
    client: Any = mail._mailer._client  # type: ignore[attr-defined]
    config = client.meta.config

    assert config.retries["total_max_attempts"] == 1
    assert config.connect_timeout + config.read_timeout == (
        CONTRACTS["ses_mail"].call_timeout_seconds
    )


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

    assert ports.providers is joined
    assert stripe is joined.stripe()


def test_settings_name_what_is_missing() -> None:
    with pytest.raises(ValueError, match="LEDGER_TABLE"):
        Settings.from_environment({})
