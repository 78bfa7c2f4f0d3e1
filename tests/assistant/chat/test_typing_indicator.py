"""A person sees that an answer is being made, and never that they wait for themselves."""

from __future__ import annotations

import asyncio

import pytest

from spade_llm.assistant.chat.message_correction import DELAY_S, TypingIndicator
from spade_llm.assistant.turn.approval import ApprovalQuestion, ApprovalVerdict

QUESTION = ApprovalQuestion(id="1", tool="send", arguments=(), expires_s=5)


class Shown:
    """The states, and somebody who waits for the next one."""

    def __init__(self) -> None:
        self.states: list[str] = []
        self._next = asyncio.Event()

    def __call__(self, state: str) -> None:
        self.states.append(state)
        self._next.set()

    async def next(self, *, timeout_s: float = 5.0) -> None:
        self._next.clear()
        await asyncio.wait_for(self._next.wait(), timeout_s)


def test_answers_within_a_second_show_no_typing_indicator() -> None:
    assert DELAY_S == 1.0


async def test_nothing_is_shown_while_a_question_is_open() -> None:
    shown = Shown()

    async def wait_a_while(_question: ApprovalQuestion) -> ApprovalVerdict:
        try:
            await shown.next(timeout_s=0.1)
        except TimeoutError:
            return ApprovalVerdict.YES
        return ApprovalVerdict.NO

    async with TypingIndicator(shown, after_s=0.02) as typing:
        assert await typing.pausing(wait_a_while)(QUESTION) is ApprovalVerdict.YES
        assert shown.states == []

        await shown.next()

    assert shown.states == ["composing"]


async def test_it_is_shown_again_and_again() -> None:
    shown = Shown()

    async with TypingIndicator(shown, after_s=0.001, again_s=0.001):
        for _ in range(3):
            await shown.next()

    assert set(shown.states) == {"composing"}


async def test_a_turn_without_an_answer_clears_the_typing_indicator() -> None:
    shown = Shown()

    with pytest.raises(ValueError, match="no answer"):
        async with TypingIndicator(shown, after_s=0.001):
            await shown.next()
            raise ValueError("no answer")

    assert shown.states == ["composing", "paused"]


async def test_an_indicator_that_was_not_shown_is_not_cleared() -> None:
    shown = Shown()

    with pytest.raises(ValueError, match="no answer"):
        async with TypingIndicator(shown):
            raise ValueError("no answer")

    assert shown.states == []
