"""What a bubble shows of an answer that is added to it, and when."""

from __future__ import annotations

import asyncio

from spade_llm.assistant.chat.message_correction import StreamingMessage
from spade_llm.assistant.turn.approval import ApprovalQuestion, ApprovalVerdict

QUESTION = ApprovalQuestion(id="1", tool="send", arguments=(), expires_s=5)


async def yes() -> bool:
    return True


class Shown:
    def __init__(self) -> None:
        self.texts: asyncio.Queue[str] = asyncio.Queue()

    async def show(self, text: str) -> bool:
        """Of blanks there is nothing to see."""
        self.texts.put_nowait(text)
        return bool(text.strip())

    async def next(self) -> str:
        return await asyncio.wait_for(self.texts.get(), 5)


def bubble(shown: Shown, *, first_s: float = 0.0, every_s: float = 0.0) -> StreamingMessage:
    return StreamingMessage(shown.show, may_show=yes, first_s=first_s, every_s=every_s)


async def test_it_shows_all_that_there_is_each_time() -> None:
    shown = Shown()

    async with bubble(shown) as growing:
        await growing.add("Once")
        assert await shown.next() == "Once"
        await growing.add(" upon")
        await growing.add(" a time")
        assert await shown.next() == "Once upon a time"


async def test_a_quick_answer_is_not_shown_before_it_is_there() -> None:
    shown = Shown()

    async with bubble(shown, first_s=60) as growing:
        await growing.add("Once")

    assert (growing.is_shown, growing.text) == (False, "Once")
    assert shown.texts.empty()


async def test_there_is_a_pause_between_two_edits() -> None:
    shown = Shown()

    async with bubble(shown, every_s=60) as growing:
        await growing.add("Once")
        assert await shown.next() == "Once"
        await growing.add(" upon")
        await asyncio.sleep(0)

    assert shown.texts.empty()


async def test_partial_answers_are_sent_only_to_clients_that_show_corrections() -> None:
    shown, was_asked = Shown(), asyncio.Event()

    async def no() -> bool:
        was_asked.set()
        return False

    async with StreamingMessage(shown.show, may_show=no, first_s=0, every_s=0) as growing:
        await growing.add("Once")
        await asyncio.wait_for(was_asked.wait(), 5)

    assert not growing.is_shown


async def test_an_incomplete_block_is_shown_with_its_continuation() -> None:
    shown = Shown()

    async with bubble(shown) as growing:
        await growing.add(" ")
        assert await shown.next() == " "
        assert not growing.is_shown
        await growing.add("Once")
        assert await shown.next() == " Once"
        assert growing.is_shown


async def test_text_before_a_question_is_shown_before_it() -> None:
    shown = Shown()
    order: list[str] = []

    async def ask(_question: ApprovalQuestion) -> ApprovalVerdict:
        order.append(await shown.next())
        return ApprovalVerdict.YES

    async with bubble(shown, every_s=60) as growing:
        await growing.add("I will")
        assert await shown.next() == "I will"
        await growing.add(" send it.")
        assert await growing.before(ask)(QUESTION) is ApprovalVerdict.YES

    assert order == ["I will send it."]
