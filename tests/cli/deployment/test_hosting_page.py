"""The Debian part of docs/hosting.md, executed as it is written.

Folders of the system become folders of the test, and ports free ones. Programs of the
same names stand in for what a test cannot do: installing packages, adding users, downloading the
web chat. `systemctl` starts what the units say that the page copies.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from spade_llm.cli.health import read_http_record
from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.managed_server import Endpoint
from tests.cli.deployment.hosted import free_ports
from tests.cli.program import ROOT, modest_agents
from tests.xmpp.client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.server, pytest.mark.timeout(240)]

DOMAIN = "chat.example.org"
BLOCK_S = 120.0
STOP_S = 10.0
SECTION = re.compile(r"^## On Debian without Docker\n(.*?)^## ", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
DONE_BEFORE = ("apt", "useradd", "chown", "python3")
SYSTEMCTL = """
import os, socket, sys
told = socket.socket(socket.AF_UNIX)
told.connect(os.environ["TEST_SYSTEMD"])
told.sendall(" ".join(sys.argv[1:]).encode() + b"\\n")
sys.exit(told.makefile().read() or 0)
"""


@dataclass(kw_only=True)
class Machine:
    """A Debian in a folder."""

    root: Path
    port: int
    web_port: int
    processes: list[Process] = field(default_factory=list)

    @property
    def socket(self) -> Path:
        return self.root / "systemd"

    def install(self) -> None:
        """What the commands expect to find, and stand-ins for what a test cannot do."""
        clone, programs = self.root / "clone", self.root / "bin"
        shutil.copytree(ROOT / "docker", clone / "docker")
        modest_agents(clone / "agents")
        _write(clone / "docker" / "web" / "build.sh", 'mkdir -p "$1"; echo chat >"$1/index.html"')
        for name in DONE_BEFORE:
            _write(programs / name, "exit 0")
        _write(programs / "su", 'exec sh -c "$5"')
        _write(programs / "systemctl", f'exec {sys.executable} -c {shlex.quote(SYSTEMCTL)} "$@"')
        _write(self.root / "opt" / "bin" / "pip", "exit 0")
        _write(
            self.root / "opt" / "bin" / "spade-llm",
            f'PYTHONPATH={ROOT} exec {sys.executable} -m spade_llm.cli "$@"',
        )
        made = local_certificates(self.root / "made", DOMAIN)
        live = self.root / "letsencrypt" / "live" / DOMAIN
        live.mkdir(parents=True)
        shutil.copy(made.cert_path, live / "fullchain.pem")
        shutil.copy(made.key_path, live / "privkey.pem")
        # The system does not know this issuer.
        (self.root / "etc" / "certificates").mkdir(parents=True)
        shutil.copy(made.ca_path, self.root / "etc" / "certificates" / "ca.pem")
        (self.root / "units").mkdir()

    def moved(self, text: str) -> str:
        """The same with the folders and ports of this machine."""
        text = re.sub(r"/(opt|etc|var/lib)/spade-llm\b", rf"{self.root}/\1", text)
        text = text.replace("/etc/systemd/system", f"{self.root}/units")
        text = text.replace("/etc/letsencrypt", f"{self.root}/letsencrypt")
        text = text.replace("127.0.0.1:5222", f"127.0.0.1:{self.port}")
        reached = (
            f"--listen 127.0.0.1 --port {self.port} --web-url https://{DOMAIN}:{self.web_port}"
        )
        return text.replace("spade-llm host prepare ", f"spade-llm host prepare {reached} ")

    async def run(self, block: str) -> str:
        """What the commands printed; each must succeed. Then what they told systemd is done."""
        script = ["sh", "-euc", self.moved(block)]
        process = await self._spawn(script, cwd=self.root / "clone", output=PIPE)
        async with asyncio.timeout(BLOCK_S):
            output, _ = await process.communicate()
        assert process.returncode == 0, f"{block}\n{output.decode()}"
        return output.decode()

    async def obey(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Do what one `systemctl` was told; it waits for the names of the units that failed."""
        verb, *words = (await reader.readline()).decode().split()
        names = [word for word in words if word != "--now"] if verb in {"enable", "start"} else []
        failed = [name for name in names if await self._start(name) != 0]
        writer.write(" ".join(failed).encode())
        writer.close()
        await writer.wait_closed()

    async def _start(self, name: str) -> int:
        """Status of a unit that runs once; 0 for one that stays."""
        unit = self._unit(name)
        (command,) = re.findall(r"^ExecStart=(.+)", unit, re.MULTILINE)
        # A test may run another Prosody than the system's.
        words = shlex.split(command.replace("/usr/bin/prosody", "prosody"))
        process = await self._spawn(words, environment=_environment(unit))
        if "Type=oneshot" in unit:
            return await process.wait()
        self.processes.append(process)
        return 0

    def _unit(self, name: str) -> str:
        template, at, instance = name.partition("@")
        unit = (self.root / "units" / f"{template}{at}.service").read_text(encoding="utf-8")
        return self.moved(unit).replace("%i", instance)

    async def _spawn(
        self,
        words: list[str],
        *,
        cwd: Path | None = None,
        output: int = DEVNULL,
        environment: dict[str, str] | None = None,
    ) -> Process:
        own = ("SPADE_LLM_", "OPENAI_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(own)}
        kept["PATH"] = f"{self.root / 'bin'}:{kept['PATH']}"
        return await asyncio.create_subprocess_exec(
            *words,
            cwd=cwd,
            stdin=DEVNULL,
            stdout=output,
            stderr=STDOUT,
            env={**kept, "TEST_SYSTEMD": str(self.socket), **(environment or {})},
        )

    async def stop(self) -> None:
        for process in reversed(self.processes):
            if process.returncode is None:
                process.terminate()
        async with asyncio.timeout(STOP_S):
            await asyncio.gather(*(process.wait() for process in self.processes))


def _environment(unit: str) -> dict[str, str]:
    given = " ".join(re.findall(r"^Environment=(.+)", unit, re.MULTILINE)).split()
    for file in re.findall(r"^EnvironmentFile=(/.+)", unit, re.MULTILINE):
        given += Path(file).read_text(encoding="utf-8").split()
    return dict(line.split("=", 1) for line in given)


def _write(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@asynccontextmanager
async def machine_in(folder: Path) -> AsyncIterator[Machine]:
    port, web_port = free_ports(2)
    machine = Machine(root=folder, port=port, web_port=web_port)
    machine.install()
    async with await asyncio.start_unix_server(machine.obey, machine.socket):
        try:
            yield machine
        finally:
            await machine.stop()


async def test_the_commands_of_the_page_make_a_server_with_two_people_and_a_gateway(
    tmp_path: Path,
) -> None:
    section = SECTION.search((ROOT / "docs" / "hosting.md").read_text(encoding="utf-8"))
    assert section is not None
    async with machine_in(tmp_path) as machine:
        outputs = [await machine.run(block) for block in BLOCK.findall(section[1])]

        authority = tmp_path / "etc" / "certificates" / "ca.pem"
        endpoint = Endpoint(host="127.0.0.1", port=machine.port, domain=DOMAIN, ca_path=authority)
        for name in ("ada", "grace"):
            password = tmp_path / f"var/lib/people/accounts/{name}@{DOMAIN}"
            person = Client(f"{name}@{DOMAIN}", password.read_text().strip())
            assert await person.attempt(endpoint) == "session"
            await person.close()
        (token,) = re.findall(r"^slm_\S+$", outputs[-2], re.MULTILINE)
        record = read_http_record(tmp_path / f"var/lib/gateway/agents/gateway@{DOMAIN}")
        assert record is not None
        async with httpx.AsyncClient(trust_env=False, timeout=STOP_S) as client:
            address = f"{record.url}/v1/models"
            with_token = await client.get(address, headers={"Authorization": f"Bearer {token}"})
            without = await client.get(address)

    assert (with_token.status_code, without.status_code) == (200, 401)
