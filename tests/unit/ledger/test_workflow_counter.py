"""A definition that begins with a counter-effect is checked to its end."""

import pytest
from pydantic import ValidationError

from ledger.workflow import WorkflowDefinition
from tests.unit.ledger.test_counter import COUNTER, with_counter
from tests.unit.ledger.versions import FEE, RECEIPT, REFUND


def test_given_a_counter_effect_first_when_a_later_write_is_wrong_then_that_is_told() -> None:
    wrong = FEE.model_copy(update={"requires": ("fee_taken",)})
    operations = (COUNTER, REFUND, RECEIPT, wrong)

    with pytest.raises(ValidationError, match="fee needs fee_taken, which no earlier stage"):
        WorkflowDefinition.model_validate({**dict(with_counter()), "operations": operations})
