"""Tokens of messages, each text counted once. Bounded; knows no strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.token_counter import EstimatedTokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spade_llm.context.token_counter import TokenCounter
    from spade_llm.providers.messages import ContextMessage

AROUND_MESSAGE = 4
"""Role and separators, as OpenAI counts them."""
AROUND_CALL = 8
MAX_CACHED_CHARS = 4_000_000
"""Of the texts whose counts are kept; when half of it is used, the older half is forgotten."""


class Counted:
    """A counter that remembers."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self.counter = counter or EstimatedTokens()
        self._new: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._chars = 0

    def text(self, text: str) -> int:
        known = self._new.get(text)
        return self._count(text) if known is None else known

    def message(self, message: ContextMessage) -> int:
        tokens = AROUND_MESSAGE + self.text(message["content"] or "")
        if message["role"] == "assistant":
            calls = message.get("tool_calls")
            return tokens + sum(
                AROUND_CALL
                + self.text(call["function"]["name"])
                + self.text(call["function"]["arguments"])
                for call in calls or ()
            )
        if message["role"] == "user" and (name := message.get("name")):
            return tokens + self.text(name)
        return tokens

    def messages(self, messages: Iterable[ContextMessage]) -> int:
        return sum(map(self.message, messages))

    def _count(self, text: str) -> int:
        tokens = self._old.get(text)
        if tokens is None:
            tokens = self.counter.count(text)
        if self._chars > MAX_CACHED_CHARS // 2:
            self._old, self._new, self._chars = self._new, {}, 0
        self._new[text] = tokens
        self._chars += len(text)
        return tokens
