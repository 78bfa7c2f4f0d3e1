"""A turn may be stopped at any moment: what it leaves can be gone on with on a strict server."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer
from spade_llm.context import NoContextManagement
from spade_llm.providers import Completion, ScriptedProvider, ToolCall
from spade_llm.tools import LLMTool, LocalToolbox
from tests.assistant.turn.test_turn_failures import an_utterance
from tests.openai_rules import check_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from spade_llm.context import ContextMessage
    from spade_llm.providers.scripted import ScriptedAnswer

STEPS = 60
"""Of the event loop: more than such a turn takes."""


def calling(*ids: str) -> Completion:
    calls = tuple(ToolCall(id=id, name="rest", arguments="{}") for id in ids)
    return Completion(text="Let me see.", tool_calls=calls)


async def rest() -> str:
    for _ in range(3):
        await asyncio.sleep(0)
    return "rested"


@asynccontextmanager
async def an_assistant() -> AsyncIterator[tuple[LLMBehaviour, ScriptedProvider]]:
    script: list[ScriptedAnswer] = [calling("1", "2"), calling("3"), "There.", *["More."] * 9]
    model = ScriptedProvider(script)
    tool = LLMTool("rest", "rests", {"type": "object", "properties": {}}, rest)
    async with MemoryOutbox(None) as outbox:
        memory = MemoryBehaviour(memory=None, retriever=None, outbox=outbox)
        yield (
            LLMBehaviour(
                model,
                strategy=NoContextManagement(),
                system_prompt="Be",
                memory=memory,
                memory_offer=MemoryOffer(owner="a@x"),
                toolboxes=[LocalToolbox([tool])],
                limits=TurnLimits(),
            ),
            model,
        )


async def stopped_after(assistant: LLMBehaviour, steps: int) -> bool:
    """False: it was ready before."""
    turn = asyncio.create_task(assistant.answer(an_utterance("go")))
    for _ in range(steps):
        await asyncio.sleep(0)
    turn.cancel()
    await asyncio.wait([turn])
    return turn.cancelled()


async def test_a_turn_stopped_at_any_step_leaves_a_whole_history() -> None:
    outcomes, has_calls = [], False
    for steps in range(STEPS):
        async with an_assistant() as (assistant, model):
            outcomes.append(await stopped_after(assistant, steps))
            conversation = assistant.conversations.find("you@x")
            left = conversation.messages if conversation else ()
            has_calls |= outcomes[-1] and any(one["role"] == "tool" for one in left)

            await assistant.answer(an_utterance("and now?"))

            messages = model.requests[-1].messages
            check_request(json.dumps({"model": "m", "messages": messages}).encode())
            assert messages[-1]["content"] in ("and now?", "rested")

    assert outcomes[0]
    assert has_calls
    assert not outcomes[-1]


async def test_nothing_is_left_of_a_turn_that_had_not_begun() -> None:
    async with an_assistant() as (assistant, _):
        assert await stopped_after(assistant, 0)

        conversation = assistant.conversations.find("you@x")

    assert conversation is None or not conversation.messages


async def test_text_beside_tool_calls_of_a_stopped_turn_is_not_kept() -> None:
    """Output guardrails judge an answer when it is there: this one never was."""
    for steps in range(STEPS):
        async with an_assistant() as (assistant, _):
            if not await stopped_after(assistant, steps):
                break
            conversation = assistant.conversations.find("you@x")

            left = conversation.messages if conversation else ()

            assert "Let me see." not in [one["content"] for one in left]
    assert steps > 1


class BreaksLater(NoContextManagement):
    """A strategy of somebody's own that fails at results of tools."""

    def apply_context_strategy(
        self, messages: list[ContextMessage], system_prompt: str | None = None
    ) -> list[ContextMessage]:
        if messages[-1]["role"] == "tool":
            raise KeyError("mine")
        return super().apply_context_strategy(messages, system_prompt)


async def test_tool_calls_before_a_strategy_failure_are_known_in_the_next_turn() -> None:
    async with an_assistant() as (assistant, model):
        good, assistant.strategy = assistant.strategy, BreaksLater()
        with pytest.raises(KeyError):
            await assistant.answer(an_utterance("go"))
        assistant.strategy = good

        await assistant.answer(an_utterance("and now?"))

        messages = model.requests[1].messages
        check_request(json.dumps({"model": "m", "messages": messages}).encode())
        assert [one["role"] for one in messages].count("tool") == 2
