"""One live session with one server: opened, listed, called, over when it breaks.

The SDK's context managers are entered and left in the task that runs `run`, as they must be.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

import anyio
from mcp.client.client import Client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    ToolListChangedNotification,
)
from pydantic import TypeAdapter

from spade_llm.tools.mcp.definition import Definition, definition_of
from spade_llm.tools.mcp.gate import Gate, TrafficBudget
from spade_llm.tools.mcp.http import http_streams
from spade_llm.tools.mcp.listings import Listings, Lost
from spade_llm.tools.mcp.reasons import reason_of
from spade_llm.tools.mcp.server import StdioServer
from spade_llm.tools.mcp.stdio import stdio_streams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from mcp.client._transport import TransportStreams
    from mcp.client.session import ClientSession, IncomingMessage
    from mcp_types import Tool

    from spade_llm.tools.mcp.child import Child
    from spade_llm.tools.mcp.patience import Patience
    from spade_llm.tools.mcp.server import McpServer

_log = logging.getLogger(__name__)

MAX_PAGES = 50
MAX_TOOLS = 1000
"""Of one listing; what comes after is not looked at."""

Answer: TypeAlias = CallToolResult | InputRequiredResult
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
_ME = Implementation(name="spade-llm", version="1")


class Connection:
    """`ready` is set once calls may be made. `run` returns the reason why it is over."""

    def __init__(
        self,
        server: McpServer,
        patience: Patience,
        *,
        on_listed: Callable[[Sequence[Definition]], None],
    ) -> None:
        self.ready = asyncio.Event()
        self.listings = Listings(on_listed)
        self._server = server
        self._patience = patience
        self._session: ClientSession | None = None
        self._known: dict[str, tuple[Tool, Definition]] = {}
        self._running = 0

    async def run(self) -> None:
        """Raises Lost, or whatever the SDK and its libraries raise, also in groups."""
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(self._patience.open_s):
                gate, child = await stack.enter_async_context(self._gate())
            try:
                await self._serve(gate)
            except Exception:
                self._close()
                if gate.ended.is_set() and child is not None:
                    raise Lost(await child.obituary()) from None
                raise
            finally:
                self._close()

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        """A cancellation is told to the server.

        Raises:
            Lost: nothing was sent.
            MCPError: the server declined, or went away in the middle.
            ValidationError: its answer is none.
        """
        if self._session is None:
            raise Lost
        params = CallToolRequestParams(name=tool, arguments=dict(arguments))
        self._running += 1
        try:
            # Not `call_tool`: it checks the answer against the server's own schema, whose patterns
            # a hostile server can make as slow as it likes, on our event loop.
            return await self._session.send_request(CallToolRequest(params=params), _ANSWER)
        finally:
            self._running -= 1

    def _close(self) -> None:
        self.ready.clear()
        self._session = None
        self.listings.close()

    @asynccontextmanager
    async def _gate(self) -> AsyncIterator[tuple[Gate, Child | None]]:
        budget, where = TrafficBudget(), self._server.where
        if isinstance(where, StdioServer):
            async with stdio_streams(self._server, where, budget) as (streams, child):
                yield Gate(*streams, budget), child
        else:
            async with http_streams(where, budget) as streams:
                yield Gate(*streams, budget), None

    async def _serve(self, gate: Gate) -> None:
        async with AsyncExitStack() as stack:
            client = Client(
                _transport(gate), cache=None, client_info=_ME, message_handler=self._on_message
            )
            async with asyncio.timeout(self._patience.open_s):
                self._session = (await stack.enter_async_context(client)).session
                self.listings.add(await self._list())
            self.ready.set()
            async with anyio.create_task_group() as group:
                group.start_soon(self._end_with, gate)
                group.start_soon(self._listen, client)
                await self.listings.keep(self._patient_list, silence_s=self._patience.silence_s)

    async def _patient_list(self) -> Sequence[Definition]:
        """A server that does one thing at a time lists its tools only after a long call."""
        while True:
            try:
                async with asyncio.timeout(self._patience.hang_s):
                    return await self._list()
            except TimeoutError:
                if not self._running:
                    raise Lost("it did not answer any more") from None

    async def _list(self) -> Sequence[Definition]:
        assert self._session is not None  # Only `_serve` and what it awaits come here.
        tools: list[Tool] = []
        cursor = None
        for _ in range(MAX_PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self._session.list_tools(params=params)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor or len(tools) >= MAX_TOOLS:
                break
        return self._definitions(tools[:MAX_TOOLS])

    def _definitions(self, tools: Sequence[Tool]) -> Sequence[Definition]:
        """Most are what they were: those are not written as JSON again."""
        known: dict[str, tuple[Tool, Definition]] = {}
        for tool in tools:
            before = self._known.get(tool.name)
            if before is None or before[0] != tool or tool.name in known:
                before = (tool, _definition(tool))
            known.setdefault(tool.name, before)
            if known[tool.name][1] != before[1]:
                _log.warning(
                    "MCP server %s lists %.100r twice, differently", self._server.name, tool.name
                )
        self._known = known
        return [definition for _, definition in known.values()]

    async def _end_with(self, gate: Gate) -> None:
        await gate.ended.wait()
        self.ready.clear()
        raise Lost("it closed the connection")

    async def _listen(self, client: Client) -> None:
        """The newest protocol tells of changes only to who listens."""
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.listings.refresh()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError) as error:
            _log.debug("MCP server %s: no notice of changes (%s)", self._server.name, error)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.listings.refresh()


@asynccontextmanager
async def _transport(gate: Gate) -> AsyncIterator[TransportStreams]:
    yield gate.inbound, gate.outbound


def _definition(tool: Tool) -> Definition:
    return definition_of(tool.model_dump(by_alias=True, mode="json", exclude_none=True))


async def ended(connection: Connection) -> str:
    """Run it to its end; why it ended."""
    task = asyncio.create_task(connection.run())
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
        await asyncio.wait([task])
    return reason_of(task)
