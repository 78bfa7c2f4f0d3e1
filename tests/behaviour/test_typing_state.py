"""A person sees that an answer is being made, and never that they wait for themselves."""

from __future__ import annotations

import asyncio

from spade_llm.agent.typing_state import TypingState
from spade_llm.conversation.approval import Question, Verdict

QUESTION = Question(id="1", tool="send", arguments=(), expires_s=5)


async def test_nothing_is_shown_while_a_question_is_open() -> None:
    shown, is_shown = [], asyncio.Event()

    def show() -> None:
        shown.append("composing")
        is_shown.set()

    async def wait_a_while(_question: Question) -> Verdict:
        try:
            async with asyncio.timeout(0.1):
                await is_shown.wait()
        except TimeoutError:
            return Verdict.YES
        return Verdict.NO

    async with TypingState(show, after_s=0.02) as typing:
        assert await typing.pausing(wait_a_while)(QUESTION) is Verdict.YES
        assert shown == []

        await asyncio.wait_for(is_shown.wait(), 5)

    assert shown == ["composing"]
