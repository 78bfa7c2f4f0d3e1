"""Message blocks: tool calls and their results stay together; repair of incomplete histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.context.strategy import leading_system_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.context.strategy import ContextManagement
    from spade_llm.providers.model import ContextMessage


def blocks_oldest_first(messages: list[ContextMessage], first: int) -> Iterator[range]:
    """The blocks from index `first` on."""
    start = first
    while start < len(messages):
        stop = start + 1
        if calls_tools(messages[start]):
            stop = _behind_results(messages, stop)
        yield range(start, stop)
        start = stop


def blocks_newest_first(
    messages: list[ContextMessage], first: int, stop: int | None = None
) -> Iterator[range]:
    """The same blocks from the end, or from before `stop`, where one must end; looks at no message
    older than it has to."""
    stop = len(messages) if stop is None else stop
    while stop > first:
        results = _start_of_results(messages, first, stop)
        if results > first and calls_tools(messages[results - 1]):
            yield range(results - 1, stop)
            stop = results - 1
        else:
            start = min(results, stop - 1)
            yield from (range(index, index + 1) for index in reversed(range(start, stop)))
            stop = start


def tool_blocks_newest_first(messages: list[ContextMessage], first: int) -> Iterator[range]:
    """Iterate over the blocks of tool calls and results only. Skipping another message takes 0.05
    µs."""
    places = [i for i, one in enumerate(messages) if "tool_call_id" in one or "tool_calls" in one]
    start = len(messages)
    for index in reversed(places):
        if first <= index < start:
            block = next(blocks_newest_first(messages, first, index + 1))
            start = block.start
            if messages[start]["role"] == "tool" or calls_tools(messages[start]):
                yield block


def calls_tools(message: ContextMessage) -> bool:
    """Check whether this message calls tools."""
    return message["role"] == "assistant" and bool(message.get("tool_calls"))


def repair_history(
    messages: list[ContextMessage], strategy: ContextManagement
) -> list[ContextMessage]:
    """A list that opens with the history's system messages and ends with its current turn."""
    kept = list(strategy.apply_context_strategy(list(messages), None))
    if len(kept) == len(messages) and kept == messages:
        return messages
    first = leading_system_messages(messages)
    turn = _current_turn(messages, first)
    # By identity: different messages may have equal text.
    here = {id(message) for message in (*messages[:first], *turn)}
    others = [message for message in kept if id(message) not in here]
    return [*messages[:first], *_complete_exchanges(others), *turn]


def _behind_results(messages: list[ContextMessage], start: int) -> int:
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    return start


def _start_of_results(messages: list[ContextMessage], first: int, stop: int) -> int:
    while stop > first and messages[stop - 1]["role"] == "tool":
        stop -= 1
    return stop


def _current_turn(messages: list[ContextMessage], first: int) -> list[ContextMessage]:
    """Return the messages from the newest user message on."""
    for block in blocks_newest_first(messages, first):
        if messages[block.start]["role"] == "user":
            return messages[block.start :]
    return []


def _complete_exchanges(messages: list[ContextMessage]) -> list[ContextMessage]:
    return [
        message
        for block in blocks_oldest_first(messages, 0)
        for message in (messages[index] for index in block)
        if _is_complete(messages, block)
    ]


def _is_complete(messages: list[ContextMessage], block: range) -> bool:
    head = messages[block.start]
    if head["role"] == "tool":
        return False
    if head["role"] != "assistant" or not calls_tools(head):
        return True
    wanted = [call["id"] for call in head.get("tool_calls", [])]
    results = (messages[index] for index in block[1:])
    # OpenAI-compatible servers answer 400 to calls without their results, and vice versa.
    return wanted == [one["tool_call_id"] for one in results if one["role"] == "tool"]
