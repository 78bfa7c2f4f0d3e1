"""Connection to one server: handshake, tool listing, calls with results as text, end reason.

The SDK's context managers must be entered and left in one task: the one that runs `run`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

import anyio
import httpx2
import mcp_types
from mcp.client.client import Client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from spade_llm.core.redaction import sanitize_line, sanitize_text
from spade_llm.mcp.client.flow_control import FlowControl, TrafficBudget
from spade_llm.mcp.client.pins import ToolDefinition, parse_definition
from spade_llm.mcp.client.tool_listing import ConnectionLost, ToolListings
from spade_llm.mcp.client.transports import McpServerProcess, http_streams, stdio_streams
from spade_llm.mcp.server_configs import McpServerSettings, ServerTimeouts, StdioEndpoint
from spade_llm.tools.toolbox import ToolResult, error_result

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.client.session import ClientSession, IncomingMessage
    from mcp_types import ContentBlock, Tool


_log = logging.getLogger(__name__)

MAX_RESULT_CHARS = 400_000
"""Maximum length of a result in characters; the tool agent pages long before."""
MAX_NAME_CHARS = 300
MAX_ERROR_CHARS = 2000
MAX_REASON_CHARS = 200

_CLAUSES: dict[type[Exception], str] = {
    TimeoutError: "it did not answer in time",
    httpx2.TimeoutException: "it did not answer in time",
    httpx2.HTTPError: "it cannot be reached",
    ValidationError: "it sent an invalid MCP response",
    httpx2.SSEError: "its event stream cannot be read",
}

MAX_PAGES = 50
MAX_TOOLS = 1000
"""Maximum number of tools in a listing; further ones are ignored."""

Answer: TypeAlias = mcp_types.CallToolResult | mcp_types.InputRequiredResult
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
_CLIENT_INFO = mcp_types.Implementation(name="spade-llm", version="1")


def end_reason(task: asyncio.Task[None]) -> str:
    """Reason that a session's task ended. An unexpected error is logged with its traceback."""
    if task.cancelled():
        return "it was stopped"
    error = task.exception()
    if error is None:
        return "it closed the connection"
    known = [text for one in _leaves(error) if (text := _clause(one))]
    if not known:
        _log.error("a session with an MCP server failed", exc_info=error)
        return f"it failed ({type(error).__name__})"
    return known[0]


