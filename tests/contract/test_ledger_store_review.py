"""What every ledger store promises of the runs that wait for a person."""

from ledger.store import LedgerStore, ReviewPlace
from ledger.transitions import RunState
from tests.builders import NOW_MS, RUN_ID, a_change, a_run

TENANT = "tenant-1"
MAX_PAGES = 50


def _put(store: LedgerStore, run_id: str, since_ms: int | None, tenant_id: str = TENANT) -> None:
    state = RunState.ACTIVE if since_ms is None else RunState.REVIEW
    run = a_run(run_id=run_id, tenant_id=tenant_id, state=state, review_since_ms=since_ms)
    store.commit(a_change(f"c-{run_id}", run=run))


def _pages(store: LedgerStore, limit: int = 100, tenant_id: str = TENANT) -> list[list[str]]:
    pages = [store.in_review(tenant_id, limit, None)]
    while pages[-1].next is not None:
        assert len(pages) < MAX_PAGES
        pages.append(store.in_review(tenant_id, limit, pages[-1].next))
    return [[place.run_id for place in page.places] for page in pages]


def _waiting(store: LedgerStore, tenant_id: str = TENANT) -> list[str]:
    return [run_id for page in _pages(store, tenant_id=tenant_id) for run_id in page]


def test_given_runs_in_every_state_when_asked_then_only_those_in_review(
    store: LedgerStore,
) -> None:
    for state in RunState:
        run = a_run(run_id=state.value, state=state, review_since_ms=NOW_MS)
        store.commit(a_change(f"c-{state}", run=run))

    assert _waiting(store) == [RunState.REVIEW]


def test_given_runs_of_two_tenants_when_asked_then_each_sees_its_own(store: LedgerStore) -> None:
    _put(store, "ours", NOW_MS)
    _put(store, "theirs", NOW_MS, tenant_id="tenant-2")

    assert _waiting(store) == ["ours"]
    assert _waiting(store, "tenant-2") == ["theirs"]
    assert _waiting(store, "tenant-3") == []


def test_given_seven_runs_when_read_by_threes_then_longest_waiting_first_and_each_once(
    store: LedgerStore,
) -> None:
    # Numbers of different lengths as text, so that text order would show.
    names = [f"run-{number}" for number in range(7)]
    for age, name in reversed([*enumerate(names)]):
        _put(store, name, 10**age)

    pages = _pages(store, limit=3)

    assert [run_id for page in pages for run_id in page] == names
    assert max(len(page) for page in pages) == 3


def test_given_five_runs_of_one_moment_when_read_by_twos_then_each_once(
    store: LedgerStore,
) -> None:
    names = {f"run-{number}" for number in range(5)}
    for name in names:
        _put(store, name, NOW_MS)

    listed = [run_id for page in _pages(store, limit=2) for run_id in page]

    assert sorted(listed) == sorted(names)


def test_given_a_place_that_names_no_run_when_asked_then_what_lies_behind_it(
    store: LedgerStore,
) -> None:
    _put(store, "first", NOW_MS)
    _put(store, "last", NOW_MS + 2)

    page = store.in_review(TENANT, 10, ReviewPlace(since_ms=NOW_MS + 1, run_id="nobody"))

    assert [place.run_id for place in page.places] == ["last"]


def test_given_a_place_of_another_tenants_run_when_asked_then_only_our_own(
    store: LedgerStore,
) -> None:
    _put(store, "theirs", NOW_MS, tenant_id="tenant-2")
    _put(store, "theirs-later", NOW_MS + 1, tenant_id="tenant-2")
    _put(store, "ours", NOW_MS + 2)

    page = store.in_review(TENANT, 10, ReviewPlace(since_ms=NOW_MS, run_id="theirs"))

    assert [place.run_id for place in page.places] == ["ours"]


def test_given_a_review_that_ended_when_asked_then_the_run_has_left_the_index(
    store: LedgerStore,
) -> None:
    _put(store, RUN_ID, NOW_MS)
    assert _waiting(store) == [RUN_ID]

    store.commit(a_change("commit-2", expected_sequence=1, run=a_run(state=RunState.ACTIVE)))

    assert _waiting(store) == []


def test_given_a_run_stored_before_reviews_had_a_beginning_when_asked_then_listed_by_its_own(
    store: LedgerStore,
) -> None:
    store.commit(a_change("c-old", run=a_run(run_id="old", state=RunState.REVIEW)))
    _put(store, "new", NOW_MS + 1)

    [page] = [store.in_review(TENANT, 10, None)]

    assert [(place.run_id, place.since_ms) for place in page.places] == [
        ("old", NOW_MS),
        ("new", NOW_MS + 1),
    ]
