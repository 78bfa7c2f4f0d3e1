"""Index terms of a text (stems with weights, encoded as bytes) and the words of a query.

Queries are plain text: there is no query syntax. Ownership and ranking are handled elsewhere.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from spade_llm.search import words as stems
from spade_llm.search.words import (
    ENGLISH_STOP_WORDS,
    SPANISH_STOP_WORDS,
    STOP_WORDS,
    split_words,
    strip_accents,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TERMS_VERSION = 1
"""Version of the encoding; terms of another version must be encoded again."""
TERM_ITEM = struct.Struct("<IB")
"""A head (version, flags, length), then one item for each term: its number and its weight."""

QUESTION_FLAG, TIME_FLAG = 1, 2
"""Flags: it ends with a question; it says a time."""

CONTENT_WEIGHT, METADATA_WEIGHT = 2, 1
"""Context and tags count half."""
# A weight is one byte of its item, the length two bytes of the head.
MAX_WEIGHT = 255
MAX_LENGTH = 0xFFFF
MAX_WORDS = 64
"""Different words of one query that are looked for; the first ones."""

_QUESTION = re.compile(r"[?？؟]\s*(?:[\"')\]”’»]*)\s*(?:\[[^\]]*\]|\([^)]*\))?\s*$")
"""Question mark at the end of a text. Brackets after it (a caption, a stage direction) are not an
answer."""

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
    """Each term with its weight, and what is known of the text as a whole."""
    words = split_words(content)
    language = _language_of(content, words)
    weights: Counter[int] = Counter()
    _count_terms(weights, words, language, CONTENT_WEIGHT)
    for aside in (context or "", *tags):
        _count_terms(weights, split_words(aside), language, METADATA_WEIGHT)
    length = min(sum(weights.values()), MAX_LENGTH)
    head = TERM_ITEM.pack(TERMS_VERSION << 24 | _flags_of(content, words) << 16 | length, 0)
    return head + b"".join(
        TERM_ITEM.pack(term, min(weight, MAX_WEIGHT)) for term, weight in sorted(weights.items())
    )


def query_words(text: str) -> list[QueryWord]:
    """The words that mean something, each once, in order."""
    words = dict.fromkeys(split_words(text))
    return [_query_word(word) for word in words if not _is_stop_word(word)][:MAX_WORDS]


def content_hash(content: str) -> int:
    """Equal for the same content but for spaces; 63 bits."""
    text = " ".join(content.split())
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    # SQLite's integers are signed.
    return int.from_bytes(digest) >> 1


def _count_terms(weights: Counter[int], words: Iterable[str], language: str, weight: int) -> None:
    for word in words:
        term = _stem_hash_of(word, language)
        if term is not None:
            weights[term] += weight


@lru_cache(stems.CACHED_WORDS)
def _stem_hash_of(word: str, language: str) -> int | None:
    """Hash of the stem; None for a stop word."""
    return None if _is_stop_word(word) else stems.stem_hash(word, language)


def _query_word(word: str) -> QueryWord:
    terms = dict.fromkeys(stems.stem_hash(word, way) for way in (stems.ENGLISH, stems.SPANISH))
    return QueryWord(text=word, terms=tuple(terms))


def _is_stop_word(word: str) -> bool:
    return strip_accents(word) in STOP_WORDS


def _language_of(text: str, words: Sequence[str]) -> str:
    """Spanish if it has more of its small words than of the English ones."""
    small = [_stop_word_language(word) for word in words]
    spanish = small.count(stems.SPANISH) + small.count(_BOTH)
    english = small.count(stems.ENGLISH) + small.count(_BOTH)
    marks = 0 if text.isascii() else sum(map(text.count, "ñ¿¡"))
    return stems.SPANISH if spanish + marks > english else stems.ENGLISH


_BOTH = "both"


@lru_cache(stems.CACHED_WORDS)
def _stop_word_language(word: str) -> str | None:
    """Language of a stop word (`both` if it is one in both languages); None for other words."""
    bare = strip_accents(word)
    if bare in SPANISH_STOP_WORDS:
        return _BOTH if bare in ENGLISH_STOP_WORDS else stems.SPANISH
    return stems.ENGLISH if bare in ENGLISH_STOP_WORDS else None


def _flags_of(content: str, words: Sequence[str]) -> int:
    is_question = any(mark in content for mark in "?？؟") and _QUESTION.search(content)
    says_time = not _TIME_WORDS.isdisjoint(words) or _YEAR.search(content)
    return QUESTION_FLAG * bool(is_question) | TIME_FLAG * bool(says_time)


def is_when_question(text: str) -> bool:
    return bool(_WHEN.match(text))


_WHEN = re.compile(
    r"\W*(?:(?:since |until |desde |hasta )?(?:when|cu[aá]ndo)|how (?:long|recently|often)|"
    r"(?:in |on |en )?(?:what|which|qu[eé]) (?:day|date|week|month|year|time|d[ií]a|fecha|mes|año)|"
    r"hace cu[aá]nto)\b",
    re.IGNORECASE,
)
