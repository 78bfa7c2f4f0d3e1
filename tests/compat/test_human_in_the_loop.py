"""Asking a person as programs for spade_llm 0.3 do it, with an expert at a plain client."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from spade_llm.agents import LLMAgent
from spade_llm.compat.tools import HumanInteractionBehaviour
from spade_llm.providers import Completion, ScriptedProvider
from spade_llm.tools import HumanInTheLoopTool
from spade_llm.xmpp.spade_adapters import SpadeTemplate
from tests.integration.network import WAIT_S, Network, answer_to, calling, next_message
from tests.integration.test_spade_agents import plain_agent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from spade_llm.providers.model import ContextMessage
    from tests.xmpp.client import Client

FORM = "{jabber:x:data}x/{jabber:x:data}field"
PLAIN_THREAD = "<thread>{}</thread>"
SPADE_THREAD = (
    "<x xmlns='jabber:x:data' type='form'><title>spade:x:metadata</title>"
    "<field var='_thread_node' type='text-single'><value>{}</value></field></x>"
)
"""SPADE 4.1.4 reads no other."""


def metadata_of(message: Any) -> dict[str, str]:
    fields = message.xml.iterfind(FORM)
    return {one.get("var"): one.findtext("{jabber:x:data}value") for one in fields}


def model(messages: Sequence[ContextMessage], _tools: object) -> Completion:
    last = messages[-1]
    if last["role"] == "tool":
        return Completion(text=str(last["content"]))
    return calling("ask_human_expert", json.dumps({"question": last["content"]}))


async def assistant(network: Network, tool: HumanInTheLoopTool | None = None) -> LLMAgent:
    jid = await network.account("assistant")
    agent = LLMAgent(
        jid,
        network.passwords[jid],
        provider=ScriptedProvider([model] * 10),
        tools=[tool] if tool else [],
        options=network.options(jid),
    )
    return await network.start(agent)


async def answer(eve: Client, text: str, *, thread: str = "") -> dict[str, str]:
    """What the question said of itself. `thread`: as this kind of client says it."""
    question = await next_message(eve)
    said = metadata_of(question)
    say(eve, question["from"].bare, text, thread.format(said["query_id"]))
    return {"thread": str(question["thread"]) or said["_thread_node"], **said}


def say(client: Client, to: object, text: str, thread: str) -> None:
    client.send_raw(f"<message type='chat' to='{to}' id='a'><body>{text}</body>{thread}</message>")


async def test_the_tool_asks_the_way_its_experts_programs_know(network: Network) -> None:
    eve, ada = await network.person("eve"), await network.person("ada")
    agent = await assistant(network, HumanInTheLoopTool(eve.bare, timeout=30.0))
    told = asyncio.create_task(answer_to(ada, agent, "which way?"))

    said = await answer(eve, "left")

    assert await told == "left"
    assert said["type"] == "human_query"
    assert said["query_id"] == said["thread"]


async def test_a_timeout_is_named_as_programs_look_for_it(network: Network) -> None:
    eve, ada = await network.person("eve"), await network.person("ada")
    agent = await assistant(network, HumanInTheLoopTool(eve.bare, timeout=0.05))

    assert "Timeout:" in await answer_to(ada, agent, "which way?")


async def test_the_behaviour_asks_in_an_agent_of_ours_and_in_a_plain_one(
    network: Network,
) -> None:
    eve = await network.person("eve")
    ours, plain = await assistant(network), await plain_agent(network)
    for agent, thread in ((ours, PLAIN_THREAD), (plain, SPADE_THREAD)):
        asking = HumanInteractionBehaviour(eve.bare, "which way?", timeout=WAIT_S)
        agent.add_behaviour(asking, SpadeTemplate(thread=asking.query_id))

        said = await answer(eve, "left", thread=thread)
        await asking.join(timeout=WAIT_S)

        assert asking.response == "left"
        assert said["query_id"] == said["thread"] == asking.query_id
        assert said["type"] == "human_query"


async def test_a_plain_agent_accepts_replies_of_its_peer_only_in_the_thread(
    network: Network,
) -> None:
    eve, mallory = await network.person("eve"), await network.person("mallory")
    agent = await plain_agent(network)
    asking = HumanInteractionBehaviour(eve.bare, "which way?", timeout=WAIT_S)
    agent.add_behaviour(asking, SpadeTemplate(thread=asking.query_id))
    question = await next_message(eve)

    for client, text in ((mallory, "wrong"), (eve, "right")):
        say(client, question["from"], text, SPADE_THREAD.format(asking.query_id))
        await client.ping()
    await asking.join(timeout=WAIT_S)

    assert asking.response == "right"
