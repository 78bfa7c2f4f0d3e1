"""One RAG agent in a process of its own, behind a Prosody: asked, killed and started again."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.agents import AgentOptions, ConnectionSettings, XmppAgent
from spade_llm.rag.remote import RagClient
from tests.cli.program import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.conftest import Provisioner

READY_S = 30.0
KEYWORDS_ONLY = 'embeddings = "none"'
AGENT = """
kind = "rag"
jid = "{jid}"
password_file = "password"
{rest}

[server]
host = "{host}"
port = {port}
ca = "{ca}"
domain = "{domain}"
"""


@dataclass(slots=True, kw_only=True)
class RagProcess:
    folder: Path
    jid: str
    server: Provisioner
    process: Process | None = None

    @property
    def documents(self) -> Path:
        """Its document root."""
        return self.folder / "documents"

    def write(self, *, toml: str, password: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "agent.toml").write_text(toml, encoding="utf-8")
        (self.folder / "password").write_text(password, encoding="utf-8")

    def change(self, old: str, new: str) -> None:
        """In its toml; it reads that when it starts."""
        path = self.folder / "agent.toml"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def folder_of(self, name: str, texts: dict[str, str]) -> Path:
        folder = self.documents / name
        folder.mkdir(parents=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        return folder

    async def start(self) -> None:
        """Return once it is logged in and answering."""
        with (self.folder / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "spade_llm.cli", "run", str(self.folder / "agent.toml")),
                *("--data", str(self.folder), "--no-download"),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
        assert self.process.stdout is not None
        async with asyncio.timeout(READY_S):
            while not (await self.process.stdout.readline()).startswith(b"ready"):
                assert not self.process.stdout.at_eof(), (self.folder / "log").read_text()

    async def kill(self) -> None:
        """kill −9"""
        assert self.process is not None
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.terminate()
            await self.process.wait()

    @asynccontextmanager
    async def asker(self, name: str) -> AsyncIterator[RagClient]:
        """A client under an account that never asked anything yet; its `owner` is in no request."""
        async with connected(self.server, name) as agent:
            yield RagClient(agent.node.requester, self.jid)


@asynccontextmanager
async def connected(server: Provisioner, name: str) -> AsyncIterator[XmppAgent]:
    endpoint = server.endpoint
    connection = ConnectionSettings(
        host=endpoint.host, port=endpoint.port, ca_path=endpoint.ca_path
    )
    jid, password = await server.account(name)
    agent = XmppAgent(jid, password, options=AgentOptions(connection=connection))
    await agent.start()
    try:
        yield agent
    finally:
        await agent.stop()


@asynccontextmanager
async def rag_process(
    folder: Path, server: Provisioner, *, rest: str = KEYWORDS_ONLY
) -> AsyncIterator[RagProcess]:
    """`rest`: further lines of its agent.toml."""
    jid, password = await server.account("rag")
    endpoint = server.endpoint
    text = AGENT.format(
        jid=jid,
        rest=rest,
        host=endpoint.host,
        port=endpoint.port,
        ca=endpoint.ca_path,
        domain=endpoint.domain,
    )
    agent = RagProcess(folder=folder, jid=jid, server=server)
    agent.write(toml=text, password=password)
    await agent.start()
    try:
        yield agent
    finally:
        await agent.stop()
