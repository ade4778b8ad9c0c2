"""The plan of a chaos run is that of its seed, and has as many faults as were asked for."""

from collections import Counter

from sandbox.chaos_faults import FaultKind, plan


def test_one_seed_gives_one_plan_and_another_seed_another() -> None:
    assert plan(7, 100, 200) == plan(7, 100, 200)
    assert plan(7, 100, 200) != plan(8, 100, 200)


def test_every_kind_of_fault_comes_while_customers_still_come() -> None:
    planned = plan(7, 150, 200)

    kinds = Counter(fault.kind for fault in planned)
    moments = [fault.after_approvals for fault in planned]
    assert len(planned) == 150
    assert set(kinds) == set(FaultKind)
    assert kinds[FaultKind.RESTART] == 3
    assert moments == sorted(moments)
    assert 0 <= moments[0] <= moments[-1] < 200


def test_restarts_are_apart() -> None:
    restarts = [
        fault.after_approvals for fault in plan(7, 100, 200) if fault.kind is FaultKind.RESTART
    ]

    assert restarts[1] - restarts[0] > 50
