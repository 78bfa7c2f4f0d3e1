"""HTTP options of a gateway and its origin policy (DNS rebinding, CSRF, CORS).

A loopback server without a token can be reached by every web page that the user opens: under a name
that its owner resolves to 127.0.0.1 (DNS rebinding), or across sites (CSRF).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

from spade_llm.core.errors import ConfigurationError

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Options of the table `[http]`, described in core/settings/tables.py."""

    host: str = "127.0.0.1"
    port: int = 8000
    local_principal: str | None = None
    """A bare JID."""
    language: Literal["en", "es"] = "es"
    hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    requests_per_minute: int = 6000
    max_body_bytes: int = 1024 * 1024
    max_upload_bytes: int = 50 * 1024 * 1024
    max_streams: int = 512
    console: bool = True

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    def check(self) -> None:
        """Raises ConfigurationError."""
        ip = _ip_address(self.host)
        if ip is not None and ip.is_unspecified and not self.hosts:
            raise ConfigurationError(
                f"[http] host: clients cannot address {self.host}: list the host names that they"
                " use in [http] hosts"
            )


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    # Any other name may resolve to any address.
    if host.lower() == "localhost":
        return True
    ip = _ip_address(host)
    return ip is not None and ip.is_loopback


class OriginPolicy:
    """Host names and web origins from which requests are accepted."""

    def __init__(self, options: HttpOptions) -> None:
        names = (*options.hosts, options.host, *(LOOPBACK_NAMES if options.is_loopback else ()))
        self._names = frozenset(name.lower().strip("[]") for name in names)
        self._takes_addresses = not options.is_loopback
        self._origins = frozenset(origin.lower().rstrip("/") for origin in options.cors_origins)

    def allows_host(self, host: str) -> bool:
        """True if the `Host` header names this gateway."""
        name = _host_name(host)
        if not name:
            return False
        if name in self._names or host.lower() in self._names:
            return True
        # DNS rebinding needs a name: a literal address is safe.
        return self._takes_addresses and _ip_address(name) is not None

    def is_listed_origin(self, origin: str) -> bool:
        """True for an origin that `[http] cors_origins` lists."""
        return origin.lower() in self._origins

    def allows_origin(self, origin: str, host: str) -> bool:
        """True for the gateway's own origin or one that `[http] cors_origins` lists."""
        name = host.lower()
        return origin.lower() in (f"http://{name}", f"https://{name}") or self.is_listed_origin(
            origin
        )


def is_loopback_host_header(host: str) -> bool:
    """True if the `Host` header names the loopback, as requests by programs on this machine do."""
    return is_loopback(_host_name(host))


def _host_name(host: str) -> str:
    """Host name without its port; empty if the header is not a valid host."""
    try:
        parts = urlsplit(f"//{host}")
        # urlsplit checks the port only when it is read, and raises ValueError then.
        _ = parts.port
        # RFC 9110 §7.2: only host and port; neither a path nor a user before an `@`.
        is_host = parts.netloc == host and parts.username is None
        return (parts.hostname or "") if is_host else ""
    except ValueError:
        return ""


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Literal address; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
