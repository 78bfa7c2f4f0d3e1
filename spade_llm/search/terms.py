"""Text analysis for search: words, stop words, stems, encoded index terms, words of a query."""

from __future__ import annotations

import math
import re
import struct
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    """Words in order, case folded, with their accents; scripts without spaces give pairs of
    characters."""
    folded = unicodedata.normalize("NFC", text).casefold()
    if folded.isascii():
        return _WORD.findall(folded)
    found: list[str] = []
    for run in _WORD.findall(folded):
        if len(run) > 1 and _IS_UNSPACED.match(run):
            found += (run[start : start + 2] for start in range(len(run) - 1))
        else:
            found.append(run)
    return found


def strip_accents(word: str) -> str:
    """Latin, Greek and Cyrillic letters without their marks."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word)
    bare = "".join(char for char in decomposed if not "\u0300" <= char <= "\u036f")
    return unicodedata.normalize("NFC", bare)


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
"""A stemmer has state, so two threads must not use it at the same time."""


@lru_cache(CACHED_WORDS)
def stem_hash(word: str, language: str) -> int:
    """Hash of a word's stem in this language, 32 bits: 18 of its prefix, 14 of the stem."""
    stem = stem_word(word, language)
    return prefix_hash(stem) << REST_BITS | _hash(f"{language[0]}:{stem}") % (1 << REST_BITS)


def prefix_hash(word: str) -> int:
    """Hash of the first letters of a word, 18 bits."""
    return _hash(strip_accents(word)[:PREFIX_CHARS]) % (1 << 32 - REST_BITS)


def stem_word(word: str, language: str) -> str:
    """Return the stem of a word of this language.

    English words lose their accents first (resumé), Spanish ones last (they tell endings).
    """
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


TERMS_VERSION = 1
"""Version of the encoding; terms of another version must be encoded again."""
TERM_ITEM = struct.Struct("<IB")
"""A head (version, flags, length), then one item for each term: its number and its weight."""

QUESTION_FLAG, TIME_FLAG = 1, 2
"""Flags: it asks a question; it says a time."""
QUESTION_SHARE_SHIFT, QUESTION_SHARE_STEPS = 2, 3
"""Two more bits of the flags: share of its words that are in questions, in thirds, rounded up. In
terms stored by earlier versions they are 0."""
QUESTION_FLAGS = QUESTION_FLAG | QUESTION_SHARE_STEPS << QUESTION_SHARE_SHIFT
"""Mask of the flags about questions."""

CONTENT_WEIGHT, METADATA_WEIGHT = 2, 1
"""Context and tags count half."""
# A weight is one byte of its item, the length two bytes of the head.
MAX_WEIGHT = 255
MAX_LENGTH = 0xFFFF
MAX_WORDS, MAX_KEYWORDS = 64, 256
"""Different words of one query that are looked for; the first ones. The second applies to searches
by keywords alone, for instance for the words of a text and those of its concepts."""

_SENTENCE_END = re.compile(r"(?:(?<=[.!?…؟])|(?<=[.!?…؟][\"'”’»)\]]))\s+|(?<=[。！？])|\n+")
_QUESTION_END = re.compile(r"[?？؟][\s\"')\]”’»*_!.…]*$")

_TIME_EXPRESSIONS = """
yesterday today tonight tomorrow last next ago recently since until weekend weekends week weeks
month months year years morning evening monday mondays tuesday tuesdays wednesday wednesdays
thursday thursdays friday fridays saturday saturdays sunday sundays
january february march april may june july august september october november december
ayer anoche hoy mañana pasado pasada próximo próxima hace semana semanas mes meses año años
desde recientemente lunes martes miércoles jueves viernes sábado domingo
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
"""

_TIME_WORDS = frozenset(_TIME_EXPRESSIONS.split())

