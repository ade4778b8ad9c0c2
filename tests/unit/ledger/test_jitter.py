"""Waits of many are spread evenly, and one is told the same whenever it is asked for."""

from collections import Counter

import pytest

from ledger.jitter import jittered

DRAWS = 20_000


@pytest.mark.parametrize("ceiling", [1, 7, 60, 21_600])
def test_given_many_ids_when_drawn_then_the_numbers_fill_the_whole_range_evenly(
    ceiling: int,
) -> None:
    drawn = [jittered(ceiling, f"eff_{number}", 3) for number in range(DRAWS)]

    assert 1 <= min(drawn) <= 1 + ceiling / 50
    assert ceiling - ceiling / 50 <= max(drawn) <= ceiling
    assert abs(sum(drawn) / DRAWS - (ceiling + 1) / 2) < ceiling / 50
    tenths = Counter((number - 1) * 10 // ceiling for number in drawn)
    if ceiling > 100:
        assert all(abs(count - DRAWS / 10) < DRAWS / 100 for count in tenths.values())


def test_given_one_effect_when_it_is_read_again_then_each_wait_is_drawn_anew() -> None:
    assert len({jittered(10**9, "eff_1", number) for number in range(100)}) == 100


def test_given_the_same_when_asked_again_then_it_is_told_the_same() -> None:
    assert jittered(21_600, "read", "eff_1", 4) == jittered(21_600, "read", "eff_1", 4)


def test_given_different_questions_about_one_effect_when_drawn_then_they_are_not_the_same() -> None:
    assert jittered(10**9, "read", "eff_1", 4) != jittered(10**9, "attempt", "eff_1", 4)
