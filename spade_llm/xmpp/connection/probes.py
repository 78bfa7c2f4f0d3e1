"""Server probes: DNS, TLS certificate and registration before login; time and stanza size after it.

The probe before login does not use slixmpp: a client library refuses the servers that are to be
examined.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import aiodns
import pycares
from cryptography import x509
from slixmpp.exceptions import IqError, IqTimeout

from spade_llm.core.errors import ServerUnreachable
from spade_llm.xmpp.connection.settings import ConnectionSettings, tls_context
from spade_llm.xmpp.connection.xmpp_connection import XmppConnection
from spade_llm.xmpp.stanzas.namespaces import TIME

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from slixmpp.stanza import Iq

    from spade_llm.xmpp.servers.managed_server import Endpoint

TIMEOUT_S = 10.0
FEATURES = b"</stream:features>"
MAX_BYTES = 65_536
"""Maximum size of a response in bytes; stream features take about 1000."""
STARTTLS = b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"
DNS_TIMEOUT_S = 5.0
PROBE = "urn:spade-llm:probe"
"""Namespace that no server knows: its error is the answer that is timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Result of a server probe before login."""

    certificate: x509.Certificate
    distrust: str | None
    """Reason why a client rejects the certificate; None: it is trusted."""
    requires_tls: bool
    registers_anybody: bool


async def probe_server(endpoint: Endpoint) -> ServerFacts:
    """Probe a server before login.

    Raises:
        ServerUnreachable: no XMPP server for this domain with TLS answers there.
    """
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
    """Target of an SRV record."""

    host: str
    port: int


class DnsResolver:
    """DNS resolver for SRV records: this machine's, or the named one."""

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
        """SRV records of `_SERVICE._tcp.DOMAIN`, best first; empty: none, or no answer."""
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
        # Only to read the certificate: no credentials are sent over this connection.
        unverified = ssl.create_default_context()
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        stream = await _ProbeStream.open(endpoint, unverified)
    async with stream:
        return ServerFacts(
            certificate=stream.certificate(),
            distrust=distrust,
            requires_tls=b"<required/>" in stream.before,
            registers_anybody=b"http://jabber.org/features/iq-register" in stream.behind,
        )


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


@dataclass(frozen=True, slots=True)
class ProbeLogin:
    """Measurements over the connection of a logged-in account."""

    connection: XmppConnection

    async def server_time(self) -> datetime | None:
        """Query the server's time (XEP-0202), corrected by half the round trip; None: no answer."""
        loop = asyncio.get_running_loop()
        asked_s = loop.time()
        answer = await self._ask(TIME, "time")
        if answer is None or (utc := answer.find(f"{{{TIME}}}time/{{{TIME}}}utc")) is None:
            return None
        delay_s = (loop.time() - asked_s) / 2
        try:
            said = datetime.fromisoformat((utc.text or "").replace("Z", "+00:00"))
        except ValueError:
            return None
        return datetime.fromtimestamp(said.timestamp() + delay_s, UTC) if said.tzinfo else None

    async def round_trip_s(self, size_bytes: int, *, within_s: float) -> float | None:
        """Measure the round trip in seconds of a stanza of this size; None if no response came."""
        loop = asyncio.get_running_loop()
        sent_s = loop.time()
        answer = await self._ask(PROBE, "probe", "x" * size_bytes, within_s=within_s)
        return None if answer is None else loop.time() - sent_s

    async def _ask(
        self, namespace: str, name: str, text: str = "", *, within_s: float = TIMEOUT_S
    ) -> Element | None:
        """Return the response, also an error; None if none came or the connection ended."""
        client = self.connection.client
        question = client.make_iq_get(ito=client.boundjid.domain)
        child = question.xml.makeelement(f"{{{namespace}}}{name}", {})
        child.text = text
        question.append(child)
        # A server ends the stream at a stanza above its limit; then no answer comes before the
        # timeout.
        ended = asyncio.Event()
        client.add_event_handler("disconnected", lambda _: ended.set())
        ending = asyncio.create_task(ended.wait())
        asking = asyncio.create_task(_answer(question, within_s))
        await asyncio.wait([asking, ending], return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not asking.done():
            asking.cancel()
            await asyncio.wait([asking])
            return None
        return asking.result()


async def _answer(question: Iq, within_s: float) -> Element | None:
    try:
        return (await question.send(timeout=within_s)).xml
    except IqError as error:
        return error.iq.xml
    except IqTimeout:
        return None


@asynccontextmanager
async def probe_login(
    jid: str, password: str, connection: ConnectionSettings
) -> AsyncIterator[ProbeLogin]:
    """Log in with a resource of its own.

    Raises:
        ConfigurationError: the server rejects the login; says why.
    """
    # Of its own: the agent that is logged in with this account must not be replaced (`conflict`).
    resource = f"visit-{secrets.token_hex(4)}"
    login = XmppConnection(jid, password, connection, resource=resource, is_resumed=False)
    await login.open()
    try:
        yield ProbeLogin(login)
    finally:
        await login.close()
