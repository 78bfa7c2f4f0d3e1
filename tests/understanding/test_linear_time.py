"""Hostile texts at the entry points of the understanding: the time to read them is linear."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.text import strip_code_fence
from spade_llm.providers.offline.intents import recognise_intent
from spade_llm.understanding.answers import find_answers, with_closed
from spade_llm.understanding.clause_kinds import is_statement
from spade_llm.understanding.clauses import split_clauses
from spade_llm.understanding.corrections import DOES
from spade_llm.understanding.features import features
from spade_llm.understanding.forgetting import read_forget_request
from spade_llm.understanding.questions import Candidate
from spade_llm.understanding.spelling import plain_spanish
from spade_llm.understanding.statements import read_history, read_message
from spade_llm.understanding.substitution import DOSE
from spade_llm.understanding.things import COPULA
from spade_llm.understanding.vocabulary import concepts_of, sex_of, typed_values
from spade_llm.understanding.wording import in_second_person

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SECONDS = 1.0
"""Maximum processor time, generous: the usual one is some milliseconds."""
MAX_CHARS = 4000

_EARLIER = [
    *(f"My colleague number {number} is called Ana{number}" for number in range(14)),
    "I live in Rome",
    "my dog is called Rex",
    "Vivo en Lugo",
    "I take gabapentin 100 mg",
    "my wife is Ana and she works at Acme",
    "we're looking for a flat",
]
_CANDIDATES = [Candidate(text=one) for one in _EARLIER]
_READERS: dict[str, Callable[[str], object]] = {
    "split_clauses": split_clauses,
    "read_message": lambda text: read_message(text, _EARLIER),
    "read_forget_request": read_forget_request,
    "find_answers": lambda text: find_answers(text, _CANDIDATES),
    "answers_of": lambda text: find_answers("where do I live?", [Candidate(text=text)]),
    "typed_values": typed_values,
    "concepts_of": concepts_of,
    "features": features,
    "recognise_intent": recognise_intent,
    "in_second_person": lambda text: (in_second_person(text, "en"), in_second_person(text, "es")),
    "plain_spanish": plain_spanish,
    "strip_code_fence": strip_code_fence,
}
_PUMPED = {
    # What is repeated, and whether what stands before and behind it makes a pattern fail.
    "pictures": ("That is so funny ", "😂", " thanks"),
    "pictures_apart": ("", "😂 ", "x"),
    "laughs": ("no way", "  jaja", " x"),
    "lo_que": ("olvida ", "lo que ", "x"),
    "now": ("forget ", "now ", "x"),
    "would_you_mind": ("", "would you mind just ", "x"),
    "could_you_please": ("", "could you please ", "x"),
    "handle": ("code abc1", "a", "-"),
    "handle_parts": ("", "bbabe1-", ""),
    "all": ("", "that's all ", "x"),
    "estoy_bien": ("", "estoy bien ", "x"),
    "gracias_tia": ("", "gracias tía ", "x"),
    "que_estes_bien": ("", "que estés bien bien bien ", "x"),
    "ya_te_lo_dije": ("", "ya te lo dije ya ", "x"),
    "sorry_if": ("", "sorry if e b ", "x"),
    "que_tengas": ("", "que tengas buen día ", "x9"),
    "en": ("", "en ob, ", "x"),
    "en_bare": ("", "en ", "x"),
    "since_when": ("", "a partir de e ", "x"),
    "i_do": ("i do ", "a", "!"),
    "i_do_articles": ("i do ", "a ", "!"),
    "at": ("at ", "e", "!"),
    "advice": ("the doctor dice que ", "solo ", "!"),
    "json": ("```json", " ", "x"),
    "blanks": ("my", " ", "is x"),
    "breaks": ("a", "\n", "x"),
    "commas": ("", ", ", "x"),
    "hyphens": ("I live in ", "- ", "x"),
    "call_me": ("", ", call me ", "x"),
    "so_my": ("forget ", "so my ", "x"),
    "letters": ("", "a", "!"),
    "digits": ("", "1", "!"),
    "digits_apart": ("", "1-", "!"),
    "names": ("", "Ana ", "!"),
    "women": ("my ", "woman", "_"),
    "clauses": ("", "I have a cat, ", "and a dog"),
    "sentences": ("", "My dog is called Rex. I live in Lugo, and ", "why?"),
}


def _seconds(read: Callable[[str], object], text: str) -> float:
    started_s = time.thread_time()
    read(text)
    return time.thread_time() - started_s


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    # The first text pays for the patterns and tables.
    for read in _READERS.values():
        read("I live in Rome, my dog is called Rex; forget my code abc-12. Where do I live?")
        read("Vivo en Lugo y mi perro se llama Rex; olvida lo de mi madre. ¿Dónde vivo?")


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize("pumped", _PUMPED)
def test_hostile_texts_are_read_at_once(pumped: str, reader: str) -> None:
    before, repeated, behind = _PUMPED[pumped]
    # Patterns that only such a text reaches are compiled before it is measured.
    _READERS[reader](before + repeated + behind)

    for chars in (120, 490, MAX_CHARS):
        text = before + repeated * ((chars - len(before)) // len(repeated)) + behind
        assert _seconds(_READERS[reader], text) < MAX_SECONDS


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (DOES.match, "i do " + "a" * 800 + "!"),
        (DOES.match, "now i do " + "a " * 400 + "!"),
        (COPULA.match, "el usuario: su" + " " * 500 + "x"),
        (is_statement, "at " + "e" * 290 + "!"),
        (is_statement, "en ob, " * 40 + "x"),
        (is_statement, "en en " * 45 + "x"),
        (is_statement, "gracias tía " * 24 + "x"),
        (DOSE.search, "3" * MAX_CHARS),
        (sex_of, "woman" * 100 + "_"),
    ],
)
def test_hostile_texts_match_no_pattern_slowly(read: Callable[[str], object], text: str) -> None:
    assert _seconds(read, text) < MAX_SECONDS


def test_a_long_history_is_compared_in_a_bounded_time() -> None:
    messages = [
        f"My colleague Ana{number} lives in Rome. I bought a red boat{number}. I like tea{number}."
        for number in range(30)
    ]
    statements = read_history(messages).current

    # Again, as in each turn of a conversation.
    assert _seconds(lambda _: read_history(messages), "") < MAX_SECONDS
    marked = with_closed([Candidate(text=one, time=str(n)) for n, one in enumerate(statements)])
    assert len(marked) == len(statements)


def test_small_talk_may_be_divided_in_several_ways() -> None:
    assert not is_statement("see you good night thanks a lot")
    assert [one.kind for one in split_clauses("good night hijo mío")] == ["small talk"]
    assert [one.kind for one in split_clauses("hijo mío tengo un perro")] != ["small talk"]
