"""Managed XMPP server: common interface, choice between Prosody and embedded, local network.

A server belongs to a directory with its configuration, certificates, accounts, data and log. The
process that starts a server owns the directory; a server left over from an earlier run is ended.
A local network is a temporary server for examples, notebooks and tests.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.settings import ConnectionSettings

if TYPE_CHECKING:
    from spade_llm.xmpp.agent import AgentOptions, XmppAgent

STANZA_LIMIT_BYTES = 512 * 1024
"""Largest stanza of our own servers: twice what public ones take, as JSON grows when escaped."""

UPLOAD_LIMIT_BYTES = 100_000_000
"""Largest file that our own Prosody takes by HTTP upload (XEP-0363)."""


class ServerKind(StrEnum):
    """Kind of server for `choose_server`."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    PROSODY = "prosody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Address that clients connect to, and the CA to verify the server's certificate."""

    host: str
    port: int
    domain: str
    ca_path: Path | None = None
    """CA file; None: the CAs of the system."""


class ManagedServer(Protocol):
    """An XMPP server with a life of its own: started, given accounts, watched, stopped."""

    @property
    def kind(self) -> str:
        """ServerKind that recreates this server in its directory."""

    @property
    def description(self) -> str:
        """Description in a single line for the start-up message: the server, and its
        limitations."""

    async def start(self) -> Endpoint:
        """Return once it accepts XMPP streams.

        Raises:
            ConfigurationError: it did not get there; says why and what to do.
        """

    async def stop(self) -> None:
        """End it and wait until it has gone. Does nothing if it is not running."""

    async def restart(self) -> Endpoint:
        """Stop and start on the same port, with the same accounts and data."""

    async def create_account(self, jid: str, password: str) -> None:
        """Make the account, or give it this password if it exists.

        Raises:
            ConfigurationError: the server refused; says why.
        """

    async def has_account(self, jid: str) -> bool:
        """True if the account exists. Raises ConfigurationError if the JID is not valid."""

    async def wait_failed(self) -> str:
        """Return why, once it has ended without being asked to. The caller cancels the wait."""


def choose_server(
    kind: ServerKind | str,
    directory: Path,
    *,
    domain: str = "localhost",
    port: int = 0,
    service_jids: Sequence[str] = (),
) -> ManagedServer:
    """Return Prosody if it is wanted and installed, else the embedded server; not yet started.

    Raises:
        ConfigurationError: the kind is unknown, or Prosody is asked for by name and missing.
    """
    # Imported here, because both modules import this one.
    if _wants_prosody(kind):
        from spade_llm.xmpp.servers.prosody import ProsodyServer

        return ProsodyServer(
            directory / "prosody", domain=domain, port=port, service_jids=service_jids
        )
    from spade_llm.xmpp.servers.embedded.launcher import EmbeddedServer

    return EmbeddedServer(directory / "embedded", domain=domain, port=port)


def _wants_prosody(kind: ServerKind | str) -> bool:
    if kind not in list(ServerKind):
        raise ConfigurationError(
            f"unknown server {str(kind)!r}; use {', '.join(ServerKind)}, or HOST[:PORT]"
        )
    if kind == ServerKind.AUTO:
        return shutil.which("prosody") is not None
    return kind == ServerKind.PROSODY


class LocalNetwork:
    """Prosody if it is installed, else the embedded server; a new folder that goes at the end.

    `async with LocalNetwork() as network:` then
    `await network.start(LLMAgent(*await network.account("echo"), provider,
    options=network.options("echo")))`: what was started is stopped at the end.
    """

    def __init__(self, kind: ServerKind | str = ServerKind.AUTO) -> None:
        self._kind = kind
        self._stack = AsyncExitStack()
        self._server: ManagedServer | None = None
        self._endpoint: Endpoint | None = None
        self._directory = Path()

    async def __aenter__(self) -> Self:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="spade-llm-"))
        self._directory = Path(folder)
        self._server = choose_server(self._kind, self._directory)
        # Before the start, so that one that fails half-way leaves no process.
        self._stack.push_async_callback(self._server.stop)
        self._endpoint = await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def account(self, name: str) -> tuple[str, str]:
        """Make `name@localhost`; returns its JID and password."""
        if self._server is None or self._endpoint is None:
            raise RuntimeError("use `async with LocalNetwork() as network:` first")
        jid, password = f"{name}@{self._endpoint.domain}", secrets.token_urlsafe(12)
        await self._server.create_account(jid, password)
        return jid, password

    def options(self, name: str) -> AgentOptions:
        """Connection and a folder of its own for one agent."""
        # Imports SPADE, which takes 0.4 s; the choice of a server does not need it.
        from spade_llm.xmpp.agent import AgentOptions

        if self._endpoint is None:
            raise RuntimeError("use `async with LocalNetwork() as network:` first")
        data = self._directory / "agents" / name
        data.mkdir(parents=True, exist_ok=True)
        connection = ConnectionSettings(
            host=self._endpoint.host, port=self._endpoint.port, ca_path=self._endpoint.ca_path
        )
        return AgentOptions(connection=connection, data=data)

    async def start(self, *agents: XmppAgent) -> None:
        for agent in agents:
            await agent.start()
            self._stack.push_async_callback(agent.stop)
