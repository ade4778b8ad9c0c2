"""An artifact is handed out to its customer, until its time has ended, and never as it is not."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

import api.get_artifact
from api.get_artifact import handler as get_artifact
from ledger.artifact import URL_LIFETIME_SECONDS
from ledger.ports import Ports
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from providers.s3_layout import owner_key
from providers.s3_promises import VALID_SECONDS
from tests.delivered import DELIVERY, Wish, write_delivered
from tests.fakes.archive_bench import ARTIFACTS, PROJECTS, archive_world, owner_record
from tests.fakes.s3 import S3Fault, StoredObject
from tests.recovery.customer import TENANT_ID
from tests.unit.api.gateway import AGENT, CUSTOMER, OPERATOR, STRANGER, Answer, Gateway

STATES = sorted(EffectState)
DELIVERED = {EffectState.ACCEPTED, EffectState.CONFIRMED}
ANOTHER = {**CUSTOMER, "sub": "user-of-cus_2", "custom:customer_id": "cus_2"}
ELSEWHERE = {**CUSTOMER, "custom:tenant_id": "tenant-2"}


@dataclass
class SignedLinks:
    """Addresses that say what they are good for; making one may take time."""

    made: int = 0

    def url(self, artifact_id: str, lifetime_seconds: int) -> str:
        """Return an address that names the object and its lifetime."""
        self.made += 1
        return f"https://objects.example/{artifact_id}?for={lifetime_seconds}"


class Desk:
    """The door, a store of archives behind it, and one delivered run."""

    def __init__(self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
        """Join the route to fakes."""
        self.gateway = gateway
        self.archives = archive_world()
        self.links = SignedLinks()
        gateway.joined = self._joined
        monkeypatch.setattr(api.get_artifact, "artifact_links", lambda: self.links)

    @property
    def clock(self) -> Any:
        """Return the time that the route sees."""
        return self.archives.clock

    def deliver(self, **wish: Any) -> RunLedger:
        """Write the run; ``wish`` is what is otherwise."""
        whole = {"customer_id": "cus_1", "tenant_id": TENANT_ID, "project_id": "prj_1"}
        made = Wish(**{**whole, "now_ms": self.clock.now_ms(), **wish})
        return write_delivered(self.gateway.world.store, self.archives.provider, made)

    def ask(self, run_id: str, claims: object = CUSTOMER) -> Answer:
        """``GET /runs/{run_id}/artifact``."""
        return self.gateway.send(get_artifact, claims, path={"run_id": run_id})

    def _joined(self) -> Ports:
        world = self.gateway.world
        joined = world.outside.join(world.orchestrator)
        providers = {**joined.providers, "s3_artifacts": self.archives.provider}
        return replace(joined, providers=providers, clock=self.clock)


@pytest.fixture
def desk(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Return a desk at which nothing was delivered yet."""
    return Desk(gateway, monkeypatch)


def refused(desk: Desk, answer: Answer, status: int, kind: str) -> None:
    """Fail unless the problem is this one and no address was made."""
    answer.assert_problem(status, kind)
    assert "url" not in answer.body
    assert desk.links.made == 0


def test_the_customer_is_given_an_address_that_lives_for_a_minute(desk: Desk) -> None:
    ledger = desk.deliver()
    (key,) = desk.archives.stored()

    answer = desk.ask(ledger.run.run_id)

    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.body == {
        "artifact_id": key,
        "url": f"https://objects.example/{key}?for={URL_LIFETIME_SECONDS}",
        "url_ends_at": "2026-01-01T00:01:00+00:00",
        "valid_until": "2026-01-04T00:00:00+00:00",
    }


def test_asking_changes_nothing_and_leaves_a_line_without_the_address(desk: Desk) -> None:
    ledger = desk.deliver()

    desk.ask(ledger.run.run_id)
    desk.ask(ledger.run.run_id)

    assert desk.gateway.world.store.load(ledger.run.run_id) == ledger
    line = desk.gateway.attempts[-1]
    assert (line["actor_id"], line["action"]) == (CUSTOMER["sub"], "get_artifact")
    assert (line["target"], line["outcome"]) == (ledger.run.run_id, "done")
    assert "objects.example" not in str(desk.gateway.lines)


@pytest.mark.parametrize(
    ("claims", "status", "kind"),
    [
        (ANOTHER, 404, "run-not-found"),
        (ELSEWHERE, 404, "run-not-found"),
        (STRANGER, 404, "run-not-found"),
        (AGENT, 403, "not-permitted"),
        (OPERATOR, 403, "not-permitted"),
        ({**OPERATOR, "custom:customer_id": "cus_1"}, 403, "not-permitted"),
    ],
    ids=["another", "elsewhere", "stranger", "agent", "operator", "operator for them"],
)
def test_nobody_else_is_given_one(desk: Desk, claims: object, status: int, kind: str) -> None:
    ledger = desk.deliver()

    refused(desk, desk.ask(ledger.run.run_id, claims), status, kind)


def test_a_run_that_is_not_there_is_not_found(desk: Desk) -> None:
    refused(desk, desk.ask("run_" + "a" * 26), 404, "run-not-found")


def test_a_run_that_makes_nothing_to_fetch_has_nothing_to_fetch(
    desk: Desk, gateway: Gateway
) -> None:
    gateway.ask()

    refused(desk, desk.ask(gateway.run_id), 404, "artifact-not-found")


