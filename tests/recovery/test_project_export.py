"""An export whose project, archive or bucket is no longer what it was: what is handed out."""

from typing import Any, cast

import pytest

from ledger.approve import Decision
from ledger.authorise import bound_from_request, missing_yes
from ledger.offer import RecoveryAction
from ledger.record import Scalar
from ledger.run import RunLedger
from ledger.transitions import EffectState, RunState
from ledger.workflow import WorkflowDefinition
from providers.s3_layout import files_prefix, owner_key
from tests.fakes.archive_bench import ARTIFACTS, PROJECTS, owner_record
from tests.fakes.s3 import FakeS3, S3Fault, StoredObject
from tests.recovery.desk import choose, offered
from tests.recovery.invariants import check_invariants, check_outcome
from tests.recovery.scenarios import scenarios
from tests.recovery.scenarios.project_export import ProjectExportOutside, archives
from tests.recovery.tap import Strike
from tests.recovery.world import World

VERSION = "project-export@1"


@pytest.fixture
def world() -> World:
    return World(scenario=scenarios()[VERSION])


def s3_of(world: World) -> FakeS3:
    return cast("ProjectExportOutside", world.outside).s3


def stored(world: World) -> dict[str, StoredObject]:
    return s3_of(world).buckets[ARTIFACTS].objects


def give_away(world: World) -> None:
    s3_of(world).put(PROJECTS, owner_key("prj_1"), owner_record("cus_2"))


def archive_state(world: World) -> EffectState:
    (effect,) = archives(world.ledger)
    return effect.state


def approved(ledger: RunLedger) -> bool:
    return ledger.proven("request_approved") is not None


def archived(ledger: RunLedger) -> bool:
    return ledger.proven("archive_stored") is not None


def assert_in_review(world: World, reason: str) -> None:
    assert world.ledger.run.state is RunState.REVIEW
    assert reason in world.ledger.run.review_reason
    assert world.ses.sent == []


def test_given_a_lost_answer_about_the_archive_then_it_is_found_and_not_made_again(
    world: World,
) -> None:
    s3_of(world).fail_next(S3Fault.COMMIT_THEN_DROP)

    world.run()

    check_invariants(world)
    check_outcome(world)
    states = [e.state for e in world.events if e.subject == archives(world.ledger)[0].effect_id]
    assert EffectState.UNKNOWN in states
    assert s3_of(world).requests.count("complete_multipart_upload") == 1


def test_given_a_request_that_was_lost_then_absence_is_proven_and_one_archive_made(
    world: World,
) -> None:
    s3_of(world).fail_next(S3Fault.DROP_BEFORE_COMMIT)

    world.run()

    check_invariants(world)
    check_outcome(world)
    assert len(stored(world)) == 1
    assert s3_of(world).requests.count("complete_multipart_upload") == 2


def test_given_a_customer_who_declines_then_nothing_is_stored(world: World) -> None:
    world.customer.decision = Decision.DECLINE

    world.run()

    check_invariants(world)
    assert world.ledger.run.state is RunState.CLOSED
    assert stored(world) == {}
    assert s3_of(world).requests.count("create_multipart_upload") == 0


def test_given_a_project_that_changes_hands_after_the_yes_then_nothing_is_stored(
    world: World,
) -> None:
    world.run_until(approved)
    give_away(world)

    world.run()

    check_invariants(world)
    assert_in_review(world, "another customer")
    assert stored(world) == {}


def test_given_a_project_that_changes_hands_before_the_link_then_no_link_is_mailed(
    world: World,
) -> None:
    world.run_until(archived)
    give_away(world)

    world.run_until(lambda ledger: ledger.run.state is RunState.REVIEW)

    check_invariants(world)
    assert_in_review(world, "another customer")
    assert len(stored(world)) == 1
    # And when nobody has acted for as long as the archive is to be had, it is not to be had.
    world.run()
    check_invariants(world, only_closing_because="What is left to give has ended meanwhile")


