"""Runs whole programs, each in a process of its own, on a Prosody and a model of the test's."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.program import ROOT
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AsyncExitStack

    from spade_llm.xmpp.servers.managed_server import Endpoint, ManagedServer
    from tests.openai_server import OpenAIServer

GUIDES = Path(__file__).parent / "guides"
WAIT_S = 60.0
"""For one line of a program: eight of them may be starting at once."""
TAIL = 3000


@dataclass(slots=True, kw_only=True)
class Running:
    """A program that was started; what it prints is read line by line."""

    process: Process
    log: Path
    lines: list[str] = field(default_factory=list)

    async def line_with(self, text: str) -> str:
        """The next line that has this text."""
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT_S):
            while raw := await self.process.stdout.readline():
                self.lines.append(raw.decode().rstrip("\n"))
                if text in self.lines[-1]:
                    return self.lines[-1]
        log = self.log.read_text(encoding="utf-8")[-TAIL:]
        raise AssertionError(f"no line with {text!r} in {self.lines}; its log: {log}")

    async def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()

    async def kill(self) -> None:
        """kill −9. Ctrl-C is no end for tests: where it strikes in uvloop, it may be lost."""
        self.process.kill()
        await self.process.wait()

    async def ended(self) -> int:
        async with asyncio.timeout(WAIT_S):
            return await self.process.wait()


@dataclass(slots=True, kw_only=True)
class Stage:
    server: ManagedServer
    endpoint: Endpoint
    model: OpenAIServer
    directory: Path
    stack: AsyncExitStack

    async def run(
        self, program: str, *arguments: str, ready: str = "ready", **environment: str
    ) -> Running:
        """Return once it says that it is ready. It is told where the server is, and no more."""
        log = self.directory / f"{program.replace('/', '-')}-{len(arguments)}.log"
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, str(GUIDES / program), *arguments),
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                cwd=self.directory,
                env={**os.environ, **self._environment(), **environment},
            )
        self.stack.push_async_callback(_kill, process)
        running = Running(process=process, log=log)
        await running.line_with(ready)
        return running

    async def account(self, name: str) -> str:
        """With the password that the guides' programs have for it."""
        jid = f"{name}@localhost"
        await self.server.create_account(jid, f"{name}-password")
        return jid

    async def accounts(self, *names: str) -> None:
        await asyncio.gather(*(self.account(name) for name in names))

    async def person(self, name: str) -> Client:
        client = Client(await self.account(name), f"{name}-password")
        self.stack.push_async_callback(client.close)
        await client.log_in(self.endpoint)
        return client

    def _environment(self) -> Mapping[str, str]:
        return {
            "PYTHONPATH": str(ROOT),
            "SPADE_LLM_SERVER": f"{self.endpoint.host}:{self.endpoint.port}",
            "SPADE_LLM_CA": str(self.endpoint.ca_path),
            "MODEL_URL": self.model.base_url,
            "XMPP_PORT": str(self.endpoint.port),
        }


async def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
