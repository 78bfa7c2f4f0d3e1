"""Transports to a server: stdio of a child process, streamable HTTP and SSE, all bounded.

The SDK's own `stdio_client` is not used: it buffers lines of any length, and child processes of the
server survive a kill −9 of the agent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from spade_llm.core.redaction import mask_secrets, sanitize_line
from spade_llm.mcp.client import guard
from spade_llm.mcp.client.flow_control import MAX_LINE_BYTES, LineTooLong, bounded_lines

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp_types import JSONRPCMessage

    from spade_llm.mcp.client.flow_control import TrafficBudget
    from spade_llm.mcp.server_configs import HttpEndpoint, McpServerSettings, StdioEndpoint


_log = logging.getLogger(__name__)

STDIN_CLOSED_GRACE_S = 2.0
"""Grace period in seconds for the program to end after its standard input was closed."""
GUARD_GRACE_S = 3 * guard.GRACE_S + 2
STDERR_DRAIN_S = 0.5
PAUSE_S = 0.01
MAX_LINE_CHARS = 500
LINES_PER_MINUTE = 60
"""Maximum number of logged standard error lines per minute; further ones are counted."""
TAIL_LINES = 5
PIPE_BYTES = 256 * 1024

MAX_UNSENT = 64
"""Maximum number of messages that wait for the program to read them."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[\w-]{1,64}")')

CONNECT_TIMEOUT_S = 10.0
SESSION_END_TIMEOUT_S = 2.0
READ_TIMEOUT_S = 3600.0
"""Read timeout between two events in seconds. A call has its own deadline, and an idle stream may
be silent for long."""


class McpServerProcess:
    """Child process of an MCP server, below a guard that ends its whole process group."""

    def __init__(
        self, process: asyncio.subprocess.Process, lifeline: int, server: McpServerSettings
    ):
        assert process.stdin and process.stdout and process.stderr  # All three are PIPE below.
        self.stdin, self.stdout = process.stdin, process.stdout
        self._process = process
        self._lifeline = lifeline
        self._server = server
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._errors = asyncio.create_task(self._log_errors(process.stderr))

    @property
    def pid(self) -> int:
        """Process id of the guard."""
        return self._process.pid

    async def exit_reason(self) -> str:
        """Reason that the program ended. Peers see it, so the program's last lines go only to the
        log."""
        await self._wait(STDIN_CLOSED_GRACE_S)
        await asyncio.wait([self._errors], timeout=STDERR_DRAIN_S)
        if self._tail:
            last = " | ".join(self._tail)
            _log.info("MCP server %s: last output: %s", self._server.name, last)
        status = self._process.returncode
        if status == guard.CANNOT_RUN:
            return "its program cannot be started"
        return "it closed its output" if status is None else f"it exited with status {status}"

    async def stop(self) -> None:
        """Stop the program by closing its input, then by its guard, with all its children."""
        self.stdin.close()
        await self._wait(STDIN_CLOSED_GRACE_S)
        # The guard reads the end of this pipe, and ends the whole process group.
        os.close(self._lifeline)
        await self._wait(GUARD_GRACE_S)
        if self._process.returncode is None:
            self._process.kill()
        self._errors.cancel()
        await asyncio.wait([self._errors])
        # A program that left its group may hold the pipes open: close our ends. asyncio 3.11 offers
        # no other way; without it the transport warns when it is collected.
        transport = getattr(self._process, "_transport", None)
        if isinstance(transport, asyncio.SubprocessTransport):
            transport.close()

    async def _wait(self, timeout_s: float) -> None:
        # Not `wait`: since Python 3.11 it waits for the pipes to close, too, which a full pipe or
        # another process that holds one prevents.
        for _ in range(round(timeout_s / PAUSE_S)):
            if self._process.returncode is not None:
                return
            await asyncio.sleep(PAUSE_S)

    async def _log_errors(self, stream: asyncio.StreamReader) -> None:
        """Log the program's standard error: truncated lines, rate-limited."""
        loop = asyncio.get_running_loop()
        until, room, dropped = loop.time() + 60, LINES_PER_MINUTE, 0
        rest = b""
        while chunk := await stream.read(16 * 1024):
            *lines, rest = (rest + chunk).split(b"\n")
            # A line without an end must not grow in memory.
            rest = rest[:MAX_LINE_CHARS]
            if loop.time() >= until:
                self._say_dropped(dropped)
                until, room, dropped = loop.time() + 60, LINES_PER_MINUTE, 0
            for line in lines[:room]:
                self._log_line(line)
            dropped += max(len(lines) - room, 0)
            room = max(room - len(lines), 0)
            await asyncio.sleep(0 if room else 0.1)  # A flood waits in its pipe.
        self._log_line(rest)
        self._say_dropped(dropped)

    def _log_line(self, line: bytes) -> None:
        text = mask_secrets(
            line[: 4 * MAX_LINE_CHARS].decode("utf-8", "replace"), self._server.secrets
        )
        if shown := sanitize_line(text, MAX_LINE_CHARS):
            self._tail.append(shown)
            _log.debug("MCP server %s: %s", self._server.name, shown)

    def _say_dropped(self, count: int) -> None:
        if count:
            _log.info("MCP server %s: %d more lines omitted", self._server.name, count)


