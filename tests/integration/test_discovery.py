"""Agents are found by what they say of themselves, and their tools are used as they come and go."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from spade_llm.agents import ChatAgent, LLMAgent, Services, ToolAgent
from spade_llm.core.errors import PeerUnavailable
from spade_llm.providers.model import Completion
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.tools import LocalToolbox, builtin_tools, tool
from spade_llm.tools.toolbox import NO_CONTEXT, CallContext, ToolGroup, ToolResult
from tests.integration.network import WAIT_S, answer_to, jid_of
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools import Toolbox
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.features.peer_features import PeerPresence
    from tests.integration.network import Network

INFO = "http://jabber.org/protocol/disco#info"


@tool
def dice() -> int:
    """Roll a die."""
    return 4


def offered(_messages: object, tools: Sequence[ToolSpec]) -> Completion:
    return Completion(text=" ".join(tool.name for tool in tools) or "none")


async def assistant_with(network: Network, services: Services) -> LLMAgent:
    return await network.assistant(ScriptedProvider([offered] * 20), services=services)


class Watched:
    """What an agent has seen of others."""

    def __init__(self, agent: XmppAgent) -> None:
        self._seen: asyncio.Queue[PeerPresence] = asyncio.Queue()
        agent.on_peer_presence.append(self._seen.put_nowait)

    async def next(self, jid: str, *, is_available: bool = True) -> PeerPresence:
        async with asyncio.timeout(WAIT_S):
            while True:
                seen = await self._seen.get()
                if seen.jid.startswith(jid) and seen.is_available is is_available:
                    return seen


async def curious_client(network: Network) -> Client:
    """One that reads what others say of themselves, as people's clients do."""
    jid = await network.account("ada")
    client = Client(jid, network.passwords[jid])
    client.xmpp.register_plugin("xep_0115")
    network.stack.push_async_callback(client.close)
    await client.log_in(network.server.endpoint)
    await client.xmpp.get_roster()
    return client


async def disco(client: Client, jid: str, **more: Any) -> Any:
    return (await client.xmpp["xep_0030"].get_info(jid=jid, timeout=WAIT_S, **more))["disco_info"]


async def test_any_client_sees_a_bot_and_what_it_serves(network: Network) -> None:
    tools = await network.tools()
    ada = await curious_client(network)

    said = await disco(ada, tools.address)

    assert ("client", "bot", None, str(tools.jid.local)) in said["identities"]
    assert {"urn:spade-llm:tools:1", "urn:spade-llm:agent:1", INFO} <= said["features"]


async def test_a_presence_carries_a_hash_that_other_clients_verify(network: Network) -> None:
    tools = await network.tools()
    ada = await curious_client(network)

    ada.xmpp.send_presence_subscription(pto=jid_of(tools))
    presence = await ada.presence("available", tools.address)

    ver = presence["caps"]["ver"]
    assert ver
    said = await disco(ada, tools.address, node=f"{presence['caps']['node']}#{ver}")
    assert ada.xmpp["xep_0115"].generate_verstring(said, "sha-1") == ver


async def test_a_node_that_is_not_there_is_not_found(network: Network) -> None:
    from slixmpp.exceptions import IqError

    tools = await network.tools()
    ada = await curious_client(network)

    with pytest.raises(IqError) as refused:
        await disco(ada, tools.address, node="urn:something:else")

    assert refused.value.condition == "item-not-found"


async def test_discovery_finds_agents_and_reports_missing_ones(network: Network) -> None:
    tools, program = await network.tools(), await network.program()

    said = await program.discover(tools.address)

    assert said.facts["kind"] == "tools"
    with pytest.raises(PeerUnavailable):
        await program.discover(f"{jid_of(tools)}/nobody", timeout_s=WAIT_S)


async def test_discovery_shows_agents_and_not_people(network: Network) -> None:
    tools, person = await network.tools(), await network.person()
    person.xmpp.add_event_handler(
        "presence_subscribe",
        lambda asked: person.xmpp.send_presence(pto=asked["from"].bare, ptype="subscribed"),
    )
    jid = await network.account("you")
    options = replace(network.options(jid), is_available=False)
    you = await network.start(ChatAgent(jid, network.passwords[jid], options=options))
    seen: set[str] = set()
    you.on_peer_presence.append(lambda one: seen.add(one.jid.partition("/")[0]))

    both = {jid_of(tools), person.bare}
    for contact in both:
        you.subscribe_presence(contact)
    async with asyncio.timeout(WAIT_S):
        while not both <= seen:
            await you.find_online_agents(0.2)

    assert await you.find_online_agents(0.5) == {jid_of(tools)}


