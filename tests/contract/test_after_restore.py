"""What is done after a restore, over both stores, and as the command that is run."""

import re

import pytest

from adapters.dynamodb_store import DynamoDbStore
from ledger.errors import LedgerUnavailable
from ledger.store import LedgerStore
from ledger.transitions import RunState
from providers.contracts import CONTRACTS
from reconciler.after_restore import REASON, Restored
from reconciler.after_restore_command import BROKE_OFF, LEFT, NOTHING_LEFT, NotJoined, main
from reconciler.drift import PAGE_SIZE_RUNS
from tests.builders import NOW_MS
from tests.contract.test_drift import a_deployment, put
from tests.ledger_table import TABLE_NAME, ledger_table
from workflows.migrations import VERSIONS


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit status of the command and what it wrote to the screen."""
    status = main(arguments)
    return status, capsys.readouterr().out


def test_given_open_runs_of_every_version_when_looked_at_then_those_with_a_mail_left_are_found(
    store: LedgerStore,
) -> None:
    for number in range(PAGE_SIZE_RUNS + 3):
        put(store, f"run-{number}", due_at_ms=NOW_MS + number)
    put(store, "run-older", "cancel-refund@3")
    put(store, "run-gone", "cancel-refund@1")
    put(store, "run-ended", state=RunState.COMPLETED, due_at_ms=NOW_MS)

    found = Restored(VERSIONS, CONTRACTS).look(store)

    assert found.complete
    assert len(found.runs) == PAGE_SIZE_RUNS + 5
    assert {run.mails for run in found.runs if run.workflow == "cancel-refund@4"} == {("receipt",)}


class TestCommand:
    def test_given_no_word_to_write_when_run_then_it_only_looks(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table() as client:
            a_deployment()
            store = DynamoDbStore(client, TABLE_NAME, lambda _: None, lambda: 0.0)
            put(store, "run-1")
            before = store.load("run-1")
            status, shown = told(capsys)
            after = store.load("run-1")

        assert status == LEFT
        assert after == before
        assert "run-1  cancel-refund@4  active  receipt" in shown
        assert "Nothing was written. With APPLY=1 they wait for a person." in shown

    def test_given_the_word_to_write_when_run_then_the_runs_wait_for_a_person(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table() as client:
            store = DynamoDbStore(client, TABLE_NAME, lambda _: None, lambda: 0.0)
            put(store, "run-1")
            put(store, "run-2", state=RunState.AWAITING_APPROVAL)
            status, shown = told(capsys, "--table", TABLE_NAME, "--apply")
            runs = [store.load(run_id) for run_id in ("run-1", "run-2")]
            again, listed = told(capsys, "--table", TABLE_NAME)
            applied_again, _ = told(capsys, "--table", TABLE_NAME, "--apply")
            same = [store.load(run_id) for run_id in ("run-1", "run-2")]

        assert (status, again, applied_again) == (NOTHING_LEFT, NOTHING_LEFT, NOTHING_LEFT)
        assert "2 runs wait for a person." in shown
        for found in runs:
            assert found is not None
            assert (found.run.state, found.run.review_reason) == (RunState.REVIEW, REASON)
        assert listed.count("waits for a person already") == 2
        assert same == runs

    def test_given_nothing_open_when_run_then_nothing_is_left(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table():
            status, shown = told(capsys, "--table", TABLE_NAME, "--apply")

        assert status == NOTHING_LEFT
        assert "0 open runs in ledger may have sent a mail since." in shown

    @pytest.mark.parametrize("arguments", [[], ["--table", "no-such-table"]], ids=str)
    def test_given_no_ledger_to_look_at_when_run_then_it_is_not_taken_for_nothing(
        self, arguments: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table():
            status = main([*arguments, "--apply"])

        said = capsys.readouterr()
        assert status == BROKE_OFF
        assert said.out == ""
        assert "do not lift anything" in said.err

    def test_given_a_store_that_takes_no_writes_when_run_then_it_says_so(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def silent(_store: DynamoDbStore, _change: object) -> None:
            raise LedgerUnavailable("no answer")

        with ledger_table() as client:
            store = DynamoDbStore(client, TABLE_NAME, lambda _: None, lambda: 0.0)
            put(store, "run-1")
            monkeypatch.setattr(DynamoDbStore, "commit", silent)
            status = main(["--table", TABLE_NAME, "--apply"])

        assert status == BROKE_OFF
        assert "run it again" in capsys.readouterr().err

    def test_given_a_customer_when_run_then_nothing_personal_is_told(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with ledger_table() as client:
            put(DynamoDbStore(client, TABLE_NAME, lambda _: None, lambda: 0.0), "run-1")
            _, shown = told(capsys, "--table", TABLE_NAME, "--apply")

        assert not re.search(r"ada|example\.com|cus_1|ch_1", shown, re.IGNORECASE)

    def test_given_the_command_when_it_writes_then_it_has_no_means_to_do_anything_else(
        self,
    ) -> None:
        outside = NotJoined()
        for do in (outside.contact, outside.start, outside.status, outside.ring):
            with pytest.raises(Exception, match="does nothing else"):
                do("anything")
