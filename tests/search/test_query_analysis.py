"""What a question asks for."""

from __future__ import annotations

import pytest

from spade_llm.search.query_analysis import asks_for_several, asks_for_things


@pytest.mark.parametrize(
    "text",
    [
        "What activities does Ann do?",
        "Which of the old cities has Bob seen?",
        "In what ways does she help?",
        "How many languages does he speak?",
        "¿Qué ciudades ha visitado?",
        "¿Cuáles son sus libros favoritos?",
    ],
)
def test_a_question_in_the_plural_asks_for_several_things(text: str) -> None:
    assert asks_for_several(text) and asks_for_things(text)


@pytest.mark.parametrize(
    "text",
    ["What does Ann bake?", "Where is Paris?", "Who was in the class?", "¿Dónde vive Carlos?"],
)
def test_a_question_in_the_singular_asks_for_things(text: str) -> None:
    assert asks_for_things(text) and not asks_for_several(text)


@pytest.mark.parametrize(
    "text", ["Why do birds sing?", "How was it?", "What day is free?", "Birds", "", "¿Cuándo?"]
)
def test_a_reason_a_manner_or_a_time_is_no_thing(text: str) -> None:
    assert not asks_for_things(text) and not asks_for_several(text)
