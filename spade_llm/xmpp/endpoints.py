"""Where a link connects next: several addresses of one server, in turn. Opens nothing.

Wherever it is, the certificate has to be that of the JID's domain (xmpp/client.py).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.xmpp.connection import Connection

logger = logging.getLogger(__name__)

MAX_HOPS = 3
"""Redirections in a row that are followed (RFC 6120 §4.9.3.19)."""
MAX_PORT = 65_535


class Endpoints:
    def __init__(self, connection: Connection) -> None:
        self._known = ((connection.host, connection.port), *connection.others)
        self._number = 0
        self._redirected_to: tuple[str, int] | None = None
        self._is_untried = False
        self._hops = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def now(self) -> tuple[str | None, int]:
        """Host None: as the JID's domain says."""
        return self._redirected_to or self._known[self._number]

    def move_on(self) -> bool:
        """This one did not work. True: every one was tried since the last time it was so."""
        if self._is_untried:
            self._is_untried = False
            return False
        self._redirected_to, self._hops = None, 0
        self._number = (self._number + 1) % len(self._known)
        return self._number == 0

    def arrive(self) -> None:
        self._hops = 0

    def redirect(self, other: str, *, is_verified: bool) -> bool:
        """The server says that another host is to be asked. Only one that has shown its certificate
        may: before that, anybody on the line says so."""
        target = _address(other)
        if target is None or not is_verified or self._hops >= MAX_HOPS:
            logger.warning("the server sends us to %r: not followed", other[:200])
            return False
        self._hops += 1
        self._redirected_to, self._is_untried = target, True
        return True


def _address(text: str) -> tuple[str, int] | None:
    """`HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`; None: none of them."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
    else:
        host, colon, rest = text.partition(":")
        rest = colon + rest
    port = rest.removeprefix(":") or "5222"
    is_sound = bool(host) and port.isdecimal() and len(port) <= len(str(MAX_PORT))
    return (host, int(port)) if is_sound and 0 < int(port) <= MAX_PORT else None
