"""The operator's list: what waits for a person, longest waiting first, of one's own tenant."""

from typing import Any

import pytest

from ledger.errors import InvariantBroken, LedgerUnavailable
from ledger.run import RunLedger
from ledger.transitions import RunState
from tests.builders import NOW_MS, a_change, a_run
from tests.fakes.stripe import Fault
from tests.recovery.customer import TENANT_ID
from tests.unit.api.gateway import AGENT, CUSTOMER, OPERATOR, STRANGER, Gateway

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def run_id_of(number: int) -> str:
    """Return a run id of the real shape."""
    return "run_" + LETTERS[number] * 26


def put(gateway: Gateway, number: int, **run: Any) -> str:
    """Write a run that waits for a person."""
    run_id = run_id_of(number)
    waiting = {"state": RunState.REVIEW, "review_since_ms": NOW_MS + number, "tenant_id": TENANT_ID}
    head = a_run(**{"run_id": run_id, **waiting, **run})
    gateway.world.store.commit(a_change(f"c-{number}", run=head))
    return run_id


def listed(answer: Any) -> list[str]:
    """Return the ids of the runs in an answer."""
    return [found["run_id"] for found in answer.body["reviews"]]


def test_a_run_in_review_is_listed_with_what_is_proven_and_what_is_not(gateway: Gateway) -> None:
    gateway.world.stripe.fail_next(Fault.UNAUTHORIZED, path_prefix="/v1/refunds")
    gateway.world.run()
    run = gateway.world.ledger.run

    answer = gateway.reviews()

    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.body["next_cursor"] is None
    [found] = answer.body["reviews"]
    assert found["run_id"] == gateway.run_id
    assert found["reason"] == run.review_reason
    assert found["amount"] == "USD 79.00"
    assert found["confirmed"] == ["Renewal cancellation sub_1"]
    assert found["unknown"] == []
    assert found["contrary"] == ["Refund: rejected"]
    assert (found["view_version"], found["waiting_since_ms"]) == (run.sequence, run.review_since_ms)


def test_a_run_that_went_on_is_listed_no_more(gateway: Gateway) -> None:
    gateway.world.stripe.fail_next(Fault.UNAUTHORIZED, path_prefix="/v1/refunds")
    gateway.world.run()
    assert listed(gateway.reviews()) == [gateway.run_id]

    gateway.choose("close_without_further_action")

    assert listed(gateway.reviews()) == []


def test_what_waits_longest_comes_first_and_every_run_once_over_the_pages(
    gateway: Gateway,
) -> None:
    ids = [put(gateway, number) for number in range(25)]

    first = gateway.reviews()
    second = gateway.reviews(cursor=first.body["next_cursor"])

    assert listed(first) + listed(second) == ids
    assert len(listed(first)) == 20
    assert second.body["next_cursor"] is None


def test_an_entry_of_the_index_is_shown_only_as_the_run_itself_still_says(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale, strange, waiting = (put(gateway, number) for number in range(3))
    gone = put(gateway, 3)
    load = gateway.world.store.load

    def newer(run_id: str) -> RunLedger | None:
        """Read what the index, which lags, does not say yet."""
        found = load(run_id)
        changes: dict[str, dict[str, Any]] = {
            stale: {"state": RunState.ACTIVE},
            strange: {"tenant_id": "tenant-2"},
        }
        if found is None or run_id == gone:
            return None
        return RunLedger(run=found.run.model_copy(update=changes.get(run_id, {})))

    monkeypatch.setattr(gateway.world.store, "load", newer)

    assert listed(gateway.reviews()) == [waiting]


def test_a_run_that_cannot_be_read_is_named_and_hides_none_of_the_others(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, damaged, behind = (put(gateway, number) for number in range(3))
    load = gateway.world.store.load

    def broken(run_id: str) -> RunLedger | None:
        if run_id == damaged:
            raise InvariantBroken("This record cannot be read.")
        return load(run_id)

    monkeypatch.setattr(gateway.world.store, "load", broken)
    answer = gateway.reviews()

    assert answer.status == 200
    assert listed(answer) == [before, behind]
    assert answer.body["unreadable"] == [damaged]


def test_a_run_whose_version_is_gone_is_listed_all_the_same(gateway: Gateway) -> None:
    run_id = put(gateway, 0, workflow="cancel-refund@999")

    assert listed(gateway.reviews()) == [run_id]


@pytest.mark.parametrize("claims", [CUSTOMER, AGENT], ids=["customer", "agent"])
def test_only_operators_see_the_list(gateway: Gateway, claims: dict[str, str]) -> None:
    put(gateway, 0)

    gateway.reviews(claims).assert_problem(403, "not-permitted")


def test_another_tenants_operator_sees_nothing_of_it(gateway: Gateway) -> None:
    own = put(gateway, 0)
    theirs = put(gateway, 1, tenant_id=STRANGER["custom:tenant_id"])

    assert listed(gateway.reviews(OPERATOR)) == [own]
    assert listed(gateway.reviews(STRANGER)) == [theirs]
    # A place among other people's runs is no way to them.
    assert listed(gateway.reviews(STRANGER, cursor=f"{NOW_MS - 1}-{own}")) == [theirs]


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "1",
        "-",
        f"-{run_id_of(0)}",
        f"1-{run_id_of(0)}x",
        f"1-{run_id_of(0)}\n",
        f"{10**13}-{run_id_of(0)}",
        f"\u0661-{run_id_of(0)}",
        "1-run_" + "A" * 26,
        "bob@example.com",
    ],
    ids=ascii,
)
def test_a_cursor_that_is_none_of_ours_is_named_and_not_repeated(
    gateway: Gateway, cursor: str
) -> None:
    answer = gateway.reviews(cursor=cursor)

    answer.assert_problem(422, "invalid-request")
    assert "bob" not in str(gateway.lines)


def test_a_table_that_gives_no_answer_is_said_so(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_arguments: object) -> None:
        raise LedgerUnavailable("The ledger's table gave no answer.")

    monkeypatch.setattr(gateway.world.store, "in_review", down)

    gateway.reviews().assert_problem(503, "try-again")
