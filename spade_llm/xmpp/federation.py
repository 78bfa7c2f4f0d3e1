"""Other servers that a private one of ours talks to: where each is, and which CA it is believed by.

Knows no running server. Others than these are neither reached nor let in: no DNS is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PLUGINS = "prosody_modules"
"""The folder, beside this file, of what we add to Prosody."""
PEERS_MODULE = "spade_llm_peers"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerServer:
    """One of another domain."""

    host: str
    """An IP address."""
    port: int
    ca_path: Path
    """Of the CA that its certificate is verified by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation:
    """Servers talk to each other over TLS only, and each proves its domain by its certificate."""

    address: str = "127.0.0.1"
    port: int
    """Where other servers reach ours."""
    peers: Mapping[str, PeerServer]
    """By domain. What is below it (`conference.`) is reached there, too."""


def trusted_cas(own_ca: Path, federation: Federation) -> str:
    """The PEM of every CA that a server's certificate may come from.

    Raises:
        ConfigurationError: a CA's file cannot be read.
    """
    paths = dict.fromkeys([own_ca, *(peer.ca_path for peer in federation.peers.values())])
    return "\n".join(_read(path) for path in paths)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the CA file {str(path)!r} of another server cannot be read ({error})"
        ) from None
