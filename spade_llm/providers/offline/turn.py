"""Input of an offline turn: latest message, tool results, relevant memories and passages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.providers.offline.language import key_words, language_of, with_synonyms
from spade_llm.providers.quoted_context import CONTEXT_NAME, MESSAGE, QuotedContext, read_context

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.quoted_context import QuotedMemory, QuotedPassage

MAX_MEMORIES = 5
MAX_PASSAGES = 2
EXCERPT_CHARS = 600
CLOSE_SCORE = 0.5
"""A passage that shares no word with the question is taken only if it scored this much."""


def relevant_memories(memories: Sequence[QuotedMemory], topic: str) -> list[QuotedMemory]:
    """Select the memories that share words with the topic, most first; all of them if it has no
    words.

    Messages of conversations are used only if no other memory matches.
    """
    kept = [memory for memory in memories if memory.kind != MESSAGE]
    wanted = with_synonyms(key_words(topic))
    if not wanted:
        return kept
    return _shared_words(kept, wanted) or _shared_words(filter(_is_telling, memories), wanted)


def _shared_words(memories: Iterable[QuotedMemory], wanted: frozenset[str]) -> list[QuotedMemory]:
    scored = [(len(wanted & key_words(memory.text)), memory) for memory in memories]
    scored = sorted((s for s in scored if s[0]), key=lambda s: -s[0])
    return [memory for _, memory in scored][:MAX_MEMORIES]


def _is_telling(memory: QuotedMemory) -> bool:
    """Neither our own words nor a question."""
    return not memory.text.startswith("assistant: ") and "?" not in memory.text


def relevant_passages(passages: Sequence[QuotedPassage], question: str) -> list[QuotedPassage]:
    """The best ones, in the order in which they were retrieved."""
    wanted = key_words(question)
    chosen = [p for p in passages if wanted & key_words(p.text) or p.score >= CLOSE_SCORE]
    return chosen[:MAX_PASSAGES]


def excerpt(text: str, question: str) -> str:
    """Return an excerpt from the paragraph on that shares most words with the question, cut at a
    word."""
    wanted = key_words(question)
    paragraphs = re.split(r"\n\s*\n", text.strip())
    best = max(range(len(paragraphs)), key=lambda i: len(wanted & key_words(paragraphs[i])))
    rest = "\n\n".join(paragraphs[best:])
    if len(rest) <= EXCERPT_CHARS:
        return rest
    return rest[:EXCERPT_CHARS].rsplit(maxsplit=1)[0] + " …"


LANGUAGE_MESSAGES = 10
"""Maximum number of the person's messages used to detect the language, if the latest does not
decide it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineTurn:
    """The person's latest message and what came with it."""

    question: str
    earlier: tuple[str, ...]
    """The person's messages before it, oldest first, as far as they were given."""
    context: QuotedContext
    results: tuple[str, ...]
    """Results of the tools that were called for this question, in order."""
    is_first: bool
    """True if nothing has been answered in this conversation yet."""
    language: str


def read_turn(messages: Sequence[ContextMessage]) -> OfflineTurn:
    """Read the state of the turn from the messages."""
    asked = [i for i, message in enumerate(messages) if _is_persons(message)]
    at = asked[-1] if asked else len(messages)
    said = [_content(messages[i]) for i in reversed(asked[-LANGUAGE_MESSAGES:])]
    return OfflineTurn(
        question=said[0] if said else "",
        earlier=tuple(_content(messages[i]) for i in asked[:-1]),
        context=_context_before(messages, at),
        results=tuple(_content(m) for m in messages[at:] if m["role"] == "tool"),
        is_first=not any(m["role"] == "assistant" and m["content"] for m in messages),
        language=language_of(*said),
    )


def _is_persons(message: ContextMessage) -> bool:
    return message["role"] == "user" and message.get("name") != CONTEXT_NAME


def _content(message: ContextMessage) -> str:
    return message["content"] or ""


def _context_before(messages: Sequence[ContextMessage], at: int) -> QuotedContext:
    before = messages[at - 1] if 0 < at <= len(messages) else None
    if before and before["role"] == "user" and before.get("name") == CONTEXT_NAME:
        return read_context(before["content"])
    return QuotedContext()
