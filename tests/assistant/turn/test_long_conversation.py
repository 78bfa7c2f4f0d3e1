"""500 turns under every strategy: a strict server refuses nothing, and with the adaptive strategy
what was said in turns 3, 50 and 250 is still known."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.chat.service import ChatTurnInput
from spade_llm.assistant.config import TurnLimits
from spade_llm.assistant.history.memory_behaviour import MemoryBehaviour
from spade_llm.assistant.history.memory_outbox import MemoryOutbox
from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
from spade_llm.assistant.turn.memory_toolbox import MemoryOffer
from spade_llm.assistant.turn.prompt import build_prompt, call_message, result_message
from spade_llm.assistant.turn.recall import RecallResult
from spade_llm.context import (
    AdaptiveSmartContext,
    AdaptiveWindow,
    CombinedContext,
    Compression,
    EstimatedTokens,
    SemanticRetention,
    SmartWindowSizeContext,
    TokenBudget,
    WindowSizeContext,
)
from spade_llm.context.token_counter import CachedTokenCounter
from spade_llm.messaging import AclMessage, Performative
from spade_llm.providers import Completion, LLMProvider, ToolCall
from spade_llm.providers.model import NonStreamingModel
from spade_llm.providers.openai.request_body import build_request
from spade_llm.tools import tool
from spade_llm.tools.local import LocalToolbox
from tests.assistant.turn.long_conversation import QUESTIONS, TURNS, Reader, answer, found, lines
from tests.openai_rules import check_request
from tests.openai_server import running_server
from tests.rag.bag_of_words import BagOfWords

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from spade_llm.context import ContextManagement, ContextMessage
    from spade_llm.providers.model import ChatModel, ToolSpec

BUDGET = 4000
PEER = "ada@x"
PROMPT = "You are brief."

STRATEGIES: dict[str, Sequence[ContextManagement]] = {
    "tokens": [TokenBudget(BUDGET)],
    "window": [WindowSizeContext(40), TokenBudget(BUDGET)],
    "smart": [SmartWindowSizeContext(60, 4, True), TokenBudget(BUDGET)],
    "semantic": [SemanticRetention(), TokenBudget(BUDGET)],
    "compression": [Compression(), TokenBudget(BUDGET)],
    "adaptive window": [AdaptiveWindow(), TokenBudget(BUDGET)],
}


@tool
def look_up(parcel: str) -> str:
    """Where a parcel has been.

    Args:
        parcel: Its number.
    """
    return found(parcel)


@dataclass(slots=True)
class StrictModel(NonStreamingModel):
    """The server's rules and its reading without the HTTP between, for speed."""

    name: str = "strict"
    requests: list[list[ContextMessage]] = field(default_factory=list)

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: object = None,
        sampling: object = None,
    ) -> Completion:
        body = build_request(messages, tools, settings={"model": "m"}, tool_choice=tool_choice)
        check_request(json.dumps(body).encode())
        self.requests.append(list(messages))
        said = answer(messages)
        calls = (
            ToolCall(id=str(one.id), name=one.name, arguments=one.arguments) for one in said.calls
        )
        return Completion(text=said.text or "", tool_calls=tuple(calls))


@asynccontextmanager
async def talking(model: ChatModel, strategy: ContextManagement) -> AsyncIterator[LLMBehaviour]:
    async with MemoryOutbox(None) as outbox:
        yield LLMBehaviour(
            model,
            strategy=strategy,
            system_prompt=PROMPT,
            memory=MemoryBehaviour(memory=None, retriever=None, outbox=outbox),
            memory_offer=MemoryOffer(owner="assistant@x"),
            toolboxes=[LocalToolbox([look_up])],
            limits=TurnLimits(),
        )


async def said(assistant: LLMBehaviour, text: str, *, where: str = "talk") -> str:
    message = AclMessage(
        performative=Performative.REQUEST, sender=f"{PEER}/1", receiver="assistant@x", content=text
    )
    turn_input = ChatTurnInput(id=text, peer=PEER, conversation=where, text=text, message=message)
    reply = await assistant.answer(turn_input)
    assert "Sorry" not in reply.text
    return reply.text


def fork(assistant: LLMBehaviour, where: str) -> None:
    """The talk so far, once more: what is said in it is not said in the other."""
    talk = assistant.conversations.get("talk", peer=PEER)
    other = assistant.conversations.get(where, peer=PEER)
    other.extend(message.copy() for message in talk.messages)


def check_talk(assistant: LLMBehaviour) -> None:
    """It was what it should be."""
    messages = assistant.conversations.get("talk", peer=PEER).messages
    roles = Counter(message["role"] for message in messages)
    assert roles["user"] == TURNS - 1
    assert roles["tool"] >= 60
    assert max(len(str(one["content"])) for one in messages if one["role"] == "tool") > 4 * 1500


