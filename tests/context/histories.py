"""Histories for the tests of context strategies: hand-made messages and random conversations."""

from __future__ import annotations

from hypothesis import strategies as st

from spade_llm.context import (
    AssistantMessage,
    ContextMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from spade_llm.providers.model import FunctionCall, ToolCallEntry


def system(text: str) -> SystemMessage:
    return SystemMessage(role="system", content=text)


def user(text: str) -> UserMessage:
    return UserMessage(role="user", content=text)


def assistant(text: str) -> AssistantMessage:
    return AssistantMessage(role="assistant", content=text)


def call(*ids: str) -> AssistantMessage:
    return AssistantMessage(
        role="assistant",
        content=None,
        tool_calls=[
            ToolCallEntry(
                id=id, type="function", function=FunctionCall(name="clock", arguments="{}")
            )
            for id in ids
        ],
    )


def result(id: str) -> ToolResultMessage:
    return ToolResultMessage(role="tool", content=f"result of {id}", tool_call_id=id)


def exchange(*ids: str) -> list[ContextMessage]:
    return [call(*ids), *(result(id) for id in ids)]


def talk(count: int) -> list[ContextMessage]:
    """`count` messages, user and assistant in turn, numbered from 1."""
    return [user(f"{n}") if n % 2 else assistant(f"{n}") for n in range(1, count + 1)]


def chatter(count: int) -> list[ContextMessage]:
    """`count` messages that hold nothing."""
    return [user("go on") if n % 2 == 0 else assistant("all right") for n in range(count)]


@st.composite
def conversations(draw: st.DrawFn) -> list[ContextMessage]:
    """Turns of a question, rounds of parallel tool calls and an answer; the last may be open."""
    messages: list[ContextMessage] = [system(f"prompt {n}") for n in range(draw(st.integers(0, 2)))]
    turns = draw(st.lists(st.lists(st.integers(1, 4), max_size=3), min_size=1, max_size=8))
    for turn, rounds in enumerate(turns):
        messages.append(user(f"question {turn}"))
        for number, width in enumerate(rounds):
            messages += exchange(*(f"{turn}.{number}.{n}" for n in range(width)))
        messages.append(assistant(f"answer {turn}"))
    return messages[:-1] if draw(st.booleans()) else messages


_WORDS = """
the a my your is was likes code train garden Ada Valencia Kurt 4471 12.5 2026-11-21 monday seven
blue hotel ticket why what when please thanks ok not sure río niño № 北京
"""
WORDS = _WORDS.split()


@st.composite
def sayings(draw: st.DrawFn, max_words: int = 40) -> str:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=max_words))
    return " ".join(words) + draw(st.sampled_from(["", ".", "?", "!", "\n"]))


@st.composite
def wordy_conversations(draw: st.DrawFn) -> list[ContextMessage]:
    """Of texts of many lengths, some far too long."""
    messages: list[ContextMessage] = []
    for turn in range(draw(st.integers(1, 12))):
        messages.append(user(draw(sayings())))
        for number in range(draw(st.integers(0, 2))):
            width = draw(st.integers(1, 3))
            round_ = exchange(*(f"{turn}.{number}.{n}" for n in range(width)))
            for one in round_[1:]:
                one["content"] = draw(sayings()) * draw(st.sampled_from([1, 1, 1, 40]))
            messages += round_
        messages.append(assistant(draw(sayings()) * draw(st.sampled_from([1, 1, 1, 30]))))
    return messages[:-1] if draw(st.booleans()) else messages
