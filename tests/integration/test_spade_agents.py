"""Plain SPADE agents, and users' own behaviours inside our agents, on the real wire."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import TYPE_CHECKING, Any

from spade.agent import Agent
from spade.behaviour import CyclicBehaviour, OneShotBehaviour
from spade.container import Container
from spade.message import Message
from spade.template import Template

from spade_llm.xmpp.spade_adapters import preserved_event_loop_policy
from tests.integration.network import WAIT_S, answer_to, jid_of

if TYPE_CHECKING:
    from spade_llm.agents import XmppAgent
from tests.integration.network import Network

FIPA = {"performative": "request", "ontology": "spade-llm.memory/1", "language": "json"}


class PlainAgent(Agent):
    """SPADE as it comes, but for the CA of the test's server."""

    ca_path: str

    async def _async_connect(self) -> None:
        self.client.ssl_context = ssl.create_default_context(cafile=self.ca_path)
        await super()._async_connect()


class Say(OneShotBehaviour):
    """Sends one message and keeps the answers that its template lets through."""

    def __init__(self, message: Message) -> None:
        super().__init__()
        self.message = message
        self.answers: asyncio.Queue[Any] = asyncio.Queue()

    async def run(self) -> None:
        await self.send(self.message)
        self.answers.put_nowait(await self.receive(timeout=WAIT_S))


class Hear(CyclicBehaviour):
    def __init__(self) -> None:
        super().__init__()
        self.heard: asyncio.Queue[Any] = asyncio.Queue()

    async def run(self) -> None:
        if message := await self.receive(timeout=WAIT_S):
            self.heard.put_nowait(message)


async def plain_agent(network: Network) -> PlainAgent:
    jid = await network.account("plain")
    endpoint = network.server.endpoint
    with preserved_event_loop_policy():
        Container().reset()
        agent = PlainAgent(jid, network.passwords[jid], port=endpoint.port)
    agent.ca_path = str(endpoint.ca_path)
    await agent.start(auto_register=False)
    network.stack.push_async_callback(agent.stop)
    return agent


async def said(agent: Agent, message: Message, template: Template | None = None) -> Any:
    behaviour = Say(message)
    agent.add_behaviour(behaviour, template)
    return await asyncio.wait_for(behaviour.answers.get(), WAIT_S)


async def test_a_plain_agent_with_a_template_uses_our_memory(network: Network) -> None:
    memory = await network.memory()
    plain = await plain_agent(network)
    body = json.dumps({"op": "add", "draft": {"content": "Tea at five", "category": "fact"}})
    request = Message(to=jid_of(memory), body=body, thread="tea", metadata=FIPA)

    answer = await said(plain, request, Template(metadata={"performative": "inform"}))

    assert answer.thread == "tea"
    assert answer.get_metadata("ontology") == "spade-llm.memory/1"
    assert json.loads(answer.body)["entry"]["content"] == "Tea at five"


async def test_a_plain_agent_is_told_why_its_request_is_refused(network: Network) -> None:
    memory = await network.memory()
    plain = await plain_agent(network)
    request = Message(to=jid_of(memory), body='{"op": "dance"}', metadata=FIPA)

    answer = await said(plain, request, Template(metadata={"performative": "not-understood"}))

    assert json.loads(answer.body)["code"] == "malformed"
    assert "dance" in json.loads(answer.body)["detail"]


async def test_a_users_behaviour_gets_what_its_template_asks_for(network: Network) -> None:
    assistant = await network.assistant()
    weather = Hear()
    assistant.add_behaviour(weather, Template(metadata={"ontology": "weather"}))
    plain = await plain_agent(network)

    metadata = {"performative": "inform", "ontology": "weather"}
    message = Message(to=jid_of(assistant), body="rain", thread="t1", metadata=metadata)
    plain.add_behaviour(Say(message))
    heard = await asyncio.wait_for(weather.heard.get(), WAIT_S)

    assert (heard.body, heard.thread) == ("rain", "t1")
    assert heard.get_metadata("ontology") == "weather"


async def test_a_message_inside_one_process_has_the_sender_that_the_server_stamps(
    network: Network,
) -> None:
    assistant = await network.assistant()
    weather = Hear()
    assistant.add_behaviour(weather, Template(metadata={"ontology": "weather"}))
    plain = await plain_agent(network)
    message = Message(
        to=jid_of(assistant),
        sender="queen@localhost",
        body="rain",
        metadata={"ontology": "weather"},
    )

    plain.add_behaviour(Say(message))
    heard = await asyncio.wait_for(weather.heard.get(), WAIT_S)

    assert str(heard.sender) == str(plain.client.boundjid)
    assert heard.sender.resource


async def test_a_behaviour_of_our_agent_sends_by_the_wire(network: Network) -> None:
    sender, receiver = await network.program("one"), await network.program("other")
    weather = Hear()
    receiver.add_behaviour(weather, Template(metadata={"ontology": "weather"}))

    message = Message(to=jid_of(receiver), body="rain", metadata={"ontology": "weather"})
    sender.add_behaviour(Say(message))
    heard = await asyncio.wait_for(weather.heard.get(), WAIT_S)

    assert str(heard.sender) == sender.address


async def test_a_behaviour_without_template_leaves_people_to_the_assistant(
    network: Network,
) -> None:
    assistant = await network.assistant()
    everything = Hear()
    assistant.add_behaviour(everything)
    ada = await network.person()

    assert await answer_to(ada, assistant, "hello") == "hello"
    assert everything.heard.empty()


async def test_an_agent_without_chat_hears_people_in_its_own_behaviour(network: Network) -> None:
    agent = await network.program()
    everything = Hear()
    agent.add_behaviour(everything)
    ada = await network.person()

    ada.send(jid_of(agent), "hello")
    heard = await asyncio.wait_for(everything.heard.get(), WAIT_S)

    assert heard.body == "hello"
    assert str(heard.sender) == ada.jid


async def is_chatting(agent: XmppAgent, network: Network) -> bool:
    return await answer_to(await network.person(), agent, "hi") == "hi"


async def test_a_users_behaviour_that_raises_leaves_the_agent_answering(network: Network) -> None:
    class Broken(CyclicBehaviour):
        async def run(self) -> None:
            raise RuntimeError("a user's mistake")

    assistant = await network.assistant()
    assistant.add_behaviour(Broken(), Template(metadata={"ontology": "weather"}))

    assert await is_chatting(assistant, network)
