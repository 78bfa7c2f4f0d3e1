"""Servers for the benchmarks. ejabberd, and a cluster of two of its nodes, are private processes
with folders of their own; the others are the project's.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import signal
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bench.account import DOMAIN
from spade_llm.xmpp.servers.certificates import local_certificates
from spade_llm.xmpp.servers.embedded.launcher import EmbeddedServer
from spade_llm.xmpp.servers.managed_server import Endpoint, ManagedServer
from spade_llm.xmpp.servers.prosody import ProsodyServer
from spade_llm.xmpp.servers.server_process import (
    ServerProcess,
    answers_stream,
    usable_port,
    wait_ready,
)
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
  what: [register, registered_users, list_cluster, user_sessions_info]}}}}
modules: {{mod_admin_extra: {{}}, mod_carboncopy: {{}}, mod_disco: {{}}, mod_offline: {{}},
  mod_ping: {{}}, mod_roster: {{}}, mod_stream_mgmt: {{resume_timeout: {resume}}}}}
"""
SESSION_TIMEOUT_S = 60
"""Time that ejabberd, as the project's Prosody, keeps the session of a lost connection."""
JOIN_TIMEOUT_S = 30.0


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


def ejabberd_cluster(folder: Path, _unlimited: Sequence[str]) -> Server:
    return EjabberdCluster(folder / "cluster")


def has_ejabberd() -> bool:
    return shutil.which("erl") is not None and any(Path("/").glob(LIBRARIES[1:]))


@dataclass(frozen=True, slots=True)
class Node:
    """Name of an Erlang node on an address of its own, so that all nodes use one port, which they
    find without a port mapper (epmd)."""

    name: str
    address: str
    port: int
    joins: str = ""
    """Node of the cluster to join at the first start."""

    def __str__(self) -> str:
        return f"{self.name}@{self.address}"

    @property
    def flags(self) -> list[str]:
        interface = f"{{{self.address.replace('.', ',')}}}"
        return [
            *("-name", str(self), "-start_epmd", "false", "-erl_epmd_port", str(self.port)),
            *("-kernel", "inet_dist_use_interface", interface),
        ]


