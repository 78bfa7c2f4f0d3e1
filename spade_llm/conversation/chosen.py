"""Which of the memories that were found a model gets to read, and which of them it used. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.store import Origin
from spade_llm.providers.offline_words import key_words
from spade_llm.text.tokens import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from spade_llm.memory.store import ScoredMemory

DEFAULT_TOKENS = 800
QUOTING_TOKENS = 12
"""What is written around one memory: kind, speaker, date."""
DOUBTED_BELOW = 0.5
ENOUGH_WORDS = 3
MIN_WORD_CHARS = 3
"""Of a word that can show that a memory was used; a number may be shorter."""


def choose(
    memories: Iterable[ScoredMemory], *, said: Collection[str], tokens: int = DEFAULT_TOKENS
) -> tuple[ScoredMemory, ...]:
    """The best ones that fit; not what the model reads anyway (`said`: texts of its context).

    One that does not fit is left out, and a shorter one behind it may still fit. Those that are
    doubted come last.
    """
    chosen: list[ScoredMemory] = []
    for memory in sorted(memories, key=is_doubted):
        cost = estimated_tokens(memory.entry.content) + QUOTING_TOKENS
        if cost <= tokens and not (is_message(memory) and memory.entry.content in said):
            tokens -= cost
            chosen.append(memory)
    return tuple(chosen)


def used(memories: Sequence[ScoredMemory], *, question: str, answer: str) -> tuple[str, ...]:
    """Ids of the entries that the answer says something of which the question did not.

    A third of an entry's own words, or three of them, must come back. Messages are no entries.
    """
    asked, answered = _words(question), _words(answer)
    own = {
        one.entry.id: _words(one.entry.content) - asked for one in memories if not is_message(one)
    }
    return tuple(id for id, words in own.items() if words and _is_said(words, answered))


def is_doubted(memory: ScoredMemory) -> bool:
    """By who stored it, or by those who read what came of it (behaviour/feedback.py)."""
    return memory.entry.confidence < DOUBTED_BELOW


def is_message(memory: ScoredMemory) -> bool:
    return memory.entry.origin is Origin.MESSAGE


def _is_said(words: frozenset[str], answered: frozenset[str]) -> bool:
    return len(words & answered) >= min(ENOUGH_WORDS, -(-len(words) // 3))


def _words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in key_words(text) if len(word) >= MIN_WORD_CHARS or word.isdigit()
    )
