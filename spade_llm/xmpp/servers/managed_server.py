"""Managed XMPP server: the common interface, and the choice between Prosody and embedded.

A server belongs to one directory: configuration, certificates, accounts, data and log are in it,
and whoever starts it holds that directory (a left-over of an earlier run in it is ended).
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STANZA_LIMIT_BYTES = 512 * 1024
"""Largest stanza of our own servers: twice what public ones take, as JSON grows when escaped."""

UPLOAD_LIMIT_BYTES = 100_000_000
"""Largest file that our own Prosody takes by HTTP upload (XEP-0363)."""


class ServerKind(StrEnum):
    """Which server `choose_server` takes."""

    AUTO = "auto"
    EMBEDDED = "embedded"
    PROSODY = "prosody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where clients connect, and what they verify the server's certificate with."""

    host: str
    port: int
    domain: str
    ca_path: Path | None = None
    """None: the CAs of the system."""


class ManagedServer(Protocol):
    """An XMPP server with a life of its own: started, given accounts, watched, stopped."""

    @property
    def kind(self) -> str:
        """That of ServerKind which makes it again in its directory."""
        ...

    @property
    def description(self) -> str:
        """One line for people at start-up: what it is, and what it cannot do."""
        ...

    async def start(self) -> Endpoint:
        """Return once it accepts XMPP streams.

        Raises:
            ConfigurationError: it did not get there; says why and what to do.
        """
        ...

    async def stop(self) -> None:
        """End it and wait until it has gone. Does nothing if it is not running."""
        ...

    async def restart(self) -> Endpoint:
        """Stop and start on the same port, with the same accounts and data."""
        ...

    async def create_account(self, jid: str, password: str) -> None:
        """Make the account, or give it this password if it exists.

        Raises:
            ConfigurationError: the server refused; says why.
        """
        ...

    async def has_account(self, jid: str) -> bool:
        """Whether the account exists. Raises ConfigurationError if no account can be called so."""
        ...

    async def wait_failed(self) -> str:
        """Return why, once it has ended without being asked to. The caller cancels the wait."""
        ...


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
