"""XMPP client (slixmpp): verified TLS, stream resumption, batched writes, fast SCRAM login."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from hashlib import pbkdf2_hmac
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError, ParserCreate

from slixmpp import ClientXMPP
from slixmpp.exceptions import IqError, IqTimeout, XMPPError
from slixmpp.plugins.xep_0198 import stanza as stanzas
from slixmpp.stanza import Error, Iq, StreamFeatures
from slixmpp.util.sasl.client import MECHANISMS, SASLCancelled
from slixmpp.util.sasl.mechanisms import SCRAM
from slixmpp.xmlstream import register_stanza_plugin
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase
from slixmpp.xmlstream.xmlstream import NotConnectedError

from spade_llm.core.errors import ConfigurationError
from spade_llm.xmpp.connection.settings import ConnectionSettings, tls_context
from spade_llm.xmpp.connection.stream_management import StreamManagement
from spade_llm.xmpp.stanzas.message_codec import ACL_TAG
from spade_llm.xmpp.stanzas.namespaces import DISCO_INFO, DISCO_ITEMS

if TYPE_CHECKING:
    import asyncio
    from xml.etree.ElementTree import Element

    from slixmpp.xmlstream.handler.base import BaseHandler


logger = logging.getLogger(__name__)

MAX_BUFFERED_CHARS = 64 * 1024
"""Maximum size of the write buffer in characters; a larger one is flushed at once."""

MAX_ITERATIONS = 1_000_000
"""Maximum number of SCRAM iterations that a server may request: 0.3 s. Prosody requests 10 000."""
_MESSAGE = "{jabber:client}message"
_IQ = "{jabber:client}iq"
_PRESENCE = "{jabber:client}presence"
_ANSWERS = frozenset({"result", "error"})
_PENDING_IQ_PREFIX = "IqCallback_"
"""Prefix that slixmpp 1.12 gives to the handler of a pending IQ; the IQ's id follows."""
_BEFORE_BINDING = 9000
"""slixmpp 1.12 binds a resource at 10 000."""

# RFC 6120 §8.3.3.12. slixmpp 1.12 does not know it: an iq that gets this error never completes.
Error.conditions.add("policy-violation")


