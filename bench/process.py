"""One process of a benchmark: `python -m bench.process KIND`, its Part as one line on stdin.

Says `ready SECONDS` once it answers, and ends when stdin does. A kind imports what it needs itself,
as a program does that runs one agent.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.account import KEEPER, MEMORY, RAG, TOOLS, Part
from spade_llm.core.concurrency import freeze_gc, gc_paused, run_event_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from spade_llm.xmpp.agent import XmppAgent

MODEL = "bench"
UNLIMITED = 10_000


@asynccontextmanager
async def raw_echo(part: Part) -> AsyncIterator[None]:
    from bench.raw import RawClient

    async def echo(message: Any) -> None:
        client.send(str(message["from"]), message["body"], id=message["id"])

    async with RawClient(part.account) as client:
        client.on_text = echo
        yield


@asynccontextmanager
async def raw_bot(part: Part) -> AsyncIterator[None]:
    """The least that answers a chat message with a model: slixmpp and the openai SDK."""
    from openai import AsyncOpenAI

    from bench.raw import RawClient

    places = asyncio.Semaphore(part.most_calls or UNLIMITED)

    async def answer(message: Any) -> None:
        async with places:
            completion = await model.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": message["body"]}]
            )
        text = completion.choices[0].message.content or ""
        client.send(str(message["from"]), text, id=f"{message['id']}.answer")

    model = AsyncOpenAI(base_url=part.model_url, api_key="none")
    async with model, RawClient(part.account) as client:
        client.on_text = answer
        yield


@asynccontextmanager
async def running(agent: XmppAgent) -> AsyncIterator[None]:
    await agent.start()
    try:
        yield
    finally:
        await agent.stop()


@asynccontextmanager
async def echo(part: Part) -> AsyncIterator[None]:
    from bench.echo import EchoAgent

    account = part.account
    async with running(EchoAgent(account.jid, account.password, options=account.options)):
        yield


@asynccontextmanager
async def memory(part: Part) -> AsyncIterator[None]:
    from bench.embedder import local_embedder
    from spade_llm.agents import MemoryAgent

    account = part.account
    async with local_embedder(part.account.data) as embedder:
        agent = MemoryAgent(
            account.jid, account.password, embedder=embedder, options=account.options
        )
        async with running(agent):
            yield


@asynccontextmanager
async def tools(part: Part) -> AsyncIterator[None]:
    from spade_llm.agents import ToolAgent

    account = part.account
    async with running(ToolAgent(account.jid, account.password, options=part.options)):
        yield


@asynccontextmanager
async def mcp_tools(part: Part) -> AsyncIterator[None]:
    from bench.mcp import SERVER
    from spade_llm.agents.tools import ToolAgent
    from spade_llm.mcp.client import McpServerSettings, McpToolbox, Pins, StdioEndpoint
    from spade_llm.tools.toolbox import ToolGroup

    account = part.account
    server = McpServerSettings(name="mcp", endpoint=StdioEndpoint(command=SERVER))
    box = McpToolbox(server, Pins(account.data / "mcp.db"))
    group = ToolGroup(name="mcp", toolbox=box, resource=box, state=box.state)
    agent = ToolAgent(account.jid, account.password, groups=[group], options=account.options)
    async with running(agent):
        yield


@asynccontextmanager
async def sample_tools(part: Part) -> AsyncIterator[None]:
    from bench.sample_tools import nothing, pause, rest
    from spade_llm.agents import ToolAgent
    from spade_llm.tools import builtin_tools

    account, tools = part.account, [*builtin_tools(), nothing, pause, rest]
    agent = ToolAgent(account.jid, account.password, tools=tools, options=account.options)
    async with running(agent):
        yield


@asynccontextmanager
async def rag(part: Part) -> AsyncIterator[None]:
    from bench.embedder import local_embedder
    from spade_llm.agents import RAGAgent

    account = part.account
    root = account.data / "documents"
    root.mkdir(exist_ok=True)
    async with local_embedder(part.account.data) as embedder:
        agent = RAGAgent(
            account.jid,
            account.password,
            embedder=embedder,
            roots=[root],
            options=account.options,
        )
        async with running(agent):
            yield


@asynccontextmanager
async def assistant(part: Part) -> AsyncIterator[None]:
    from bench.replica_timeline import note_requests
    from spade_llm.agents import LLMAgent, Services
    from spade_llm.context import WindowSizeContext
    from spade_llm.providers import LLMProvider
    from spade_llm.providers.retry import ModelLimits

    account = part.account
    if part.is_traced:
        note_requests(account.data)
    services = Services(memory=MEMORY, rag=RAG, tools=(TOOLS,))
    limits = ModelLimits(max_concurrency=part.most_calls) if part.most_calls else None
    model = LLMProvider.create_vllm(MODEL, base_url=part.model_url, limits=limits)
    async with model as provider:
        # No embedder: `[context] vectors` is off by default.
        agent = LLMAgent(
            account.jid,
            account.password,
            provider,
            WindowSizeContext(max_messages=20),
            services=services if part.has_services else None,
            options=part.options,
        )
        async with running(agent):
            yield


@asynccontextmanager
async def rules(part: Part) -> AsyncIterator[None]:
    """An assistant without a model, with a memory of its own."""
    from spade_llm.agents import LLMAgent, Services
    from spade_llm.providers import OfflineProvider

    account = part.account
    agent = LLMAgent(
        account.jid,
        account.password,
        OfflineProvider(),
        services=Services(memory=KEEPER),
        options=account.options,
    )
    async with running(agent):
        yield


@asynccontextmanager
async def limited(part: Part) -> AsyncIterator[None]:
    """An assistant with the limits of an agent.toml that says nothing of them."""
    from spade_llm.agents import LLMAgent
    from spade_llm.cli.factory.agent_options import build_admission
    from spade_llm.context import WindowSizeContext
    from spade_llm.core.settings import AdmissionTable
    from spade_llm.providers import LLMProvider

    account = part.account
    options = replace(account.options, admission=build_admission(AdmissionTable()))
    async with (
        LLMProvider.create_vllm(MODEL, base_url=part.model_url) as provider,
        running(
            LLMAgent(
                account.jid,
                account.password,
                provider,
                WindowSizeContext(max_messages=20),
                options=options,
            )
        ),
    ):
        yield


@asynccontextmanager
async def guarded(part: Part) -> AsyncIterator[None]:
    """An assistant with all that stands around a turn."""
    from bench.embedder import local_embedder
    from bench.guards import CONDUCT
    from spade_llm.agents import LLMAgent, Services
    from spade_llm.context import AdaptiveSmartContext
    from spade_llm.providers import LLMProvider

    account = part.account
    services = Services(memory=MEMORY, rag=RAG, tools=(TOOLS,))
    model = LLMProvider.create_vllm(MODEL, base_url=part.model_url)
    async with model as provider, local_embedder(part.account.data) as embedder:
        agent = LLMAgent(
            account.jid,
            account.password,
            provider,
            AdaptiveSmartContext(embedder=embedder),
            services=services if part.has_services else None,
            config=CONDUCT,
            options=account.options,
        )
        async with running(agent):
            yield


@asynccontextmanager
async def gateway(part: Part) -> AsyncIterator[None]:
    from spade_llm.agents.gateway import GatewayAgent
    from spade_llm.gateway.agent_clients import AgentAddresses
    from spade_llm.gateway.options import HttpOptions

    account = part.account
    agent = GatewayAgent(
        account.jid,
        account.password,
        addresses=AgentAddresses(
            assistants=(part.assistant,), memory=MEMORY, rag=RAG, tools=(TOOLS,)
        ),
        http=HttpOptions(port=part.http_port, local_principal=part.person, requests_per_minute=0),
        options=account.options,
    )
    async with running(agent):
        yield


@asynccontextmanager
async def raw_http(part: Part) -> AsyncIterator[None]:
    from bench.raw_http import serving

    async with serving(part):
        yield


KINDS: dict[str, Callable[[Part], AbstractAsyncContextManager[None]]] = {
    "raw-echo": raw_echo,
    "raw-bot": raw_bot,
    "echo": echo,
    "memory": memory,
    "tools": tools,
    "sample-tools": sample_tools,
    "mcp-tools": mcp_tools,
    "rag": rag,
    "assistant": assistant,
    "rules": rules,
    "limited": limited,
    "guarded": guarded,
    "gateway": gateway,
    "raw-http": raw_http,
}


async def main(kind: str) -> None:
    part = Part.model_validate_json(sys.stdin.readline())
    began = time.perf_counter()
    async with KINDS[kind](part):
        freeze_gc()
        print(f"ready {time.perf_counter() - began}", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    with gc_paused():
        run_event_loop(main(sys.argv[1]))
