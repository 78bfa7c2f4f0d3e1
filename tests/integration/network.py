"""Agents and people on a real server, all in this process. Knows no test."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from spade_llm.agents import (
    AgentOptions,
    ChatAgent,
    ConnectionSettings,
    LLMAgent,
    MemoryAgent,
    RAGAgent,
    Services,
    ToolAgent,
    XmppAgent,
)
from spade_llm.providers.model import Completion, ToolCall
from spade_llm.providers.scripted import ScriptedProvider
from spade_llm.xmpp.admission_control import AdmissionPolicy
from spade_llm.xmpp.connection.settings import tls_context
from tests.rag.bag_of_words import BagOfWords
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AsyncExitStack
    from pathlib import Path

    from spade_llm.agents import AssistantConfig, TurnLimits
    from spade_llm.providers.model import ChatModel, ContextMessage
    from spade_llm.tools import Tool
    from tests.conftest import Provisioner

A = TypeVar("A", bound=XmppAgent)
WAIT_S = 5.0
PATIENCE_S = 30.0
"""For what may take as long as a reconnection or a deadline."""


@dataclass(slots=True, kw_only=True)
class Network:
    """One test's part of a server: accounts, agents and clients of its own."""

    server: Provisioner
    directory: Path
    stack: AsyncExitStack
    passwords: dict[str, str] = field(default_factory=dict)
    gateways: tuple[str, ...] = ()
    """Whom agents that are started from now on take for a gateway."""

    async def account(self, name: str) -> str:
        jid, self.passwords[jid] = await self.server.account(name)
        return jid

    def connection(self) -> ConnectionSettings:
        endpoint = self.server.endpoint
        return ConnectionSettings(host=endpoint.host, port=endpoint.port, ca_path=endpoint.ca_path)

    def options(self, jid: str, *, allowed: tuple[str, ...] = ()) -> AgentOptions:
        """Equal JIDs share a folder, as an agent does with the one that it was before."""
        data = self.directory / jid.partition("@")[0]
        data.mkdir(exist_ok=True)
        return AgentOptions(
            connection=self.connection(), data=data, allowed=allowed, gateways=self.gateways
        )

    async def start(self, agent: A) -> A:
        await agent.start()
        self.stack.push_async_callback(_stop_if_alive, agent)
        return agent

    async def assistant(
        self,
        model: ChatModel | None = None,
        *,
        services: Services | None = None,
        limits: TurnLimits | None = None,
        config: AssistantConfig | None = None,
        jid: str = "",
        admission: AdmissionPolicy | None = None,
    ) -> LLMAgent:
        jid = jid or await self.account("assistant")
        agent = LLMAgent(
            jid,
            self.passwords[jid],
            model or ScriptedProvider.echo(),
            services=services,
            limits=limits,
            config=config,
            options=replace(self.options(jid), admission=admission or AdmissionPolicy()),
        )
        return await self.start(agent)

    async def memory(self, jid: str = "") -> MemoryAgent:
        jid = jid or await self.account("memory")
        return await self.start(MemoryAgent(jid, self.passwords[jid], options=self.options(jid)))

    async def rag(self, jid: str = "", *, roots: Sequence[Path] = ()) -> RAGAgent:
        jid = jid or await self.account("rag")
        agent = RAGAgent(
            jid,
            self.passwords[jid],
            embedder=BagOfWords(),
            roots=roots,
            options=self.options(jid),
        )
        return await self.start(agent)

    async def tools(self, jid: str = "", *, tools: Sequence[Tool] | None = None) -> ToolAgent:
        jid = jid or await self.account("tools")
        agent = ToolAgent(jid, self.passwords[jid], tools=tools, options=self.options(jid))
        return await self.start(agent)

    async def program(self, name: str = "program") -> ChatAgent:
        jid = await self.account(name)
        return await self.start(
            ChatAgent(jid, self.passwords[jid], options=AgentOptions(connection=self.connection()))
        )

    async def person(self, name: str = "ada") -> Client:
        """A chat client that knows nothing of agents."""
        jid = await self.account(name)
        client = Client(jid, self.passwords[jid])
        self.stack.push_async_callback(client.close)
        await client.log_in(self.server.endpoint)
        return client


async def _stop_if_alive(agent: XmppAgent) -> None:
    if agent.is_alive():
        await agent.stop()


def jid_of(agent: XmppAgent) -> str:
    """The bare JID, which is all that peers know."""
    return str(agent.jid)


async def answer_to(client: Client, agent: XmppAgent, text: str) -> str:
    """Say something as a person does; return the answer's text."""
    client.send(jid_of(agent), text)
    return str((await client.received())["body"])


async def fetched(network: Network, url: str) -> str:
    """What was uploaded there."""
    context = tls_context(network.server.endpoint.ca_path)
    async with httpx.AsyncClient(verify=context, trust_env=False) as client:
        return (await client.get(url)).text


async def export_to(client: Client, agent: XmppAgent, network: Network) -> list[str]:
    """The lines of `/export`: of the file, where the server takes files."""
    said = await answer_to(client, agent, "/export")
    if not said.startswith("https://"):
        return said.splitlines()
    await client.received()
    return (await fetched(network, said)).splitlines()


async def next_message(client: Client, *, timeout_s: float = PATIENCE_S) -> Any:
    return await asyncio.wait_for(client.messages.get(), timeout_s)


async def eventually(ask: Callable[[], Awaitable[bool]], *, timeout_s: float = PATIENCE_S) -> None:
    """Ask again and again, each time over the wire, until it is so."""
    async with asyncio.timeout(timeout_s):
        while not await ask():
            continue


def context_of(messages: Sequence[ContextMessage]) -> str:
    """Everything that a model reads, as one text."""
    return "\n".join(str(message["content"]) for message in messages)


def calling(name: str, arguments: str = "{}") -> Completion:
    """A model's wish to call one tool."""
    return Completion(tool_calls=(ToolCall(id="call-1", name=name, arguments=arguments),))
