"""The script of faults is taken in order, as often as it says."""

import pytest
from pydantic import ValidationError

from sandbox.stripe_proxy.faults import Fault, FaultKind, FaultScript, Match


def _fault(kind: FaultKind, path: str = "/v1/refunds", times: int = 1) -> Fault:
    return Fault(match=Match(method="POST", path=path), fault=kind, times=times)


def test_faults_come_in_the_order_given_and_end() -> None:
    script = FaultScript()
    script.arm(_fault(FaultKind.HOLD, times=2))
    script.arm(_fault(FaultKind.REFUSE))

    taken = [script.take("POST", "/v1/refunds") for _ in range(4)]

    kinds = [fault.fault if fault else None for fault in taken]
    assert kinds == [FaultKind.HOLD, FaultKind.HOLD, FaultKind.REFUSE, None]


def test_fault_for_another_endpoint_or_method_is_not_taken() -> None:
    script = FaultScript()
    script.arm(_fault(FaultKind.REFUSE, path="/v1/subscriptions/*"))

    assert script.take("POST", "/v1/refunds") is None
    assert script.take("GET", "/v1/subscriptions/sub_1") is None
    assert script.take("POST", "/v1/subscriptions/sub_1") is not None


@pytest.mark.parametrize(
    "wrong",
    [{"times": 0}, {"fault": "explode"}, {"seconds": 0}, {"status": 200}, {"surprise": 1}],
    ids=["never", "unknown-kind", "no-time", "not-a-refusal", "unknown-field"],
)
def test_fault_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    right = {"match": {"method": "POST", "path": "/v1/refunds"}, "fault": "hold"}
    Fault.model_validate(right)

    with pytest.raises(ValidationError):
        Fault.model_validate({**right, **wrong})
