"""A line that is cut while TLS begins is tried again at once."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.concurrency import run_event_loop
from spade_llm.core.errors import ServerUnreachable
from spade_llm.xmpp.connection.settings import ConnectionSettings
from spade_llm.xmpp.connection.xmpp_connection import XmppConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

WAIT_S = 5.0
HEADER = (
    b"<stream:stream from='localhost' id='1' version='1.0' xmlns='jabber:client'"
    b" xmlns:stream='http://etherx.jabber.org/streams'><stream:features>"
    b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"
)
PROCEED = b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"


class Cutter:
    """A server that promises TLS and cuts the line when the handshake begins."""

    def __init__(self) -> None:
        self.times = 0
        self.was_tried_thrice = asyncio.Event()

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"version")
            writer.write(HEADER)
            await reader.readuntil(b"xmpp-tls")
            await reader.readuntil(b">")
            writer.write(PROCEED)
            await reader.readexactly(1)
        self.times += 1
        if self.times == 3:
            self.was_tried_thrice.set()
        reset(writer)


def reset(writer: asyncio.StreamWriter) -> None:
    """As a router that forgets a connection: nothing is said goodbye."""
    at_once = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    writer.transport.abort()


@asynccontextmanager
async def cutter() -> AsyncIterator[tuple[Cutter, int]]:
    meeting = Cutter()
    server = await asyncio.start_server(meeting.meet, "127.0.0.1", 0)
    yield meeting, server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


def test_a_line_that_is_cut_during_the_handshake_is_tried_again_at_once() -> None:
    """On the loop that agents run on: asyncio's own tells more of a lost line."""
    run_event_loop(tried_again())


async def tried_again() -> None:
    async with cutter() as (met, port):
        connection = ConnectionSettings(host="127.0.0.1", port=port, start_timeout_s=60)
        link = XmppConnection("ada@localhost", "secret", connection, resource="r")
        opening = asyncio.create_task(link.open())

        await asyncio.wait_for(met.was_tried_thrice.wait(), WAIT_S)

        opening.cancel()
        await asyncio.wait([opening])
        await link.close()


async def test_a_cut_during_the_handshake_says_nothing_about_the_certificate() -> None:
    async with cutter() as (_, port):
        connection = ConnectionSettings(host="127.0.0.1", port=port, start_timeout_s=0.5)
        link = XmppConnection("ada@localhost", "secret", connection, resource="r")

        with pytest.raises(ServerUnreachable):
            await link.open()
