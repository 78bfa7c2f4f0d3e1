"""What the OfflineProvider reads in the messages of one turn. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.providers.offline_words import language_of
from spade_llm.providers.quoted import CONTEXT_NAME, QuotedContext, read_context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.providers.messages import ContextMessage

LANGUAGE_MESSAGES = 10
"""How many of the person's messages may decide the language when the latest does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineTurn:
    """The person's latest message and what came with it."""

    question: str
    earlier: tuple[str, ...]
    """The person's messages before it, oldest first, as far as they were given."""
    context: QuotedContext
    results: tuple[str, ...]
    """Of the tools that were called for this question, in order."""
    is_first: bool
    """True if nothing has been answered in this conversation yet."""
    language: str


def read_turn(messages: Sequence[ContextMessage]) -> OfflineTurn:
    """Where the conversation stands."""
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
