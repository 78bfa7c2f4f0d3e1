"""The servers that the wire is measured on. Only ejabberd is launched here, privately and in a
folder of its own; the others are the project's. Knows no benchmark.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bench.account import DOMAIN
from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.embedded.launcher import EmbeddedServer
from spade_llm.xmpp.servers.managed_server import Endpoint, ManagedServer
from spade_llm.xmpp.servers.prosody import ProsodyServer
from spade_llm.xmpp.servers.server_process import ServerProcess, usable_port, wait_ready
from tests.postgres_server import postgres_binaries, started_postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AsyncExitStack

    from tests.postgres_server import PostgresProcess

    Launch = Callable[[Path, Sequence[str]], "Server"]
    """Takes a folder, and the bare JIDs whose rate is not to be limited."""

LIBRARIES = "/usr/lib/*/ejabberd-*/ebin"
"""Where Debian has it."""
CONFIGURATION = """\
hosts: [{domain}]
loglevel: warning
certfiles: ["{cert}", "{key}"]
listen:
  - {{port: {port}, ip: "127.0.0.1", module: ejabberd_c2s, max_stanza_size: 524288,
      shaper: none, access: c2s, starttls: true}}
  - {{port: {api_port}, ip: "127.0.0.1", module: ejabberd_http,
      request_handlers: {{/api: mod_http_api}}}}
auth_method: internal
auth_password_format: scram
acl: {{loopback: {{ip: [127.0.0.0/8]}}}}
access_rules: {{c2s: {{allow: all}}}}
api_permissions: {{all: {{who: {{access: {{allow: loopback}}}},
  what: [register, registered_users]}}}}
modules: {{mod_carboncopy: {{}}, mod_disco: {{}}, mod_offline: {{}}, mod_ping: {{}},
  mod_roster: {{}}, mod_stream_mgmt: {{}}}}
"""


class Server(ManagedServer, Protocol):
    @property
    def pid(self) -> int | None: ...


def start_postgres(stack: AsyncExitStack) -> PostgresProcess | None:
    """A new PostgreSQL until the stack ends, which waits for its disk as in use; None: there is
    none on this machine."""
    binaries = postgres_binaries()
    if binaries is None:
        return None
    settings = "fsync = on\nshared_buffers = 128MB\n"
    return stack.enter_context(started_postgres(binaries, settings=settings))


def prosody(folder: Path, unlimited: Sequence[str]) -> Server:
    return ProsodyServer(folder / "prosody", service_jids=unlimited)


def embedded(folder: Path, _unlimited: Sequence[str]) -> Server:
    return EmbeddedServer(folder / "embedded")


def ejabberd(folder: Path, _unlimited: Sequence[str]) -> Server:
    return EjabberdServer(folder / "ejabberd")


def has_ejabberd() -> bool:
    return shutil.which("erl") is not None and any(Path("/").glob(LIBRARIES[1:]))


class EjabberdServer:
    """Satisfies Server: an ordinary process of ours, that no other Erlang node knows."""

    kind = "ejabberd"
    description = "ejabberd, a private instance for a benchmark"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process = ServerProcess(directory=directory, name="ejabberd")
        self._api = ""

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def start(self) -> Endpoint:
        self._directory.mkdir(parents=True, exist_ok=True)
        certificates = local_certificates(self._directory / "certificates", DOMAIN)
        port, api_port = usable_port(0), usable_port(0)
        self._api = f"http://127.0.0.1:{api_port}/api"
        configuration = CONFIGURATION.format(
            domain=DOMAIN,
            cert=certificates.cert_path,
            key=certificates.key_path,
            port=port,
            api_port=api_port,
        )
        (self._directory / "ejabberd.yml").write_text(configuration, "utf-8")
        await self._process.start(self._command())
        endpoint = Endpoint(
            host="127.0.0.1", port=port, domain=DOMAIN, ca_path=certificates.ca_path
        )
        await wait_ready(self._process, endpoint)
        return endpoint

    async def stop(self) -> None:
        await self._process.stop()

    async def restart(self) -> Endpoint:
        await self.stop()
        return await self.start()

    async def wait_failed(self) -> str:
        return await self._process.wait_failed()

    async def create_account(self, jid: str, password: str) -> None:
        await self._ask("register", {"user": jid.partition("@")[0], "password": password})

    async def has_account(self, jid: str) -> bool:
        return jid.partition("@")[0] in json.loads(await self._ask("registered_users", {}))

    async def _ask(self, command: str, arguments: dict[str, str]) -> bytes:
        question = urllib.request.Request(
            f"{self._api}/{command}",
            data=json.dumps({"host": DOMAIN, **arguments}).encode(),
            headers={"Content-Type": "application/json"},
        )
        return await asyncio.to_thread(_answered, question)

    def _command(self) -> list[str]:
        """Without a node name: no port mapper is started, and no cookie is written."""
        ebin = next(Path("/").glob(LIBRARIES[1:]))
        folder = self._directory
        return [
            *("env", f"HOME={folder}", f"ERL_LIBS={ebin.parents[1]}"),
            *(f"EJABBERD_CONFIG_PATH={folder / 'ejabberd.yml'}", f"EJABBERD_LOG_PATH={folder}/log"),
            *(shutil.which("erl") or "erl", "-noinput", "+K", "true"),
            *("-mnesia", "dir", f'"{folder}/data"', "-s", "ejabberd"),
        ]


def _answered(question: urllib.request.Request) -> bytes:
    with urllib.request.urlopen(question, timeout=10) as answer:
        body: bytes = answer.read()
    return body
