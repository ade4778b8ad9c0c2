"""The stores that share one contract, and the servers that stand in for providers."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from adapters.dynamodb_store import DynamoDbStore
from adapters.memory_store import MemoryStore
from ledger.store import LedgerStore
from tests.contract.provider_servers import AwsServer, StripeServers
from tests.ledger_table import TABLE_NAME, ledger_table
from tests.simulation.store import SharedStore

_IN_MEMORY: Mapping[str, Callable[[], LedgerStore]] = {"memory": MemoryStore, "shared": SharedStore}

# What the store of the simulator does not keep, for the sake of its speed. Each is still run over
# it: one that it keeps after all fails here.
_SHARES = "it shares records, and nothing that is simulated changes one in place"
_DOES_NOT_MEASURE = "it measures no sizes, and no record that is simulated comes near them"
_NOT_OF_SHARED: Mapping[str, str] = {
    "test_given_a_writer_that_mutates_its_own_value_then_the_ledger_does_not_change": _SHARES,
    **dict.fromkeys(
        (
            "test_given_101_records_when_committed_then_refused_and_nothing_written",
            "test_given_a_record_of_390_kb_with_long_names_when_committed_then_refused",
            "test_given_text_counted_in_bytes_when_it_is_not_ascii_then_the_bytes_decide",
            "test_given_records_that_fit_one_by_one_but_not_together_when_committed_then_refused",
            "test_given_a_number_of_more_digits_than_can_be_kept_when_committed_then_refused",
            "test_given_a_large_head_when_it_would_list_too_many_long_names_then_refused",
        ),
        _DOES_NOT_MEASURE,
    ),
}


@pytest.fixture(params=["dynamodb", "memory", "shared"])
def store(request: pytest.FixtureRequest) -> Iterator[LedgerStore]:
    """Yield an empty store: that of production, that of most suites, that of most schedules."""
    name = request.function.__name__
    if request.param == "shared" and name in _NOT_OF_SHARED:
        request.applymarker(pytest.mark.xfail(reason=_NOT_OF_SHARED[name], strict=True))
    if request.param in _IN_MEMORY:
        yield _IN_MEMORY[request.param]()
        return
    with ledger_table() as client:
        yield DynamoDbStore(client, TABLE_NAME, sleep=_no_sleep, random=lambda: 0.0)


def _no_sleep(seconds: float) -> None:
    raise AssertionError(f"Nothing here has to wait, but the store slept {seconds} s.")


@pytest.fixture(scope="session")
def stripe_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeServers]:
    """Yield the sandbox's Stripe with localstripe behind it."""
    with StripeServers(tmp_path_factory.mktemp("stripe")) as servers:
        yield servers


@pytest.fixture(scope="session")
def aws_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsServer]:
    """Yield the sandbox's AWS."""
    with AwsServer(tmp_path_factory.mktemp("aws")) as server:
        yield server
