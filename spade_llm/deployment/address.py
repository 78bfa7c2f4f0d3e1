"""Reads `HOST[:PORT]` and names without a domain. Pure."""

from __future__ import annotations

from spade_llm.errors import ConfigurationError

XMPP_PORT = 5222


def parse_address(
    text: str, *, named: str = "--server", default_port: int = XMPP_PORT
) -> tuple[str, int]:
    """Host and port of `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.

    Raises:
        ConfigurationError: it is none of them.
    """
    host, port = _split(text, str(default_port))
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigurationError(f"{named}: {text!r} is not HOST or HOST:PORT")
    return host, int(port)


def full_jid(name: str, domain: str) -> str:
    """`memory` → `memory@localhost`; a whole JID stays as it is."""
    return name if "@" in name else f"{name}@{domain}"


def _split(text: str, default_port: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":") if rest else default_port
    host, colon, port = text.partition(":")
    return host, port if colon else default_port
