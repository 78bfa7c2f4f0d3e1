"""A window being filled: which blocks stay, within how many messages. Knows no strategy.

What is kept first has the first claim on the room. Only the current turn may take more than there
is: without its question, or the exchange that the model is about to answer, a window is useless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.blocks import blocks_newest_first, blocks_oldest_first, calls_tools
from spade_llm.context.system_prompt import leading_system_messages

if TYPE_CHECKING:
    from spade_llm.providers.messages import ContextMessage


class Retention:
    """One history, one window; call the keep_ methods in order of importance."""

    def __init__(self, messages: list[ContextMessage], *, max_messages: int) -> None:
        self._messages = messages
        self._first = leading_system_messages(messages)
        self._room = max_messages
        self._kept: dict[int, range] = {}

    @property
    def has_all(self) -> bool:
        """Whether the whole history fits, the leading system messages not counted."""
        return len(self._messages) - self._first <= self._room

    def keep_current_turn(self) -> None:
        """The newest user message, and the exchange that ends the history if one does."""
        for position, block in enumerate(blocks_newest_first(self._messages, self._first)):
            if position == 0 and self._is_tools(block):
                self._keep(block)
            if self._messages[block.start]["role"] == "user":
                self._keep(block)
                return

    def keep_initial(self, count: int) -> None:
        """The blocks that lie wholly within the first `count` messages, as far as they fit."""
        behind = self._first + count
        for block in blocks_oldest_first(self._messages, self._first):
            if block.stop > behind or not self._keep_if_room(block):
                return

    def keep_tools(self) -> None:
        """Exchanges, newest first; one that does not fit is left out whole."""
        for block in blocks_newest_first(self._messages, self._first):
            if self._room <= 0:
                return
            if self._is_tools(block):
                self._keep_if_room(block)

    def keep_recent(self) -> None:
        """Blocks from the end on, without a gap: up to the first that does not fit."""
        for block in blocks_newest_first(self._messages, self._first):
            if not self._keep_if_room(block):
                return

    def keep_recent_talk(self) -> None:
        """Messages from the end on that are no exchange, until the room is used up."""
        for block in blocks_newest_first(self._messages, self._first):
            if self._room <= 0:
                return
            if not self._is_tools(block):
                self._keep_if_room(block)

    def in_order(self) -> list[ContextMessage]:
        """What was kept, behind the leading system messages, in the order of the history."""
        kept = self._messages[: self._first]
        for start in sorted(self._kept):
            block = self._kept[start]
            kept += self._messages[block.start : block.stop]
        return kept

    def _is_tools(self, block: range) -> bool:
        message = self._messages[block.start]
        return message["role"] == "tool" or calls_tools(message)

    def _keep_if_room(self, block: range) -> bool:
        if block.start in self._kept:
            return True
        if len(block) > self._room:
            return False
        self._keep(block)
        return True

    def _keep(self, block: range) -> None:
        self._kept[block.start] = block
        self._room -= len(block)
