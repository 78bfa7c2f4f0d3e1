"""AdaptiveWindow: a window whose size follows the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.arguments import checked_count, checked_flag
from spade_llm.context.composable import Composable, Limits
from spade_llm.context.reach import is_tool_heavy, start_of_turn, topic_start, usual_reach

if TYPE_CHECKING:
    from spade_llm.context.filling import Filling
    from spade_llm.context.strategy import ContextStats

KEPT_TOOL_TURNS = 2
"""Of tool-heavy turns: exchanges of older ones give way to talk, which says what came of them."""


class AdaptiveWindow(Composable):
    """The newest messages, back to where their topic began or, if that is farther, to what answers
    of this conversation usually refer to: from `min_messages` to `max_messages`."""

    name = "adaptive_window"

    def __init__(
        self, min_messages: int = 8, max_messages: int = 60, *, only_if_needed: bool = False
    ) -> None:
        """`only_if_needed`: nothing is left out of a history that fits."""
        self.min_messages = checked_count("min_messages", min_messages, minimum=1)
        self.max_messages = checked_count("max_messages", max_messages, minimum=min_messages)
        self.keeps_all_that_fits = checked_flag("only_if_needed", only_if_needed)

    def limits(self) -> Limits:
        return Limits(max_messages=self.max_messages)

    def oldest(self, filling: Filling) -> int:
        noted = filling.noted
        topic = topic_start(noted.notes, filling.question)
        usual = noted.notes.turns - usual_reach(noted.notes)
        start = start_of_turn(noted.notes, min(topic, usual)) + noted.shift
        return min(start, max(filling.question_at - self.min_messages + 1, 0))

    def tools_from(self, filling: Filling) -> int:
        noted = filling.noted
        if not is_tool_heavy(noted.notes):
            return 0
        turn = noted.notes.turns - KEPT_TOOL_TURNS
        return start_of_turn(noted.notes, turn) + noted.shift

    def describe(self, stats: ContextStats) -> None:
        stats["min_messages"] = self.min_messages
        stats["max_messages"] = self.max_messages