@pytest.mark.parametrize("change", ["altered", "expired"])
def test_given_an_archive_that_is_no_longer_what_was_proven_then_no_link_is_mailed(
    world: World, change: str
) -> None:
    world.run_until(archived)
    (key,) = stored(world)
    if change == "altered":
        there = stored(world)[key]
        stored(world)[key] = StoredObject(b"other", there.at_ms, there.metadata, "b3RoZXI=-1")
    else:
        del stored(world)[key]

    world.run()

    assert_in_review(world, "archive was confirmed, and now")
    assert archive_state(world) is EffectState.CONTRADICTED


def test_given_a_bucket_that_is_opened_before_the_link_then_no_link_is_mailed(
    world: World,
) -> None:
    world.run_until(archived)
    s3_of(world).buckets[ARTIFACTS].private = False

    world.run()

    check_invariants(world)
    assert_in_review(world, "open_to_the_public")


def test_given_a_bucket_that_is_opened_while_the_archive_is_stored_then_it_waits_until_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3 = s3_of(world)
    complete = s3.complete_multipart_upload

    def opening(**request: Any) -> Any:
        answer = complete(**request)
        s3.buckets[ARTIFACTS].private = False
        return answer

    monkeypatch.setattr(s3, "complete_multipart_upload", opening)
    world.run()
    assert_in_review(world, "archive is accepted past its deadline")
    assert archive_state(world) is EffectState.ACCEPTED

    s3.buckets[ARTIFACTS].private = True
    choose(world, RecoveryAction.RECONCILE)
    world.run()

    check_invariants(world)
    check_outcome(world)
    assert world.ledger.run.state is RunState.COMPLETED


def test_given_a_source_that_cannot_be_read_for_a_while_then_it_is_waited_for(
    world: World,
) -> None:
    world.run_until(approved)
    for _ in range(4):
        s3_of(world).fail_next(S3Fault.SLOW_DOWN, "list_objects_v2")

    world.run()

    check_invariants(world)
    check_outcome(world)
    assert len(archives(world.ledger)[0].attempts) == 1


def test_given_a_file_that_is_added_after_the_yes_then_the_archive_holds_the_project_as_it_is(
    world: World,
) -> None:
    """The yes is to the project, whatever it holds by then; the digest says what that was."""
    world.run_until(approved)
    s3_of(world).put(PROJECTS, f"{files_prefix('prj_1')}zz-later.txt", b"added since")

    world.run()

    assert world.ledger.run.state is RunState.COMPLETED
    (made,) = stored(world).values()
    assert b"zz-later.txt" in made.body


def _with_fixed(definition: WorkflowDefinition, **fixed: Scalar) -> WorkflowDefinition:
    archive, link = definition.operations
    changed = archive.model_copy(update={"fixed": {**archive.fixed, **fixed}})
    return definition.model_copy(update={"number": 2, "operations": (changed, link)})


@pytest.mark.parametrize("fixed", [{"scope": "account"}, {"schema": 2}])
def test_another_scope_or_schema_needs_another_decision(
    world: World, fixed: dict[str, Scalar]
) -> None:
    world.run_until(approved)
    ledger, definition = world.ledger, scenarios()[VERSION].definition

    def missing(asking: WorkflowDefinition) -> str:
        bound = bound_from_request(asking.operation("archive"), ledger.run.request)
        return missing_yes(asking, ledger, "archive", bound, "eff_1", world.clock.now_ms())

    assert missing(definition) == ""
    assert missing(_with_fixed(definition)) == ""  # other code, the same consequence
    assert missing(_with_fixed(definition, **fixed)) != ""


def test_given_a_link_in_doubt_when_its_time_has_ended_then_nobody_is_offered_to_send_it(
    world: World,
) -> None:
    world.tap.strike_next("DeliverLink", "ses_artifact_link.call", Strike.CRASH_BEFORE)
    world.run()
    assert world.ledger.run.state is RunState.REVIEW
    assert offered(world)[RecoveryAction.SEND_AGAIN].allowed

    world.clock.pass_ms(4 * 24 * 3_600_000)

    found = offered(world)
    assert "has ended meanwhile" in found[RecoveryAction.SEND_AGAIN].refused_because
    assert found[RecoveryAction.TREAT_AS_SENT].allowed
    assert found[RecoveryAction.CLOSE].allowed
    choose(world, RecoveryAction.MARK_ENGINEERING)
    assert world.ses.sent == []
