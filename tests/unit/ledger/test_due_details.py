"""What the waits of one effect are drawn from, and a key whose end comes before the next read."""

from ledger.contract import KEY_NOTICE_SECONDS
from ledger.due import next_look_at_ms, read_wait_seconds
from ledger.run import RunLedger
from ledger.transitions import EffectState
from tests.builders import NOW_MS, a_run
from tests.unit.ledger.sample import a_refund


def test_given_one_effect_when_read_again_and_again_then_each_wait_is_drawn_anew() -> None:
    # One that draws a short wait would otherwise draw it for ever, and never be left alone.
    waits = {
        read_wait_seconds(a_refund(EffectState.UNKNOWN, reconcile_reads=reads))
        for reads in range(20, 40)
    }

    assert len(waits) > 10


def test_given_an_overdue_effect_when_its_key_lapses_before_the_next_read_then_that_decides() -> (
    None
):
    effect = a_refund(
        EffectState.UNKNOWN,
        reconcile_reads=20,
        unsettled_since_ms=0,
        key_protects_until_ms=NOW_MS + (KEY_NOTICE_SECONDS + 100) * 1000,
    )
    assert read_wait_seconds(effect) > 100

    ledger = RunLedger(run=a_run(execution_started=True), effects=(effect,))

    assert next_look_at_ms(ledger, NOW_MS) == NOW_MS + 100_000
