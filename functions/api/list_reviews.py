"""``GET /reviews``: the runs of the operator's tenant that wait for a person."""

import re
from http import HTTPStatus

from api.door import Request, door
from api.problem import Response, respond
from ledger.errors import InvariantBroken, RequestRefused
from ledger.idempotency import ID_CHARACTERS
from ledger.inbox import ReviewSummary, review_summary
from ledger.ports import Ports
from ledger.run import RunLedger
from ledger.store import ReviewPlace
from runtime.log import log_failure
from workflows.registry import definition_for

# Each is one consistent read; a person takes in no more at a time.
PAGE_RUNS = 20
# Milliseconds until the year 2286 have thirteen digits.
CURSOR = re.compile(rf"([0-9]{{1,13}})-(run_[a-z2-7]{{{ID_CHARACTERS}}})")


def list_reviews(ports: Ports, request: Request) -> Response:
    """Return 200 with a page of summaries, longest waiting first, and the cursor of the next.

    The index only nominates: every run is read for what it says now, and one that waits no more
    is left out, so a page may hold few or none and still have a next one. One that cannot be read
    is named in ``unreadable`` and hides none of the others. Raises RequestRefused unless an
    operator asks.
    """
    caller = request.caller
    caller.check_may_list_reviews()
    after = _place_of(request.query.get("cursor"))
    page = ports.store.in_review(caller.tenant_id, PAGE_RUNS, after)
    unreadable: list[str] = []
    read = [_read(ports, place.run_id, unreadable) for place in page.places]
    own = [found for found in read if found and found.run.tenant_id == caller.tenant_id]
    now_ms = ports.clock.now_ms()
    told = [_summary(ledger, now_ms, unreadable) for ledger in own]
    summaries = [found for found in told if found]
    return respond(
        HTTPStatus.OK,
        {
            "reviews": [found.model_dump(mode="json") for found in summaries],
            "unreadable": unreadable,
            "next_cursor": f"{page.next.since_ms}-{page.next.run_id}" if page.next else None,
        },
    )


def _read(ports: Ports, run_id: str, unreadable: list[str]) -> RunLedger | None:
    """Return the run, None when there is none, or when its record is damaged or newer than us."""
    try:
        return ports.store.load(run_id)
    except InvariantBroken as error:
        log_failure("this run cannot be read", error, run_id=run_id)
        unreadable.append(run_id)
        return None


def _place_of(cursor: str | None) -> ReviewPlace | None:
    if cursor is None:
        return None
    named = CURSOR.fullmatch(cursor)
    if named is None:
        raise RequestRefused(
            "invalid-request", "The cursor is not one of ours. Ask for the first page without one."
        )
    return ReviewPlace(since_ms=int(named[1]), run_id=named[2])


def _summary(ledger: RunLedger, now_ms: int, unreadable: list[str]) -> ReviewSummary | None:
    """Return the run at a glance, from what was read already: a page costs no read besides."""
    try:
        return review_summary(definition_for(ledger), ledger, now_ms)
    except Exception as error:  # noqa: BLE001  one whose records contradict each other hides no other
        log_failure("this run cannot be told", error, run_id=ledger.run.run_id)
        unreadable.append(ledger.run.run_id)
        return None


handler = door(list_reviews)
