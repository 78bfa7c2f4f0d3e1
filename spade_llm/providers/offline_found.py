"""Choosing, among what was recalled and retrieved, what speaks of a question. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.providers.offline_words import key_words, widened
from spade_llm.providers.quoted import MESSAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spade_llm.providers.quoted import QuotedMemory, QuotedPassage

MOST_MEMORIES = 5
MOST_PASSAGES = 2
EXCERPT_CHARS = 600
CLOSE_SCORE = 0.5
"""A passage that shares no word with the question is taken only if it scored this much."""


def relevant_memories(memories: Sequence[QuotedMemory], topic: str) -> list[QuotedMemory]:
    """Those that share words with the topic, most first; all of them if it has no words.

    What somebody merely said in a conversation counts only where nothing else speaks of it.
    """
    kept = [memory for memory in memories if memory.kind != MESSAGE]
    wanted = widened(key_words(topic))
    if not wanted:
        return kept
    return _sharing(kept, wanted) or _sharing(filter(_is_telling, memories), wanted)


def _sharing(memories: Iterable[QuotedMemory], wanted: frozenset[str]) -> list[QuotedMemory]:
    scored = [(len(wanted & key_words(memory.text)), memory) for memory in memories]
    scored = sorted((s for s in scored if s[0]), key=lambda s: -s[0])
    return [memory for _, memory in scored][:MOST_MEMORIES]


def _is_telling(memory: QuotedMemory) -> bool:
    """Neither our own words nor a question."""
    return not memory.text.startswith("assistant: ") and "?" not in memory.text


def relevant_passages(passages: Sequence[QuotedPassage], question: str) -> list[QuotedPassage]:
    """The best ones, in the order in which they were retrieved."""
    wanted = key_words(question)
    chosen = [p for p in passages if wanted & key_words(p.text) or p.score >= CLOSE_SCORE]
    return chosen[:MOST_PASSAGES]


def excerpt(text: str, question: str) -> str:
    """From the paragraph that shares most words with the question, cut at a word."""
    wanted = key_words(question)
    paragraphs = re.split(r"\n\s*\n", text.strip())
    best = max(range(len(paragraphs)), key=lambda i: len(wanted & key_words(paragraphs[i])))
    rest = "\n\n".join(paragraphs[best:])
    if len(rest) <= EXCERPT_CHARS:
        return rest
    return rest[:EXCERPT_CHARS].rsplit(maxsplit=1)[0] + " …"
