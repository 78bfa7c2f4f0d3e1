"""What holds for every window over every conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex, overload

from hypothesis import given
from hypothesis import strategies as st

from spade_llm.context import ContextManagement, SmartWindowSizeContext, WindowSizeContext
from spade_llm.context.retention import (
    blocks_newest_first,
    calls_tools,
    tool_blocks_newest_first,
)
from tests.context.histories import conversations, exchange, talk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.context import ContextMessage

WINDOWS: st.SearchStrategy[ContextManagement] = st.one_of(
    st.builds(WindowSizeContext, st.integers(1, 30)),
    st.builds(SmartWindowSizeContext, st.integers(1, 30), st.integers(0, 40), st.booleans()),
)


def is_subsequence(kept: list[ContextMessage], history: list[ContextMessage]) -> bool:
    rest = iter(history)
    return all(any(message is other for other in rest) for message in kept)


def call_ids(message: ContextMessage) -> list[str]:
    if message["role"] != "assistant":
        return []
    return [entry["id"] for entry in message.get("tool_calls", [])]


def has_whole_exchanges_only(kept: list[ContextMessage]) -> bool:
    waiting: list[str] = []
    for message in kept:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return False
        elif waiting:
            return False
        waiting = waiting or call_ids(message)
    return not waiting


def open_turn(history: list[ContextMessage]) -> list[ContextMessage]:
    """The newest question, and the exchange behind which the model is about to speak."""
    users = [message for message in history if message["role"] == "user"]
    start = len(history)
    while history[start - 1]["role"] == "tool":
        start -= 1
    return users[-1:] + (history[start - 1 :] if start < len(history) else [])


@given(WINDOWS, conversations())
def test_the_order_of_the_history_is_kept(
    window: ContextManagement, history: list[ContextMessage]
) -> None:
    assert is_subsequence(window.apply_context_strategy(history), history)


@given(WINDOWS, conversations())
def test_no_call_is_separated_from_its_results(
    window: ContextManagement, history: list[ContextMessage]
) -> None:
    assert has_whole_exchanges_only(window.apply_context_strategy(history))


@given(WINDOWS, conversations())
def test_the_newest_question_is_always_there(
    window: ContextManagement, history: list[ContextMessage]
) -> None:
    kept = window.apply_context_strategy(history)

    assert all(any(message is other for other in kept) for message in open_turn(history))


@given(WINDOWS, conversations())
def test_no_system_message_at_the_beginning_is_lost(
    window: ContextManagement, history: list[ContextMessage]
) -> None:
    kept = window.apply_context_strategy(history)

    assert [m for m in kept if m["role"] == "system"] == [
        m for m in history if m["role"] == "system"
    ]


@given(st.integers(1, 30), st.integers(0, 40), st.booleans(), conversations())
def test_only_the_open_turn_may_exceed_the_window(
    size: int, initial: int, tools: bool, history: list[ContextMessage]
) -> None:
    bound = max(size, len(open_turn(history)))

    for window in (WindowSizeContext(size), SmartWindowSizeContext(size, initial, tools)):
        kept = [m for m in window.apply_context_strategy(history) if m["role"] != "system"]

        assert len(kept) <= bound


@given(WINDOWS, conversations())
def test_a_context_made_twice_is_the_same(
    window: ContextManagement, history: list[ContextMessage]
) -> None:
    once = window.apply_context_strategy(history, "prompt")

    assert window.apply_context_strategy(history, "prompt") == once


@given(st.integers(1, 30), conversations())
def test_a_plain_smart_window_keeps_what_a_window_keeps(
    size: int, history: list[ContextMessage]
) -> None:
    smart = SmartWindowSizeContext(size).apply_context_strategy(history)

    assert smart == WindowSizeContext(size).apply_context_strategy(history)


class CountingList(list["ContextMessage"]):
    """Counts how many messages were looked at."""

    looked_at = 0

    @overload
    def __getitem__(self, index: SupportsIndex) -> ContextMessage: ...
    @overload
    def __getitem__(self, index: slice) -> list[ContextMessage]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> ContextMessage | list[ContextMessage]:
        found = super().__getitem__(index)
        self.looked_at += len(found) if isinstance(index, slice) else 1
        return found

    def __iter__(self) -> Iterator[ContextMessage]:
        for message in super().__iter__():
            self.looked_at += 1
            yield message


def test_a_window_over_ten_thousand_messages_looks_at_few_of_them() -> None:
    history = CountingList([*talk(9_000), *exchange("1", "2"), *talk(1_000)])

    kept = WindowSizeContext(20).apply_context_strategy(history, "prompt")

    assert len(kept) == 21
    assert history.looked_at < 200


@given(conversations())
def test_blocks_of_tools_are_those_of_all_blocks(history: list[ContextMessage]) -> None:
    first = sum(message["role"] == "system" for message in history)
    every = [
        block
        for block in blocks_newest_first(history, first)
        if history[block.start]["role"] == "tool" or calls_tools(history[block.start])
    ]

    assert list(tool_blocks_newest_first(history, first)) == every
