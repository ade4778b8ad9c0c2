"""Recovery costs what is due, not what is open."""

from reconciler.sweeper import PAGE_SIZE_RUNS
from tests.read_cost import DUE, measure


def test_given_ten_times_as_many_open_runs_when_ten_are_due_then_exactly_as_much_is_read() -> None:
    few, many = measure(200), measure(2_000)

    assert few[1:] == many[1:]


def test_given_few_due_runs_when_found_then_each_shard_is_asked_once_and_only_they_are_read() -> (
    None
):
    found = measure(100).finding

    assert found.items == DUE < PAGE_SIZE_RUNS
    assert found.requests == 8
    assert found.read_units == 4.0  # the least that a query costs, of each shard