@pytest.mark.parametrize("state", STATES)
def test_it_is_handed_out_once_it_was_delivered_and_not_before(
    desk: Desk, state: EffectState
) -> None:
    ledger = desk.deliver(delivery=state, run=RunState.ACTIVE)

    answer = desk.ask(ledger.run.run_id)

    if state in DELIVERED:
        assert answer.status == 200
    else:
        refused(desk, answer, 409, "artifact-not-ready")


def test_a_run_that_ended_without_a_delivery_never_will_have_one(desk: Desk) -> None:
    ledger = desk.deliver(delivery=EffectState.CONFLICT, run=RunState.CLOSED)

    refused(desk, desk.ask(ledger.run.run_id), 404, "artifact-not-found")


def test_a_delivery_that_was_given_up_for_another_opens_nothing(desk: Desk) -> None:
    ledger = desk.deliver(changes=(("superseded", True),), run=RunState.ACTIVE)

    refused(desk, desk.ask(ledger.run.run_id), 409, "artifact-not-ready")


def test_its_end_is_compared_to_the_millisecond(desk: Desk) -> None:
    ledger = desk.deliver()

    desk.clock.pass_ms(VALID_SECONDS * 1000 - 1_001)
    last = desk.ask(ledger.run.run_id)
    desk.clock.pass_ms(1_001)
    ended = desk.ask(ledger.run.run_id)

    assert last.body["url"].endswith("?for=1")
    ended.assert_problem(410, "artifact-expired")
    assert desk.links.made == 1


def test_an_address_never_lives_longer_than_the_delivery(desk: Desk) -> None:
    ledger = desk.deliver()
    desk.clock.pass_ms(VALID_SECONDS * 1000 - 30_000)

    assert desk.ask(ledger.run.run_id).body["url"].endswith("?for=30")


def test_one_whose_time_ends_while_others_are_asked_is_not_handed_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = desk.deliver()
    desk.clock.pass_ms(VALID_SECONDS * 1000 - 1)
    head = desk.archives.s3.head_object

    def slow_head(**request: Any) -> Any:
        desk.clock.pass_ms(1)
        return head(**request)

    monkeypatch.setattr(desk.archives.s3, "head_object", slow_head)

    refused(desk, desk.ask(ledger.run.run_id), 410, "artifact-expired")


def test_a_project_that_was_given_to_somebody_else_is_not_handed_out(desk: Desk) -> None:
    ledger = desk.deliver()
    desk.archives.s3.put(PROJECTS, owner_key("prj_1"), owner_record("cus_2"))

    refused(desk, desk.ask(ledger.run.run_id), 404, "artifact-not-found")


def test_a_project_that_is_gone_is_nobodys(desk: Desk) -> None:
    ledger = desk.deliver()
    desk.archives.s3.buckets[PROJECTS].objects.clear()

    refused(desk, desk.ask(ledger.run.run_id), 404, "artifact-not-found")


def test_an_object_that_is_no_longer_kept_has_ended(desk: Desk) -> None:
    ledger = desk.deliver()
    desk.archives.s3.buckets[ARTIFACTS].objects.clear()

    refused(desk, desk.ask(ledger.run.run_id), 410, "artifact-expired")


@pytest.mark.parametrize("part", ["body", "mark", "digest"])
def test_an_object_that_is_not_what_was_proven_is_not_handed_out(desk: Desk, part: str) -> None:
    ledger = desk.deliver()
    objects = desk.archives.s3.buckets[ARTIFACTS].objects
    ((key, kept),) = objects.items()
    objects[key] = {
        "body": replace(kept, body=kept.body + b"more"),
        "mark": _with_metadata(kept, effect_id="eff_other"),
        "digest": _with_metadata(kept, digest="sha256:00"),
    }[part]

    refused(desk, desk.ask(ledger.run.run_id), 409, "artifact-not-ready")


def _with_metadata(kept: StoredObject, **changes: str) -> StoredObject:
    return replace(kept, metadata={**kept.metadata, **changes})


def test_a_bucket_that_is_open_to_the_public_hands_nothing_out(desk: Desk) -> None:
    ledger = desk.deliver()
    desk.archives.s3.buckets[ARTIFACTS].private = False

    refused(desk, desk.ask(ledger.run.run_id), 404, "artifact-not-found")


@pytest.mark.parametrize(
    "state", sorted(set(EffectState) - {EffectState.CONFIRMED, EffectState.ACCEPTED})
)
def test_an_archive_that_is_not_proven_any_more_is_not_handed_out(
    desk: Desk, state: EffectState, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = desk.deliver()
    archive, delivery = ledger.effects
    if archive.operation == DELIVERY:
        archive, delivery = delivery, archive
    doubted = ledger._replace(effects=(archive.model_copy(update={"state": state}), delivery))
    monkeypatch.setattr(desk.gateway.world.store, "load", lambda _run_id: doubted)

    refused(desk, desk.ask(ledger.run.run_id), 409, "artifact-not-ready")


@pytest.mark.parametrize("operation", ["list_objects_v2", "head_object"])
def test_a_system_that_gives_no_answer_leaves_the_question_open(desk: Desk, operation: str) -> None:
    ledger = desk.deliver()
    desk.archives.s3.fail_next(S3Fault.SLOW_DOWN, operation)

    refused(desk, desk.ask(ledger.run.run_id), 503, "try-again")
    assert desk.ask(ledger.run.run_id).status == 200


def test_until_when_another_version_of_the_code_would_keep_it_is_no_change_of_the_object(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = desk.deliver()
    monkeypatch.setattr("providers.s3_artifacts.VALID_SECONDS", VALID_SECONDS * 2)

    answer = desk.ask(ledger.run.run_id)

    assert answer.body["valid_until"] == "2026-01-04T00:00:00+00:00"
