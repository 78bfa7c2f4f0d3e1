"""A plain slixmpp client for tests: verifies TLS, and gives every event as something to await."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING, Any

import slixmpp
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatcherId

from spade_llm.xmpp.stanzas.message_codec import CORRECTION

if TYPE_CHECKING:
    from spade_llm.xmpp.servers.managed_server import Endpoint

WAIT_S = 5.0


class Client:
    """One connection. What comes in waits in queues."""

    def __init__(self, jid: str, password: str) -> None:
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        self.errors: asyncio.Queue[Any] = asyncio.Queue()
        self.presences: asyncio.Queue[Any] = asyncio.Queue()
        self.stream_errors: asyncio.Queue[Any] = asyncio.Queue()
        self.disconnected = asyncio.Event()
        self.xmpp = self._new_xmpp(jid, password)
        self._session: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def _new_xmpp(self, jid: str, password: str) -> Any:
        # The CAs of the machine, which slixmpp loads for each client, take 26 ms.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        xmpp = slixmpp.ClientXMPP(jid, password, ssl_context=context)
        xmpp.enable_direct_tls = False
        xmpp.enable_plaintext = False
        xmpp.auto_authorize = None
        xmpp.auto_subscribe = False
        xmpp.register_plugin("xep_0030")
        xmpp.register_plugin("xep_0199")
        xmpp.register_plugin("xep_0203")
        xmpp.add_event_handler("message", self.messages.put_nowait)
        xmpp.add_event_handler("message_error", self.errors.put_nowait)
        xmpp.add_event_handler("presence", self.presences.put_nowait)
        xmpp.add_event_handler("stream_error", self.stream_errors.put_nowait)
        xmpp.add_event_handler("session_start", lambda _: self._settle("session"))
        xmpp.add_event_handler("failed_auth", lambda _: self._settle("failed_auth"))
        xmpp.add_event_handler("ssl_invalid_chain", lambda _: self._settle("bad certificate"))
        xmpp.add_event_handler("disconnected", lambda _: self._dropped())
        return xmpp

    @property
    def jid(self) -> str:
        """The full JID that the server gave."""
        return str(self.xmpp.boundjid)

    @property
    def bare(self) -> str:
        return str(self.xmpp.boundjid.bare)

    async def attempt(self, endpoint: Endpoint, *, timeout_s: float = WAIT_S) -> str:
        """Connect; return `session`, or what went wrong."""
        self.xmpp.ca_certs = endpoint.ca_path
        self.xmpp.connect(endpoint.host, endpoint.port)
        return await asyncio.wait_for(self._session, timeout_s)

    async def log_in(self, endpoint: Endpoint, *, is_available: bool = True) -> None:
        assert await self.attempt(endpoint) == "session"
        if is_available:
            await self.become_available()

    def shows_corrections(self, software: str) -> None:
        """Announce message correction (XEP-0308), and to be this software (XEP-0092)."""
        self.xmpp["xep_0030"].add_feature(CORRECTION)
        self.xmpp.register_plugin("xep_0092", {"software_name": software, "version": "1.0"})

    async def become_available(self) -> None:
        self.xmpp.send_presence()
        await self.ping()

    def send(self, to: str, body: str, *, kind: str = "chat") -> None:
        self.xmpp.send_message(mto=to, mbody=body, mtype=kind)

    def send_raw(self, text: str) -> None:
        self.xmpp.send_raw(text)

    async def ping(self) -> None:
        """Return once the server has read everything that was sent before."""
        await self.xmpp["xep_0199"].send_ping(self.xmpp.boundjid.domain, timeout=WAIT_S)

    def expect_iq(self, iq_id: str) -> asyncio.Future[Any]:
        """The answer to an iq that is sent raw afterwards."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        matcher = MatcherId(iq_id)
        self.xmpp.register_handler(Callback(iq_id, matcher, answer.set_result, once=True))
        return asyncio.ensure_future(asyncio.wait_for(answer, WAIT_S))

    async def received(self) -> Any:
        return await asyncio.wait_for(self.messages.get(), WAIT_S)

    def waiting(self) -> list[Any]:
        """What has come in and was not taken, without waiting for more."""
        return [self.messages.get_nowait() for _ in range(self.messages.qsize())]

    async def error(self) -> Any:
        return await asyncio.wait_for(self.errors.get(), WAIT_S)

    async def presence(self, kind: str, sender: str) -> Any:
        """The next presence of this type (`available` for none) from this address."""
        async with asyncio.timeout(WAIT_S):
            while True:
                presence = await self.presences.get()
                if (presence["type"], str(presence["from"])) == (kind, sender):
                    return presence

    async def dropped(self) -> None:
        """Return once the server has closed the connection."""
        await asyncio.wait_for(self.disconnected.wait(), WAIT_S)

    async def close(self) -> None:
        self.xmpp.cancel_connection_attempt()
        if not self.disconnected.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.xmpp.disconnect(wait=0.1), WAIT_S)
        self.xmpp.abort()

    def _settle(self, outcome: str) -> None:
        if not self._session.done():
            self._session.set_result(outcome)

    def _dropped(self) -> None:
        self.disconnected.set()
        self._settle("disconnected")
