"""Cuts a history into blocks that a model must see whole or not at all. Knows no window.

A block is a range of indices: one message, or an exchange, which is an assistant message with tool
calls and the results right behind it. OpenAI-compatible servers answer 400 to half an exchange. A
result whose call is not in the history is a block of its own: mending a broken history belongs to
whoever keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.providers.messages import ContextMessage


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
    """Only those of calls and results. Other messages cost a glance: 0.05 µs each."""
    places = [i for i, one in enumerate(messages) if "tool_call_id" in one or "tool_calls" in one]
    start = len(messages)
    for index in reversed(places):
        if first <= index < start:
            block = next(blocks_newest_first(messages, first, index + 1))
            start = block.start
            if messages[start]["role"] == "tool" or calls_tools(messages[start]):
                yield block


def calls_tools(message: ContextMessage) -> bool:
    """Whether this message asks for tool calls."""
    return message["role"] == "assistant" and bool(message.get("tool_calls"))


def _behind_results(messages: list[ContextMessage], start: int) -> int:
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    return start


def _start_of_results(messages: list[ContextMessage], first: int, stop: int) -> int:
    while stop > first and messages[stop - 1]["role"] == "tool":
        stop -= 1
    return stop