_YEAR = re.compile(r"\b[12]\d\d\d\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """Word of a query; any of its terms matches it."""

    text: str
    terms: tuple[int, ...]
    """Terms of the word as English and as Spanish."""


def encode_terms(content: str, context: str | None = None, tags: Iterable[str] = ()) -> bytes:
    """Encode the terms of a text with their weights, and its flags and length."""
    words = split_words(content)
    # Spanish if more of its stop words than of the English ones are in the text.
    small = [_stop_word_language(word) for word in words]
    marks = 0 if content.isascii() else sum(map(content.count, "ñ¿¡"))
    is_spanish = small.count(SPANISH) + marks > small.count(ENGLISH)
    language = SPANISH if is_spanish else ENGLISH
    weights: Counter[int] = Counter()
    _count_terms(weights, words, language, CONTENT_WEIGHT)
    for aside in (context or "", *tags):
        _count_terms(weights, split_words(aside), language, METADATA_WEIGHT)
    length = min(sum(weights.values()), MAX_LENGTH)
    says_time = not _TIME_WORDS.isdisjoint(words) or _YEAR.search(content)
    flags = _question_flags(content) | TIME_FLAG * bool(says_time)
    head = TERM_ITEM.pack(TERMS_VERSION << 24 | flags << 16 | length, 0)
    return head + b"".join(
        TERM_ITEM.pack(term, min(weight, MAX_WEIGHT)) for term, weight in sorted(weights.items())
    )


def _question_flags(content: str) -> int:
    if not any(mark in content for mark in "?？؟"):
        return 0
    sentences = _SENTENCE_END.split(content)
    words = [sum(not _is_stop_word(word) for word in split_words(one)) for one in sentences]
    is_question = [bool(_QUESTION_END.search(one)) for one in sentences]
    if not any(is_question):
        return 0
    asked = sum(count for count, asks in zip(words, is_question, strict=True) if asks)
    # Without words of content (`And you?`) it asks, and says nothing.
    share = asked / sum(words) if any(words) else 1.0
    steps = max(1, math.ceil(share * QUESTION_SHARE_STEPS))
    return QUESTION_FLAG | steps << QUESTION_SHARE_SHIFT


def query_words(text: str, *, limit: int = MAX_WORDS) -> list[QueryWord]:
    """Words of a query without stop words, each once, in order; the first `limit`."""
    words = [word for word in dict.fromkeys(split_words(text)) if not _is_stop_word(word)]
    return [
        QueryWord(
            text=word,
            terms=tuple(dict.fromkeys((stem_hash(word, ENGLISH), stem_hash(word, SPANISH)))),
        )
        for word in words[:limit]
    ]


def content_hash(content: str) -> int:
    """Hash of a content, 63 bits; white space makes no difference."""
    text = " ".join(content.split())
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    # SQLite's integers are signed.
    return int.from_bytes(digest) >> 1


def _count_terms(weights: Counter[int], words: Iterable[str], language: str, weight: int) -> None:
    for word in words:
        term = _stem_hash_of(word, language)
        if term is not None:
            weights[term] += weight


@lru_cache(CACHED_WORDS)
def _stem_hash_of(word: str, language: str) -> int | None:
    """Hash of the stem; None for a stop word."""
    return None if _is_stop_word(word) else stem_hash(word, language)


def _is_stop_word(word: str) -> bool:
    return strip_accents(word) in STOP_WORDS


@lru_cache(CACHED_WORDS)
def _stop_word_language(word: str) -> str | None:
    """Language of a stop word; None for other words, and for stop words of both languages."""
    bare = strip_accents(word)
    if (bare in SPANISH_STOP_WORDS) == (bare in ENGLISH_STOP_WORDS):
        return None
    return SPANISH if bare in SPANISH_STOP_WORDS else ENGLISH


def is_when_question(text: str) -> bool:
    return bool(_WHEN.match(text))


_WHEN = re.compile(
    r"\W*(?:(?:since |until |desde |hasta )?(?:when|cu[aá]ndo)|how (?:long|recently|often)|"
    r"(?:in |on |en )?(?:what|which|qu[eé]) (?:day|date|week|month|year|time|d[ií]a|fecha|mes|año)|"
    r"hace cu[aá]nto)\b",
    re.IGNORECASE,
)
