"""A tool of an MCP server: asked over Prosody, run behind stdio; and by the SDK alone."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent

from bench.process import running
from bench.row import Goal, Row, Scale, check
from bench.timing import Samples
from spade_llm.tools.remote import ToolsClient
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.stage import Stage

SERVER = (sys.executable, "-m", "bench.mcp_server")
PARALLEL = 50
PAUSE_S = 0.2
ROUND_TRIP = Goal(limit=5.0, is_ratio=True)
ALL_AT_ONCE = Goal(limit=0.5)
READY_S = 30.0


async def measure(stage: Stage, scale: Scale) -> list[Row]:
    times = scale.of(1000, quick=100)
    alone = await _sdk_alone(times)
    asker = await stage.account("asker")
    agent = XmppAgent(asker.jid, asker.password, options=asker.options)
    async with stage.agent("mcp-tools", "sample-tools"), running(agent):
        tools = ToolsClient(agent.node.requester, (await stage.account("sample-tools")).jid)
        await _ready(tools)
        return [await _one_by_one(tools, times, alone), await _at_once(tools, scale)]


async def _sdk_alone(times: int) -> float:
    """Without the listing before each call, and without a network: the median in ms."""
    parameters = StdioServerParameters(command=SERVER[0], args=list(SERVER[1:]))
    samples = Samples()
    async with Client(parameters) as client:

        async def call() -> None:
            [block] = (await client.call_tool("echo", {"text": "hello"})).content
            check(isinstance(block, TextContent) and block.text == "hello", "the SDK's own call")

        await samples.add(call, times=times)
    return samples.median


async def _ready(tools: ToolsClient) -> None:
    """The server is started with the agent, which does not wait for it."""
    async with asyncio.timeout(READY_S):
        while "mcp_echo" not in {spec.name for spec in await tools.list()}:
            continue


async def _one_by_one(tools: ToolsClient, times: int, alone: float) -> Row:
    async def call() -> None:
        result = await tools.call("mcp_echo", {"text": "hello"})
        check(result.text == "hello", f"echo answered {result.text!r}")

    await call()
    samples = Samples()
    await samples.add(call, times=times)
    return Row(
        name="MCP tool call, XMPP and stdio",
        unit="ms",
        ours=samples.median,
        baseline=alone,
        baseline_name="the SDK alone, no XMPP",
        goal=ROUND_TRIP,
        spread=samples.spread,
    )


async def _at_once(tools: ToolsClient, scale: Scale) -> Row:
    runs_s = [await _run_s(tools) for _ in range(scale.of(10, quick=2))]
    return Row(
        name=f"{PARALLEL} parallel MCP calls of {PAUSE_S * 1000:.0f} ms",
        unit="s",
        ours=sorted(runs_s)[len(runs_s) // 2],
        baseline=PAUSE_S,
        baseline_name="one call",
        goal=ALL_AT_ONCE,
        note=f"first run {runs_s[0]:.3f}, slowest {max(runs_s):.3f}",
    )


async def _run_s(tools: ToolsClient) -> float:
    began = time.perf_counter()
    calls = (tools.call("mcp_pause", {"seconds": PAUSE_S, "n": n}) for n in range(PARALLEL))
    results = await asyncio.gather(*calls)
    taken_s = time.perf_counter() - began
    _check_order([result.text for result in results])
    return taken_s


def _check_order(texts: Sequence[str]) -> None:
    check(texts == [str(n) for n in range(PARALLEL)], "mixed up")
