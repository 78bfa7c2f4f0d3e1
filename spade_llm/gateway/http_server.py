"""HTTP server: uvicorn with limits on connections, request heads and slow readers."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Self

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from spade_llm.core.errors import ConfigurationError, PortInUse
from spade_llm.gateway.middleware.request_context import REQUEST_ID, identify_request

if TYPE_CHECKING:
    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 1024
"""Maximum number of open connections; a further one is closed at once."""
MAX_HEAD_BYTES = 32 * 1024
"""Maximum size of a request line with its headers in bytes."""
MAX_HEADERS = 256
HEAD_TIMEOUT_S = 15.0
"""Deadline for a request line with its headers, in seconds."""
LINGER_S = 5.0
"""Time in seconds during which the rest of a refused body or head is read and discarded. If the
connection were closed at once, the client's system would discard the response (RFC 9112 §9.6)."""
KEEPALIVE_TIMEOUT_S = 75
"""Keep-alive timeout of an idle connection in seconds."""
SLOW_READER_TIMEOUT_S = 30.0
"""Seconds after which a connection is reset if its client reads none of the pending response."""
SHUTDOWN_GRACE_S = 1
"""Time in seconds for writing responses after the requests in flight have ended."""
MAX_PIPELINED = 32
"""Maximum number of pipelined requests of a connection; browsers send none."""
_REQUEST_ID = REQUEST_ID.lower().encode()
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER value that resets a connection and discards its unsent data."""
_NO_HTTP = "This is not an HTTP/1.1 request."
_TOO_LARGE = (
    f"The request line and headers exceed {MAX_HEAD_BYTES // 1024} KB, or there are more than"
    f" {MAX_HEADERS} headers."
)


class TooManyPipelined(ConnectionError):
    """Raised in a callback of uvicorn's parser, which then refuses the request and closes the
    connection."""


class HeadTooLarge(ConnectionError):
    """Error for a request head over its limits, raised like TooManyPipelined; response 431."""


class GatewayHttpServer:
    """HTTP server of the gateway, as a context manager. Leaving it ends open connections within
    SHUTDOWN_GRACE_S."""

    def __init__(
        self, app: ASGIApp, host: str, port: int, *, listener: socket.socket | None = None
    ) -> None:
        """`listener`: an open socket at that address; the server closes it."""
        self._app = app
        self._host = host
        self._port = port
        self._listener = listener
        self._uvicorn: _GatewayUvicorn | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """Port that the server listens on, once it has started."""
        return self._port

    async def __aenter__(self) -> Self:
        """Start to listen. Raises ConfigurationError if the address cannot be used."""
        bound = self._listener or _bind(self._host, self._port)
        self._port = bound.getsockname()[1]
        self._uvicorn = _GatewayUvicorn(_config(self._app))
        self._serving = asyncio.create_task(self._uvicorn.serve(sockets=[bound]))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._uvicorn is not None and self._serving is not None:
            self._uvicorn.should_exit = True
            await self._serving
        self._uvicorn = self._serving = None


class _BoundedHttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 protocol, with limits on request heads, pipelining and slow readers."""

    _cycles: Sequence[RequestResponseCycle] = ()
    """Unanswered requests, oldest first."""
    _head_bytes = 0
    """Bytes received since the last request; they limit a head that has incomplete fields."""
    _fields_bytes = 0
    """Size of the complete fields of the current head, however many arrived at once."""
    _is_in_head = True
    _is_refused = False
    _timer: asyncio.TimerHandle | None = None
    """Timeout of a request head, or of the rest of a refused body; closes the connection."""
    _slow_reader_timer: asyncio.TimerHandle | None = None
    """Timer of the next check whether the client reads the pending response."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._close_after(HEAD_TIMEOUT_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._slow_reader_timer is not None:
            self._slow_reader_timer.cancel()
        super().connection_lost(exc)
        for cycle in self._cycles:
            # uvicorn notifies only the last request: earlier pipelined ones would go on.
            cycle.disconnected = not cycle.response_complete
            cycle.message_event.set()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch_reader()

    def data_received(self, data: bytes) -> None:
        # Discarded until the timer closes: read, so that the client's system keeps our answer.
        if self._is_refused:
            return
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._timer is None:
                self._close_after(HEAD_TIMEOUT_S)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > MAX_HEAD_BYTES and not self._is_refused:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn when its parser, or one of our callbacks, rejects a request."""
        if self._fields_bytes > MAX_HEAD_BYTES or len(self.headers or ()) > MAX_HEADERS:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, _NO_HTTP)

    def on_message_begin(self) -> None:
        self._fields_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count_field(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count_field(len(name) + len(value) + len(b": \r\n"))

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._stop_timer()
        super().on_headers_complete()
        self._cycles = [*(one for one in self._cycles if not one.response_complete), self.cycle]
        if len(self.pipeline) > MAX_PIPELINED:
            raise TooManyPipelined

    def on_message_complete(self) -> None:
        self._is_in_head, self._head_bytes = True, 0
        self._stop_timer()
        super().on_message_complete()
        # Garbage may be refused before a next message begins: not under the id of this one.
        self.headers, self._fields_bytes = [], 0

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_reader()
        # The answer came before the end of the body (413, 408), the rest of which may still come.
        if not self._is_in_head:
            self._close_after(LINGER_S)

    def _count_field(self, size: int) -> None:
        """Raises HeadTooLarge."""
        self._fields_bytes += size
        if self._fields_bytes > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            raise HeadTooLarge

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer with an error, discard input for LINGER_S, and close. While an earlier request is
        unanswered, only close: the error would be taken for a part of its answer."""
        self._is_refused = True
        self._stop_timer()
        if not all(cycle.response_complete for cycle in self._cycles):
            self.transport.close()
            return
        sent_id = next((value for name, value in self.headers or () if name == _REQUEST_ID), b"")
        request_id = identify_request(sent_id.decode("latin-1"), "").request_id
        logger.info("rejected: %s %s, request %s", status.value, status.phrase, request_id)
        self.transport.write(_refusal(status, detail, request_id))
        # Only our half is closed: a full close would reset a client that still sends.
        self.transport.write_eof()
        self._close_after(LINGER_S)

    def _watch_reader(self) -> None:
        """Schedule the check for a slow reader, also on a closed connection: unsent data keeps it
        open."""
        if self._slow_reader_timer is not None:
            self._slow_reader_timer.cancel()
        pending_bytes = self.transport.get_write_buffer_size()
        self._slow_reader_timer = (
            self.loop.call_later(SLOW_READER_TIMEOUT_S, self._check_slow_reader, pending_bytes)
            if pending_bytes
            else None
        )

    def _check_slow_reader(self, pending_bytes: int) -> None:
        """`pending_bytes`: unsent bytes at the previous check, SLOW_READER_TIMEOUT_S ago."""
        if self.transport.get_write_buffer_size() < pending_bytes:
            self._watch_reader()
            return
        logger.warning("connection reset: the client does not read its response")
        # The kernel would keep what it took of the answer, too.
        self.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE
        )
        self.transport.abort()

    def _close_after(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _GatewayUvicorn(uvicorn.Server):
    """uvicorn server that leaves signals to the program that runs the event loop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _refusal(status: HTTPStatus, detail: str, request_id: str) -> bytes:
    body = json.dumps({"detail": detail})
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        f"{REQUEST_ID}: {request_id}",
        "Connection: close",
    )
    return "\r\n".join([*lines, "", body]).encode()


def _config(app: ASGIApp) -> uvicorn.Config:
    # proxy_headers: any client could forge its address with X-Forwarded-For.
    return uvicorn.Config(
        app,
        http=_BoundedHttpProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEPALIVE_TIMEOUT_S,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
    )


def _bind(host: str, port: int) -> socket.socket:
    """Bind and listen at once: clients that connect before the start wait in the backlog."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigurationError(f"[http] host: cannot listen on {host!r} ({error})") from error
    try:
        # Otherwise a restart fails as long as old connections are in TIME_WAIT.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # As uvicorn's own default.
        bound.listen(2048)
    except OSError as error:
        bound.close()
        raise PortInUse(
            f"[http] port: cannot listen on {host} port {port} ({error.strerror}): choose another"
            " port, or stop the program that uses it"
        ) from error
    bound.setblocking(False)
    return bound
