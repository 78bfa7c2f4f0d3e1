"""What a strategy of somebody else's leaves of a history, made fit to share a context with ours.

Knows no strategy. An exchange that was kept in part is left out whole, and the current turn is put
back if it is missing: any slice of a history may be a strategy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.blocks import blocks_newest_first, blocks_oldest_first, calls_tools
from spade_llm.context.system_prompt import leading_system_messages

if TYPE_CHECKING:
    from spade_llm.context.strategy import ContextManagement
    from spade_llm.providers.messages import ContextMessage


def narrowed(messages: list[ContextMessage], strategy: ContextManagement) -> list[ContextMessage]:
    """A list that opens with the history's system messages and ends with its current turn."""
    kept = list(strategy.apply_context_strategy(list(messages), None))
    if len(kept) == len(messages) and kept == messages:
        return messages
    first = leading_system_messages(messages)
    turn = _current_turn(messages, first)
    here = {id(message) for message in (*messages[:first], *turn)}
    others = [message for message in kept if id(message) not in here]
    return [*messages[:first], *_whole_exchanges(others), *turn]


def _current_turn(messages: list[ContextMessage], first: int) -> list[ContextMessage]:
    """From the newest user message on."""
    for block in blocks_newest_first(messages, first):
        if messages[block.start]["role"] == "user":
            return messages[block.start :]
    return []


def _whole_exchanges(messages: list[ContextMessage]) -> list[ContextMessage]:
    return [
        message
        for block in blocks_oldest_first(messages, 0)
        for message in (messages[index] for index in block)
        if _is_whole(messages, block)
    ]


def _is_whole(messages: list[ContextMessage], block: range) -> bool:
    head = messages[block.start]
    if head["role"] == "tool":
        return False
    if head["role"] != "assistant" or not calls_tools(head):
        return True
    wanted = [call["id"] for call in head.get("tool_calls", [])]
    results = (messages[index] for index in block[1:])
    return wanted == [one["tool_call_id"] for one in results if one["role"] == "tool"]
