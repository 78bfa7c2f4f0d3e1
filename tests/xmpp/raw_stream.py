"""An XMPP stream by hand, for what no client library would send."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from typing import TYPE_CHECKING

from tests.xmpp.client import WAIT_S

if TYPE_CHECKING:
    from spade_llm.xmpp.servers.managed_server import Endpoint

HEADER_TO = (
    "<stream:stream to='{}' version='1.0' xmlns='jabber:client' "
    "xmlns:stream='http://etherx.jabber.org/streams'>"
)
HEADER = HEADER_TO.format("localhost")
STARTTLS = "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"


class RawStream:
    """Text out, text in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.features = ""

    @classmethod
    async def open(cls, endpoint: Endpoint) -> RawStream:
        """Connect and read the features; no TLS yet."""
        stream = cls(*await asyncio.open_connection(endpoint.host, endpoint.port))
        stream.write(HEADER_TO.format(endpoint.domain))
        await stream.read_until("</stream:features>")
        return stream

    @classmethod
    async def open_secure(
        cls, endpoint: Endpoint, *, features_within_s: float = WAIT_S
    ) -> RawStream:
        """Connect, upgrade, and read the features behind TLS.

        Raises:
            TimeoutError: they did not come in time.
        """
        stream = await cls.open(endpoint)
        await stream.start_tls(endpoint)
        stream.write(HEADER_TO.format(endpoint.domain))
        try:
            stream.features = await stream.read_until(
                "</stream:features>", within_s=features_within_s
            )
        except TimeoutError:
            await stream.aclose()
            raise
        return stream

    async def start_tls(self, endpoint: Endpoint, *, smuggled: str = "") -> None:
        """Upgrade; `smuggled` is sent behind the request, before TLS."""
        self.write(STARTTLS + smuggled)
        await self.read_until("xmpp-tls")
        await self.read_until(">")
        context = ssl.create_default_context(cafile=str(endpoint.ca_path))
        async with asyncio.timeout(WAIT_S):
            await self._writer.start_tls(context, server_hostname=endpoint.domain)

    async def log_in(self, jid: str, password: str) -> None:
        user = jid.partition("@")[0]
        plain = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
        self.write(
            "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>" + plain + "</auth>"
        )
        await self.read_until("<success")

    def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def read_until(self, text: str, *, within_s: float = WAIT_S) -> str:
        async with asyncio.timeout(within_s):
            return (await self._reader.readuntil(text.encode())).decode()

    async def read_to_end(self) -> str:
        async with asyncio.timeout(WAIT_S):
            return (await self._reader.read()).decode()

    async def aclose(self) -> None:
        """Drop the connection and wait until it has gone."""
        self._writer.transport.abort()
        with contextlib.suppress(OSError):
            async with asyncio.timeout(WAIT_S):
                await self._writer.wait_closed()