class WriteBuffer:
    """Write buffer: one write for all that is sent in one turn of the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, write: Callable[[str], None]) -> None:
        """`write` sends text over the current connection; the buffer is for that one only."""
        self._loop = loop
        self._write = write
        self._waiting: list[str] = []
        self._chars = 0
        self._is_due = False
        self.before_flush: Callable[[], None] = lambda: None
        """Called at the end of a turn, to put more."""

    def put(self, text: str) -> None:
        """Append text to the buffer; the order is kept."""
        self._waiting.append(text)
        self._chars += len(text)
        if self._chars > MAX_BUFFERED_CHARS:
            self.flush()
        else:
            self.flush_soon()

    def flush_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            # One write for all of this turn: each takes 40 µs, and more where the server wakes up
            # at once and takes the processor.
            self._loop.call_soon(self._flush_scheduled)

    def flush(self) -> None:
        """Write the buffer now, instead of at the end of the event-loop turn."""
        text = "".join(self._waiting)
        self.drop()
        if text:
            self._write(text)

    def drop(self) -> None:
        """Discard the buffer: its connection is gone."""
        self._waiting.clear()
        self._chars = 0

    def _flush_scheduled(self) -> None:
        # While `_is_due` is still true: what is put here leaves now and schedules no other flush.
        self.before_flush()
        self._is_due = False
        self.flush()


class PrologueCheck:
    """Check for a document type declaration at the beginning of a connection's XML. Receives the
    data before the real parser does, until the root element has begun."""

    def __init__(self) -> None:
        self._parser = ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._forbid

    def is_forbidden(self, data: bytes) -> bool:
        """True if the data declares a document type. Malformed XML is left to the real parser."""
        try:
            self._parser.Parse(data, False)
        except _Forbidden:
            return True
        except ExpatError:
            return False
        return False

    def _forbid(self, *_: object) -> None:
        raise _Forbidden


class Scram(SCRAM):
    """SCRAM with OpenSSL, and a bound on the number of iterations."""

    def Hi(self, text: str | bytes, salt: bytes, iterations: int) -> bytes:
        # The server chooses the number, before it has shown that it knows the password (RFC 5802
        # §5).
        if not 0 < iterations <= MAX_ITERATIONS:
            raise SASLCancelled(f"the server asks for {iterations} iterations")
        password = text.encode() if isinstance(text, str) else text
        # OpenSSL takes 2 ms. slixmpp 1.12 iterates in Python: 25 ms of the event loop, so that the
        # agents of one process would come back from a restarted server one after the other.
        return pbkdf2_hmac(self.hash().name, password, salt, iterations)


def use_fast_scram() -> None:
    """Replace SCRAM for all slixmpp clients of this process, which share a registry of
    mechanisms."""
    for name, mechanism in MECHANISMS.items():
        if mechanism is SCRAM:
            MECHANISMS[name] = Scram


class XmppClient(ClientXMPP):
    """slixmpp 1.12 accepts subscriptions from anyone, tries direct TLS before STARTTLS even on an
    explicit port, and goes wherever a server without a certificate sends it, to log in there by
    that name; all three are off here.

    Events of its own: `session_resumed`, instead of `session_start`.
    """

    # Read by slixmpp's __del__, also of an object whose creation has failed.
    _run_out_filters = None

    def __init__(
        self,
        jid: str,
        password: str,
        connection: ConnectionSettings,
        on_due: Callable[[float], None],
    ) -> None:
        self._prologue = PrologueCheck()
        self._pending_iqs: dict[str, BaseHandler] = {}
        """Handlers of our requests that wait for their answer, by id. They are not registered with
        slixmpp before it arrives: it would ask each of them about each stanza."""
        use_fast_scram()
        super().__init__(jid, password, ssl_context=tls_context(connection.ca_path))
        self._write_buffer = WriteBuffer(self.loop, super().send_raw)
        self.management = StreamManagement(self._write_buffer.put, on_due)
        self._write_buffer.before_flush = self.management.flush_ack_request
        self.until_ready: Callable[[], Awaitable[None]] | None = None
        """Awaited before a resource is bound, so that no message arrives earlier. If it raises
        ConfigurationError, no resource is bound."""
        self.on_acl: Callable[[Element], None] | None = None
        """Takes each message between agents before slixmpp makes an object of it and asks every
        handler whether it wants that (a third of a request's time here); must not raise."""
        self.is_refused: Callable[[Element], bool] | None = None
        """Asked with each stanza, but for IQ answers, before slixmpp makes an object of it; True:
        it goes no further. Must not raise."""
        register_stanza_plugin(StreamFeatures, stanzas.StreamManagement)
        # A stream is resumed after the login and instead of binding a resource (XEP-0198 §5).
        self.register_feature("sm", self._resume, restart=True, order=_BEFORE_BINDING)
        # slixmpp 1.12 tries direct TLS first, even on an explicit port that speaks STARTTLS.
        self.enable_direct_tls = connection.host is None
        # slixmpp accepts everybody by default; here the roster decides (xmpp/features/roster.py).
        self.roster.auto_authorize = None
        self.roster.auto_subscribe = None
        # Its cache keeps what anybody says of itself, for ever; nothing of ours reads it.
        self.register_plugin("xep_0030", {"use_cache": False})
        self.register_plugin("xep_0199")
        self.registration_refusal: tuple[str, str] | None = None
        """Type and condition of the error that the last in-band registration got."""
        if connection.register:
            self.register_plugin("xep_0077")
            self.add_event_handler("register", self._register)
        # Our inbox reads every <message/> itself (xmpp/stanza_router.py).
        self.remove_handler("IM")
        self.remove_handler("IMError")
        # slixmpp 1.12 refuses a stranger's roster push with an error that it fails to write.
        self.remove_handler("Roster Update")
        handle_iq(self, "set", "{jabber:iq:roster}query", self._take_roster_push)
        # It leaves these without the answer that each request must get (RFC 6120 §8.2.3).
        for namespace in (DISCO_INFO, DISCO_ITEMS):
            handle_iq(self, "set", f"{{{namespace}}}query", _refuse)

    async def _register(self, _form: object) -> None:
        iq = self.Iq()
        iq["type"] = "set"
        iq["register"]["username"] = self.boundjid.user
        iq["register"]["password"] = self.password
        self.registration_refusal = None
        try:
            await iq.send(timeout=10)
        except IqError as error:
            self.registration_refusal = (error.etype, error.condition)
            logger.info("in-band registration: %s", error.condition)
        except IqTimeout:
            logger.warning("in-band registration was not answered")

    def init_parser(self) -> None:
        super().init_parser()
        self._prologue = PrologueCheck()

    def data_received(self, data: bytes) -> None:
        # XML allows a document type before the root element only. It is refused before the real
        # parser sees it: expat's own limit lets 47 MB of entities through.
        if self.xml_root is None and self._prologue.is_forbidden(data):
            logger.warning(
                "%s: connection closed: the server sent a document type declaration",
                self.boundjid.bare,
            )
            self.abort()
            return
        super().data_received(data)

    async def start_tls(self) -> bool:
        """Start TLS, and report a connection that is lost during the handshake. The event loop
        reports it only to the task that awaits the handshake, and slixmpp 1.12 then closes the
        stream without an event."""
        is_secure: bool = await super().start_tls()
        if not is_secure and self.transport is not None and self.transport.is_closing():
            self.connection_lost(ConnectionResetError("cut during the TLS handshake"))
        return is_secure

    def send_raw(self, data: str | bytes) -> None:
        """Buffer the text; it is written at the end of this turn of the event loop."""
        if not self.transport:
            raise NotConnectedError
        text = data if isinstance(data, str) else data.decode()
        # In this order: an `<r/>` that `note_sent` writes must follow the stanza that it counts.
        self._write_buffer.put(text)
        self.management.note_sent(text)

    def request_ack_soon(self) -> None:
        """Request an acknowledgement (XEP-0198) in the same write as what was sent in this turn."""
        self.management.request_ack_at_flush()
        self._write_buffer.flush_soon()

    async def ping(self, jid: str, timeout_s: float) -> str | None:
        """Ping a JID (XEP-0199); return the condition of an error response, empty for a result, and
        None if no response came in time."""
        try:
            await self["xep_0199"].send_ping(jid, timeout=timeout_s)
        except IqError as error:
            return str(error.condition)
        except IqTimeout:
            return None
        return ""

    def connection_lost(self, exception: BaseException | None) -> None:
        # What waited counts as written: a resumed stream sends it again, a new one must not.
        self._write_buffer.drop()
        super().connection_lost(exception)

    def abort(self) -> None:
        if self.transport:
            self._write_buffer.flush()
        super().abort()

    def register_handler(
        self,
        handler: BaseHandler,
        before: BaseHandler | None = None,
        after: BaseHandler | None = None,
    ) -> None:
        if handler.name.startswith(_PENDING_IQ_PREFIX):
            self._pending_iqs[handler.name.removeprefix(_PENDING_IQ_PREFIX)] = handler
        else:
            super().register_handler(handler, before, after)

    def remove_handler(self, name: str) -> bool:
        """Remove a handler or a pending IQ: slixmpp calls this for each request that timed out."""
        id = name.removeprefix(_PENDING_IQ_PREFIX)
        if id != name and self._pending_iqs.pop(id, None) is not None:
            return True
        return bool(super().remove_handler(name))

    def _spawn_event(self, xml: Element) -> None:
        # slixmpp takes 0.1 to 0.3 ms for an element; what it has no handler for, it does not get.
        if self.management.handles(xml) or self._is_dropped(xml):
            # Counted all the same: the server counts each stanza that it sends (XEP-0198 §4).
            self.management.note_received(xml)
        elif xml.tag == _MESSAGE and self.on_acl is not None and xml.find(ACL_TAG) is not None:
            self.management.note_received(xml)
            self.on_acl(xml)
        elif xml.tag == _IQ and xml.get("type") in _ANSWERS:
            self._answer_pending_iq(xml)
        else:
            super()._spawn_event(xml)

    def _answer_pending_iq(self, xml: Element) -> None:
        """Give an IQ response to the handler of its request, which compares the sender as well: a
        response of somebody else leaves the request pending."""
        id = xml.get("id", "")
        handler = self._pending_iqs[id]
        super().register_handler(handler)
        super()._spawn_event(xml)
        if handler.check_delete():
            self._pending_iqs.pop(id, None)
        else:
            super().remove_handler(handler.name)
            handler.stream = None

    def _is_dropped(self, xml: Element) -> bool:
        """True for a stanza that is dropped: an IQ response that no request waits for, or a refused
        stanza. slixmpp takes 0.1 to 0.3 ms for each, this check 0.01 ms."""
        if xml.tag == _IQ and xml.get("type") in _ANSWERS:
            return xml.get("id", "") not in self._pending_iqs
        is_stanza = xml.tag in (_IQ, _MESSAGE, _PRESENCE)
        return is_stanza and self.is_refused is not None and self.is_refused(xml)

    def _take_roster_push(self, iq: Iq) -> None:
        """Accept roster pushes from our own server only (RFC 6121 §2.1.6)."""
        if iq.xml.get("from", "") not in ("", self.boundjid.bare):
            _refuse(iq)
        self.event("roster_update", iq)

    def incoming_filter(self, xml: Element) -> Element:
        self.management.note_received(xml)
        return xml

    async def _handle_stream_features(self, features: StreamFeatures) -> bool | None:
        try:
            if self.until_ready is not None and "bind" in features["features"]:
                await self.until_ready()
        except ConfigurationError:
            return True
        decided: bool | None = await super()._handle_stream_features(features)
        return decided

    async def _resume(self, _features: object) -> bool:
        """Resume the stream; True if nothing is left to negotiate."""
        self.management.is_offered = True
        if not self.management.may_resume or not await self.management.resume():
            return False
        # A resumed stream keeps its resource (XEP-0198 §5), so no binding will set these.
        self.bound = self.sessionstarted = True
        self.event("session_resumed")
        return True

    def _handle_stream_error(self, error: object) -> None:
        """Raise the event only, without slixmpp's handling of `see-other-host`."""
        # slixmpp follows a redirection at once, also before TLS, where anybody on the line can send
        # it.
        self.event("stream_error", error)


def handle_iq(client: ClientXMPP, kind: str, tag: str, handle: Callable[[Iq], None]) -> None:
    """Register the handler of requests of this kind (`get`, `set`) with this payload
    (`{namespace}name`); it has to respond, at once or later."""
    client.register_handler(Callback(f"{kind} {tag}", _IqMatcher((kind, tag)), handle))


def answer_iq(client: ClientXMPP, tag: str, answer: Callable[[], Element]) -> None:
    """Answer `get` requests for this payload; `answer` returns the payload of the result and must
    not raise."""

    def handle(iq: Iq) -> None:
        reply = iq.reply()
        reply.xml.append(answer())
        reply.send()

    handle_iq(client, "get", tag, handle)


class _IqMatcher(MatcherBase):
    def match(self, stanza: Iq) -> bool:
        xml, (kind, tag) = stanza.xml, self._criteria
        is_asked = xml.tag == "{jabber:client}iq" and xml.get("type") == kind
        # A request has exactly one child (RFC 6120 §8.2.3).
        return bool(is_asked and len(xml) == 1 and xml[0].tag == tag)


class _Forbidden(Exception):
    pass


def _refuse(_iq: Iq) -> None:
    raise XMPPError("service-unavailable")
