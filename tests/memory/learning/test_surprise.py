"""Surprise within a person's own history: some moments are key, and a routine has none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.memory.learning.novelty import (
    IMPORTANCE_WEIGHT,
    KEY_MOMENT_SCORE,
    MAX_HISTORY,
    salience,
    surprise,
)

SALIENCES = st.floats(0, 1 + IMPORTANCE_WEIGHT)
HISTORIES = st.lists(SALIENCES, max_size=50)


def test_at_first_everything_is_new_and_only_events_are_key_moments() -> None:
    weather = salience(1.0, "It was cloudy again today.", known=0)
    event = salience(1.0, "I was laid off today.", known=0)

    assert surprise(weather, []) < KEY_MOMENT_SCORE <= surprise(event, [])


def test_the_most_novel_talk_of_a_routine_is_routine() -> None:
    history = [salience(0.01 * number, "I had soup.", known=30) for number in range(30)]

    assert surprise(salience(0.3, "I had soup.", known=30), history) < KEY_MOMENT_SCORE


def test_what_is_novel_in_a_long_history_is_a_key_moment_without_words_for_it() -> None:
    history = [salience(0.2, "I had soup.", known=30)] * 30

    novel = salience(0.7, "I finished my first marathon.", known=30)

    assert surprise(novel, history) >= KEY_MOMENT_SCORE


def test_what_happens_all_the_time_surprises_less() -> None:
    event = salience(0.6, "I won the race.", known=100)

    assert surprise(event, [event] * 100) < KEY_MOMENT_SCORE < surprise(event, [0.2] * 100)


def test_only_the_latest_of_a_history_count() -> None:
    latest = [0.1] * MAX_HISTORY

    assert surprise(0.5, [*latest, *[1.0] * 1000]) == surprise(0.5, latest)


@given(SALIENCES, SALIENCES, HISTORIES)
def test_a_higher_salience_never_surprises_less(one: float, other: float, of: list[float]) -> None:
    low, high = sorted((one, other))

    assert 0.0 <= surprise(low, of) <= surprise(high, of) <= 1.0


@given(SALIENCES, HISTORIES)
def test_the_order_of_a_history_does_not_matter(salient: float, history: list[float]) -> None:
    assert surprise(salient, history) == surprise(salient, history[::-1])
