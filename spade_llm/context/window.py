"""WindowSizeContext: the last messages of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count
from spade_llm.context.composable import Composable, Limits

if TYPE_CHECKING:
    from spade_llm.context.strategy import ContextStats


class WindowSizeContext(Composable):
    """At most `max_messages` of the newest messages; costs the same however long the history."""

    name = "window_size"
    reads_notes = False

    def __init__(self, max_messages: int = 20) -> None:
        self.max_messages = checked_count("max_messages", max_messages, minimum=1)

    def limits(self) -> Limits:
        return Limits(max_messages=self.max_messages)

    def describe(self, stats: ContextStats) -> None:
        stats["max_messages"] = self.max_messages
