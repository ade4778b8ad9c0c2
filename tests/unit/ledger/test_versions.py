"""A migration says why: it is in the trail of every run that is moved."""

from typing import Any

import pytest
from pydantic import ValidationError

from ledger.versions import Migration


@pytest.mark.parametrize("said", [{}, {"reason": ""}], ids=["no reason", "an empty one"])
def test_given_a_migration_that_says_no_reason_when_registered_then_it_is_refused(
    said: dict[str, Any],
) -> None:
    ways = {"from_version": "sample@2", "to_version": "sample@3"}

    with pytest.raises(ValidationError, match="reason"):
        Migration.model_validate({**ways, **said})
