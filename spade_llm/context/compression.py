"""Compression: what leaves the context stays in it as a summary, quoted as data.

By words at once: numbers, names, dates and open questions, in the words of those who said them.
With a model also as prose, written between the turns and taken only if it lost none of them.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count
from spade_llm.context.composable import Composable
from spade_llm.context.room import Cost
from spade_llm.context.summary import FRAME_TOKENS, summarise, wanted_tokens
from spade_llm.context.written import write_summary
from spade_llm.providers.messages import UserMessage
from spade_llm.providers.quoted import CONTEXT_NAME, quote_earlier

if TYPE_CHECKING:
    from spade_llm.context.filling import Filling
    from spade_llm.context.notes import Notes
    from spade_llm.context.strategy import ContextStats
    from spade_llm.context.summary import Summary
    from spade_llm.providers.model import ChatModel

MIN_TOKENS = 2 * FRAME_TOKENS
ROOM_SHARE = 0.4
"""A summary takes no more of what the current turn leaves."""
TRIES = 4


class Compression(Composable):
    """A summary of the turns that are left out, of at most `summary_tokens`."""

    name = "compression"

    def __init__(self, summary_tokens: int = 1000, *, model: ChatModel | None = None) -> None:
        self.summary_tokens = checked_count("summary_tokens", summary_tokens, minimum=MIN_TOKENS)
        self.model = model

    def reserve(self, filling: Filling) -> None:
        room, noted = filling.retention.room, filling.noted
        if filling.summariser is None and noted.notes.blocks and room.messages >= 1:
            tokens = int(min(wanted_tokens(noted.notes), self._most(room.tokens)))
            if tokens >= FRAME_TOKENS:
                filling.summariser = self
                filling.reserved = Cost(1, tokens)
                room.take(filling.reserved)

    def finish(self, filling: Filling) -> None:
        """The summary is cut to what was reserved as the model's tokens are counted."""
        if filling.summariser is not self:
            return
        reserved, retention = filling.reserved, filling.retention
        retention.room.give_back(reserved)
        stop, shown = _first_recent(filling), _shown(filling)
        tokens = reserved.tokens
        for _ in range(TRIES):
            summary = summarise(filling.noted.notes, stop, tokens, shown=shown)
            if not summary.lines:
                return
            message = UserMessage(role="user", content=_quoted(summary), name=CONTEXT_NAME)
            if retention.room.cost([message]).tokens <= reserved.tokens:
                retention.write(message)
                filling.summarised = stop, shown
                return
            tokens = tokens * 3 // 4

    async def enrich_ahead(self, notes: Notes) -> None:
        if self.model is not None:
            await write_summary(notes, self.model, tokens=self.summary_tokens // 2)

    def describe(self, stats: ContextStats) -> None:
        stats["summary_tokens"] = self.summary_tokens
        stats["summary_by"] = "words" if self.model is None else "model"

    def degraded(self, filling: Filling) -> str:
        if self.model is None or not filling.summarised[0]:
            return ""
        return "" if filling.noted.notes.written else "model"

    def _most(self, room: float) -> float:
        return min(self.summary_tokens, room * ROOM_SHARE)


def _first_recent(filling: Filling) -> int:
    """The first of the noted blocks behind which nothing was left out."""
    noted = filling.noted
    return bisect_left(noted.notes.starts, filling.retention.oldest_recent - noted.shift)


def _shown(filling: Filling) -> frozenset[int]:
    """The noted blocks that are in the context, whole."""
    noted = filling.noted
    starts = (start - noted.shift for start in filling.retention.whole_blocks())
    return frozenset(bisect_left(noted.notes.starts, start) for start in starts)


def _quoted(summary: Summary) -> str:
    lines = list(summary.lines)
    if summary.left_out:
        lines.append(f"({summary.left_out} older details are left out)")
    return quote_earlier(lines)
