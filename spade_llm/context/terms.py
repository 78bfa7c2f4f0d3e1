"""The words of a text that mean something, as numbers: alike in the singular and the plural.

Each word counts as an English and as a Spanish one. Knows no history.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.text import stems
from spade_llm.text.stop_words import STOP_WORDS
from spade_llm.text.words import without_accents, words_of

if TYPE_CHECKING:
    from spade_llm.providers.messages import ContextMessage

MAX_CHARS = 8000
"""Of one text; further words are not looked at."""
CACHED_WORDS = 20_000


def terms_of(text: str) -> frozenset[int]:
    return frozenset(
        term for word in set(words_of(text[:MAX_CHARS])) if (term := _term_of(word)) is not None
    )


def text_of(message: ContextMessage) -> str:
    """What it says, and what it calls."""
    content = message["content"] or ""
    calls = message.get("tool_calls") if message["role"] == "assistant" else None
    if not calls:
        return content
    functions = [call["function"] for call in calls]
    return " ".join([content, *(f"{one['name']} {one['arguments']}" for one in functions)])


@lru_cache(CACHED_WORDS)
def _term_of(word: str) -> int | None:
    """None: it means nothing. Of the two stems the shorter one's number, in either language."""
    if without_accents(word) in STOP_WORDS:
        return None
    return min(stems.term_of(word, stems.ENGLISH), stems.term_of(word, stems.SPANISH))
