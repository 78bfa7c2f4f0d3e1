"""Connection settings: server addresses, fallback endpoints, and the TLS context.

Wherever it is, the certificate has to be that of the JID's domain (xmpp/connection/xmpp_client.py).
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from spade_llm.core.arguments import check_type
from spade_llm.core.errors import ConfigurationError

logger = logging.getLogger(__name__)

MAX_REDIRECTS = 3
"""Redirections in a row that are followed (RFC 6120 §4.9.3.19)."""
MAX_PORT = 65_535
XMPP_PORT = 5222


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Address of a server and trust in it: its certificate is always verified."""

    host: str | None = None
    """Address to connect to; None: found through the JID's domain (SRV records, RFC 6120 §3.2)."""
    port: int = XMPP_PORT
    others: tuple[tuple[str, int], ...] = ()
    """Further addresses of the same server: tried in turn where one does not answer."""
    ca_path: Path | None = None
    """A CA to trust beside the system's: a local server's own."""
    start_timeout_s: float = 15.0
    """The first connection must stand within this, or `start()` fails with the reason."""
    register: bool = False
    """Make the account in-band (XEP-0077) where the server allows it."""

    def __post_init__(self) -> None:
        """Raises TypeError or ConfigurationError, naming the field."""
        check_type(self.port, int, of="ConnectionSettings: port", fix="give a number")
        # An IPv6 address has several colons.
        if self.host is not None and self.host.count(":") == 1:
            host, _, port = self.host.partition(":")
            raise ConfigurationError(
                f"ConnectionSettings: host is {self.host!r}: write host={host!r}, port={port}"
            )


@lru_cache(maxsize=8)
def tls_context(ca_path: Path | None) -> ssl.SSLContext:
    """TLS context that verifies certificates, cached per CA for the whole process: loading the CA
    store takes 26 ms.

    Raises:
        ConfigurationError: the CA file cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=str(ca_path) if ca_path else None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"the CA file {str(ca_path)!r} cannot be read ({error}): check [server] ca"
        ) from None


class FallbackEndpoints:
    """Addresses of a server, tried in turn, and accepted redirections."""

    def __init__(self, connection: ConnectionSettings) -> None:
        self._known = ((connection.host, connection.port), *connection.others)
        self._number = 0
        self._redirected_to: tuple[str, int] | None = None
        self._is_untried = False
        self._hops = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def now(self) -> tuple[str | None, int]:
        """Current address; host None: found through the JID's domain."""
        return self._redirected_to or self._known[self._number]

    def move_on(self) -> bool:
        """Go on to the next address after a failure; True if all failed since the last True."""
        # This failure was the redirection itself: its target is tried next, and no address is
        # skipped.
        if self._is_untried:
            self._is_untried = False
            return False
        self._redirected_to, self._hops = None, 0
        self._number = (self._number + 1) % len(self._known)
        return self._number == 0

    def arrive(self) -> None:
        self._hops = 0

    def redirect(self, other: str, *, is_verified: bool) -> bool:
        """Follow a redirection (`see-other-host`) to another host; True if it is accepted. Only a
        server with a verified certificate may redirect: before TLS anything on the line could claim
        it."""
        target = _parse_endpoint(other)
        # Bounded: two servers could redirect to each other for ever.
        if target is None or not is_verified or self._hops >= MAX_REDIRECTS:
            logger.warning("redirection to %r ignored", other[:200])
            return False
        self._hops += 1
        self._redirected_to, self._is_untried = target, True
        return True


def parse_address(
    text: str, *, named: str = "--server", default_port: int = XMPP_PORT
) -> tuple[str, int]:
    """Parse `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.

    Raises:
        ConfigurationError: it is none of them.
    """
    endpoint = None if text.endswith(":") else _parse_endpoint(text, default_port)
    if endpoint is None:
        raise ConfigurationError(f"{named}: {text!r} is not HOST or HOST:PORT")
    return endpoint


def full_jid(name: str, domain: str) -> str:
    """Complete a local part: `memory` → `memory@localhost`; a full JID is returned unchanged."""
    return name if "@" in name else f"{name}@{domain}"


def _parse_endpoint(text: str, default_port: int = XMPP_PORT) -> tuple[str, int] | None:
    """Parse `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`; None if it is none of them."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
    else:
        host, colon, rest = text.partition(":")
        rest = colon + rest
    port = rest.removeprefix(":") or str(default_port)
    # The length is checked before `int`: a redirection's text comes from a server.
    is_sound = bool(host) and port.isdecimal() and len(port) <= len(str(MAX_PORT))
    return (host, int(port)) if is_sound and 0 < int(port) <= MAX_PORT else None
