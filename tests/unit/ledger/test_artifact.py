"""Whether an artifact is handed out: each refusal, in which order it is met, and to the moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, override

import pytest

from ledger.artifact import HandedOut, delivery_of, hand_out
from ledger.contract import Consistency, LookUp
from ledger.effect import Effect
from ledger.errors import ProviderUnavailable, RequestRefused
from ledger.ports import Ports
from ledger.provider import Authority, Findings, ProviderCall, ProviderRecord, RecordStatus
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from ledger.workflow import WorkflowDefinition
from tests.builders import NOW_MS, a_run, an_effect, evidence
from tests.fakes.clock import FakeClock
from tests.unit.ledger.sample import DEFINITION, NO_ANSWER, PAYMENTS, RUN_ID
from tests.unit.ledger.scripted_provider import ScriptedProvider
from tests.unit.ledger.support import World
from tests.unit.ledger.versions import altered

ARTIFACT_ID = "exports/prj_1.zip"
UNTIL_MS = NOW_MS + 600_000
LIFETIME_SECONDS = 60
CONTENT: dict[str, Scalar] = {"project_id": "prj_1", "digest": "sha256:aa", "size_bytes": 7}
DELIVERS = altered(
    "operations", 1, evidence_fields=(("artifact_id", "refund_confirmed", "record_id"),)
)
DELIVERED = {EffectState.ACCEPTED, EffectState.CONFIRMED}

EXPIRED = "artifact-expired"
NOT_READY = "artifact-not-ready"
NOT_FOUND = "artifact-not-found"
ENDED = "The time until which this link worked has ended. Ask for it again to get a new one."
NOT_KEPT = "It is no longer kept. Ask for it again."
NOT_ALLOWED = "You may not have it now. Ask support."
NOT_YET = "It is not ready to be fetched. Read the run to see how far it is."
NOTHING = "This run has nothing to fetch."
NEVER = "This run has ended, and delivered nothing."
LOOKED_AT = "What was delivered is being looked at by a person. Read the run to see how far it is."
ALTERED = "It is not as it was when it was delivered, so nothing is handed out. Ask support."


@dataclass
class Archives(ScriptedProvider):
    """Where artifacts are kept; it remembers what it was asked."""

    bounds: list[dict[str, Scalar]] = field(default_factory=list)
    asked: list[ProviderCall] = field(default_factory=list)

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        assert personal == {}
        self.bounds.append(dict(bound))
        return super().authority(bound, personal)

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        self.asked.append(call)
        return super().look_up(call)


@dataclass
class Links:
    """Makes addresses, which may take time."""

    clock: FakeClock
    takes_ms: int = 0
    made: list[tuple[str, int]] = field(default_factory=list)

    def url(self, artifact_id: str, lifetime_seconds: int) -> str:
        """Return an address that names the object."""
        self.made.append((artifact_id, lifetime_seconds))
        self.clock.pass_ms(self.takes_ms)
        return f"https://objects.example/{artifact_id}"


class Desk:
    """Where a customer fetches an artifact: its keeper, and what makes addresses."""

    def __init__(self) -> None:
        """Begin with an artifact that is kept as it was proven."""
        world = World()
        self.clock = world.clock
        self.archives = Archives(PAYMENTS, held=[kept()])
        self.mail = Archives(PAYMENTS)
        self.links = Links(world.clock)
        providers = {"archives": self.archives, "post": self.mail}
        self.ports: Ports = replace(world.ports, providers=providers)

    def ask(
        self, ledger: RunLedger | None = None, definition: WorkflowDefinition = DEFINITION
    ) -> HandedOut:
        """Ask for the artifact of a run."""
        return hand_out(self.ports, self.links, definition, ledger or delivered())

    def refuse(
        self, ledger: RunLedger | None = None, definition: WorkflowDefinition = DEFINITION
    ) -> tuple[str, str]:
        """Return why it is not handed out. No address is made then."""
        with pytest.raises(RequestRefused) as refused:
            self.ask(ledger, definition)
        assert self.links.made == []
        return refused.value.problem, refused.value.detail


@pytest.fixture
def desk() -> Desk:
    """Return a desk over an artifact that is kept."""
    return Desk()


def an_archive(**overrides: Any) -> Effect:
    """Return the write that made the artifact."""
    proof = evidence(
        record_id=ARTIFACT_ID, fields={**CONTENT, "valid_until_ms": UNTIL_MS + 1_000_000}
    )
    return an_effect(
        **{
            "effect_id": "eff_archive",
            "operation": "archive",
            "provider": "archives",
            "state": EffectState.CONFIRMED,
            "bound": {"project_id": "prj_1", "scope": "whole"},
            "evidence": proof,
            **overrides,
        }
    )


def a_delivery(state: EffectState = EffectState.CONFIRMED, **overrides: Any) -> Effect:
    """Return the write that gave it to the customer, until its end."""
    return an_effect(
        **{
            "effect_id": "eff_delivery",
            "operation": "deliver",
            "provider": "post",
            "state": state,
            "bound": {"artifact_id": ARTIFACT_ID, "valid_until_ms": UNTIL_MS, "scope": "link"},
            "evidence": evidence(record_id="message-1", fields={}),
            **overrides,
        }
    )


def kept(**overrides: Any) -> ProviderRecord:
    """Return the object as its keeper shows it, which has another idea of its end."""
    return ProviderRecord.model_validate(
        {
            "record_id": ARTIFACT_ID,
            "status": RecordStatus.DONE,
            "provider_status": "stored",
            "mark": "eff_archive",
            "fields": {**CONTENT, "valid_until_ms": UNTIL_MS + 2_000_000},
            **overrides,
        }
    )


def delivered(*effects: Effect, state: RunState = RunState.COMPLETED) -> RunLedger:
    """Return a run with these effects; with an artifact and its delivery where none is named."""
    run = a_run(run_id=RUN_ID, workflow=DEFINITION.version, state=state, due_at_ms=None)
    return RunLedger(run=run, effects=effects or (an_archive(), a_delivery()))


def test_given_a_delivered_artifact_when_asked_for_then_it_is_handed_out(desk: Desk) -> None:
    assert desk.ask() == HandedOut(
        artifact_id=ARTIFACT_ID,
        url=f"https://objects.example/{ARTIFACT_ID}",
        url_ends_at_ms=NOW_MS + LIFETIME_SECONDS * 1000,
        valid_until_ms=UNTIL_MS,
    )
    assert desk.links.made == [(ARTIFACT_ID, LIFETIME_SECONDS)]


def test_given_an_artifact_when_asked_for_then_its_keeper_is_asked_about_that_write(
    desk: Desk,
) -> None:
    archive = an_archive()

    desk.ask()

    # What the delivery binds says more of who may have it than what the artifact was made of.
    assert desk.archives.bounds == [
        {
            "project_id": "prj_1",
            "scope": "link",
            "artifact_id": ARTIFACT_ID,
            "valid_until_ms": UNTIL_MS,
        }
    ]
    (call,) = desk.archives.asked
    assert (call.run_id, call.effect_id) == (RUN_ID, archive.effect_id)
    assert call.idempotency_key == archive.idempotency_key
    assert (call.bound, call.params) == (archive.bound, archive.request.params())
    assert (desk.mail.bounds, desk.mail.asked) == ([], [])


@pytest.mark.parametrize("state", sorted(EffectState))
def test_given_each_state_of_a_delivery_when_asked_for_then_only_a_made_one_opens(
    desk: Desk, state: EffectState
) -> None:
    ledger = delivered(an_archive(), a_delivery(state), state=RunState.ACTIVE)

    if state in DELIVERED:
        assert desk.ask(ledger).artifact_id == ARTIFACT_ID
    else:
        assert desk.refuse(ledger) == (NOT_READY, NOT_YET)


@pytest.mark.parametrize("left_out", ["artifact_id", "valid_until_ms"])
def test_given_a_write_that_binds_only_one_of_the_two_when_read_then_it_is_no_delivery(
    left_out: str,
) -> None:
    whole = a_delivery()
    bound = {name: value for name, value in whole.bound.items() if name != left_out}

    assert delivery_of(delivered(whole)) == whole
    assert delivery_of(delivered(a_delivery(bound=bound))) is None
    assert delivery_of(delivered(an_archive())) is None


def test_given_several_deliveries_when_read_then_the_newest_that_was_not_given_up_counts() -> None:
    first, second, third, fourth = (
        a_delivery(effect_id=f"eff_{number}", instance=number, **changes)
        for number, changes in (
            (1, {}),
            (2, {}),
            (3, {"superseded": True}),
            (4, {"state": EffectState.UNKNOWN}),
        )
    )

    assert delivery_of(delivered(second, first, third, fourth)) == second
    assert delivery_of(delivered(first, second)) == second
    assert delivery_of(delivered(third, fourth)) is None


@pytest.mark.parametrize(
    ("effects", "definition", "state", "said"),
    [
        ((an_archive(),), DEFINITION, RunState.ACTIVE, (NOT_FOUND, NOTHING)),
        ((an_archive(),), DEFINITION, RunState.COMPLETED, (NOT_FOUND, NOTHING)),
        ((an_archive(),), DELIVERS, RunState.ACTIVE, (NOT_READY, NOT_YET)),
        ((an_archive(),), DELIVERS, RunState.REVIEW, (NOT_READY, NOT_YET)),
        ((an_archive(),), DELIVERS, RunState.CLOSED, (NOT_FOUND, NEVER)),
        (
            (an_archive(), a_delivery(EffectState.UNKNOWN)),
            DEFINITION,
            RunState.REVIEW,
            (NOT_READY, NOT_YET),
        ),
        (
            (an_archive(), a_delivery(EffectState.CONFLICT)),
            DEFINITION,
            RunState.CLOSED,
            (NOT_FOUND, NEVER),
        ),
    ],
)
def test_given_no_delivery_when_asked_for_then_it_is_said_whether_one_may_still_come(
    desk: Desk,
    effects: tuple[Effect, ...],
    definition: WorkflowDefinition,
    state: RunState,
    said: tuple[str, str],
) -> None:
    assert desk.refuse(delivered(*effects, state=state), definition) == said
    assert desk.archives.authority_reads == 0


@pytest.mark.parametrize("over_ms", [0, 1])
def test_given_an_end_that_has_come_when_asked_for_then_nobody_else_is_asked(
    desk: Desk, over_ms: int
) -> None:
    desk.clock.move_to(UNTIL_MS + over_ms)

    # Not even an artifact that is in doubt is of interest any more.
    assert desk.refuse(delivered(a_delivery())) == (EXPIRED, ENDED)
    assert desk.refuse() == (EXPIRED, ENDED)
    assert (desk.archives.authority_reads, desk.archives.look_ups) == (0, 0)


@pytest.mark.parametrize(
    ("left_ms", "lifetime_seconds"),
    [(1_000, 1), (1_999, 1), (2_000, 2), (59_999, 59), (60_000, 60), (60_999, 60), (61_000, 60)],
)
def test_given_little_time_left_when_handed_out_then_the_address_ends_no_later(
    desk: Desk, left_ms: int, lifetime_seconds: int
) -> None:
    desk.clock.move_to(UNTIL_MS - left_ms)

    found = desk.ask()

    assert desk.links.made == [(ARTIFACT_ID, lifetime_seconds)]
    assert found.url_ends_at_ms == UNTIL_MS - left_ms + lifetime_seconds * 1000
    assert found.valid_until_ms == UNTIL_MS


@pytest.mark.parametrize("left_ms", [1, 999])
def test_given_less_than_a_second_left_when_asked_for_then_no_address_is_made_for_it(
    desk: Desk, left_ms: int
) -> None:
    desk.clock.move_to(UNTIL_MS - left_ms)

    assert desk.refuse() == (EXPIRED, ENDED)
    # It had not ended when it was asked for, so its keeper was asked.
    assert (desk.archives.authority_reads, desk.archives.look_ups) == (1, 1)


@pytest.mark.parametrize("during", ["during_authority", "during_look_up"])
def test_given_others_who_take_their_time_when_asked_then_what_is_left_after_it_counts(
    desk: Desk, during: str
) -> None:
    desk.clock.move_to(UNTIL_MS - 20_000)
    setattr(desk.archives, during, lambda: desk.clock.pass_ms(5_000))

    found = desk.ask()

    assert desk.links.made == [(ARTIFACT_ID, 15)]
    assert found.url_ends_at_ms == UNTIL_MS


def test_given_an_address_that_takes_time_to_make_then_it_is_said_to_end_no_later_than_it_may(
    desk: Desk,
) -> None:
    desk.links.takes_ms = 3_000

    assert desk.ask().url_ends_at_ms == NOW_MS + LIFETIME_SECONDS * 1000


@pytest.mark.parametrize("state", sorted(set(EffectState) - {EffectState.CONFIRMED}))
def test_given_an_artifact_that_is_not_proven_any_more_when_asked_for_then_a_person_looks(
    desk: Desk, state: EffectState
) -> None:
    assert desk.refuse(delivered(an_archive(state=state), a_delivery())) == (NOT_READY, LOOKED_AT)
    assert desk.archives.authority_reads == 0


@pytest.mark.parametrize(
    "proof", [None, evidence(record_id="exports/another.zip")], ids=["none", "of another"]
)
def test_given_no_proof_of_the_artifact_when_asked_for_then_a_person_looks(
    desk: Desk, proof: object
) -> None:
    ledger = delivered(an_archive(evidence=proof), a_delivery())

    assert desk.refuse(ledger) == (NOT_READY, LOOKED_AT)


def test_given_a_delivery_that_shows_the_same_record_when_asked_for_then_it_is_no_artifact(
    desk: Desk,
) -> None:
    echo = a_delivery(evidence=evidence(record_id=ARTIFACT_ID, fields=CONTENT))

    assert desk.ask(delivered(echo, an_archive())).artifact_id == ARTIFACT_ID
    assert len(desk.archives.asked) == 1
    assert desk.mail.asked == []


def test_given_other_writes_before_it_when_asked_for_then_the_artifact_is_found_among_them(
    desk: Desk,
) -> None:
    other = an_archive(effect_id="eff_other", evidence=evidence(record_id="exports/another.zip"))

    assert desk.ask(delivered(other, an_archive(), a_delivery())).artifact_id == ARTIFACT_ID
    assert [found.effect_id for found in desk.archives.asked] == ["eff_archive"]


def test_given_an_owner_who_says_no_when_asked_for_then_why_is_not_told(desk: Desk) -> None:
    desk.archives.allowed = Authority(allowed=False, reason="the bucket is open", snapshot={})
    desk.archives.held.clear()

    # Whether it is still kept is no matter to somebody who may not have it.
    assert desk.refuse() == (NOT_FOUND, NOT_ALLOWED)
    assert desk.archives.look_ups == 0


@pytest.mark.parametrize("fault", ["authority_fault", "read_fault"])
def test_given_a_keeper_that_gives_no_answer_when_asked_for_then_it_stays_open(
    desk: Desk, fault: str
) -> None:
    setattr(desk.archives, fault, NO_ANSWER)

    with pytest.raises(ProviderUnavailable, match="archives could not be read"):
        desk.ask()

    assert desk.links.made == []
    setattr(desk.archives, fault, None)
    assert desk.ask().artifact_id == ARTIFACT_ID


@pytest.mark.parametrize(
    "held", [[], [kept(record_id="exports/another.zip")]], ids=["nothing", "another"]
)
def test_given_an_object_that_is_gone_when_asked_for_then_it_is_no_longer_kept(
    desk: Desk, held: list[ProviderRecord]
) -> None:
    desk.archives.held[:] = held

    assert desk.refuse() == (EXPIRED, NOT_KEPT)


def test_given_an_object_that_is_gone_and_no_second_left_then_the_object_is_told_of(
    desk: Desk,
) -> None:
    desk.archives.held.clear()
    desk.clock.move_to(UNTIL_MS - 1)

    assert desk.refuse() == (EXPIRED, NOT_KEPT)


def test_given_a_keeper_that_cannot_be_asked_when_asked_for_then_nothing_is_handed_out(
    desk: Desk,
) -> None:
    desk.archives.contract = PAYMENTS.model_copy(
        update={"look_up": LookUp.NONE, "look_up_consistency": Consistency.EVENTUAL}
    )

    assert desk.refuse() == (EXPIRED, NOT_KEPT)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": RecordStatus.PENDING},
        {"status": RecordStatus.FAILED},
        {"mark": None},
        {"mark": "eff_delivery"},
        {"fields": {**CONTENT, "digest": "sha256:bb"}},
        {"fields": {**CONTENT, "owner": "somebody"}},
        {"fields": {"project_id": "prj_1", "size_bytes": 7}},
        {"fields": {}},
    ],
)
def test_given_an_object_that_is_not_as_it_was_proven_when_asked_for_then_it_is_kept_back(
    desk: Desk, changes: dict[str, Any]
) -> None:
    altered_one = kept(**changes)
    desk.archives.held[:] = [altered_one]

    assert desk.refuse() == (NOT_READY, ALTERED)

    # One that is as it was proven beside it is enough, wherever it stands.
    for held in ([altered_one, kept()], [kept(), altered_one]):
        desk.archives.held[:] = held
        assert desk.ask().artifact_id == ARTIFACT_ID


def test_given_the_right_content_under_another_name_when_asked_for_then_it_does_not_count(
    desk: Desk,
) -> None:
    desk.archives.held[:] = [kept(mark=None), kept(record_id="exports/another.zip")]

    assert desk.refuse() == (NOT_READY, ALTERED)


def test_given_an_object_without_any_end_when_asked_for_then_its_content_is_what_counts(
    desk: Desk,
) -> None:
    desk.archives.held[:] = [kept(fields=CONTENT)]

    assert desk.ask().valid_until_ms == UNTIL_MS