@pytest.mark.thorough
async def test_facts_of_turns_3_50_and_250_are_known_in_turn_500() -> None:
    async with (
        running_server(Reader()) as server,
        LLMProvider.create_vllm("m", base_url=server.base_url) as model,
        talking(model, AdaptiveSmartContext(BUDGET)) as assistant,
    ):
        for line in lines():
            await said(assistant, line)
        check_talk(assistant)

        for number, (question, fact) in enumerate(QUESTIONS.items()):
            fork(assistant, f"fork {number}")
            assert fact in await said(assistant, question, where=f"fork {number}")
        at_once = await said(assistant, " ".join(QUESTIONS))

        count = CachedTokenCounter(EstimatedTokens()).messages
        prompts = [request["messages"] for request in server.requests]
    assert all(fact in at_once for fact in QUESTIONS.values())
    assert all(isinstance(one, list) and count(one) <= BUDGET for one in prompts)


@pytest.fixture(scope="module")
def talk() -> list[ContextMessage]:
    """The same 499 turns as they are kept, without a model."""
    return [message for line in lines() for message in turn(line)]


def turn(line: str) -> list[ContextMessage]:
    """What is kept of one turn."""
    messages: list[ContextMessage] = [{"role": "user", "content": line}]
    reply = answer([dict(one) for one in messages])
    if reply.calls:
        calls = tuple(
            ToolCall(id=str(c.id), name=c.name, arguments=c.arguments) for c in reply.calls
        )
        messages.append(call_message(Completion(tool_calls=calls)))
        messages += [
            result_message(one, found(json.loads(one.arguments)["parcel"])) for one in calls
        ]
        reply = answer([dict(one) for one in messages])
    return [*messages, {"role": "assistant", "content": reply.text}]


@pytest.mark.parametrize("strategies", STRATEGIES.values(), ids=STRATEGIES)
def test_500_turns_stay_within_the_budget_and_within_the_rules(
    strategies: Sequence[ContextManagement], talk: list[ContextMessage]
) -> None:
    """Every prompt of the talk: one for each question, and one behind each tool's results."""
    strategy, count = CombinedContext(strategies), CachedTokenCounter(EstimatedTokens()).messages
    asked = [i for i, one in enumerate(talk, 1) if one["role"] in ("user", "tool")]
    prompts = [
        build_prompt(strategy, talk[:stop], system_prompt=PROMPT, recalled=RecallResult())
        for stop in asked
        if stop == len(talk) or talk[stop]["role"] != "tool"
    ]

    for prompt in prompts:
        body = build_request(prompt, (), settings={"model": "m"}, tool_choice="auto")
        check_request(json.dumps(body).encode())
    assert len(prompts) > TURNS + 50
    assert BUDGET / 4 < max(map(count, prompts)) <= BUDGET


COMPOSED: dict[str, ContextManagement] = {
    "vectors": AdaptiveSmartContext(BUDGET, embedder=BagOfWords()),
    "composed": CombinedContext([TokenBudget(BUDGET), AdaptiveSmartContext(2 * BUDGET)]),
    "made of parts": CombinedContext([SemanticRetention(), Compression(), TokenBudget(BUDGET)]),
}


@pytest.mark.parametrize("strategy", COMPOSED.values(), ids=COMPOSED)
async def test_a_talk_is_known_however_its_strategy_is_composed(
    strategy: ContextManagement, talk: list[ContextMessage]
) -> None:
    model = StrictModel()
    async with talking(model, strategy) as assistant:
        for number, (question, fact) in enumerate(QUESTIONS.items()):
            assistant.conversations.get(f"{number}", peer=PEER).extend(talk)
            assert fact in await said(assistant, question, where=f"{number}")


async def test_with_a_plain_budget_of_tokens_it_is_not_known(talk: list[ContextMessage]) -> None:
    """The talk is long enough to forget."""
    async with talking(StrictModel(), TokenBudget(BUDGET)) as assistant:
        for number, (question, fact) in enumerate(QUESTIONS.items()):
            assistant.conversations.get(f"{number}", peer=PEER).extend(talk)
            assert fact not in await said(assistant, question, where=f"{number}")


async def test_context_statistics_of_a_conversation_are_available(
    talk: list[ContextMessage],
) -> None:
    async with talking(StrictModel(), AdaptiveSmartContext(BUDGET)) as assistant:
        assistant.conversations.get("long", peer=PEER).extend(talk)
        assistant.conversations.get("short", peer=PEER).extend(talk[:10])

        long, short = assistant.context_stats("long"), assistant.context_stats("short")
        unknown, agents = assistant.context_stats("who?"), assistant.context_stats()

    assert long["total_messages"] == len(talk)
    assert long["messages_in_context"] + long["messages_dropped"] == len(talk)
    assert long["tokens_in_context"] <= BUDGET
    assert long["summarised_messages"] > 500
    assert (long["token_counter"], long["tokens_are_exact"]) == ("estimate", False)
    assert (short["messages_in_context"], short["messages_dropped"]) == (10, 0)
    assert (unknown["total_messages"], agents["conversations"]) == (0, 2)
    assert agents == long
