"""An approval on record is read by the code of every later release, also an old one."""

import json

from ledger.approval import Approval, ApprovalState
from tests.builders import an_approval

STATES = ("pending", "approved", "declined")


def test_given_approvals_on_record_when_read_then_what_was_decided_is_still_known() -> None:
    stored = an_approval().model_dump(mode="json")
    found = [Approval.model_validate_json(json.dumps({**stored, "state": word})) for word in STATES]

    assert [approval.state for approval in found] == list(ApprovalState)


def test_given_a_request_of_older_code_when_read_then_it_asks_for_the_runs_own_work() -> None:
    found = an_approval()

    assert found.is_intact
    assert (found.compensates, found.decided_by, found.task_token) == (None, None, None)
