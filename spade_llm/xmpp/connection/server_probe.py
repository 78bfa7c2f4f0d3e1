"""Server probe before login: DNS SRV records, TLS certificate, registration.

It does not use slixmpp: a client library refuses the servers that are to be examined.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiodns
import pycares
from cryptography import x509

from spade_llm.core.errors import ServerUnreachable
from spade_llm.xmpp.connection.settings import tls_context

if TYPE_CHECKING:
    from spade_llm.xmpp.servers.managed_server import Endpoint

TIMEOUT_S = 10.0
FEATURES = b"</stream:features>"
MAX_BYTES = 65_536
"""Maximum size of a response in bytes; stream features take about 1000."""
STARTTLS = b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
DNS_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    certificate: x509.Certificate
    distrust: str | None
    """Reason why a client rejects the certificate; None: it is trusted."""
    requires_tls: bool
    registers_anybody: bool


async def probe_server(endpoint: Endpoint) -> ServerFacts:
    """Raises ServerUnreachable: no XMPP server for this domain with TLS answers there."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await _probe(endpoint)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise ServerUnreachable(
            f"no XMPP server with TLS for {endpoint.domain} answers at"
            f" {endpoint.host}:{endpoint.port} ({str(error) or type(error).__name__})"
        ) from error


@dataclass(frozen=True, slots=True)
class SrvTarget:
    host: str
    port: int


class DnsResolver:
    """Asks the resolver of this machine, or the one that is named."""

    def __init__(self, *, nameserver: str | None = None, port: int = 53) -> None:
        servers = [nameserver] if nameserver else None
        self._resolver = aiodns.DNSResolver(
            nameservers=servers, udp_port=port, tcp_port=port, timeout=DNS_TIMEOUT_S / 2, tries=2
        )

    async def __aenter__(self) -> DnsResolver:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._resolver.close()

    async def targets(self, service: str, domain: str) -> list[SrvTarget]:
        """Look up the SRV records of `_SERVICE._tcp.DOMAIN`, best first; empty: none, or no
        answer."""
        try:
            async with asyncio.timeout(DNS_TIMEOUT_S):
                found = await self._resolver.query_dns(f"_{service}._tcp.{domain}", "SRV")
        except (aiodns.error.DNSError, TimeoutError):
            return []
        records = [one.data for one in found.answer if isinstance(one.data, pycares.SRVRecordData)]
        records.sort(key=lambda one: (one.priority, -one.weight))
        return [SrvTarget(one.target.rstrip("."), one.port) for one in records]


async def addresses_of(host: str) -> list[str]:
    """Resolve a host name as this machine does, /etc/hosts included; empty if that fails."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(DNS_TIMEOUT_S):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        return []
    return sorted({str(address[0]) for *_, address in found})


async def _probe(endpoint: Endpoint) -> ServerFacts:
    distrust = None
    try:
        stream = await _ProbeStream.open(endpoint, tls_context(endpoint.ca_path))
    except ssl.SSLCertVerificationError as error:
        distrust = error.verify_message
        stream = await _ProbeStream.open(endpoint, _unverified_context())
    async with stream:
        return ServerFacts(
            certificate=stream.certificate(),
            distrust=distrust,
            requires_tls=b"<required/>" in stream.before,
            registers_anybody=b"http://jabber.org/features/iq-register" in stream.behind,
        )


def _unverified_context() -> ssl.SSLContext:
    """TLS context for reading an untrusted certificate; no credentials are sent over it."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class _ProbeStream:
    """A stream up to its features, before and behind TLS."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.before = self.behind = b""

    @classmethod
    async def open(cls, endpoint: Endpoint, context: ssl.SSLContext) -> _ProbeStream:
        reader, writer = await asyncio.open_connection(
            endpoint.host, endpoint.port, limit=MAX_BYTES
        )
        stream = cls(reader, writer)
        try:
            await stream._negotiate(endpoint.domain, context)
        except BaseException:
            writer.close()
            raise
        return stream

    async def __aenter__(self) -> _ProbeStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    def certificate(self) -> x509.Certificate:
        shown: ssl.SSLObject = self._writer.get_extra_info("ssl_object")
        return x509.load_der_x509_certificate(shown.getpeercert(binary_form=True) or b"")

    async def _negotiate(self, domain: str, context: ssl.SSLContext) -> None:
        self._writer.write(_header(domain))
        self.before = await self._reader.readuntil(FEATURES)
        self._writer.write(STARTTLS)
        await self._reader.readuntil(b"<proceed")
        # To the end of the tag: what stays in the buffer would be read as the answer behind TLS.
        await self._reader.readuntil(b">")
        await self._writer.start_tls(context, server_hostname=domain)
        self._writer.write(_header(domain))
        self.behind = await self._reader.readuntil(FEATURES)


def _header(domain: str) -> bytes:
    return (
        f"<stream:stream to='{domain}' version='1.0' xmlns='jabber:client' "
        "xmlns:stream='http://etherx.jabber.org/streams'>"
    ).encode()
