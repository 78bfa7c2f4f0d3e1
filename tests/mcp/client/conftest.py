"""Toolboxes on real servers: child processes over stdio, real HTTP servers beside us."""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from spade_llm.mcp.client import HttpEndpoint, McpServerSettings, McpToolbox, Pins, StdioEndpoint
from spade_llm.mcp.server_configs import ServerTimeouts

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Awaitable, Callable


SERVERS = Path(__file__).parent.parent / "mcp_servers"
START_S = 20.0
"""A server of the SDK takes a second to import, more on a busy machine."""
QUICK = ServerTimeouts(
    connect_timeout_s=START_S, start_wait_s=START_S, min_backoff_s=0.05, max_backoff_s=0.2
)

Transport = Literal["stdio", "http", "sse"]


@dataclass(slots=True, kw_only=True)
class Servers:
    """Starts servers and toolboxes; all end with the test."""

    directory: Path
    stack: AsyncExitStack

    @property
    def pins(self) -> Pins:
        return Pins(self.directory / "mcp.db")

    async def toolbox(
        self,
        program: str,
        *arguments: str,
        transport: Transport = "stdio",
        patience: ServerTimeouts = QUICK,
        tools: frozenset[str] | None = None,
        timeout_s: float = START_S,
        env: dict[str, str] | None = None,
    ) -> McpToolbox:
        where: StdioEndpoint | HttpEndpoint = StdioEndpoint(
            command=command(program, *arguments), env=env or {}
        )
        if transport != "stdio":
            url = await self.http_server(program, transport)
            where = HttpEndpoint(url=url, transport=transport)
        server = McpServerSettings(name="srv", endpoint=where, tools=tools, timeout_s=timeout_s)
        return await self.stack.enter_async_context(
            McpToolbox(server, self.pins, timeouts=patience)
        )

    async def http_server(self, program: str, transport: Transport) -> str:
        port = free_port()
        await self.start_http(program, transport, port)
        return f"http://127.0.0.1:{port}/{'mcp' if transport == 'http' else 'sse'}"

    async def start_http(self, program: str, transport: Transport, port: int) -> Process:
        process = await asyncio.create_subprocess_exec(*command(program, transport, str(port)))
        self.stack.push_async_callback(kill, process)
        await eventually(lambda: _is_open(port), timeout_s=START_S)
        return process


def command(program: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(SERVERS / f"{program}.py"), *arguments)


async def kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


async def _is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def eventually(ask: Callable[[], Awaitable[bool]], *, timeout_s: float = 5.0) -> None:
    """For what another process does: asked again and again."""
    async with asyncio.timeout(timeout_s):
        while not await ask():  # noqa: ASYNC110 - no event reaches us from there
            await asyncio.sleep(0.01)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield Servers(directory=tmp_path, stack=stack)
