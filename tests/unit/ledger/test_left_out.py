"""What holds where nothing is said: a field that is left out adds nothing to a record."""

from ledger.ports import Ports
from ledger.provider import ProviderRecord, RecordStatus
from ledger.reconcile import Outcome, Standing
from ledger.run import Run
from ledger.transitions import RunState
from ledger.versions import Versions
from ledger.workflow import Operation, Stage
from tests.builders import an_effect
from tests.unit.ledger.support import World


def test_given_a_record_without_what_came_later_when_read_then_nothing_was_counted_for_it() -> None:
    run = Run(
        run_id="run_a",
        tenant_id="tenant-1",
        customer_id="cus_1",
        workflow="sample@2",
        state=RunState.ACTIVE,
        request={},
        request_digest="sha256:00",
        opened_at_ms=1,
        progress_deadline_seconds=1,
        max_executions=1,
    )
    effect = an_effect()

    assert (run.epoch, run.start_not_before_ms, run.due_at_ms) == (0, 0, None)
    assert run.review_reason == ""
    assert (effect.rechecks_made, effect.recheck_not_before_ms) == (0, 0)


def test_given_a_definition_that_says_no_more_when_read_then_it_claims_no_more() -> None:
    write = Operation(name="w", label="W", provider="p", checkpoint="done", request_fields=())
    stage = Stage(name="w", checkpoint="done", timeout_seconds=1)

    # Both are part of the digest by which a released version is frozen.
    assert write.moves_money is False
    assert stage.rings_doorbell is False


def test_given_what_is_not_known_of_the_outside_when_left_out_then_nothing_is_claimed() -> None:
    known = {name: part for name, part in vars(World().ports).items() if name != "versions"}
    record = ProviderRecord(
        record_id="re_1", status=RecordStatus.DONE, provider_status="ok", mark=None, fields={}
    )

    assert Ports(**known).versions == Versions()
    assert record.run_mark is None
    assert Outcome(standing=Standing.SETTLED).wait_seconds == 0
