"""A deployment for people on this machine: `host prepare`, docker/accounts.sh, and its Prosody."""

from __future__ import annotations

import asyncio
import random
from asyncio.subprocess import PIPE, STDOUT
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from spade_llm.cli import main
from spade_llm.cli.context import CliContext
from spade_llm.cli.xmpp_server import is_free
from spade_llm.xmpp.servers.data_directory import AccountPasswords
from spade_llm.xmpp.servers.managed_server import Endpoint
from spade_llm.xmpp.servers.server_process import ServerProcess, wait_ready
from tests.cli.program import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DOMAIN = "agents.localhost"
SCRIPT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """`agents`: the folder of their agent.toml files; the rest is below `root`."""

    root: Path
    agents: Path
    port: int
    web_port: int

    @property
    def endpoint(self) -> Endpoint:
        ca = self.root / "people" / "ca.pem"
        return Endpoint(host="127.0.0.1", port=self.port, domain=DOMAIN, ca_path=ca)

    @property
    def config(self) -> Path:
        return self.root / "server" / "prosody.cfg.lua"

    @property
    def place(self) -> CliContext:
        """Where `doctor --host --data ROOT` looks."""
        ca = self.endpoint.ca_path
        return CliContext(data=self.root, host="127.0.0.1", port=self.port, domain=DOMAIN, ca=ca)

    def prepare(self, *more: str) -> None:
        place = ("--to", str(self.root), "--domain", DOMAIN, "--agents", str(self.agents))
        reached = ("--listen", "127.0.0.1", "--port", str(self.port))
        web = ("--web-url", f"https://{DOMAIN}:{self.web_port}")
        assert main(["host", "prepare", *place, *reached, *web, *more]) == 0

    async def make_accounts(self) -> str:
        return await script("sh", "accounts.sh", str(self.root))

    def password(self, folder: str, name: str) -> str:
        return AccountPasswords(self.root / folder).get(f"{name}@{DOMAIN}")

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Its Prosody runs while the block does."""
        process = ServerProcess(directory=self.root / "server", name="Prosody")
        await process.start(["prosody", "-F", "--config", str(self.config)])
        try:
            await wait_ready(process, self.endpoint)
            yield
        finally:
            await process.stop()


async def script(shell: str, name: str, *arguments: str) -> str:
    """What a script of docker/ printed; it must succeed."""
    output, status = await attempt(shell, name, *arguments)
    assert status == 0, output
    return output


async def attempt(shell: str, name: str, *arguments: str) -> tuple[str, int]:
    process = await asyncio.create_subprocess_exec(
        shell, str(ROOT / "docker" / name), *arguments, stdout=PIPE, stderr=STDOUT
    )
    async with asyncio.timeout(SCRIPT_S):
        output, _ = await process.communicate()
    return output.decode(), process.returncode or 0


def write_agents(folder: Path, *kinds: str) -> Path:
    """One agent of each kind, with rules as its model and without embeddings."""
    for kind in kinds:
        (folder / kind).mkdir(parents=True)
        lines = [f'kind = "{kind}"', f'jid = "{kind}"']
        lines += ['[provider]\nkind = "offline"'] if kind == "assistant" else []
        lines += ['embeddings = "none"'] if kind == "memory" else []
        (folder / kind / "agent.toml").write_text("\n".join(lines), encoding="utf-8")
    return folder


def free_ports(count: int) -> list[int]:
    """Below those that the kernel gives to connections meanwhile (32768 and more on Linux)."""
    numbers = (random.randrange(20_000, 32_000) for _ in range(1000))
    return list(islice((port for port in numbers if is_free(port)), count))


def new_deployment(folder: Path, *kinds: str) -> Hosted:
    port, web_port = free_ports(2)
    agents = write_agents(folder / "agents", *(kinds or ("memory", "assistant")))
    return Hosted(root=folder / "root", agents=agents, port=port, web_port=web_port)