async def start_server_process(
    server: McpServerSettings, where: StdioEndpoint, environment: Mapping[str, str]
) -> McpServerProcess:
    """Raises OSError."""
    lifeline, ours = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            # The guard needs the standard library only, and no PYTHON* variable may change it.
            *(sys.executable, "-I", "-S", guard.__file__, str(lifeline), *where.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=where.cwd,
            pass_fds=(lifeline,),
            limit=PIPE_BYTES,
            # Ctrl-C in the terminal is for the agent, which stops the program gracefully.
            start_new_session=True,
        )
    except BaseException:  # Also on cancellation: no one else closes it.
        os.close(ours)
        raise
    finally:
        os.close(lifeline)
    return McpServerProcess(process, ours, server)


@asynccontextmanager
async def stdio_streams(
    server: McpServerSettings, where: StdioEndpoint, budget: TrafficBudget
) -> AsyncIterator[tuple[TransportStreams, McpServerProcess]]:
    """Raises OSError."""
    # Not our whole environment, which may hold API keys and passwords.
    child = await start_server_process(server, where, get_default_environment() | dict(where.env))
    to_session, inbound = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbound, from_session = anyio.create_memory_object_stream[SessionMessage](MAX_UNSENT)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, child, to_session, budget, server.name)
            group.start_soon(_write, child, from_session, to_session)
            yield (inbound, outbound), child
            group.cancel_scope.cancel()
    finally:
        # Also on cancellation: the program must not outlive its session.
        with anyio.CancelScope(shield=True):
            await child.stop()
        for stream in (inbound, outbound, to_session, from_session):
            stream.close()


async def _read(
    child: McpServerProcess,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    budget: TrafficBudget,
    name: str,
) -> None:
    garbage = 0
    async with to_session, aclosing(bounded_lines(child.stdout, budget)) as lines:
        async for line in lines:
            message = _message(line)
            if message is not None:
                await to_session.send(SessionMessage(message))
            elif not isinstance(line, bytes) or line.strip():
                garbage += 1
                await budget.spend_message()
                if garbage in (1, 10, 100) or garbage % 1000 == 0:
                    _log.warning("MCP server %s: %d invalid lines ignored", name, garbage)


def _message(line: bytes | LineTooLong) -> JSONRPCMessage | None:
    if isinstance(line, LineTooLong):
        return _error_for_lost_answer(line.head)
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None


def _error_for_lost_answer(head: bytes) -> JSONRPCError | None:
    """Build an error response for an answer that was too long and discarded, so that its call fails
    at once; None if its id is not in the beginning."""
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
    child: McpServerProcess,
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


@asynccontextmanager
async def http_streams(
    where: HttpEndpoint, budget: TrafficBudget
) -> AsyncIterator[TransportStreams]:
    """Raises httpx2.HTTPError, also in groups."""
    if where.transport == "sse":

        def make_client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            del headers, timeout, auth  # The SDK's defaults; `_client` sets ours.
            return _client(where.headers, budget)

        async with sse_client(where.url, httpx_client_factory=make_client) as streams:
            yield streams
    else:
        async with (
            _client(where.headers, budget) as client,
            streamable_http_client(
                where.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES
            ) as streams,
        ):
            yield streams


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """HTTP transport with bounded responses.

    A response other than an event stream fails above MAX_LINE_BYTES; the SDK bounds each event. A
    compressed response fails, too, because its size would be known too late.
    """

    def __init__(self, budget: TrafficBudget) -> None:
        super().__init__(limits=httpx2.Limits(max_connections=128))
        self._budget = budget

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # Streamable HTTP ends a session by DELETE.
        if request.method == "DELETE":
            return await self._end_session(request)
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the server compresses its response in spite of identity")
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # Of an async transport.
        response.stream = _BoundedStream(
            response.stream, self._budget, None if is_stream else MAX_LINE_BYTES
        )
        return response

    async def _end_session(self, request: httpx2.Request) -> httpx2.Response:
        """Send the DELETE with a short timeout, and discard the response's body."""
        try:
            async with asyncio.timeout(SESSION_END_TIMEOUT_S):
                response = await super().handle_async_request(request)
                await response.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout("no answer to the end of the session") from None
        return httpx2.Response(response.status_code)


def _client(headers: Mapping[str, str], budget: TrafficBudget) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        headers={**headers, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S),
        transport=BoundedTransport(budget),
    )


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self, stream: httpx2.AsyncByteStream, budget: TrafficBudget, max_bytes: int | None
    ) -> None:
        self._stream = stream
        self._budget = budget
        self._left = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            await self._budget.spend_bytes(len(chunk))
            if self._left is not None:
                self._left -= len(chunk)
                if self._left < 0:
                    # The only error class that the SDK limits to the single request.
                    raise httpx2.StreamError(f"the answer is longer than {MAX_LINE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
