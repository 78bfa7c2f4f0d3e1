"""A word as a number: what is left of it without its ending, hashed. Knows English and Spanish.

The 18 high bits are those of the word's first four letters, so that in a sorted vocabulary the
words of one beginning lie together; the 14 low bits tell them apart. Stable across processes.
"""

from __future__ import annotations

from functools import cache, lru_cache
from hashlib import blake2b
from threading import Lock
from typing import Protocol

from spade_llm.text.words import without_accents

BEGINNING_CHARS = 4
REST_BITS = 14
CACHED_WORDS = 50_000
"""Per language, about 100 bytes each: a stem takes 22 µs."""

ENGLISH, SPANISH = "english", "spanish"


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_LOCK = Lock()
"""A stemmer keeps the word that it works on."""


@lru_cache(CACHED_WORDS)
def term_of(word: str, language: str) -> int:
    """The number of a word of a text in this language, 32 bits."""
    stem = _stem(word, language)
    return beginning_of(stem) << REST_BITS | _hash(f"{language[0]}:{stem}") % (1 << REST_BITS)


def beginning_of(word: str) -> int:
    """The number that words with these first letters share, 18 bits."""
    return _hash(without_accents(word)[:BEGINNING_CHARS]) % (1 << 32 - REST_BITS)


def _stem(word: str, language: str) -> str:
    """English words lose their accents first (resumé), Spanish ones last (they tell endings)."""
    if any(char.isdigit() for char in word):
        return without_accents(word)
    if language == ENGLISH:
        word = without_accents(word)
    with _LOCK:
        return without_accents(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer

    stemmer: _Stemmer = snowballstemmer.stemmer(language)
    return stemmer


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
