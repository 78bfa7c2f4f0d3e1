"""Child process of the embedded server: main program, and client streams on pyjabber's parser.

Uses pyjabber's streams but not its `Server`, which would also listen on the LAN address, for other
servers, and for an HTTP API without login, and would keep a pool of processes that hold the
sockets after its own death.

The stream classes derive from the pyjabber class (0.4.5) for the same task and override its faults.
tests/xmpp/test_pyjabber_faults.py shows each fault in the original, and fails when a newer version
has fixed it. Stanzas are routed by router.py.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import socket
import ssl
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from xml import sax
from xml.etree import ElementTree as ET
from xml.sax.expatreader import ExpatParser
from xml.sax.handler import property_lexical_handler

from loguru import logger as pyjabber_logger
from pyjabber import AppConfig
from pyjabber.db.database import DB
from pyjabber.features.SASL.SASL import SASL
from pyjabber.network.parsers.XMLParser import XMLParser
from pyjabber.network.protocols.XMLProtocol import XMLProtocol
from pyjabber.stream.negotiators.StreamNegotiator import StreamNegotiator
from pyjabber.stream.utils.Enums import Signal, Stage
from pyjabber.utils.Exceptions import NotAuthorizerStreamNegotiationException

from spade_llm.xmpp.servers.certificates import Certificates, local_certificates
from spade_llm.xmpp.servers.embedded.account_store import DATABASE_NAME, EmbeddedStore
from spade_llm.xmpp.servers.embedded.router import ClientSession, EmbeddedRouter
from spade_llm.xmpp.servers.embedded.stanza import (
    JidParts,
    error_of,
    new_stanza,
    result_of,
    stanza_text,
)
from spade_llm.xmpp.servers.managed_server import STANZA_LIMIT_BYTES
from spade_llm.xmpp.servers.server_process import loopback_addresses

if TYPE_CHECKING:
    from xml.sax.xmlreader import AttributesNSImpl


logger = logging.getLogger(__name__)

BIND = "{urn:ietf:params:xml:ns:xmpp-bind}"
STREAM = "{http://etherx.jabber.org/streams}stream"
STARTTLS = "{urn:ietf:params:xml:ns:xmpp-tls}starttls"
STREAM_ERRORS = "urn:ietf:params:xml:ns:xmpp-streams"
WRITE_LIMIT_BYTES = 16 * 1024 * 1024
"""A client that lets more than this pile up does not read any more; its stream is ended."""
RESOURCE_LIMIT_BYTES = 1023
"""RFC 7622 §3.4."""
LOGIN_THREADS = 2
"""Passwords are hashed there, 30 ms each; hashlib lets the loop go on meanwhile."""
CLOSE_TIMEOUT_S = 2.0


def main() -> None:
    """Arguments: directory, domain, port."""
    directory, domain, port = sys.argv[1:]
    # Our parent keeps the log in a file. At INFO there are no bodies.
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    pyjabber_logger.remove()
    # `diagnose` would write the values of variables into the log, passwords included.
    pyjabber_logger.add(sys.stderr, level="INFO", diagnose=False, backtrace=False)
    asyncio.run(serve(Path(directory), domain, int(port)))


async def serve(directory: Path, domain: str, port: int) -> None:
    """Serve until SIGTERM, or until standard input ends because the parent has."""
    stopped = asyncio.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sign, stopped.set)
    _configure_pyjabber(directory, domain, local_certificates(directory / "certificates", domain))
    await DB.setup_database()
    store = EmbeddedStore(directory)
    router = EmbeddedRouter(domain, store)
    server = await asyncio.get_running_loop().create_server(
        lambda: ClientProtocol(router), host=loopback_addresses(), port=port
    )
    watch = asyncio.create_task(_watch_parent(stopped))
    await stopped.wait()
    watch.cancel()
    server.close()
    store.close()
    await asyncio.wait_for(DB.close_engine_async(), CLOSE_TIMEOUT_S)


async def _watch_parent(stopped: asyncio.Event) -> None:
    """The parent holds our standard input open and never writes to it."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    stopped.set()