class McpConnection:
    """Connection to one MCP server; `ready` is set while calls may be made."""

    def __init__(
        self,
        server: McpServerSettings,
        timeouts: ServerTimeouts,
        *,
        on_listed: Callable[[Sequence[ToolDefinition]], None],
    ) -> None:
        self.ready = asyncio.Event()
        self.listings = ToolListings(on_listed)
        self._server = server
        self._timeouts = timeouts
        self._session: ClientSession | None = None
        self._known: dict[str, tuple[Tool, ToolDefinition]] = {}
        self._running = 0

    async def run(self) -> None:
        """Connect, and serve until the connection ends. Raises ConnectionLost, or any error of the
        SDK and its libraries, also in groups."""
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._timeouts.connect_timeout_s):
                gate, child = await stack.enter_async_context(self._gate())
            try:
                await self._serve(gate)
            except Exception:
                self._close()
                if gate.ended.is_set() and child is not None:
                    raise ConnectionLost(await child.exit_reason()) from None
                raise
            finally:
                self._close()

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        """Call a tool; a cancellation is sent to the server.

        Raises:
            ConnectionLost: nothing was sent.
            MCPError: the server refused, or the connection was lost during the call.
            ValidationError: the response is invalid.
        """
        if self._session is None:
            raise ConnectionLost
        params = mcp_types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        self._running += 1
        try:
            # Not `call_tool`: it checks the answer against the server's own schema, whose patterns
            # a hostile server can make as slow as it likes, on our event loop.
            return await self._session.send_request(
                mcp_types.CallToolRequest(params=params), _ANSWER
            )
        finally:
            self._running -= 1

    def _close(self) -> None:
        self.ready.clear()
        self._session = None
        self.listings.close()

    @asynccontextmanager
    async def _gate(self) -> AsyncIterator[tuple[FlowControl, McpServerProcess | None]]:
        budget, where = TrafficBudget(), self._server.endpoint
        if isinstance(where, StdioEndpoint):
            async with stdio_streams(self._server, where, budget) as (streams, child):
                yield FlowControl(*streams, budget), child
        else:
            async with http_streams(where, budget) as streams:
                yield FlowControl(*streams, budget), None

    async def _serve(self, gate: FlowControl) -> None:
        @asynccontextmanager
        async def transport() -> AsyncIterator[TransportStreams]:
            yield gate.inbound, gate.outbound

        async def on_message(message: IncomingMessage) -> None:
            if isinstance(message, mcp_types.ToolListChangedNotification):
                self.listings.refresh()

        async def raise_at_end() -> None:
            await gate.ended.wait()
            # At once, before the SDK unwinds: no call may go to a session that is over.
            self.ready.clear()
            raise ConnectionLost("it closed the connection")

        async with AsyncExitStack() as stack:
            client = Client(
                transport(), cache=None, client_info=_CLIENT_INFO, message_handler=on_message
            )
            async with asyncio.timeout(self._timeouts.connect_timeout_s):
                self._session = (await stack.enter_async_context(client)).session
                self.listings.add(await self._list())
            self.ready.set()
            async with anyio.create_task_group() as group:
                group.start_soon(raise_at_end)
                group.start_soon(self._listen, client)
                await self.listings.poll(
                    self._list_with_timeout, silence_s=self._timeouts.poll_interval_s
                )

    async def _list_with_timeout(self) -> Sequence[ToolDefinition]:
        # A server that handles one request at a time lists its tools only after a long call.
        while True:
            try:
                async with asyncio.timeout(self._timeouts.listing_timeout_s):
                    return await self._list()
            except TimeoutError:
                if not self._running:
                    raise ConnectionLost("it stopped answering") from None

    async def _list(self) -> Sequence[ToolDefinition]:
        assert self._session is not None  # Only `_serve` and what it awaits come here.
        tools: list[Tool] = []
        cursor = None
        # A hostile server can return next cursors without end.
        for _ in range(MAX_PAGES):
            params = mcp_types.PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self._session.list_tools(params=params)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor or len(tools) >= MAX_TOOLS:
                break
        return self._definitions(tools[:MAX_TOOLS])

    def _definitions(self, tools: Sequence[Tool]) -> Sequence[ToolDefinition]:
        # Most tools are unchanged: their definitions are not encoded again.
        known: dict[str, tuple[Tool, ToolDefinition]] = {}
        for tool in tools:
            before = self._known.get(tool.name)
            if before is None or before[0] != tool or tool.name in known:
                parts = tool.model_dump(by_alias=True, mode="json", exclude_none=True)
                before = (tool, parse_definition(parts))
            known.setdefault(tool.name, before)
            if known[tool.name][1] != before[1]:
                _log.warning(
                    "MCP server %s lists %.100r twice with different definitions",
                    self._server.name,
                    tool.name,
                )
        self._known = known
        return [definition for _, definition in known.values()]

    async def _listen(self, client: Client) -> None:
        """Subscribe to tool list changes; the newest protocol notifies only subscribers."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.listings.refresh()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError) as error:
            _log.debug("MCP server %s sends no tool list changes (%s)", self._server.name, error)


async def run_connection(connection: McpConnection) -> str:
    """Run the connection to its end, and return the reason that it ended."""
    task = asyncio.create_task(connection.run())
    try:
        # `wait` does not raise the task's error, which becomes the reason below.
        await asyncio.wait([task])
    finally:
        task.cancel()
        await asyncio.wait([task])
    return end_reason(task)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def _clause(error: BaseException) -> str:
    match error:
        case ConnectionLost():
            return str(error) or "it closed the connection"
        case MCPError():
            return f"it refused: {sanitize_line(error.error.message, MAX_REASON_CHARS)}"
        case httpx2.HTTPStatusError():
            return f"it answered HTTP {error.response.status_code}"
        # TimeoutError, which asyncio raises since Python 3.11, is a subclass of OSError.
        case OSError() if not isinstance(error, TimeoutError):
            return f"it cannot be started: {error.strerror or type(error).__name__}"
        case RuntimeError():
            return sanitize_line(str(error), MAX_REASON_CHARS)
        case _:
            return next((text for kind, text in _CLAUSES.items() if isinstance(error, kind)), "")


def tool_result(answer: mcp_types.CallToolResult) -> ToolResult:
    """Convert the answer of a server to text for the model, at most MAX_RESULT_CHARS long."""
    blocks = [_text(block) for block in answer.content]
    if _adds_to_text(answer.structured_content, blocks):
        blocks.append(json.dumps(answer.structured_content, ensure_ascii=False))
    text = "\n".join(blocks)
    if not text:
        text = "The tool failed without an error message." if answer.is_error else "(no output)"
    if len(text) > MAX_RESULT_CHARS:
        note = f"[truncated: the first {MAX_RESULT_CHARS} of {len(text)} characters]"
        text = f"{text[:MAX_RESULT_CHARS]}\n{note}"
    return ToolResult(text=text, is_error=answer.is_error)


async def call_tool(
    connection: McpConnection, tool: str, arguments: Mapping[str, object], *, server: str
) -> ToolResult:
    """Call a tool; errors of the server are results for the model. Raises ConnectionLost: nothing
    was sent."""
    try:
        answer = await connection.call(tool, arguments)
    except MCPError as error:
        return error_result(_error_text(error, server))
    except ValidationError:
        return error_result(f"The MCP server {server!r} sent an invalid response.")
    if not isinstance(answer, mcp_types.CallToolResult):
        return error_result(
            f"The MCP server {server!r} asks for input first, which is not supported."
        )
    return tool_result(answer)


def _adds_to_text(value: object, blocks: list[str]) -> bool:
    """False if a structured result repeats the text, which it is sent with for older clients."""
    # The SDK's servers wrap a plain value as {"result": …} and send it as text too.
    if value is None or (isinstance(value, dict) and list(value) == ["result"] and blocks):
        return False
    for text in blocks:
        with suppress(ValueError, RecursionError):
            if json.loads(text) == value:
                return False
    return True


def _text(block: ContentBlock) -> str:
    match block:
        case mcp_types.TextContent():
            return block.text
        case mcp_types.ImageContent():
            return f"[{_type(block.mime_type)} image, {_size(block.data)}, not shown]"
        case mcp_types.AudioContent():
            return f"[{_type(block.mime_type)} audio, {_size(block.data)}, not played]"
        case mcp_types.ResourceLink():
            return f"[link to the resource {_name(block.name)}: {_name(str(block.uri))}]"
        case mcp_types.EmbeddedResource():
            return _resource(block)


def _resource(block: mcp_types.EmbeddedResource) -> str:
    resource = block.resource
    name = _name(str(resource.uri))
    match resource:
        case mcp_types.TextResourceContents():
            return f"[resource {name}]\n{resource.text}"
        case mcp_types.BlobResourceContents():
            kind = _type(resource.mime_type or "binary")
            return f"[resource {name}: {kind}, {_size(resource.blob)}, not shown]"


def _name(text: str) -> str:
    return sanitize_line(text, MAX_NAME_CHARS)


def _type(text: str) -> str:
    return sanitize_line(text, 80)


def _size(data: str) -> str:
    try:
        size = len(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return "unreadable"
    return f"{size} bytes"


def _error_text(error: MCPError, server: str) -> str:
    if error.error.code == mcp_types.CONNECTION_CLOSED:
        return (
            f"The connection to the MCP server {server!r} was lost during the call, which may or"
            " may not have taken effect."
        )
    message = sanitize_text(error.error.message, MAX_ERROR_CHARS)
    return f"The MCP server {server!r} refused: {message}"
