"""SmartWindowSizeContext: a window that can hold on to the beginning and to tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count, checked_flag
from spade_llm.context.composable import Composable, Limits

if TYPE_CHECKING:
    from spade_llm.context.filling import Filling
    from spade_llm.context.strategy import ContextStats


class SmartWindowSizeContext(Composable):
    """Within `max_messages`: the current turn, the first messages, tool exchanges, the newest."""

    name = "smart_window_size"
    reads_notes = False

    def __init__(
        self,
        max_messages: int = 20,
        preserve_initial: int = 0,
        prioritize_tools: bool = False,
    ) -> None:
        self.max_messages = checked_count("max_messages", max_messages, minimum=1)
        self.preserve_initial = checked_count("preserve_initial", preserve_initial, minimum=0)
        self.prioritize_tools = checked_flag("prioritize_tools", prioritize_tools)

    def limits(self) -> Limits:
        return Limits(max_messages=self.max_messages)

    def claim(self, filling: Filling) -> None:
        filling.retention.keep_initial(self.preserve_initial)
        if self.prioritize_tools:
            filling.retention.keep_tools()

    @property
    def fills_with_talk(self) -> bool:
        return self.prioritize_tools

    def describe(self, stats: ContextStats) -> None:
        stats["max_messages"] = self.max_messages
        stats["preserve_initial"] = self.preserve_initial
        stats["prioritize_tools"] = self.prioritize_tools
