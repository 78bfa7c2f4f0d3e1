"""A stop at any moment of a turn with all its layers: one sentence, no second answer, no half."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.commands.command_registry import NOTHING_TO_STOP
from spade_llm.assistant.middleware.conversation_end import (
    ConversationEndMiddleware,
    TerminationMarkers,
)
from spade_llm.assistant.middleware.guardrails import GuardrailMiddleware
from spade_llm.assistant.middleware.quota import PeerQuota
from spade_llm.assistant.middleware.routing import RoutingDecider, RoutingMiddleware
from spade_llm.assistant.middleware.usage_ledger import UsageTracking
from spade_llm.assistant.turn.turn_recorder import InstrumentedModel
from spade_llm.guardrails import Guardrail, GuardrailAction, GuardrailResult
from spade_llm.messaging import InMemoryNetwork
from spade_llm.messaging.outgoing_messages import chat_message
from spade_llm.providers import Completion, ScriptedProvider, ToolCall
from spade_llm.tools import LLMTool, LocalToolbox
from tests.assistant.assistant_harness import Mind
from tests.messaging.scripted_peer import Program
from tests.openai_rules import check_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from spade_llm.assistant.middleware.usage_ledger import UsageLedger

STEPS = 78
"""Of the event loop: a little more than the turn takes."""
KEY = "sk-1"
QUESTION = {"role": "user", "content": "and now?"}


class HidesKeys(Guardrail):
    async def check(self, content: str, context: Mapping[str, object]) -> GuardrailResult:
        await rest()
        return GuardrailResult(
            action=GuardrailAction.MODIFY, content=content.replace(KEY, "[key]"), reason="key"
        )


async def rest() -> str:
    for _ in range(3):
        await asyncio.sleep(0)
    return "rested"


async def to_eve(*_: object) -> str:
    await rest()
    return "eve@net"


def a_model() -> ScriptedProvider:
    call = ToolCall(id="1", name="rest", arguments="{}")
    return ScriptedProvider([Completion(text=f"{KEY}, so:", tool_calls=(call,)), f"It is {KEY}."])


@asynccontextmanager
async def a_mind(network: InMemoryNetwork) -> AsyncIterator[tuple[Mind, UsageLedger]]:
    mind = Mind(network, "a@net/1", InstrumentedModel(a_model()))
    watch = UsageTracking(None, limits=PeerQuota(turns=9))
    guarding = GuardrailMiddleware([HidesKeys("in")], [HidesKeys("out")])
    routing = RoutingMiddleware(
        mind.letters, reply_to=None, deciding=RoutingDecider(to_eve), run=mind.run
    )
    tool = LLMTool("rest", "rests", {"type": "object", "properties": {}}, rest)
    mind.think(
        layers=[
            *watch.layers,
            ConversationEndMiddleware(max_interactions=9),
            routing,
            guarding,
            TerminationMarkers(["<END>"]),
        ],
        toolboxes=[LocalToolbox([tool])],
    )
    async with watch.ledger:
        yield mind, watch.ledger
        await mind.member.node.close(patience_s=0)


@pytest.mark.parametrize("start", range(6))
async def test_whenever_it_is_stopped_there_is_one_sentence_and_a_whole_history(
    start: int,
) -> None:
    for steps in range(start, STEPS, 6):
        network = InMemoryNetwork()
        async with a_mind(network) as (mind, ledger):
            ada, eve = (Program(network=network, jid=f"{name}@net/1") for name in ("ada", "eve"))
            elsewhere = Program(network=network, jid="ada@net/2")
            await ada.transport.send(chat_message("a@net", f"go, {KEY}"))
            for _ in range(steps):
                await asyncio.sleep(0)
            await elsewhere.transport.send(chat_message("a@net", "/stop"))
            await elsewhere.transport.send(chat_message("a@net", "/stop"))

            told = sorted(one.content for one in await elsewhere.got(2))

            conversation = mind.behaviour.conversations.find("ada@net")
            left = list(conversation.messages) if conversation else []
            assert told[0] in ("Stopped.", NOTHING_TO_STOP)
            assert told[1] == NOTHING_TO_STOP
            assert ada.received == []
            assert [one.content for one in eve.received] in ([], ["[key], so:\n\nIt is [key]."])
            assert KEY not in "".join(str(one["content"]) for one in left)
            check_request(json.dumps({"model": "m", "messages": [*left, QUESTION]}).encode())
            assert (await ledger.of_today("ada@net")).turns <= 1
