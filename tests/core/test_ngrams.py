"""N-grams that regular expressions require: no text that matches is without them."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest

from bench.questions import questions
from spade_llm.core.ngrams import MAX_TEXT_CHARS, ngrams_of, required_ngrams
from spade_llm.understanding import vocabulary
from spade_llm.understanding.vocabulary import phrase_concepts

pytestmark = pytest.mark.quick

TALK = Path(__file__).parents[2] / "bench" / "quoted"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\bwi-?fi\b", "Wi-Fi"),
        (r"\b(?:d[ií]as?|tardes?) libres?\b", "¿DÍAS LIBRES?"),
        (r"\bcan(?:['’]t|not) stand\b", "I can’t stand it"),
        (r"\bno\b", "no"),
        (r"^i(?:['’]m| am) (?-i:[A-Z][a-z]+)(?=$|,)", "I'm Ana"),
        (r"\b(?:run|own)s? (?:an?|my own) (?:\w+ )?(?:shop|bar)\b", "she RUNS a wine bar"),
        (r"\bturn(?:s|ing)? (?:\d{1,3}\b|(?:twent|thirt)\w*)", "turning thirty"),
        (r"(?:ha){2,}\b", "Hahaha"),
        (r"\bhis\b", "ſTRAßE, HIſ"),
        (r"\bis\b", "İS"),
        (r"(?<!x)a\b-\bb", "a-b"),
    ],
)
def test_a_text_that_matches_has_one(pattern: str, text: str) -> None:
    ngrams, required = ngrams_of(text), required_ngrams(pattern, re.IGNORECASE)

    assert re.search(pattern, text, re.IGNORECASE)
    assert ngrams is None or required is None or ngrams & required


def test_a_text_without_them_is_not_searched() -> None:
    required = required_ngrams(r"\b(?:live|vivo) (?:at|in)\b|\bhome\b", re.IGNORECASE)

    assert required is not None
    assert not required & (ngrams_of("My bicycle was stolen") or required)
    assert ngrams_of("x" * (MAX_TEXT_CHARS + 1)) is None


def test_concepts_of_expressions_are_those_of_every_pattern() -> None:
    talk = "\n".join(path.read_text("utf-8") for path in sorted(TALK.glob("*.toml")))
    phrases = [
        (re.compile(pattern, re.IGNORECASE), frozenset(concepts.split()))
        for pattern, concepts in vocabulary._PHRASES
    ]

    for text in [*filter(None, talk.splitlines()), *islice(questions(), 50)]:
        assert phrase_concepts(text) == frozenset[str]().union(
            *(concepts for pattern, concepts in phrases if pattern.search(text))
        )
