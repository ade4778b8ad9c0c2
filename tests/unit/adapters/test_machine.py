"""Time, randomness and the invocation's end, as the domain asks for them."""

from unittest import mock

from adapters.due_shards import DUE_SHARDS, SHARD_COUNT, due_shard
from adapters.lambda_time import LambdaTime
from adapters.system_clock import RandomIds, SystemClock
from ledger.ports import Clock, Ids, TimeLeft


class _Context:
    """What Lambda hands to a handler."""

    def __init__(self) -> None:
        self.left_ms = 30_000

    def get_remaining_time_in_millis(self) -> int:
        return self.left_ms


def test_given_the_machines_clock_when_read_then_whole_milliseconds() -> None:
    clock: Clock = SystemClock()

    with mock.patch("time.time_ns", return_value=1_767_225_600_123_999_999):
        assert clock.now_ms() == 1_767_225_600_123


def test_given_many_ids_when_made_then_each_is_new_and_opaque() -> None:
    ids: Ids = RandomIds()

    made = {ids.new_id() for _ in range(1_000)}

    assert len(made) == 1_000
    assert all(len(found) == 32 and int(found, 16) >= 0 for found in made)


def test_given_an_invocation_when_time_passes_then_the_time_left_is_read_anew() -> None:
    context = _Context()
    left: TimeLeft = LambdaTime(context)
    assert left.remaining_ms() == 30_000

    context.left_ms = 1

    assert left.remaining_ms() == 1


def test_given_a_run_when_its_shard_is_worked_out_then_always_the_same_one() -> None:
    # Golden values: a run that is open across a deployment must stay where it is swept.
    assert [due_shard(f"run-{n}") for n in range(4)] == [
        "due#3",
        "due#3",
        "due#2",
        "due#1",
    ]


def test_given_many_runs_when_spread_then_every_shard_gets_its_part() -> None:
    shards = [due_shard(f"run-{n}") for n in range(8_000)]

    counts = {shard: shards.count(shard) for shard in DUE_SHARDS}

    assert len(counts) == SHARD_COUNT
    assert sum(counts.values()) == 8_000
    assert min(counts.values()) > 800
