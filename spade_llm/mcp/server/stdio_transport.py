"""Stdio transport: one JSON-RPC message per line, read and written by threads.

The threads are daemons and bypass `sys.stdin` and its lock, so that a silent client, or one that
does not read, cannot keep the process alive. Not every descriptor can be polled without threads.

The SDK's `stdio_server` (mcp 2.3.0) is not used: its reading thread keeps a stopping process alive
until the next line, accepts lines of any length, and leaves unreadable messages unanswered.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

import anyio
import mcp_types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server

if TYPE_CHECKING:
    Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
    IntoServer = MemoryObjectSendStream[SessionMessage | Exception]
    Outgoing = MemoryObjectSendStream[SessionMessage]
    OutOfServer = MemoryObjectReceiveStream[SessionMessage]

logger = logging.getLogger(__name__)

STDIN, STDOUT, STDERR = 0, 1, 2
BLOCK_BYTES = 65_536
LINES_AHEAD = 16
"""Maximum number of lines read ahead; then the client that writes them has to wait."""

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Maximum size of a message in bytes: a batch of 100 memories of the maximum length has 4 MB."""
DRAIN_S = 2.0
"""Time in seconds for the client to read the last responses after it has closed its output."""


@contextmanager
def standard_streams() -> Iterator[tuple[int, int]]:
    """Duplicates of standard input and output. Within the block descriptor 0 is empty, and what any
    library prints to 1 goes to standard error."""
    wire_in, wire_out = os.dup(STDIN), os.dup(STDOUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    os.dup2(STDERR, STDOUT)
    try:
        yield wire_in, wire_out
    finally:
        # The duplicates stay open: a thread may still wait at one.
        os.dup2(wire_in, STDIN)
        os.dup2(wire_out, STDOUT)


async def read_lines(descriptor: int, max_bytes: int) -> AsyncIterator[bytes | None]:
    """Read lines until the end. None stands for a discarded line, longer than `max_bytes`."""
    # Unbounded, because `put_nowait` must not fail in the loop: the semaphore bounds it.
    ahead: asyncio.Queue[tuple[bytes | None, ...]] = asyncio.Queue()
    room, loop = threading.Semaphore(LINES_AHEAD), asyncio.get_running_loop()

    def read() -> None:
        with suppress(RuntimeError):  # The event loop has ended.
            for line in _lines(descriptor, max_bytes):
                room.acquire()
                loop.call_soon_threadsafe(ahead.put_nowait, (line,))
            loop.call_soon_threadsafe(ahead.put_nowait, ())

    threading.Thread(target=read, daemon=True, name="wire-in").start()
    while found := await ahead.get():
        room.release()
        yield found[0]


class LineWriter:
    """Writes blocks in the order of the calls, each as a whole."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # Bounded by the number of waiting callers.
        self._jobs: queue.SimpleQueue[tuple[bytes, Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="wire-out").start()

    async def write(self, data: bytes) -> None:
        """Write a block. Raises OSError if the client has stopped reading."""
        done: Future[None] = Future()
        self._jobs.put((data, done))
        await asyncio.wrap_future(done)

    def _work(self) -> None:
        while True:
            data, done = self._jobs.get()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                left = memoryview(data)
                while left:
                    # A pipe may accept only a part.
                    left = left[os.write(self._descriptor, left) :]
            except OSError as error:
                done.set_exception(error)
            else:
                done.set_result(None)


async def serve_stdio(server: Server[None]) -> None:
    """Serve until the client closes its output or stops reading."""
    with standard_streams() as (wire_in, wire_out):
        async with _streams(wire_in, wire_out) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


def _lines(descriptor: int, max_bytes: int) -> Iterator[bytes | None]:
    """Lines of the descriptor; None for one that was too long and discarded while it arrived."""
    pending, is_too_long = bytearray(), False
    while True:
        try:
            block = os.read(descriptor, BLOCK_BYTES)
        except OSError:
            return  # A broken pipe is the end of the input.
        if not block:
            return
        *ended, rest = block.split(b"\n")
        for piece in ended:
            pending += piece
            yield None if is_too_long or len(pending) > max_bytes else bytes(pending)
            pending, is_too_long = bytearray(), False
        pending += rest
        if is_too_long or len(pending) > max_bytes:
            pending, is_too_long = bytearray(), True


@asynccontextmanager
async def _streams(wire_in: int, wire_out: int) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Connect the descriptors to the unbuffered streams of the SDK, with back-pressure."""
    writer = LineWriter(wire_out)
    into_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, out_of_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as reading, anyio.create_task_group() as writing:
        reading.start_soon(_read, wire_in, into_server, writer)
        writing.start_soon(_write, out_of_server, writer, into_server)
        yield incoming, outgoing
        outgoing.close()
        reading.cancel_scope.cancel()
        writing.cancel_scope.deadline = anyio.current_time() + DRAIN_S


async def _read(wire_in: int, into_server: IntoServer, writer: LineWriter) -> None:
    async with into_server:
        async for line in read_lines(wire_in, MAX_MESSAGE_BYTES):
            try:
                await _pass_on(line, into_server, writer)
            except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # The client or the server has closed its stream.


async def _pass_on(line: bytes | None, into_server: IntoServer, writer: LineWriter) -> None:
    if line is not None and not line.strip():
        return
    try:
        message = _parsed(line)
    except _UnreadableMessage as fault:
        await writer.write(_line(fault.answer))
    else:
        await into_server.send(SessionMessage(message))


async def _write(out_of_server: OutOfServer, writer: LineWriter, into_server: IntoServer) -> None:
    """Write the server's messages. If the client stops reading, close the server's input."""
    async with out_of_server:
        try:
            async for one in out_of_server:
                await writer.write(_line(one.message))
        except OSError as error:
            logger.info("the client has stopped reading: %s", error.strerror)
            into_server.close()


class _UnreadableMessage(Exception):
    def __init__(self, code: int, reason: str, id: str | int | None = None) -> None:
        super().__init__(reason)
        self.answer = mcp_types.JSONRPCError(
            jsonrpc="2.0", id=id, error=mcp_types.ErrorData(code=code, message=reason)
        )


def _parsed(line: bytes | None) -> mcp_types.JSONRPCMessage:
    """Raises _UnreadableMessage."""
    if line is None:
        raise _UnreadableMessage(
            mcp_types.INVALID_REQUEST, f"the message exceeds the limit of {MAX_MESSAGE_BYTES} bytes"
        )
    try:
        return mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _parsed_slowly(line)


def _parsed_slowly(line: bytes) -> mcp_types.JSONRPCMessage:
    """Parse a message that pydantic rejects. Pydantic allows 200 levels of nesting, Python more, so
    that the tool can answer with its own error about the arguments."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        raise _UnreadableMessage(mcp_types.PARSE_ERROR, "the message is not valid JSON") from None
    try:
        # Python also parses NaN and lone surrogates, which are not JSON: encoding them fails.
        json.dumps(read, ensure_ascii=False, allow_nan=False).encode()
        return mcp_types.jsonrpc_message_adapter.validate_python(read, by_name=False)
    except (ValueError, RecursionError):
        raise _UnreadableMessage(
            mcp_types.INVALID_REQUEST, "the message is not a JSON-RPC message", _id_of(read)
        ) from None


def _id_of(read: object) -> str | int | None:
    id = read.get("id") if isinstance(read, dict) else None
    is_id = isinstance(id, int) or (isinstance(id, str) and id.isprintable())
    # Python's bool is an int; true is not an id in JSON-RPC.
    return id if is_id and not isinstance(id, bool) else None


def _line(message: mcp_types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
