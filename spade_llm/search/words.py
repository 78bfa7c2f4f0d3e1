"""Words of a text: tokenization, accent stripping, stop words, stemming (English, Spanish)."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from hashlib import blake2b
from threading import Lock
from typing import Protocol

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
"""Thai, Lao, Burmese, Khmer, Kana, Han."""

_WORD = re.compile(
    rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]|[\u0300-\u036f\u0900-\u0963\u0966-\u0dff])+"
)
"""Vowel signs of Indic scripts are marks to Python, and parts of words to their readers."""

_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")


def split_words(text: str) -> list[str]:
    """Words in order, case folded, with their accents."""
    folded = unicodedata.normalize("NFC", text).casefold()
    if folded.isascii():
        return _WORD.findall(folded)
    return [word for run in _WORD.findall(folded) for word in _split_unspaced(run)]


def strip_accents(word: str) -> str:
    """Latin, Greek and Cyrillic letters without their marks."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    bare = "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def _split_unspaced(run: str) -> list[str]:
    if len(run) < 2 or not _IS_UNSPACED.match(run):
        return [run]
    return [run[start : start + 2] for start in range(len(run) - 1)]


_ENGLISH_STOP_WORDS = """
a about am an and any are as at be been but by can could did do does for from had has have he her
here him his how i if in into is it its just me my not of on or our shall she should so some than
that the their them then there these they this those to us was we were what when where which who
whom whose why will with would you your
ain aren couldn d didn doesn don hadn hasn haven isn ll m re s shan shouldn t ve wasn weren won
wouldn
"""

# Without those that are English words of content (son, sin, era, sea, once, come), accents folded.
_SPANISH_STOP_WORDS = """
a al algo algun alguna ante antes como con cual cuales cuando cuanto de del desde donde dos e el
ella ellas ellos en entre eres es esa ese eso esta estas este esto estos estoy fue ha han hasta hay
la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero por
porque que quien quienes se ser si sobre somos soy su sus tambien te tengo ti tiene tienes tu tus
un una uno unos y ya yo
"""

ENGLISH_STOP_WORDS = frozenset(_ENGLISH_STOP_WORDS.split())
"""English stop words, with the remains of their contractions, cut at the apostrophe."""

SPANISH_STOP_WORDS = frozenset(_SPANISH_STOP_WORDS.split())

STOP_WORDS = ENGLISH_STOP_WORDS | SPANISH_STOP_WORDS


PREFIX_CHARS = 4
REST_BITS = 14
CACHED_WORDS = 50_000
"""Number of cached stems per language, about 100 bytes each; computing a stem takes 22 µs."""

ENGLISH, SPANISH = "english", "spanish"


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_STEMMER_LOCK = Lock()
"""A stemmer keeps the word that it works on."""


@lru_cache(CACHED_WORDS)
def stem_hash(word: str, language: str) -> int:
    """The number of a word of a text in this language, 32 bits."""
    stem = _stem(word, language)
    return prefix_hash(stem) << REST_BITS | _hash(f"{language[0]}:{stem}") % (1 << REST_BITS)


def prefix_hash(word: str) -> int:
    """The number that words with these first letters share, 18 bits."""
    return _hash(strip_accents(word)[:PREFIX_CHARS]) % (1 << 32 - REST_BITS)


def _stem(word: str, language: str) -> str:
    """English words lose their accents first (resumé), Spanish ones last (they tell endings)."""
    if any(char.isdigit() for char in word):
        return strip_accents(word)
    if language == ENGLISH:
        word = strip_accents(word)
    with _STEMMER_LOCK:
        return strip_accents(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> _Stemmer:
    import snowballstemmer

    stemmer: _Stemmer = snowballstemmer.stemmer(language)
    return stemmer


def _hash(text: str) -> int:
    # Not hash(), which is seeded anew in each process: these numbers are kept in files.
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
