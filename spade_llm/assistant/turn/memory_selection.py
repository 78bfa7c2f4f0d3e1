"""Memory selection: relevance floor, token budget, and which memories an answer used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.text import estimate_tokens
from spade_llm.providers.offline.language import key_words
from spade_llm.search.memory_query import Origin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from spade_llm.memory.contract import ScoredMemory

DEFAULT_TOKENS = 800
QUOTING_TOKENS = 12
"""Tokens of the text around one quoted memory: kind, speaker, date."""
LOW_CONFIDENCE_BELOW = 0.5
MIN_COMMON_WORDS = 3
MIN_SCORE = 0.45
"""Minimum score of a message of another conversation, found by meaning and words. On LoCoMo, 99 of
100 messages that answer a question score higher; of those found for an unrelated question, 1 in 5
do."""
MIN_SHARE_OF_BEST = 0.75
"""Minimum ratio to the best message's score. It works better than a fixed minimum if all scores are
high (languages other than the embedder's) or low (search by words alone)."""
MIN_WORD_CHARS = 3
"""Minimum length of a word that indicates the use of a memory, in characters; numbers may be
shorter."""


def above_relevance_floor(
    memories: Sequence[ScoredMemory], *, least: float = MIN_SCORE
) -> tuple[ScoredMemory, ...]:
    """Those that pass the relevance floor, in their order. What was learned is short and always
    passes, also where its words are far from the question's: a diet bears on any recipe."""
    best = max((one.score for one in memories if is_message(one)), default=0.0)
    floor = max(least, MIN_SHARE_OF_BEST * best)
    return tuple(one for one in memories if not is_message(one) or one.score >= floor)


def select_memories(
    memories: Iterable[ScoredMemory], *, said: Collection[str], tokens: int = DEFAULT_TOKENS
) -> tuple[ScoredMemory, ...]:
    """The best ones that fit; not what the model reads anyway (`said`: texts of its context).

    One that does not fit is left out, and a shorter one behind it may still fit. Those that are
    doubted come last.
    """
    chosen: list[ScoredMemory] = []
    for memory in sorted(memories, key=is_low_confidence):
        cost = estimate_tokens(memory.entry.content) + QUOTING_TOKENS
        if cost <= tokens and not (is_message(memory) and memory.entry.content in said):
            tokens -= cost
            chosen.append(memory)
    return tuple(chosen)


def used_memories(
    memories: Sequence[ScoredMemory], *, question: str, answer: str
) -> tuple[str, ...]:
    """Ids of the entries that the answer says something of which the question did not.

    A third of an entry's own words, or three of them, must come back. Messages are no entries.
    """
    asked, answered = _words(question), _words(answer)
    own = {
        one.entry.id: _words(one.entry.content) - asked for one in memories if not is_message(one)
    }
    return tuple(id for id, words in own.items() if words and _is_said(words, answered))


def is_low_confidence(memory: ScoredMemory) -> bool:
    """True if a memory has low confidence, set by the agent that stored it or reduced by reactions
    to answers (assistant/feedback.py)."""
    return memory.entry.confidence < LOW_CONFIDENCE_BELOW


def is_message(memory: ScoredMemory) -> bool:
    return memory.entry.origin is Origin.MESSAGE


def _is_said(words: frozenset[str], answered: frozenset[str]) -> bool:
    return len(words & answered) >= min(MIN_COMMON_WORDS, -(-len(words) // 3))


def _words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in key_words(text) if len(word) >= MIN_WORD_CHARS or word.isdigit()
    )
