"""Where an agent connects, and the TLS trust it starts from. Data, and no stream."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A server, and how far it is trusted: its certificate is always verified."""

    host: str | None = None
    """Address to connect to; None: found through the JID's domain (SRV records, RFC 6120 §3.2)."""
    port: int = 5222
    others: tuple[tuple[str, int], ...] = ()
    """Further addresses of the same server: tried in turn where one does not answer."""
    ca_path: Path | None = None
    """A CA to trust beside the system's: a local server's own."""
    start_timeout_s: float = 15.0
    """The first connection must stand within this, or `start()` fails with the reason."""
    register: bool = False
    """Make the account in-band (XEP-0077) where the server allows it."""


@lru_cache(maxsize=8)
def trust(ca_path: Path | None) -> ssl.SSLContext:
    """One verifying context per CA for the whole process: loading the CA store takes 26 ms.

    Raises:
        ConfigurationError: the CA file cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=str(ca_path) if ca_path else None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"the CA file {str(ca_path)!r} cannot be read ({error}): check [server] ca"
        ) from None
