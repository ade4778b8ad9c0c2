"""What was given for a time only: told with its end by every reader, and as ended after it."""

import pytest

from adapters.memory_store import MemoryStore
from ledger.effect import ATTESTED
from ledger.packet import resume_packet
from ledger.projection import EffectFacts, project
from ledger.retired import retired_definition
from ledger.status import customer_status
from ledger.transitions import EffectState, RunState
from ledger.validity import has_ended, moment_of, told_moment, valid_until_ms
from tests.builders import NOW_MS
from tests.delivered import ARCHIVE, DELIVERY, Wish, write_delivered
from tests.fakes.archive_bench import archive_world

UNTIL_MS = NOW_MS + 3 * 24 * 3600 * 1000
TOLD = "2026-01-04 00:00:00 UTC"


def read(
    now_ms: int, delivery: EffectState = EffectState.CONFIRMED, *, attested: bool = False
) -> tuple[EffectFacts, str, str]:
    """Return the facts of the delivery, and what the customer and a model are told of it."""
    wish = Wish(
        customer_id="cus_1",
        tenant_id="tenant-1",
        project_id="prj_1",
        now_ms=NOW_MS,
        delivery=delivery,
        run=RunState.REVIEW,
    )
    ledger = write_delivered(MemoryStore(), archive_world().provider, wish)
    if attested:
        (mail,) = (found for found in ledger.effects if found.operation == DELIVERY)
        assert mail.evidence is not None
        word = mail.evidence.model_copy(update={"record_id": ATTESTED})
        others = tuple(found for found in ledger.effects if found is not mail)
        taken = mail.model_copy(update={"evidence": word})
        ledger = type(ledger)(run=ledger.run, effects=(*others, taken))
    facts = project(retired_definition(ledger), ledger, now_ms)
    (effect,) = (found for found in facts.effects if found.operation == DELIVERY)
    (told,) = (found for found in customer_status(facts).effects if found.operation == DELIVERY)
    return effect, told.status, resume_packet(facts, "").summary


@pytest.mark.parametrize("now_ms", [NOW_MS, UNTIL_MS - 1])
def test_until_its_end_everybody_is_told_when_that_is(now_ms: int) -> None:
    effect, status, summary = read(now_ms)

    assert (effect.valid_until_ms, effect.ended) == (UNTIL_MS, False)
    assert status == f"confirmed; works until {TOLD}"
    assert f"is confirmed and works until {TOLD}" in summary


@pytest.mark.parametrize("now_ms", [UNTIL_MS, UNTIL_MS + 1])
def test_after_its_end_everybody_is_told_that_and_how_to_get_a_new_one(now_ms: int) -> None:
    effect, status, summary = read(now_ms)

    assert effect.ended
    assert status == f"confirmed; ended on {TOLD}, as it was meant to; ask again to get a new one"
    assert f"ended on {TOLD} as it was meant to, and a new request makes a new one" in summary
    assert "works until" not in status + summary


def test_an_operators_word_is_told_with_the_same_end() -> None:
    _, status, summary = read(NOW_MS, attested=True)

    assert status == f"taken as sent by an operator; works until {TOLD}"
    assert f"do not repeat it and works until {TOLD}" in summary


@pytest.mark.parametrize("state", sorted(set(EffectState) - {EffectState.CONFIRMED}))
def test_of_what_is_not_proven_no_end_is_promised(state: EffectState) -> None:
    _, status, summary = read(NOW_MS, state)

    assert TOLD not in status + summary


def test_what_was_given_for_good_has_no_end() -> None:
    wish = Wish(customer_id="cus_1", tenant_id="tenant-1", project_id="prj_1", now_ms=NOW_MS)
    ledger = write_delivered(MemoryStore(), archive_world().provider, wish)
    facts = project(retired_definition(ledger), ledger, UNTIL_MS + 1)
    (archive,) = (found for found in facts.effects if found.operation == ARCHIVE)

    assert (archive.valid_until_ms, archive.ended) == (None, False)


def test_an_end_that_is_no_moment_is_none() -> None:
    assert valid_until_ms({"valid_until_ms": "soon"}) is None
    assert not has_ended({"valid_until_ms": "soon"}, UNTIL_MS)


@pytest.mark.parametrize(
    ("at_ms", "told"),
    [
        (UNTIL_MS, TOLD),
        (UNTIL_MS + 7, "2026-01-04 00:00:00.007 UTC"),
        (0, "1970-01-01 00:00:00 UTC"),
    ],
)
def test_a_moment_is_told_exactly(at_ms: int, told: str) -> None:
    assert told_moment(at_ms) == told
    assert moment_of(told) == at_ms
