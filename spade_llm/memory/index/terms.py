"""What a memory is found by, as bytes that are kept with it; and what a query asks for.

Query text is only ever text: there is no syntax. Knows no owner and no ranking.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from spade_llm.memory.index import stems
from spade_llm.memory.index.stop_words import ENGLISH, SPANISH, STOP_WORDS
from spade_llm.memory.index.words import without_accents, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VERSION = 1
"""Of the bytes: another number means that they must be encoded anew."""
ITEM = struct.Struct("<IB")
"""A head (version, flags, length), then one item for each term: its number and its weight."""

QUESTION, TIME = 1, 2
"""Flags: it ends with a question; it says a time."""

CONTENT_WEIGHT, ASIDE_WEIGHT = 2, 1
"""Context and tags count half."""
MAX_WEIGHT = 255
MAX_LENGTH = 0xFFFF
MAX_WORDS = 64
"""Different words of one query that are looked for; the first ones."""

_QUESTION = re.compile(r"[?？؟]\s*(?:[\"')\]”’»]*)\s*(?:\[[^\]]*\]|\([^)]*\))?\s*$")
"""What stands in brackets after it (a caption, a stage direction) does not answer it."""

_TIME = re.compile(
    r"""\b(?:yesterday|today|tonight|tomorrow|last|next|ago|recently|since|until|weekends?|weeks?|
    months?|years?|morning|evening|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|
    january|february|march|april|may|june|july|august|september|october|november|december|
    ayer|anoche|hoy|mañana|pasad[oa]|próxim[oa]|hace|semanas?|mes(?:es)?|años?|desde|recientemente|
    lunes|martes|miércoles|jueves|viernes|sábado|domingo|
    enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|
    [12]\d\d\d)\b""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """One word of a query; any of its terms is it."""

    text: str
    terms: tuple[int, ...]
    """As an English and as a Spanish word."""


def encode_terms(content: str, context: str | None = None, tags: Iterable[str] = ()) -> bytes:
    """Each term with its weight, and what is known of the text as a whole."""
    weights: Counter[int] = Counter()
    language = _language_of(content)
    _count(weights, content, language, CONTENT_WEIGHT)
    for aside in (context or "", *tags):
        _count(weights, aside, language, ASIDE_WEIGHT)
    length = min(sum(weights.values()), MAX_LENGTH)
    head = ITEM.pack(VERSION << 24 | _flags_of(content) << 16 | length, 0)
    return head + b"".join(
        ITEM.pack(term, min(weight, MAX_WEIGHT)) for term, weight in sorted(weights.items())
    )


def query_words(text: str) -> list[QueryWord]:
    """The words that mean something, each once, in order."""
    words = dict.fromkeys(words_of(text))
    return [_query_word(word) for word in words if not _is_stop_word(word)][:MAX_WORDS]


def content_hash(content: str) -> int:
    """Equal for the same content but for spaces; 63 bits."""
    text = " ".join(content.split())
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def _count(weights: Counter[int], text: str, language: str, weight: int) -> None:
    for word in words_of(text):
        if not _is_stop_word(word):
            weights[stems.term_of(word, language)] += weight


def _query_word(word: str) -> QueryWord:
    terms = dict.fromkeys(stems.term_of(word, way) for way in (stems.ENGLISH, stems.SPANISH))
    return QueryWord(text=word, terms=tuple(terms))


def _is_stop_word(word: str) -> bool:
    return without_accents(word) in STOP_WORDS


def _language_of(text: str) -> str:
    """Spanish if it has more of its small words than of the English ones."""
    bare = [without_accents(word) for word in words_of(text)]
    spanish = sum(word in SPANISH for word in bare) + sum(map(text.count, "ñ¿¡"))
    return stems.SPANISH if spanish > sum(word in ENGLISH for word in bare) else stems.ENGLISH


def _flags_of(content: str) -> int:
    return QUESTION * bool(_QUESTION.search(content)) | TIME * bool(_TIME.search(content))


def is_when_question(text: str) -> bool:
    return bool(_WHEN.match(text))


_WHEN = re.compile(
    r"\W*(?:(?:since |until |desde |hasta )?(?:when|cu[aá]ndo)|how (?:long|recently|often)|"
    r"(?:in |on |en )?(?:what|which|qu[eé]) (?:day|date|week|month|year|time|d[ií]a|fecha|mes|año)|"
    r"hace cu[aá]nto)\b",
    re.IGNORECASE,
)


def flags_and_length(head: Sequence[int]) -> tuple[int, int]:
    return head[0] >> 16 & 0xFF, head[0] & 0xFFFF