async def test_a_restarted_tool_agent_s_new_tool_is_offered_in_the_next_turn(
    network: Network,
) -> None:
    tools = await network.tools()
    assistant = await assistant_with(network, Services(tools=(jid_of(tools),)))
    ada = await network.person()
    assert "dice" not in await answer_to(ada, assistant, "one")
    watched = Watched(assistant)

    await tools.stop()
    await watched.next(jid_of(tools), is_available=False)
    await network.tools(jid_of(tools), tools=[*builtin_tools(), dice])
    await watched.next(jid_of(tools))

    assert "dice" in await answer_to(ada, assistant, "two")


async def test_agents_that_went_offline_are_not_awaited(network: Network) -> None:
    tools = await network.tools()
    assistant = await assistant_with(network, Services(tools=(jid_of(tools),)))
    ada = await network.person()
    watched = Watched(assistant)
    await answer_to(ada, assistant, "one")

    await tools.stop()
    await watched.next(jid_of(tools), is_available=False)

    async with asyncio.timeout(1.0):
        answer = await answer_to(ada, assistant, "two")
    assert answer.startswith("none\n\n(Answered without tools")


class Changing:
    """Tools of somebody who may have others at any time, as an MCP server may."""

    def __init__(self) -> None:
        self.now: Toolbox = LocalToolbox(builtin_tools())

    async def list(self) -> Sequence[ToolSpec]:
        return await self.now.list()

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        return await self.now.call(name, arguments, context=context)


async def test_a_tool_that_comes_while_the_agent_runs_is_offered_within_seconds(
    network: Network,
) -> None:
    changing, jid = Changing(), await network.account("tools")
    group = ToolGroup(name="changing", toolbox=changing)
    options = network.options(jid)
    tools = ToolAgent(jid, network.passwords[jid], tools=(), groups=[group], options=options)
    await network.start(tools)
    assistant = await assistant_with(network, Services(tools=(jid,)))
    ada = await network.person()
    assert "dice" not in await answer_to(ada, assistant, "one")
    watched = Watched(assistant)

    changing.now = LocalToolbox([dice])
    await watched.next(jid)

    assert "dice" in await answer_to(ada, assistant, "two")


@pytest.mark.parametrize("by", ["jid", "domain", "nothing"])
async def test_only_allowed_agents_are_discovered(network: Network, by: str) -> None:
    jid = await network.account("tools")
    listed = {"jid": (jid,), "domain": (network.server.endpoint.domain,), "nothing": ()}[by]
    assistant = await assistant_with(network, Services(discover=listed))
    ada = await network.person()
    watched = Watched(assistant)
    options = replace(network.options(jid), announce_to=(jid_of(assistant),))

    await network.start(ToolAgent(jid, network.passwords[jid], tools=[dice], options=options))
    await watched.next(jid)
    await assistant.submit(_nothing())
    async with asyncio.timeout(WAIT_S):
        answer = await answer_to(ada, assistant, "what have you got?")
        while by != "nothing" and "dice" not in answer:
            answer = await answer_to(ada, assistant, "what have you got?")

    assert ("dice" in answer) is (by != "nothing")


async def test_agents_that_left_during_a_disconnect_are_not_used(network: Network) -> None:
    jid = await network.account("tools")
    assistant = await assistant_with(network, Services(discover=(jid,)))
    ada = await network.person()
    options = replace(network.options(jid), announce_to=(jid_of(assistant),))
    tools = ToolAgent(jid, network.passwords[jid], tools=[dice], options=options)
    await network.start(tools)
    async with asyncio.timeout(WAIT_S):
        while "dice" not in await answer_to(ada, assistant, "what have you got?"):
            continue

    assistant.client.abort()
    await tools.stop()

    async with asyncio.timeout(WAIT_S):
        while "dice" in await answer_to(ada, assistant, "and now?"):
            continue


async def _nothing() -> None:
    """Lets what was begun before go on."""
