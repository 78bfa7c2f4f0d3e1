"""`spade-llm mcp` in a process of its own, and the official client at its other end."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import CallToolResult, TextContent

from tests.cli.program import ROOT

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from spade_llm.xmpp.servers.managed_server import Endpoint
    from tests.memory.tools.calling import Answer, Tools

PASSWORD = "correct horse"
TOKEN = "a-token-that-nobody-guesses"
READY_S = 30.0
END_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a process is started: its data directory, its server, who logs in."""

    folder: Path
    endpoint: Endpoint
    person: str
    options: tuple[str, ...] = ()

    def command(self, *more: str) -> list[str]:
        """What comes behind the interpreter."""
        at = self.endpoint
        place = ("--server", f"{at.host}:{at.port}", "--domain", at.domain, "--ca", str(at.ca_path))
        return [
            *("-m", "spade_llm.cli", "mcp", "--data", str(self.folder), "--as", self.person),
            *(*place, *self.options, *more),
        ]

    def has_account(self) -> Start:
        path = self.folder / "accounts" / self.person
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PASSWORD, encoding="utf-8")
        return self

    @asynccontextmanager
    async def process(self, *more: str, stdin: int = PIPE) -> AsyncIterator[Process]:
        """Without a client."""
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, *self.command(*more)),
            stdin=stdin,
            stdout=PIPE,
            stderr=PIPE,
            limit=32 * 1024 * 1024,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SPADE_LLM_TEST_TOKEN": TOKEN},
        )
        try:
            yield running
        finally:
            if running.returncode is None:
                running.kill()
            await running.communicate()

    @asynccontextmanager
    async def over_stdio(self, mode: str = "auto") -> AsyncIterator[Client]:
        """The client starts the process, as an editor does; it ends with the session."""
        server = StdioServerParameters(
            command=sys.executable, args=self.command(), env={"PYTHONPATH": str(ROOT)}
        )
        assert sys.__stderr__ is not None
        async with Client(stdio_client(server, errlog=sys.__stderr__), mode=mode) as client:
            yield client

    @asynccontextmanager
    async def over_http(self, mode: str = "auto") -> AsyncIterator[Client]:
        async with self.at_a_url() as url, connected(url, mode=mode) as client:
            yield client

    @asynccontextmanager
    async def at_a_url(self) -> AsyncIterator[str]:
        async with self.serving_http() as (_, url):
            yield url

    @asynccontextmanager
    async def serving_http(self) -> AsyncIterator[tuple[Process, str]]:
        """With TOKEN."""
        token = ("--token-env", "SPADE_LLM_TEST_TOKEN")
        http = ("--http", f"127.0.0.1:{free_port()}", *token)
        async with self.process(*http, stdin=DEVNULL) as running:
            yield running, await ready(running)


@asynccontextmanager
async def connected(url: str, *, mode: str = "auto", token: str = TOKEN) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        create_mcp_http_client(headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def ready(running: Process) -> str:
    """The URL of its ready line."""
    assert running.stdout is not None
    async with asyncio.timeout(READY_S):
        line = (await running.stdout.readline()).decode()
    assert line.startswith("ready"), line
    return line.split()[1]


class Session:
    """A client that outlives one test: it is opened and closed in a task of its own, as its cancel
    scopes must end where they began."""

    def __init__(self, opening: AbstractAsyncContextManager[Client]) -> None:
        self._opening = opening
        self._is_settled = asyncio.Event()
        self._is_over = asyncio.Event()
        self._client: Client | None = None
        self._task = asyncio.create_task(self._hold())

    async def client(self) -> Client:
        """Raises what the opening raised."""
        await self._is_settled.wait()
        if self._client is None:
            await self._task
        assert self._client is not None
        return self._client

    async def close(self) -> None:
        self._is_over.set()
        await self._task

    async def _hold(self) -> None:
        try:
            async with self._opening as self._client:
                self._is_settled.set()
                await self._is_over.wait()
        finally:
            self._is_settled.set()


def calling(client: Client) -> Tools:
    """A tool's name and arguments; its answer, which is the same as text and as structure."""

    async def call(name: str, /, **arguments: object) -> Answer:
        result = await client.call_tool(name, arguments)
        answer: Answer = json.loads(text_of(result))
        assert result.structured_content == answer
        assert result.is_error == ("error" in answer)
        return answer

    return call


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])
