"""What a text is about, as a set of word stems, and how much two sets share. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.text.stems import ENGLISH, term_of
from spade_llm.text.stop_words import STOP_WORDS
from spade_llm.text.words import without_accents, words_of

if TYPE_CHECKING:
    from collections.abc import Set

MAX_CHARS = 4000
"""Of one text that are looked at."""


TELLING = frozenset({"té", "sé"})
"""Without their accents these are pronouns."""


def topic_of(text: str) -> frozenset[int]:
    """The stems of the words that mean something; for `ok, and you?` there may be none.

    English stems for every language: what is compared is of one language, and was cut alike.
    """
    return frozenset(
        term_of(word, ENGLISH)
        for word in set(words_of(text[:MAX_CHARS]))
        if word in TELLING or without_accents(word) not in STOP_WORDS
    )


def overlap(one: Set[int], other: Set[int]) -> float:
    """0…1: how much of the smaller one is in the other; 0 if one is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0