def _configure_pyjabber(directory: Path, domain: str, certificates: Certificates) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.cert_path, certificates.key_path)
    AppConfig.app_config = AppConfig.AppConfig(
        host=domain,
        ip=[],
        ssl_context=context,
        ssl_context_s2s=context,
        connection_timeout=0,
        family=socket.AF_INET,
        server_port=0,
        config_path="",
        cert_path=str(certificates.cert_path.parent),
        root_path=str(directory),
        database_path=str(directory / DATABASE_NAME),
        database_in_memory=False,
        database_purge=False,
        database_debug=False,
        # Ours keeps offline messages: pyjabber's come in the wrong order, or not at all.
        message_persistence=False,
        semaphore=asyncio.Semaphore(LOGIN_THREADS),
        # No processes: after a kill −9 pyjabber's workers hold the sockets.
        process_pool_exe=ThreadPoolExecutor(LOGIN_THREADS),
        verbose=False,
        plugins=[],
        items={},
    )


class BrokenStream(Exception):
    """The client's stream cannot go on; `condition` says why (RFC 6120 §4.9.3)."""

    def __init__(self, condition: str) -> None:
        super().__init__(condition)
        self.condition = condition


class ClientProtocol(XMLProtocol):
    """The transport's end: bytes in, a bound on their size, and a clean end of this stream only."""

    _transport: asyncio.Transport | None
    _xml_parser: ExpatParser

    def __init__(self, router: EmbeddedRouter) -> None:
        super().__init__(namespace="jabber:client", connection_timeout=None)
        self._router = router
        self._content: StreamParser | None = None
        self._session: ClientSession | None = None
        self._pending_bytes = 0
        self._is_securing = False
        self._broken = ""

    def connection_made(self, transport: asyncio.Transport) -> None:
        if self._content is not None:
            return  # TLS is on: the same stream, over another transport.
        self._peer = transport.get_extra_info("peername")
        self._transport = transport
        self._connection_manager.connection(self._peer, transport)
        self._content = StreamParser(transport, self)
        self.renew_parser()

    def data_received(self, data: bytes) -> None:
        """Unlike the original: bounded, without every body in the log, and never a dead server."""
        self._pending_bytes += len(data)
        try:
            # Since the last complete stanza: one that never ends must not fill the memory.
            if self._pending_bytes > STANZA_LIMIT_BYTES:
                raise BrokenStream("policy-violation")
            self._xml_parser.feed(data)
        except sax.SAXParseException:
            self.end("not-well-formed")
        except BrokenStream as error:
            self.end(error.condition)

    def connection_lost(self, exc: Exception | None) -> None:
        """Unlike the original: nothing of the client stays behind."""
        if self._content is not None:
            self._content.cancel_queue_bridge()
        self._connection_manager._peerList.pop(self._peer, None)
        self._connection_manager._orphan_jids.pop(self._peer, None)
        self._transport = None
        if self._session is not None:
            self._router.close(self._session)
            self._session = None

    def stanza_completed(self) -> None:
        self._pending_bytes = 0

    def renew_parser(self) -> None:
        """A stream starts anew as its own document, so that it may begin with `<?xml ...?>`."""
        parser = ExpatParser()
        parser.setFeature(sax.handler.feature_namespaces, True)
        # No file or URL that a client names is read (XXE).
        parser.setFeature(sax.handler.feature_external_ges, False)
        parser.setProperty(property_lexical_handler, RestrictedXml())
        if self._content is not None:
            parser.setContentHandler(self._content)
        self._xml_parser = parser

    def bind(self, jid: JidParts) -> None:
        """Open the session of an authenticated client; from here on its stanzas are routed."""
        self._session = ClientSession(jid=jid, stream=self)
        self._router.open(self._session)

    def route(self, stanza: ET.Element) -> None:
        if self._session is not None:
            self._router.route(self._session, stanza)

    def send(self, text: str) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(text.encode())
        if self._transport.get_write_buffer_size() > WRITE_LIMIT_BYTES:
            logger.warning("%s does not read; its stream is ended", self._peer)
            self._transport.abort()

    @contextmanager
    def securing(self) -> Iterator[None]:
        """TLS begins in here. What the client says right behind its handshake is read before the
        new transport is ours, and must not be answered through the old one, in the clear."""
        self._is_securing = True
        try:
            yield
        finally:
            self._is_securing = False
            if self._broken:
                self.end(self._broken)

    def end(self, condition: str) -> None:
        if self._is_securing:
            self._broken = condition
            return
        logger.info("stream of %s ended: %s", self._peer, condition)
        self.send(
            f"<stream:error><{condition} xmlns='{STREAM_ERRORS}'/></stream:error></stream:stream>"
        )
        if self._transport is not None:
            self._transport.close()


