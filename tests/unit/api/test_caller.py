"""Who may do what at the door, from the claims of a verified token."""

import pytest

from api.caller import Caller, caller_of
from ledger.errors import RequestRefused
from tests.builders import a_run


def claims(**changes: object) -> dict[str, object]:
    return {"sub": "user-1", "custom:tenant_id": "T1", "custom:customer_id": "cus_1"} | changes


@pytest.mark.parametrize("groups", ["[agents staff]", "agents,staff", ["agents", "staff"]])
def test_groups_are_read_in_every_form_that_api_gateway_hands_over(groups: object) -> None:
    assert caller_of(claims(**{"cognito:groups": groups})).groups == {"agents", "staff"}


def test_a_token_without_tenant_is_refused() -> None:
    with pytest.raises(RequestRefused) as refused:
        caller_of(claims(**{"custom:tenant_id": None}))

    assert refused.value.problem == "not-permitted"


def caller(tenant: str = "T1", customer: str | None = "cus_1", *groups: str) -> Caller:
    return Caller(
        subject="user-1", tenant_id=tenant, customer_id=customer, groups=frozenset(groups)
    )


@pytest.mark.parametrize(
    "allowed", [caller(), caller("T1", None, "agents"), caller("T1", None, "operators")]
)
def test_the_customer_and_the_tenants_staff_may_read_a_run(allowed: Caller) -> None:
    allowed.check_may_read(a_run(tenant_id="T1", customer_id="cus_1"))


@pytest.mark.parametrize(
    "stranger",
    [caller("T2"), caller("T1", "cus_2"), caller("T1", None), caller("T2", None, "operators")],
)
def test_a_strangers_run_looks_as_if_it_were_not_there(stranger: Caller) -> None:
    with pytest.raises(RequestRefused) as refused:
        stranger.check_may_read(a_run(tenant_id="T1", customer_id="cus_1"))

    assert refused.value.problem == "run-not-found"


def test_an_agent_may_open_a_run_for_any_customer_and_a_customer_for_themselves_only() -> None:
    caller("T1", None, "agents").check_may_open("cus_9")
    caller("T1", "cus_1").check_may_open("cus_1")
    with pytest.raises(RequestRefused):
        caller("T1", "cus_1").check_may_open("cus_9")


@pytest.mark.parametrize("group", ["agents", "operators"])
def test_nobody_but_the_customer_may_decide(group: str) -> None:
    caller("T1", "cus_1").check_may_decide(a_run(tenant_id="T1", customer_id="cus_1"))

    with pytest.raises(RequestRefused) as refused:
        caller("T1", None, group).check_may_decide(a_run(tenant_id="T1", customer_id="cus_1"))

    assert refused.value.problem == "not-permitted"


@pytest.mark.parametrize(
    ("groups", "kind"),
    [(("operators", "agents"), "operator"), (("agents",), "agent"), ((), "customer")],
)
def test_an_actor_is_a_kind_and_an_opaque_id(groups: tuple[str, ...], kind: str) -> None:
    assert caller("T1", "cus_1", *groups).actor.model_dump() == {
        "kind": kind,
        "actor_id": "user-1",
    }
