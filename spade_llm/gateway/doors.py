"""By which names we may be addressed, and which web pages may use us. Pure.

A server without a token that listens on the loopback can be reached by every page that a person
opens: under a name that its owner points at 127.0.0.1 (DNS rebinding), or across sites (CSRF).
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from spade_llm.gateway.options import LOOPBACK_NAMES, is_loopback

if TYPE_CHECKING:
    from spade_llm.gateway.options import HttpOptions


class Doors:
    def __init__(self, options: HttpOptions) -> None:
        names = (*options.hosts, options.host, *(LOOPBACK_NAMES if options.is_loopback else ()))
        self._names = frozenset(name.lower().strip("[]") for name in names)
        self._takes_addresses = not options.is_loopback
        self._origins = frozenset(origin.lower().rstrip("/") for origin in options.cors_origins)

    def knows_host(self, host: str) -> bool:
        """`host`: the header. An address cannot be rebound: where we are reached from other
        machines, it is taken as it is."""
        name = _name_of(host)
        if not name:
            return False
        is_ours = name in self._names or host.lower() in self._names
        return is_ours or (self._takes_addresses and _is_address(name))

    def lets_use(self, origin: str) -> bool:
        """Of a web page elsewhere: it was configured."""
        return origin.lower() in self._origins

    def knows_origin(self, origin: str, host: str) -> bool:
        """Of a web page: our own, or one that was configured."""
        name = host.lower()
        return origin.lower() in (f"http://{name}", f"https://{name}") or self.lets_use(origin)


def names_loopback(host: str) -> bool:
    """Whether the header `Host` says so, as programs on this machine do."""
    return is_loopback(_name_of(host))


def _name_of(host: str) -> str:
    """Without its port; empty: it is no host."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
        is_host = parts.netloc == host and parts.username is None
        return (parts.hostname or "") if is_host else ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
