"""Truncator: truncates long messages to a token limit and marks the omission."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.context.token_counter import CachedTokenCounter
    from spade_llm.providers.model import ContextMessage

HEAD_SHARE = 2 / 3
"""Share of the shown text for the beginning, which identifies it; the end tells the outcome."""
NOTE_TOKENS = 24
MAX_ATTEMPTS = 6
MAX_CACHED_TRUNCATIONS = 512


class Truncator:
    """Truncator for one token limit, with a cache of the latest truncations."""

    def __init__(self, token_limit: int, counter: CachedTokenCounter) -> None:
        self.counter = counter
        self.max_old_tokens = max(token_limit // 8, NOTE_TOKENS)
        """Maximum tokens of one message of an earlier turn."""
        self._kept: dict[tuple[str, int], str] = {}

    def truncate_old(self, messages: Sequence[ContextMessage]) -> list[ContextMessage]:
        """Messages of an earlier turn."""
        return [self._truncate_message(message, self.max_old_tokens) for message in messages]

    def truncate_exchange(
        self, messages: Sequence[ContextMessage], tokens: float
    ) -> list[ContextMessage]:
        """Truncate an exchange to `tokens`: its results share what the calls leave, and the
        smallest stay whole.

        However little is left, each result keeps its position and the note about the omission.
        """
        sizes = [self.counter.message(message) for message in messages]
        results = [i for i, message in enumerate(messages) if message["role"] == "tool"]
        left = tokens - sum(size for i, size in enumerate(sizes) if i not in set(results))
        fitting = list(messages)
        # Smallest first: what they do not need is left for the larger ones.
        results.sort(key=lambda i: (sizes[i], i))
        for done, i in enumerate(results):
            share = max(int(left // (len(results) - done)), NOTE_TOKENS)
            fitting[i] = self._truncate_message(messages[i], share)
            left -= self.counter.message(fitting[i])
        return fitting

    def _truncate_message(self, message: ContextMessage, tokens: int) -> ContextMessage:
        content = message["content"]
        if content is None or message["role"] == "system":
            return message
        around = self.counter.message(message) - self.counter.text(content)
        if self.counter.text(content) + around <= tokens:
            return message
        shortened = message.copy()
        shortened["content"] = self._shortened(content, max(tokens - around, 0))
        return shortened

    def _shortened(self, text: str, tokens: int) -> str:
        known = self._kept.get((text, tokens))
        if known is None:
            if len(self._kept) >= MAX_CACHED_TRUNCATIONS:
                self._kept.clear()
            known = self._kept[text, tokens] = self._cut(text, tokens)
        return known

    def _cut(self, text: str, tokens: int) -> str:
        """Truncate the text to `tokens`, with a few counts only."""
        shown = len(text) * tokens // self.counter.text(text)
        for _ in range(MAX_ATTEMPTS):
            cut = truncate_middle(text, shown)
            # Past the cache: most of these attempts are not counted again.
            if self.counter.counter.count(cut) <= tokens:
                return cut
            # Tokens are not proportional to characters: shrink until the text fits.
            shown = shown * 2 // 3 - 16
        return truncate_middle(text, 0)


def truncate_middle(text: str, shown: int) -> str:
    """The text without its middle: `shown` characters of it, and a note of how many are missing."""
    shown = max(shown, 0)
    head = int(shown * HEAD_SHARE)
    tail = text[len(text) - (shown - head) :]
    return f"{text[:head]}\n[… {len(text) - shown} characters left out to fit …]\n{tail}".strip()
