"""An XMPP client that is little more than its bytes, so that a thousand of them measure the others.

Logs in, says things, hears what is said to it, and answers what a server or an agent asks of any
client with "I don't know that". Knows no agent.
"""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, cast
from xml.etree.ElementTree import XMLPullParser
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from xml.etree.ElementTree import Element

    _Event = tuple[str, Element]

PATIENCE_S = 60.0
_TLS = "urn:ietf:params:xml:ns:xmpp-tls"
_SASL = "urn:ietf:params:xml:ns:xmpp-sasl"
_BIND = "urn:ietf:params:xml:ns:xmpp-bind"
_STREAMS = "http://etherx.jabber.org/streams"
_UNKNOWN = (
    "<iq type='error' to='{to}' id='{id}'><error type='cancel'>"
    "<service-unavailable xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>"
)


class LeanClient(asyncio.Protocol):
    def __init__(self, jid: str, password: str, tls: ssl.SSLContext, *, resource: str = "") -> None:
        """`tls`: shared by all, for to read the CAs takes longer than to log in. `resource`: empty,
        the server chooses it."""
        self._resource = f"<resource>{resource}</resource>" if resource else ""
        name, _, self._domain = jid.partition("@")
        self._jid, self._login = jid, f"\0{name}\0{password}"
        self._tls = tls
        self._transport: asyncio.Transport | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
        self._roots: list[Element] = []
        """Of the present stream."""
        self._depth = 0
        self._securing: asyncio.Task[None] | None = None
        self.on_text: Callable[[str], None] | None = None
        """Takes the words of each message; of one without, nothing."""
        self.failed: Callable[[Exception], None] = self._fail
        self._acts: dict[str, Callable[[Element], None]] = {
            f"{{{_STREAMS}}}features": self._offered,
            f"{{{_TLS}}}proceed": self._secure,
            f"{{{_SASL}}}success": lambda _: self._open_stream(),
            f"{{{_SASL}}}failure": lambda _: self._fail(ConnectionError(f"{jid}: wrong password")),
            "{jabber:client}iq": self._asked,
            "{jabber:client}message": self._told,
        }

    async def log_in(self, host: str, port: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.get_running_loop().create_connection(lambda: self, host, port)
            await self._ready

    def say(self, to: str, text: str, *, id: str) -> None:
        body = f"<body>{escape(text)}</body>"
        self._write(f"<message type='chat' to='{to}' id='{id}'>{body}</message>")

    def close(self) -> None:
        if self._transport is not None:
            self._write("</stream:stream>")
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses, and have all that one has.
        self._transport = cast("asyncio.Transport", transport)
        self._open_stream()

    def data_received(self, data: bytes) -> None:
        self._parser.feed(data)
        # typeshed knows of events with comments only.
        for event, element in cast("Iterator[_Event]", self._parser.read_events()):
            self._depth += 1 if event == "start" else -1
            if self._depth == 1 and event == "end":
                self._act(element)
                self._roots[-1].clear()
            elif self._depth == 1:
                self._roots = [element]

    def connection_lost(self, exc: Exception | None) -> None:
        self.failed(ConnectionError(f"{self._jid}: the connection was lost: {exc}"))

    def _open_stream(self) -> None:
        """Each stream is a document of its own."""
        self._parser, self._depth = XMLPullParser(("start", "end")), 0
        self._write(
            f"<?xml version='1.0'?><stream:stream to='{self._domain}' version='1.0'"
            f" xmlns='jabber:client' xmlns:stream='{_STREAMS}'>"
        )

    def _act(self, element: Element) -> None:
        act = self._acts.get(element.tag)
        if act is not None:
            act(element)

    def _offered(self, features: Element) -> None:
        if features.find(f"{{{_TLS}}}starttls") is not None:
            self._write(f"<starttls xmlns='{_TLS}'/>")
        elif features.find(f"{{{_SASL}}}mechanisms") is not None:
            login = base64.b64encode(self._login.encode()).decode()
            self._write(f"<auth xmlns='{_SASL}' mechanism='PLAIN'>{login}</auth>")
        else:
            bind = f"<bind xmlns='{_BIND}'>{self._resource}</bind>"
            self._write(f"<iq type='set' id='bind'>{bind}</iq>")

    def _secure(self, _: Element) -> None:
        self._securing = asyncio.create_task(self._start_tls())

    async def _start_tls(self) -> None:
        assert self._transport is not None
        self._transport = await asyncio.get_running_loop().start_tls(
            self._transport, self, self._tls, server_hostname=self._domain
        )
        self._open_stream()

    def _asked(self, iq: Element) -> None:
        if iq.get("id") == "bind":
            self._write("<presence/>")
            self._ready.set_result(None)
        elif iq.get("type") in ("get", "set"):
            to = escape(iq.get("from", self._domain), {"'": "&apos;"})
            self._write(_UNKNOWN.format(to=to, id=escape(iq.get("id", ""), {"'": "&apos;"})))

    def _told(self, message: Element) -> None:
        text = message.findtext("{jabber:client}body")
        if text is not None and self.on_text is not None:
            self.on_text(text)

    def _fail(self, error: Exception) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)

    def _write(self, text: str) -> None:
        assert self._transport is not None
        self._transport.write(text.encode())
