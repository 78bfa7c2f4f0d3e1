"""A gateway with its agents on a real server, and clients of it over its real port.

async def test_…(web: Web) -> None:
    answer = await web.http.get("/config/status")       # as the local principal, an admin
    other = web.client(await web.token("ada"))                # as ada@…, by a token
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import httpx

from spade_llm.agents import GatewayAgent, Services
from spade_llm.gateway.agent_clients import AgentAddresses
from spade_llm.gateway.options import HttpOptions
from spade_llm.providers.offline.provider import OfflineProvider
from spade_llm.xmpp.connection.settings import tls_context
from tests.integration.network import Network, jid_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from spade_llm.agents import LLMAgent, MemoryAgent, RAGAgent, ToolAgent
    from spade_llm.providers.model import ChatModel
    from spade_llm.tools import Tool
    from tests.conftest import Provisioner

TIMEOUT_S = 60.0
"""Of a client: two busy cores take their time."""


@dataclass(slots=True, kw_only=True)
class Web:
    network: Network
    agent: GatewayAgent
    assistant: LLMAgent
    memory: MemoryAgent
    rag: RAGAgent
    tools: ToolAgent
    http: httpx.AsyncClient
    """As the local principal."""
    principal: str
    """The local one."""

    async def token(self, name: str, *, is_admin: bool = False) -> str:
        """A new token for `name@` our domain; equal names are equal principals."""
        tokens = self.agent.gateway.tokens
        jid = f"{name}@{self.agent.jid.domain}"
        return await tokens.create(f"{name}-{len(await tokens.all())}", jid, is_admin=is_admin)

    def client(self, token: str = "", headers: dict[str, str] | None = None) -> httpx.AsyncClient:
        """With `token` and `headers` in every request; closed at the end."""
        given = {"Authorization": f"Bearer {token}"} if token else {}
        client = _client(self.agent.url, {**given, **(headers or {})})
        self.network.stack.push_async_callback(client.aclose)
        return client


@asynccontextmanager
async def started(
    server: Provisioner,
    directory: Path,
    *,
    model: ChatModel | None = None,
    tools: Sequence[Tool] | None = None,
    http: HttpOptions | None = None,
    roots: Sequence[Path] = (),
) -> AsyncGenerator[Web]:
    """`model=None`: the offline one. `http`: its port and its local principal are set here."""
    async with AsyncExitStack() as stack:
        network = Network(server=server, directory=directory, stack=stack)
        yield await _started(network, model or OfflineProvider(), tools, http, roots)


async def _started(
    network: Network,
    model: ChatModel,
    tools: Sequence[Tool] | None,
    http: HttpOptions | None,
    roots: Sequence[Path],
) -> Web:
    own, principal = await network.account("gateway"), await network.account("you")
    network.gateways = (own,)
    memory = await network.memory()
    rag, tool_agent = await network.rag(roots=roots), await network.tools(tools=tools)
    services = Services(memory=jid_of(memory), rag=jid_of(rag), tools=(jid_of(tool_agent),))
    assistant = await network.assistant(model, services=services)
    agent = GatewayAgent(
        own,
        network.passwords[own],
        addresses=AgentAddresses(
            assistants=(jid_of(assistant),),
            memory=jid_of(memory),
            rag=jid_of(rag),
            tools=(jid_of(tool_agent),),
        ),
        http=replace(http or HttpOptions(), port=0, local_principal=principal),
        options=network.options(own),
    )
    await network.start(agent)
    client = _client(agent.url, {})
    network.stack.push_async_callback(client.aclose)
    return Web(
        network=network,
        agent=agent,
        assistant=assistant,
        memory=memory,
        rag=rag,
        tools=tool_agent,
        http=client,
        principal=principal,
    )


def _client(url: str, headers: dict[str, str]) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=url, headers=headers, timeout=TIMEOUT_S, trust_env=False, verify=tls_context(None)
    )
