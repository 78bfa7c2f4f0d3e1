"""A private server, and agents in processes of their own, for as long as the benchmarks run."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
from asyncio.subprocess import PIPE
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bench.account import DOMAIN, Account, Part
from bench.servers import prosody
from spade_llm.xmpp.servers.prosody import ProsodyServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.servers import Launch, Server
    from spade_llm.xmpp.servers.managed_server import Endpoint

MAX_PEERS = 20
NAMES = (
    *("echo", "asker", "raw-echo", "raw-asker", "raw-bot", "assistant", "alone", "slow", "small"),
    *("guarded", "limited", "gateway", "raw-http", "audience", "audience-full"),
    "replicated",
    *("memory", "rag", "tools", "keeper", "sample-tools", "librarian"),
    *(f"peer{number}" for number in range(MAX_PEERS)),
)
"""Every account of every benchmark: Prosody is told at its start whose rate it is not to limit;
`flooder` is limited as everybody is."""
START_S = 60.0
ANSWER_S = 120.0
MAX_LINE_BYTES = 1024 * 1024
STOP_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    pid: int
    said: str
    """What came after `ready` in its first line."""
    _process: asyncio.subprocess.Process

    async def say(self, line: str) -> str:
        """The line that it answers."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line.encode() + b"\n")
        async with asyncio.timeout(ANSWER_S):
            return (await self._process.stdout.readline()).decode()

    @property
    async def resident_mb(self) -> float:
        ps = await asyncio.create_subprocess_exec(
            "ps", "-o", "rss=", "-p", str(self.pid), stdout=PIPE
        )
        output, _ = await ps.communicate()
        return int(output) / 1024


class Stage:
    def __init__(self, launch: Launch = prosody) -> None:
        self._launch = launch
        self._stack = AsyncExitStack()
        self._folder = Path()
        self._server: Server | None = None
        self._endpoint: Endpoint | None = None
        self._accounts: dict[str, Account] = {}
        self._services: dict[str, Child] = {}

    async def __aenter__(self) -> Self:
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        self._server = self._launch(self._folder, [f"{name}@{DOMAIN}" for name in NAMES])
        self._stack.push_async_callback(self._server.stop)
        self._endpoint = await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def account(self, name: str) -> Account:
        """The account of this name, made when it is first asked for."""
        if name not in self._accounts:
            self._accounts[name] = await self._new_account(name)
        return self._accounts[name]

    async def crowd(self, count: int) -> list[Account]:
        """Accounts by the hundred: on Prosody only, in bulk."""
        if not isinstance(self._server, ProsodyServer):
            raise RuntimeError("only Prosody makes accounts in bulk")
        names = [f"crowd{number}" for number in range(count)]
        passwords = {f"{name}@{DOMAIN}": secrets.token_urlsafe(12) for name in names}
        await self._server.create_accounts(passwords)
        return [self._account(jid, password) for jid, password in passwords.items()]

    async def people(self, count: int) -> list[Account]:
        return [await self.account(f"peer{number}") for number in range(count)]

    @asynccontextmanager
    async def agent(
        self,
        kind: str,
        name: str,
        *,
        model_url: str = "",
        most_calls: int = 0,
        has_services: bool = False,
    ) -> AsyncIterator[Child]:
        """One kind of `bench.process` under this account, until the block ends."""
        part = Part(
            account=await self.account(name),
            model_url=model_url,
            most_calls=most_calls,
            has_services=has_services,
        )
        async with self.process(kind, part) as child:
            yield child

    @asynccontextmanager
    async def process(
        self, kind: str, part: Part, *, checkout: Path | None = None
    ) -> AsyncIterator[Child]:
        """`checkout`: another version of the project, with a .venv."""
        told = part.model_dump_json()
        async with started("bench.process", kind, told=told, checkout=checkout) as child:
            yield child

    @asynccontextmanager
    async def model(self, *, delay_s: float = 0.0) -> AsyncIterator[str]:
        """The base URL of a local model server, which says what was said to it."""
        async with started("tests.openai_server", "--delay", str(delay_s)) as child:
            yield child.said

    @asynccontextmanager
    async def audience_model(self, *, delay_s: float) -> AsyncIterator[Child]:
        """One for a thousand people; it says its base URL."""
        async with started("bench.audience_model", "--delay", str(delay_s)) as child:
            yield child

    @asynccontextmanager
    async def stamping_model(self) -> AsyncIterator[str]:
        """The base URL of a model's server whose first token says when it left."""
        async with started("bench.stamping_model") as child:
            yield child.said

    async def services(self) -> None:
        """Memory, documents and tools, from the first call to the end of the stage."""
        if not self._services:
            for kind in ("memory", "rag", "tools"):
                child = await self._stack.enter_async_context(self.agent(kind, kind))
                self._services[kind] = child

    @property
    def server(self) -> Server:
        """Raises RuntimeError: it does not run."""
        if self._server is None:
            raise RuntimeError("use `async with Stage() as stage:` first")
        return self._server

    @property
    def service_pids(self) -> dict[str, int]:
        """The server's, and those of the services that run."""
        pid = self._server.pid if self._server else None
        pids = {"prosody": pid} if pid else {}
        return pids | {name: child.pid for name, child in self._services.items()}

    async def _new_account(self, name: str) -> Account:
        jid, password = f"{name}@{DOMAIN}", secrets.token_urlsafe(12)
        await self.server.create_account(jid, password)
        return self._account(jid, password)

    def _account(self, jid: str, password: str) -> Account:
        if self._endpoint is None or self._endpoint.ca_path is None:
            raise RuntimeError("use `async with Stage() as stage:` first")
        data = self._folder / jid.partition("@")[0]
        data.mkdir(exist_ok=True)
        return Account(
            jid=jid,
            password=password,
            port=self._endpoint.port,
            ca_path=self._endpoint.ca_path,
            data=data,
        )


@asynccontextmanager
async def started(
    module: str, *arguments: str, told: str = "", checkout: Path | None = None
) -> AsyncIterator[Child]:
    process = await asyncio.create_subprocess_exec(
        sys.executable if checkout is None else checkout / ".venv/bin/python",
        *("-m", module, *arguments),
        cwd=checkout,
        stdin=PIPE,
        stdout=PIPE,
        env=os.environ,
        limit=MAX_LINE_BYTES,
    )
    assert process.stdin is not None and process.stdout is not None
    if told:
        process.stdin.write(told.encode() + b"\n")
    try:
        async with asyncio.timeout(START_S):
            first = (await process.stdout.readline()).decode()
        word, _, said = first.strip().partition(" ")
        if word != "ready":
            raise RuntimeError(f"{module} {' '.join(arguments)} did not start")
        yield Child(pid=process.pid, said=said, _process=process)
    finally:
        await _end(process, ends_with_stdin=bool(told))


async def _end(process: asyncio.subprocess.Process, *, ends_with_stdin: bool) -> None:
    """Politely at first."""
    assert process.stdin is not None
    if ends_with_stdin:
        process.stdin.close()
    else:
        process.terminate()
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
