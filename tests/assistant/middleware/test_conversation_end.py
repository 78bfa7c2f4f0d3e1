"""When a conversation is over, who says so, and what happens to what is said after it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.assistant.chat.messages import ONTOLOGY
from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.history.conversation_cache import Conversation
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.middleware.conversation_end import (
    ENDED_TEXT,
    FAREWELL,
    ConversationEndMiddleware,
    TerminationMarkers,
    _MarkerBuffer,
    markers_start,
    safe_length,
)
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer
from spade_llm.assistant.turn.tool_loop import TurnResult
from spade_llm.assistant.turn.turn import TurnOutcome
from spade_llm.context import NoContextManagement
from spade_llm.core.errors import ConversationEnded, ModelUnavailable
from spade_llm.messaging import Encoding
from spade_llm.providers import Completion, ScriptedProvider, ToolCall
from spade_llm.tools import LLMTool, LocalToolbox
from tests.assistant.turn.test_turn_failures import an_utterance

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.assistant.chat.messages import ChatReply
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.providers.scripted import ScriptedAnswer

MARKERS = ("<TASK_COMPLETE>", "<END>", "<DONE>")
QUOTE = LLMTool("quote", "Quotes.", {"type": "object", "properties": {}}, lambda: "It says <DONE>")


@dataclass
class Stage:
    assistant: LLMBehaviour
    model: ScriptedProvider
    ends: list[tuple[str, str]] = field(default_factory=list)

    async def say(self, text: str) -> str:
        return (await self.assistant.answer(an_utterance(text))).text

    async def say_as(self, text: str, encoding: Encoding) -> ChatReply:
        return await self.assistant.answer(said_as(an_utterance(text), encoding))

    async def stream(self, text: str) -> tuple[str, str]:
        """The answer, and its parts together."""
        parts: list[str] = []

        async def keep(part: str) -> None:
            parts.append(part)

        reply = await self.assistant.answer(replace(an_utterance(text), on_delta=keep))
        return reply.text, "".join(parts)


def said_as(turn_input: ChatTurnInput, encoding: Encoding) -> ChatTurnInput:
    return replace(turn_input, message=replace(turn_input.message, encoding=encoding))


@asynccontextmanager
async def staged(
    *answers: ScriptedAnswer, max_interactions: int | None = None, fails: bool = False
) -> AsyncIterator[Stage]:
    model = ScriptedProvider(answers)
    ends: list[tuple[str, str]] = []

    def on_end(conversation_id: str, reason: str) -> None:
        ends.append((conversation_id, reason))
        if fails:
            raise RuntimeError("the callback has a bug")

    async with MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=None, retriever=None, outbox=outbox)
        assistant = LLMBehaviour(
            model,
            strategy=NoContextManagement(),
            system_prompt="Be",
            memory=memory,
            memory_offer=MemoryOffer(owner="a@x"),
            toolboxes=[LocalToolbox([QUOTE])],
            limits=TurnLimits(),
            layers=[
                ConversationEndMiddleware(max_interactions=max_interactions, on_end=on_end),
                TerminationMarkers(MARKERS),
            ],
        )
        yield Stage(assistant, model, ends)


async def test_a_marker_that_ends_a_reply_ends_the_conversation_and_is_not_seen() -> None:
    async with staged("All is well.\n<TASK_COMPLETE>", "hello again") as stage:
        assert await stage.say("how is it?") == "All is well."
        assert stage.ends == [("you@x", "completed")]
        assert await stage.say("thanks") == ENDED_TEXT
        assert len(stage.model.requests) == 1

        await stage.say("/new")
        assert await stage.say("anew") == "hello again"
        assert len(stage.model.requests[-1].messages) == 2


async def test_one_that_goes_on_does_not_repeat_the_marker_to_the_model() -> None:
    async with staged("Well. <DONE>", "and more") as stage:
        await stage.say("how is it?")
        conversation = stage.assistant.conversations.find("you@x")
        assert conversation is not None

        conversation.begin_anew()

        assert await stage.say("go on") == "and more"
        assert stage.model.requests[-1].messages[2]["content"] == "Well."


@pytest.mark.parametrize(
    "reply", ["<DONE> is the word.", 'He said "<DONE>"', "<done>", "< DONE >", "<DONE>."]
)
async def test_a_marker_in_the_middle_ends_nothing(reply: str) -> None:
    async with staged(reply, "more") as stage:
        assert await stage.say("what is the word?") == reply
        assert await stage.say("and?") == "more"
        assert stage.ends == []


async def test_a_marker_that_a_person_says_ends_nothing() -> None:
    async with staged("You said: <DONE>", "more") as stage:
        assert await stage.say("<DONE>") == "You said: <DONE>"
        assert await stage.say("and?") == "more"
        assert stage.ends == []


async def test_a_marker_that_a_tool_quotes_ends_nothing() -> None:
    call = Completion(tool_calls=(ToolCall(id="1", name="quote", arguments="{}"),))
    async with staged(call, "It says <DONE>", "more") as stage:
        assert await stage.say("what does it say?") == "It says <DONE>"
        assert await stage.say("and?") == "more"


async def test_a_reply_of_nothing_but_markers_says_that_it_is_over() -> None:
    async with staged("<DONE> <END>") as stage:
        assert await stage.say("done?") == FAREWELL


async def test_no_part_shows_a_marker() -> None:
    async with staged("All is <well>, <DONE", "One <DO not> two. <DONE>") as stage:
        text, parts = await stage.stream("how is it?")
        assert (text, parts) == ("All is <well>, <DONE", "All is <well>,")
        assert await stage.stream("and now?") == ("One <DO not> two.", "One <DO not> two.")


async def test_a_conversation_has_as_many_answers_as_it_may() -> None:
    async with staged("one", ModelUnavailable("away"), "two", max_interactions=2) as stage:
        await stage.say("1")
        await stage.say("no answer is none")
        assert stage.ends == []
        assert await stage.say("2") == "two"
        assert stage.ends == [("you@x", "max_interactions_reached")]
        assert await stage.say("3") == ENDED_TEXT


async def test_a_program_is_refused_and_a_plain_agent_is_told_once() -> None:
    async with staged("<DONE>") as stage:
        await stage.say("done?")

        first = await stage.say_as("more", Encoding.FORM)
        second = await stage.say_as("more", Encoding.FORM)
        program = said_as(an_utterance("more"), Encoding.ACL)
        program = replace(program, message=replace(program.message, ontology=ONTOLOGY))
        with pytest.raises(ConversationEnded):
            await stage.assistant.answer(program)

        assert (first.text, first.is_for_asker, second.is_for_asker) == (ENDED_TEXT, True, False)


async def test_a_failing_callback_does_not_prevent_the_answer() -> None:
    async with staged("Bye <DONE>", fails=True) as stage:
        assert await stage.say("bye") == "Bye"
        assert stage.ends == [("you@x", "completed")]


async def test_a_last_answer_that_is_stopped_ends_nothing() -> None:
    is_told = asyncio.Event()

    async def tell(*_: str) -> None:
        is_told.set()
        await asyncio.Event().wait()

    async def call_next(turn_input: ChatTurnInput) -> TurnOutcome:
        return TurnOutcome(question=turn_input.text, result=TurnResult(text="Bye", is_last=True))

    conversation = Conversation("you@x", "you@x")
    turn = asyncio.ensure_future(
        ConversationEndMiddleware(on_end=tell)(an_utterance("bye"), conversation, call_next)
    )
    await asyncio.wait_for(is_told.wait(), 5)

    turn.cancel()
    await asyncio.wait([turn])

    assert turn.cancelled()
    assert not conversation.ended


PIECES = st.lists(
    st.sampled_from(["<", ">", "DO", "NE", "E", "ND", "<DONE>", "<EN", " ", "\n", "a", "<a>"])
)


@given(PIECES)
async def test_however_a_reply_is_cut_its_parts_are_its_beginning(pieces: list[str]) -> None:
    shown: list[str] = []

    async def keep(part: str) -> None:
        shown.append(part)

    held = _MarkerBuffer(MARKERS, keep)
    for piece in pieces:
        await held.add(piece)

    text, seen = "".join(pieces), "".join(shown)
    assert text[: markers_start(text, MARKERS)].startswith(seen)
    assert safe_length(text[len(seen) :], MARKERS) == 0
