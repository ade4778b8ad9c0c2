"""A mark that somebody has edited at the provider says no more than none, and hides nothing."""

import pytest

from ledger.compare import Verdict, judge
from ledger.errors import EffectUnknown
from ledger.idempotency import effect_id_for, is_effect_id
from ledger.provider import Findings
from ledger.transitions import EffectState, RunState
from tests.unit.ledger.desk import RECONCILE, act
from tests.unit.ledger.notices import notified
from tests.unit.ledger.sample import (
    BOUND,
    LEASE_SECONDS,
    OF_ANOTHER_RUN,
    REFUND_ID,
    RUN_ID,
    SETTLE_WINDOW_SECONDS,
    a_record,
    a_refund,
)
from tests.unit.ledger.situations import refund_accepted, refund_confirmed
from tests.unit.ledger.support import World, an_unknown_world

# Written by hand at the provider's dashboard.
EDITED = [
    f"{REFUND_ID} (ticket 4711)",
    f" {REFUND_ID}",
    f"{REFUND_ID}\n",
    REFUND_ID[:-1],
    REFUND_ID.upper(),
    "refunded by hand",
    "",
]


def edit(world: World, mark: str | None, **fields: str | int) -> None:
    """Let somebody write over the mark of everything that the provider holds."""
    world.payments.held = [
        found.model_copy(update={"mark": mark, "fields": {**found.fields, **fields}})
        for found in world.payments.held
    ]


def read_again(world: World) -> None:
    """Reconcile once whatever was claimed or accepted has had its time."""
    world.pass_seconds(LEASE_SECONDS + SETTLE_WINDOW_SECONDS)
    world.reconcile()


@pytest.mark.parametrize("mark", EDITED)
def test_given_an_equal_record_whose_mark_is_no_effects_id_when_judged_then_it_may_be_ours(
    mark: str,
) -> None:
    judgement = judge(a_refund(), Findings(records=(a_record(mark=mark),), complete=True))

    assert judgement.verdict is Verdict.CONFLICT
    assert judgement.reason.startswith("found without our mark")
    assert [found.record_id for found in judgement.candidates] == ["re_1"]


def test_given_the_mark_of_another_run_when_judged_then_the_record_is_that_runs() -> None:
    record = a_record(mark=OF_ANOTHER_RUN)

    judgement = judge(a_refund(), Findings(records=(record,), complete=True))

    assert judgement.verdict is Verdict.ABSENT
    assert judgement.others == (record,)


@pytest.mark.parametrize("text", EDITED)
def test_given_a_text_that_no_run_can_make_when_asked_then_it_is_no_effects_id(text: str) -> None:
    assert not is_effect_id(text)


@pytest.mark.parametrize("instance", range(1, 20))
def test_given_an_id_that_a_run_has_made_when_asked_then_it_is_an_effects_id(instance: int) -> None:
    assert is_effect_id(effect_id_for("run_b", "fee", instance))


def test_given_a_lost_answer_and_an_edited_mark_when_read_then_absence_is_not_proven() -> None:
    world = an_unknown_world()
    world.payments.held.append(a_record(mark=f"{REFUND_ID} (ticket 4711)"))

    world.prove_absence()

    assert world.effect().state is EffectState.CONFLICT
    assert world.run().state is RunState.REVIEW
    assert [found.record_id for found in world.effect().candidates] == ["re_1"]
    assert len(world.payments.calls) == 1


@pytest.mark.parametrize(
    ("run_mark", "mark", "state"),
    [
        (RUN_ID, OF_ANOTHER_RUN, EffectState.CONFLICT),
        ("run_b", OF_ANOTHER_RUN, EffectState.UNKNOWN),
        (None, OF_ANOTHER_RUN, EffectState.UNKNOWN),
        (RUN_ID, REFUND_ID, EffectState.CONFIRMED),
    ],
    ids=["this run", "the other run", "no run", "not edited"],
)
def test_given_an_edited_mark_of_the_right_shape_when_the_record_names_the_run_then_it_may_be_ours(
    run_mark: str | None, mark: str, state: EffectState
) -> None:
    world = an_unknown_world()
    world.payments.held.append(a_record(mark=mark, run_mark=run_mark))

    world.reconcile()

    assert world.effect().state is state


def test_given_proven_absence_when_an_edited_mark_shows_at_the_replay_then_nothing_is_sent() -> (
    None
):
    world = an_unknown_world()
    world.prove_absence()
    world.payments.held.append(a_record(mark=OF_ANOTHER_RUN, run_mark=RUN_ID))

    with pytest.raises(EffectUnknown):
        world.perform()

    assert len(world.payments.calls) == 1
    world.reconcile()
    assert world.effect().state is EffectState.CONFLICT


@pytest.mark.parametrize("mark", [None, "eff_edited", OF_ANOTHER_RUN])
@pytest.mark.parametrize("fields", [{}, {"amount_minor": 1}], ids=["equal", "changed"])
def test_given_an_accepted_record_whose_mark_is_gone_when_read_then_it_is_shown_and_said_so(
    mark: str | None, fields: dict[str, int]
) -> None:
    world = refund_accepted()
    edit(world, mark, **fields)

    read_again(world)

    assert world.effect().state is EffectState.CONFLICT
    assert world.run().review_reason == (
        "refund: the record on file, payments_1, is shown without our mark"
    )
    assert [found.record_id for found in world.effect().candidates] == ["payments_1"]


def test_given_a_confirmed_record_whose_mark_was_edited_when_noticed_then_it_still_holds() -> None:
    world = refund_confirmed()
    edit(world, "eff_edited")

    notified(world)

    assert world.effect().state is EffectState.CONFIRMED
    assert world.run().state is RunState.ACTIVE


def test_given_a_confirmed_record_with_anothers_mark_when_noticed_then_a_person_sees_it() -> None:
    world = refund_confirmed()
    edit(world, OF_ANOTHER_RUN)

    notified(world)

    words = "the record on file, payments_1, is shown without our mark"
    assert world.effect().state is EffectState.CONTRADICTED
    assert world.run().review_reason == f"refund was confirmed, and now: {words}"
    assert [found.record_id for found in world.effect().candidates] == ["payments_1"]
    act(world, RECONCILE)
    read_again(world)
    assert world.effect().state is EffectState.CONFLICT
    assert [found.fields for found in world.effect().candidates] == [BOUND]
