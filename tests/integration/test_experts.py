"""A person is asked while an answer is made: over a server, with any client."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from spade_llm.agents import AssistantConfig, LLMAgent, Services, ToolAgent, TurnLimits
from spade_llm.assistant.delegation.expert_questions import Expert
from spade_llm.providers.model import Completion
from spade_llm.providers.scripted import ScriptedProvider
from tests.integration.network import calling, jid_of, next_message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.providers.model import ContextMessage, ToolSpec
    from tests.integration.network import Network
    from tests.xmpp.client import Client


def model_of(messages: Sequence[ContextMessage], tools: Sequence[ToolSpec]) -> Completion:
    """Asks eve what it is asked with a question mark; says what she answers; echoes the rest."""
    last = messages[-1]
    text = str(last["content"])
    if last["role"] == "tool" or not text.endswith("?"):
        return Completion(text=text)
    assert "ask_eve" in [tool.name for tool in tools]
    return calling("ask_eve", json.dumps({"question": text}))


@dataclass
class Scene:
    network: Network
    eve: Client
    assistant: LLMAgent

    @property
    def jid(self) -> str:
        return jid_of(self.assistant)


async def scene_of(network: Network, *, by_tool_agent: bool, limits: TurnLimits) -> Scene:
    eve = await network.person("eve")
    person = Expert(name="eve", jid=eve.bare, knows="codes", seconds=30.0)
    services, config = Services(), AssistantConfig(experts=(person,))
    if by_tool_agent:
        jid = await network.account("tools")
        options = network.options(jid)
        tools = ToolAgent(jid, network.passwords[jid], experts=[person], options=options)
        await network.start(tools)
        services, config = Services(tools=(jid,)), AssistantConfig()
    jid = await network.account("assistant")
    assistant = LLMAgent(
        jid,
        network.passwords[jid],
        ScriptedProvider([model_of] * 20),
        services=services,
        limits=limits,
        config=config,
        options=network.options(jid),
    )
    return Scene(network, eve, await network.start(assistant))


async def said(client: Client) -> str:
    return str((await next_message(client))["body"])


@pytest.mark.thorough
@pytest.mark.parametrize("by_tool_agent", [False, True])
async def test_an_expert_is_asked_and_others_are_served_meanwhile(
    network: Network, by_tool_agent: bool
) -> None:
    # The turn's own time is shorter than anybody takes to answer.
    limits = TurnLimits(seconds=0.5)
    scene = await scene_of(network, by_tool_agent=by_tool_agent, limits=limits)
    ada, bob = await network.person("ada"), await network.person("bob")

    ada.send(scene.jid, "What is the code?")
    question = await next_message(scene.eve)
    assert "> What is the code?" in question["body"]
    assert f"on behalf of {ada.bare}" in question["body"]
    bob.send(scene.jid, "hello")
    assert await said(bob) == "hello"
    bob.send(str(question["from"]), "4712")
    scene.eve.send(str(question["from"]), "4711")

    assert await said(ada) == "4711"


async def test_a_turn_that_waits_for_an_expert_can_be_stopped(network: Network) -> None:
    scene = await scene_of(network, by_tool_agent=False, limits=TurnLimits())
    ada = await network.person("ada")
    ada.send(scene.jid, "What is the code?")
    question = await next_message(scene.eve)

    ada.send(scene.jid, "/stop")
    stopped = await said(ada)
    ada.send(scene.jid, "hello")
    after = await said(ada)
    scene.eve.send(str(question["from"]), "4711")
    await scene.eve.ping()
    ada.send(scene.jid, "still there")

    assert stopped == "Stopped."
    assert (after, await said(ada)) == ("hello", "still there")


async def test_two_questions_to_one_expert_do_not_cross(network: Network) -> None:
    scene = await scene_of(network, by_tool_agent=False, limits=TurnLimits())
    ada, bob = await network.person("ada"), await network.person("bob")
    ada.send(scene.jid, "Which way, says ada?")
    await next_message(scene.eve)
    bob.send(scene.jid, "Which way, says bob?")
    second = await next_message(scene.eve)

    scene.eve.send(scene.jid, "left")
    which = await said(scene.eve)
    scene.eve.send(scene.jid, "1")
    assert await said(ada) == "left"
    scene.eve.send_raw(
        f"<message type='chat' to='{scene.jid}' id='r'><body>right</body>"
        f"<thread>{second['thread']}</thread></message>"
    )

    assert await said(bob) == "right"
    assert "1: Which way, says ada?" in which


@pytest.mark.parametrize(
    "server", [pytest.param("prosody", marks=pytest.mark.server)], indirect=True
)
async def test_an_offline_expert_gets_the_question_on_return(
    network: Network,
) -> None:
    scene = await scene_of(network, by_tool_agent=False, limits=TurnLimits())
    ada = await network.person("ada")
    await scene.eve.close()
    ada.send(scene.jid, "What is the code?")
    await ada.ping()

    from tests.xmpp.client import Client

    eve = Client(scene.eve.bare, network.passwords[scene.eve.bare])
    network.stack.push_async_callback(eve.close)
    await eve.log_in(network.server.endpoint)
    assert "> What is the code?" in await said(eve)
    eve.send(scene.jid, "4711")

    assert await said(ada) == "4711"
