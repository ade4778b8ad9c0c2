"""What a function is joined to, from its settings alone."""

from collections.abc import Callable, Iterator
from unittest import mock
from urllib.parse import urlsplit

import pytest

from ledger.contract import Listing
from ledger.errors import InvariantBroken
from ledger.ports import Ports
from providers.contracts import CONTRACTS
from runtime import wiring
from runtime.guarded_providers import GuardedProvider
from runtime.measured_providers import MeasuredAudit, MeasuredProvider
from runtime.measured_store import MeasuredStore
from runtime.settings import Settings
from tests.ledger_table import FAKE_ACCOUNT
from tests.unit.runtime.every_setting import FULL


@pytest.fixture(autouse=True)
def _account() -> Iterator[None]:
    secret = mock.Mock()
    secret.api_key.return_value = "sk_test_wiring"
    with (
        mock.patch.dict("os.environ", FAKE_ACCOUNT),
        mock.patch.object(wiring, "_api_key", return_value=secret),
    ):
        yield


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
    with (
        mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)),
        mock.patch.object(wiring, "_store"),
        mock.patch.object(wiring, "_step_functions"),
    ):
        joined = wiring._providers()
        with mock.patch.object(wiring, "_providers", return_value=joined) as made:
            ports, stripe = wiring.ports_and_stripe()

    made.assert_called_once_with()
    assert set(ports.providers) == set(joined)
    assert stripe is joined.stripe()
    with mock.patch.object(stripe, "customer", return_value=None) as read:
        assert ports.directory.contact("cus_1") is None
    read.assert_called_once_with("cus_1")


def test_a_function_is_given_providers_that_read_its_own_settings_secret_and_clock() -> None:
    with (
        mock.patch.object(wiring, "_settings", return_value=Settings.from_environment(FULL)),
        mock.patch.object(wiring, "DeployedProviders") as joined,
    ):
        wiring._providers()

        joined.assert_called_once_with(wiring._settings(), wiring.CLOCK, wiring._api_key)


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


def test_what_is_audited_is_what_the_contracts_say_and_its_faults_are_measured() -> None:
    refunds = CONTRACTS["stripe_refunds"]
    contracts = {
        "stripe_refunds": refunds.model_copy(update={"recent_records": Listing.NONE}),
        "bank": refunds.model_copy(update={"provider": "bank"}),
        "shop": refunds.model_copy(update={"provider": "shop"}),
    }
    with (
        mock.patch.object(wiring, "CONTRACTS", contracts),
        mock.patch.object(wiring, "_providers") as joined,
    ):
        audited = wiring.audited()

    assert joined().audit.mock_calls == [mock.call("bank"), mock.call("shop")]
    for name in ("bank", "shop"):
        audit = audited[name]
        assert isinstance(audit, MeasuredAudit)
        assert audit._contract is contracts[name]
        assert audit._provider is joined().audit.return_value
    assert len(audited) == 2


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
