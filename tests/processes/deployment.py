"""The agents, each in a process of its own, on a Prosody and a model of the test's."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.agents import AgentOptions, ChatAgent, ConnectionSettings
from spade_llm.xmpp.servers.prosody import ProsodyServer
from tests.cli.program import ROOT
from tests.openai_server import OpenAIServer, running_server
from tests.processes.proxy import Line, line_to
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from spade_llm.xmpp.servers.managed_server import Endpoint

READY_S = 60.0
PASSWORD = "correct horse"
NAMES = ("memory", "rag", "tools", "assistant")
WITH_GATEWAY = (*NAMES, "gateway")
SERVER = """
[server]
host = "127.0.0.1"
port = {port}
ca = "{ca}"
domain = "localhost"
"""
ASSISTANT = """
[provider]
kind = "openai_compatible"
model = "test"
base_url = "{base_url}"

[context]
strategy = "none"

[admission]
messages_per_minute = 0

[services]
memory = "memory"
rag = "rag"
tools = ["tools"]
"""


@dataclass(slots=True, kw_only=True)
class Deployment:
    """Start and kill its parts by name; `line` is what all agents' connections go through."""

    directory: Path
    server: ProsodyServer
    endpoint: Endpoint
    model: OpenAIServer
    line: Line
    stack: AsyncExitStack
    processes: dict[str, Process] = field(default_factory=dict)
    url: str = ""
    """Of its gateway, since that was started last."""

    async def start(self, name: str, *arguments: str, label: str = "") -> None:
        """Return once the agent is logged in and answering. `label`: name of the process, if that
        is not the agent's."""
        label = label or name
        with (self.directory / f"{label}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "spade_llm.cli", "run", str(self._file(name))),
                *("--data", str(self.directory / "data"), "--no-download", *arguments),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        self.processes[label] = process
        await self._ready(label, process)

    async def kill(self, name: str) -> None:
        """kill −9"""
        process = self.processes.pop(name)
        process.kill()
        await process.wait()

    async def end(self, name: str) -> None:
        """Stop it as Ctrl-C does, and return when it has ended."""
        process = self.processes.pop(name)
        process.terminate()
        async with asyncio.timeout(READY_S):
            await process.wait()

    async def kill_server(self) -> None:
        assert self.server.pid is not None
        os.kill(self.server.pid, signal.SIGKILL)
        await self.server.wait_failed()

    async def asked(self, times: int) -> None:
        """Return when the model has been asked so often from now on."""
        wanted = len(self.model.requests) + times
        async with asyncio.timeout(READY_S):
            while len(self.model.requests) < wanted:
                self.model.was_asked.clear()
                await self.model.was_asked.wait()

    async def program(self, name: str) -> ChatAgent:
        """A program in this process, on a direct connection."""
        jid = await self.account(name)
        connection = ConnectionSettings(
            host=self.endpoint.host, port=self.endpoint.port, ca_path=self.endpoint.ca_path
        )
        agent = ChatAgent(jid, PASSWORD, options=AgentOptions(connection=connection))
        await agent.start()
        self.stack.push_async_callback(agent.stop)
        return agent

    async def person(self, name: str) -> Client:
        client = Client(await self.account(name), PASSWORD)
        self.stack.push_async_callback(client.close)
        await client.log_in(self.endpoint)
        return client

    async def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            await process.wait()

    async def make_agents(self, names: Sequence[str] = NAMES) -> None:
        await asyncio.gather(*(self.account(name) for name in names))
        for name in names:
            self._write_file(name)
        await asyncio.gather(*(self.start(name) for name in names))

    async def make_agent(self, name: str, *, more: str, files: Mapping[str, str]) -> None:
        """One with more in its agent.toml, and files beside it."""
        await self.account(name)
        path = self._write_file(name, more)
        for file, text in files.items():
            (path.parent / file).write_text(text, encoding="utf-8")
        await self.start(name)

    async def account(self, name: str) -> str:
        jid = f"{name}@localhost"
        await self.server.create_account(jid, PASSWORD)
        return jid

    def _file(self, name: str) -> Path:
        return self.directory / "agents" / name / "agent.toml"

    def _write_file(self, name: str, more: str = "") -> Path:
        path = self._file(name)
        path.parent.mkdir(parents=True)
        (path.parent / "password").write_text(PASSWORD, encoding="utf-8")
        lines = [f'kind = "{name}"', f'jid = "{name}"', 'password_file = "password"']
        lines += ['embeddings = "none"'] if name in {"memory", "rag"} else []
        lines += ["http.port = 0"] if name == "gateway" else ['gateways = ["gateway"]']
        lines.append(SERVER.format(port=self.line.port, ca=self.endpoint.ca_path))
        if name == "assistant":
            lines.append(ASSISTANT.format(base_url=self.model.base_url))
        path.write_text("\n".join([*lines, more]), encoding="utf-8")
        return path

    async def _ready(self, name: str, process: Process) -> None:
        assert process.stdout is not None
        async with asyncio.timeout(READY_S):
            async for raw in process.stdout:
                if raw.startswith(b"web"):
                    self.url = raw.decode().split()[1].removesuffix("/console")
                if raw.startswith(b"ready"):
                    return
        log = (self.directory / f"{name}.log").read_text(encoding="utf-8")
        raise AssertionError(f"{name} did not start: {log[-2000:]}")


@asynccontextmanager
async def running_deployment(
    directory: Path, *, names: Sequence[str] = NAMES, model: OpenAIServer | None = None
) -> AsyncIterator[Deployment]:
    """These agents are answering while the block runs."""
    server = ProsodyServer(
        directory / "prosody", service_jids=[f"{name}@localhost" for name in WITH_GATEWAY]
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop)
        endpoint = await server.start()
        deployment = Deployment(
            directory=directory,
            server=server,
            endpoint=endpoint,
            model=await stack.enter_async_context(running_server(model)),
            line=await stack.enter_async_context(line_to(endpoint.host, endpoint.port)),
            stack=stack,
        )
        stack.push_async_callback(deployment.stop)
        deployment.model.is_check_scripted = False
        await deployment.make_agents(names)
        yield deployment
