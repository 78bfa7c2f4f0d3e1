"""What a query asks for, as an FTS5 expression. Knows no table; query text is only ever text."""

from __future__ import annotations

import re
import unicodedata

from spade_llm.memory.index.stop_words import STOP_WORDS

MAX_WORDS = 64
"""Different words of one query that are looked for; the first ones."""

MIN_PREFIX_CHARS = 3
"""Shorter beginnings of words say nothing."""

WORD = re.compile(r"[^\W_]+")


def any_word(query: str) -> str:
    """Matches texts with at least one of the query's words; empty if there is none to look for."""
    return " OR ".join(_quoted(word) for word in _content_words(query))


def any_beginning(query: str) -> str:
    """Matches texts with a word that begins like one of the query's."""
    words = (word for word in _content_words(query) if len(word) >= MIN_PREFIX_CHARS)
    return " OR ".join(f"{_quoted(word)} *" for word in words)


def _content_words(query: str) -> list[str]:
    folded = unicodedata.normalize("NFC", query).casefold()
    words = dict.fromkeys(WORD.findall(folded))
    return [word for word in words if _without_accents(word) not in STOP_WORDS][:MAX_WORDS]


def _without_accents(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _quoted(word: str) -> str:
    """WORD has no quotation mark in it, so this is a string to FTS5 and never an operator."""
    return f'"{word}"'
