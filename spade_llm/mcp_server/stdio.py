"""MCP over standard input and output: one JSON-RPC message per line. Knows no tool.

Not the SDK's `stdio_server` (mcp 2.3.0): its reading thread keeps a process that is told to stop
alive until the next line, takes lines of any length, and leaves what it cannot read unanswered.
"""

from __future__ import annotations

import json
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from spade_llm.mcp_server.wire import Writer, lines_of, standard_wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server

    Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
    IntoServer = MemoryObjectSendStream[SessionMessage | Exception]
    Outgoing = MemoryObjectSendStream[SessionMessage]
    OutOfServer = MemoryObjectReceiveStream[SessionMessage]

logger = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Of one message: a batch of 100 memories, each as long as one may be, has 4 MB."""
LAST_WORDS_S = 2.0
"""How long the client may take to read our last answers once it has left."""


async def serve_stdio(server: Server[None]) -> None:
    """Until the client closes our input, or does not read our output any more."""
    with standard_wire() as (wire_in, wire_out):
        async with _streams(wire_in, wire_out) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


@asynccontextmanager
async def _streams(wire_in: int, wire_out: int) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """As the SDK wants them. They hold nothing back: who is not read, waits."""
    writer = Writer(wire_out)
    into_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, out_of_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as reading, anyio.create_task_group() as writing:
        reading.start_soon(_read, wire_in, into_server, writer)
        writing.start_soon(_write, out_of_server, writer, into_server)
        yield incoming, outgoing
        outgoing.close()
        reading.cancel_scope.cancel()
        writing.cancel_scope.deadline = anyio.current_time() + LAST_WORDS_S


async def _read(wire_in: int, into_server: IntoServer, writer: Writer) -> None:
    async with into_server:
        async for line in lines_of(wire_in, MAX_MESSAGE_BYTES):
            try:
                await _pass_on(line, into_server, writer)
            except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # One of the two has left.


async def _pass_on(line: bytes | None, into_server: IntoServer, writer: Writer) -> None:
    if line is not None and not line.strip():
        return
    try:
        message = _parsed(line)
    except _Unreadable as fault:
        await writer.write(_line(fault.answer))
    else:
        await into_server.send(SessionMessage(message))


async def _write(out_of_server: OutOfServer, writer: Writer, into_server: IntoServer) -> None:
    """A client that reads no more has left: the server hears the end of its input."""
    async with out_of_server:
        try:
            async for one in out_of_server:
                await writer.write(_line(one.message))
        except OSError as error:
            logger.info("the client does not read any more: %s", error.strerror)
            into_server.close()


class _Unreadable(Exception):
    def __init__(self, code: int, reason: str, id: str | int | None = None) -> None:
        super().__init__(reason)
        self.answer = JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=reason))


def _parsed(line: bytes | None) -> JSONRPCMessage:
    """Raises _Unreadable."""
    if line is None:
        raise _Unreadable(INVALID_REQUEST, f"a message has at most {MAX_MESSAGE_BYTES} bytes")
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _parsed_slowly(line)


def _parsed_slowly(line: bytes) -> JSONRPCMessage:
    """The library reads 200 levels; Python reads more, and what a tool then says of its arguments
    helps more than silence. Half characters and NaN, which Python reads too, are no JSON."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        raise _Unreadable(PARSE_ERROR, "this is no JSON") from None
    try:
        json.dumps(read, ensure_ascii=False, allow_nan=False).encode()
        return jsonrpc_message_adapter.validate_python(read, by_name=False)
    except (ValueError, RecursionError):
        raise _Unreadable(INVALID_REQUEST, "this is no JSON-RPC message", _id_of(read)) from None


def _id_of(read: object) -> str | int | None:
    id = read.get("id") if isinstance(read, dict) else None
    is_id = isinstance(id, int) or (isinstance(id, str) and id.isprintable())
    return id if is_id and not isinstance(id, bool) else None


def _line(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
