"""MCP's stdio transport with bounds: lines of JSON to and from a child process.

Not the SDK's own `stdio_client`: that one holds a line of any length, and its program's helpers
outlive a kill −9 of ours.
"""

from __future__ import annotations

import logging
import re
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from spade_llm.tools.mcp.child import Child, start_child
from spade_llm.tools.mcp.lines import MAX_LINE_BYTES, TooLong, lines_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp_types import JSONRPCMessage

    from spade_llm.tools.mcp.gate import TrafficBudget
    from spade_llm.tools.mcp.server import McpServer, StdioServer

_log = logging.getLogger(__name__)

MAX_UNSENT = 64
"""Messages that wait for the program to read them."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[\w-]{1,64}")')


@asynccontextmanager
async def stdio_streams(
    server: McpServer, where: StdioServer, budget: TrafficBudget
) -> AsyncIterator[tuple[TransportStreams, Child]]:
    """Raises OSError."""
    child = await start_child(server, where, get_default_environment() | dict(where.env))
    to_session, inbound = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbound, from_session = anyio.create_memory_object_stream[SessionMessage](MAX_UNSENT)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, child, to_session, budget, server.name)
            group.start_soon(_write, child, from_session, to_session)
            yield (inbound, outbound), child
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await child.stop()
        for stream in (inbound, outbound, to_session, from_session):
            stream.close()


async def _read(
    child: Child,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    budget: TrafficBudget,
    name: str,
) -> None:
    garbage = 0
    async with to_session, aclosing(lines_of(child.stdout, budget)) as lines:
        async for line in lines:
            message = _message(line)
            if message is not None:
                await to_session.send(SessionMessage(message))
            elif not isinstance(line, bytes) or line.strip():
                garbage += 1
                await budget.spend_message()
                _note_garbage(name, garbage)


def _note_garbage(name: str, count: int) -> None:
    """The first, the tenth, the hundredth …"""
    if count in (1, 10, 100) or count % 1000 == 0:
        _log.warning("MCP server %s: %d lines that are no message were left out", name, count)


def _message(line: bytes | TooLong) -> JSONRPCMessage | None:
    if isinstance(line, TooLong):
        return _failure(line.head)
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None


def _failure(head: bytes) -> JSONRPCError | None:
    """Whoever waits for the answer that was thrown away learns of it at once, if it says so."""
    found = _ID.search(head)
    if found is None:
        return None
    given = found[1].decode()
    what = f"its answer is longer than {MAX_LINE_BYTES} bytes"
    return JSONRPCError(
        jsonrpc="2.0",
        id=given.strip('"') if given.startswith('"') else int(given),
        error=ErrorData(code=INTERNAL_ERROR, message=what),
    )


async def _write(
    child: Child,
    from_session: MemoryObjectReceiveStream[SessionMessage],
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    try:
        async with from_session:
            async for item in from_session:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                child.stdin.write(text.encode() + b"\n")
                await child.stdin.drain()
    except (ConnectionError, RuntimeError):
        to_session.close()
