"""Importance by words: events of a life and dates, in English and Spanish."""

from __future__ import annotations

import pytest

from spade_llm.memory.learning.novelty import (
    CIRCUMSTANCES,
    DATE_IMPORTANCE,
    LIFE_EVENTS,
    importance,
)
from spade_llm.understanding.vocabulary import is_concept


@pytest.mark.parametrize("name", sorted(LIFE_EVENTS | CIRCUMSTANCES))
def test_every_concept_is_in_the_vocabulary(name: str) -> None:
    assert is_concept(name)


@pytest.mark.parametrize(
    "text",
    [
        "My sister had a baby last night!",
        "It rained. My grandfather died on Sunday. I had soup.",
        "We are getting married in September",
        "I moved to Oslo",
        "I was laid off today",
        "Pablo and I broke up",
        "I broke my leg on the ski slope",
        "Mi abuelo murió el domingo",
        "Me han despedido hoy",
        "Me he roto la pierna esquiando",
        "Me he divorciado",
    ],
)
def test_events_of_a_life_are_important(text: str) -> None:
    assert importance(text) == 1.0


@pytest.mark.parametrize("text", ["The course begins on 3 May", "La fiesta es el 12 de junio"])
def test_dates_matter_until_then(text: str) -> None:
    assert importance(text) == DATE_IMPORTANCE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It was cloudy again today",
        "I had soup for lunch",
        "Work was quiet today",
        "Did my grandfather die?",
        "Ana says she moved to Oslo",
        "Hoy ha estado nublado",
        "El trabajo ha estado tranquilo",
    ],
)
def test_routine_questions_and_reports_are_not(text: str) -> None:
    assert importance(text) == 0.0