class RestrictedXml:
    """RFC 6120 §11.1: no document type, hence no entities, in a stream."""

    def startDTD(self, name: str, public_id: str | None, system_id: str | None) -> None:
        raise BrokenStream("restricted-xml")

    def endDTD(self) -> None: ...

    def startCDATA(self) -> None: ...

    def endCDATA(self) -> None: ...

    def comment(self, content: str) -> None: ...


class StreamParser(XMLParser):
    """SAX events to elements; what breaks the stream is told apart from what breaks us."""

    def __init__(self, transport: asyncio.BaseTransport, protocol: ClientProtocol) -> None:
        super().__init__(
            transport,
            protocol,
            stream_negotiator=ClientNegotiator,
            stanza_handler=partial(StanzaFeed, protocol),
        )
        self._queue_bridge_task.add_done_callback(self._report_failure)

    def startElementNS(
        self, name: tuple[str | None, str], qname: str | None, attrs: AttributesNSImpl
    ) -> None:
        if not self._stack and f"{{{name[0]}}}{name[1]}" != STREAM:
            raise BrokenStream("invalid-namespace")
        super().startElementNS(name, qname, attrs)

    def endElementNS(self, name: tuple[str | None, str], qname: str | None) -> None:
        """Unlike the original: only the stream's own end is the stream's end."""
        if len(self._stack) == 1:
            super().endElementNS((None, "stream"), qname)
            return
        elem = self._stack.pop()
        if len(self._stack) > 1:
            self._stack[-1].append(elem)
            return
        self._protocol.stanza_completed()
        self._stream_negotiator.put(elem)

    def characters(self, content: str) -> None:
        if len(self._stack) > 1:  # White space between stanzas keeps a connection alive.
            super().characters(content)

    def reset_stack(self) -> None:
        """Does nothing: the original forgets here, after TLS, what has come in since TLS."""

    def start_over(self) -> None:
        """A new stream begins. What came before it must not count as said in it."""
        # Else plaintext that was put in front of the handshake would count as said behind TLS.
        self._stack.clear()
        queue = self._stream_negotiator._queue
        while not queue.empty():
            queue.get_nowait()
        self._protocol.stanza_completed()
        self._protocol.renew_parser()

    def _report_failure(self, task: asyncio.Task[None]) -> None:
        """Close the stream if its reader task fails; in the original it stays open, unread."""
        if not task.cancelled() and task.exception() is not None:
            logger.error("a stream failed", exc_info=task.exception())
            self._protocol.end("internal-server-error")


class StanzaFeed:
    """Receiver of the stanzas from pyjabber's queue, once the stream is negotiated."""

    def __init__(self, protocol: ClientProtocol, _transport: asyncio.BaseTransport) -> None:
        self._protocol = protocol

    async def feed(self, element: ET.Element) -> None:
        self._protocol.route(element)


class ClosedSASL(SASL):
    """Login without registration, which pyjabber allows even when it is not announced."""

    async def handle_iq(self, element: ET.Element) -> None:
        element.attrib.pop("to", None)
        self._transport.write(stanza_text(error_of(element, "not-allowed")).encode())


class ClientNegotiator(StreamNegotiator):
    """TLS, login, binding; the client gets the resource that it asks for."""

    _sasl: ClosedSASL | None

    async def _handle_tls(self, element: ET.Element) -> None:
        """Unlike the original: the new stream begins before the client can begin it."""
        if element.tag == STARTTLS:
            self._parser.start_over()
        with self._protocol.securing():
            await super()._handle_tls(element)

    async def _handle_ssl(self, element: ET.Element) -> None:
        if self._sasl is None:
            self._sasl = ClosedSASL(self._transport, self._parser, self._peer)
        await super()._handle_ssl(element)
        if self._stage is Stage.AUTH:
            self._parser.start_over()

    async def _handle_resource_bind(self, element: ET.Element) -> Signal:
        request = element.find(f"{BIND}bind")
        if element.get("type") != "set" or request is None:
            raise NotAuthorizerStreamNegotiationException
        known = self._connection_manager.get_jid(self._peer)
        resource = (request.findtext(f"{BIND}resource") or "").strip()
        if not resource or len(resource.encode()) > RESOURCE_LIMIT_BYTES:
            resource = secrets.token_hex(8)
        jid = JidParts(user=known.user, domain=known.domain, resource=resource)
        self._stage = Stage.READY
        self._protocol.bind(jid)
        bind = ET.Element(f"{BIND}bind")
        ET.SubElement(bind, f"{BIND}jid").text = str(jid)
        request_id = element.get("id", "")
        self._protocol.send(stanza_text(result_of(new_stanza("iq", id=request_id), bind)))
        return Signal.DONE