class EjabberdServer:
    """Satisfies Server: a process without an Erlang node name, or a node of a cluster."""

    kind = "ejabberd"
    description = "ejabberd, a private instance for a benchmark"

    def __init__(self, directory: Path, *, home: Path | None = None, node: Node | None = None):
        """`home`: folder of what the nodes of a cluster share: certificates, Erlang's cookie."""
        self._directory = directory
        self._home = home or directory
        self._node = node
        self._process = ServerProcess(directory=directory, name="ejabberd")
        self._port = self._api_port = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def start(self) -> Endpoint:
        is_first = not self._port
        self._directory.mkdir(parents=True, exist_ok=True)
        certificates = local_certificates(self._home / "certificates", DOMAIN)
        self._port, self._api_port = usable_port(self._port), usable_port(self._api_port)
        configuration = CONFIGURATION.format(
            domain=DOMAIN,
            cert=certificates.cert_path,
            key=certificates.key_path,
            port=self._port,
            api_port=self._api_port,
            resume=SESSION_TIMEOUT_S,
        )
        (self._directory / "ejabberd.yml").write_text(configuration, "utf-8")
        await self._process.start(self._command(is_first=is_first))
        endpoint = Endpoint(
            host="127.0.0.1", port=self._port, domain=DOMAIN, ca_path=certificates.ca_path
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
        user = {"user": jid.partition("@")[0], "password": password}
        await self.ask("register", user | {"host": DOMAIN})

    async def has_account(self, jid: str) -> bool:
        return jid.partition("@")[0] in await self.ask("registered_users", {"host": DOMAIN})

    async def ask(self, command: str, arguments: dict[str, str]) -> Any:
        """Result of a command of ejabberdctl."""
        question = urllib.request.Request(
            f"http://127.0.0.1:{self._api_port}/api/{command}",
            data=json.dumps(arguments).encode(),
            headers={"Content-Type": "application/json"},
        )
        return json.loads(await asyncio.to_thread(_answered, question))

    def _command(self, *, is_first: bool) -> list[str]:
        ebin = next(Path("/").glob(LIBRARIES[1:]))
        folder = self._directory
        command = [
            *("env", f"HOME={self._home}", f"ERL_LIBS={ebin.parents[1]}"),
            *(f"EJABBERD_CONFIG_PATH={folder / 'ejabberd.yml'}", f"EJABBERD_LOG_PATH={folder}/log"),
            *(shutil.which("erl") or "erl", "-noinput", "+K", "true"),
            *("-mnesia", "dir", f'"{folder}/data"', "-s", "ejabberd"),
        ]
        if self._node is not None:
            command += self._node.flags
            if is_first and self._node.joins:
                # Not by mod_http_api: joining stops the application, and with it that request.
                command += ["-eval", f"ok = ejabberd_cluster:join('{self._node.joins}')."]
        return command


class EjabberdCluster:
    """Satisfies Server: two ejabberd nodes that are one server, until one of them is killed."""

    kind = "ejabberd-cluster"
    description = "two ejabberd nodes, a private cluster for a benchmark"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        port = usable_port(0)
        first = Node("a", "127.0.0.1", port)
        self._names = (first, Node("b", "127.0.0.2", port, joins=str(first)))
        self._nodes = [
            EjabberdServer(directory / one.name, home=directory, node=one) for one in self._names
        ]
        self.ports: list[int] = []
        """Of the nodes, for clients."""

    @property
    def pid(self) -> int | None:
        return self._nodes[0].pid

    async def start(self) -> Endpoint:
        self._directory.mkdir(parents=True, exist_ok=True)
        cookie = self._directory / ".erlang.cookie"
        cookie.touch(0o600)
        cookie.write_text(secrets.token_hex(16))
        cookie.chmod(0o400)
        endpoints = [await self._nodes[0].start(), await self._nodes[1].start()]
        async with asyncio.timeout(JOIN_TIMEOUT_S):
            while not await self._has_joined(endpoints[1]):  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.1)
        self.ports = [one.port for one in endpoints]
        return endpoints[0]

    async def _has_joined(self, endpoint: Endpoint) -> bool:
        nodes = await self._nodes[0].ask("list_cluster", {})
        return len(nodes) == len(self._nodes) and await answers_stream(endpoint)

    async def stop(self) -> None:
        for one in reversed(self._nodes):
            await one.stop()

    async def restart(self) -> Endpoint:
        await self.stop()
        return [await one.start() for one in self._nodes][0]

    async def wait_failed(self) -> str:
        return await self._nodes[0].wait_failed()

    async def create_account(self, jid: str, password: str) -> None:
        await self._nodes[0].create_account(jid, password)

    async def has_account(self, jid: str) -> bool:
        return await self._nodes[0].has_account(jid)

    async def kill(self, number: int) -> None:
        """Kill a node (kill -9)."""
        one = self._nodes[number]
        assert one.pid is not None
        os.kill(one.pid, signal.SIGKILL)
        await one.wait_failed()

    async def start_again(self, number: int) -> None:
        """Start a node that was killed, which finds its cluster by what it has on disk."""
        await self._nodes[number].stop()
        await self._nodes[number].start()

    async def serves(self, jid: str, number: int) -> bool:
        """True if an account has a session on this node."""
        user = {"user": jid.partition("@")[0], "host": DOMAIN}
        sessions = await self._nodes[number].ask("user_sessions_info", user)
        return any(one["node"] == str(self._names[number]) for one in sessions)


def _answered(question: urllib.request.Request) -> bytes:
    with urllib.request.urlopen(question, timeout=10) as answer:
        body: bytes = answer.read()
    return body
