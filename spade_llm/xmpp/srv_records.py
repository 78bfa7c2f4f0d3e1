"""Where the DNS says that a domain's XMPP server is (RFC 6120 §3.2). Connects to nobody."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass

import aiodns
import pycares

TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Target:
    host: str
    port: int


class Names:
    """Asks the resolver of this machine, or the one that is named."""

    def __init__(self, *, nameserver: str | None = None, port: int = 53) -> None:
        servers = [nameserver] if nameserver else None
        self._resolver = aiodns.DNSResolver(
            nameservers=servers, udp_port=port, tcp_port=port, timeout=TIMEOUT_S / 2, tries=2
        )

    async def __aenter__(self) -> Names:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._resolver.close()

    async def targets(self, service: str, domain: str) -> list[Target]:
        """Of `_SERVICE._tcp.DOMAIN`, best first; empty: there are none, or nobody answers."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                found = await self._resolver.query_dns(f"_{service}._tcp.{domain}", "SRV")
        except (aiodns.error.DNSError, TimeoutError):
            return []
        records = [one.data for one in found.answer if isinstance(one.data, pycares.SRVRecordData)]
        records.sort(key=lambda one: (one.priority, -one.weight))
        return [Target(one.target.rstrip("."), one.port) for one in records]


async def addresses_of(host: str) -> list[str]:
    """As this machine resolves it, /etc/hosts included; empty: it does not."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        return []
    return sorted({str(address[0]) for *_, address in found})
