"""McpToolbox: the tools of one MCP server as a Toolbox."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from spade_llm.core.errors import Busy, StorageFailed, UnknownTool
from spade_llm.core.extras import require_extra
from spade_llm.core.text import pluralize
from spade_llm.mcp.client.servers import ServerTimeouts
from spade_llm.mcp.client.supervisor import McpSupervisor
from spade_llm.mcp.client.tool_listing import ConnectionLost, ListingReview
from spade_llm.tools.toolbox import NO_CONTEXT, ToolResult

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from types import TracebackType

    from spade_llm.mcp.client.connection import McpConnection
    from spade_llm.mcp.client.definitions import ToolDefinition
    from spade_llm.mcp.client.pins import Pins
    from spade_llm.mcp.client.servers import McpServer
    from spade_llm.mcp.client.tool_listing import OfferedTools
    from spade_llm.providers.model import ToolSpec
    from spade_llm.tools.toolbox import CallContext

_log = logging.getLogger(__name__)

MAX_CALLS = 128
"""Maximum number of concurrent calls of a server; further calls are refused."""
REVIEW = "`spade-llm tools review`"


class McpToolbox:
    """Satisfies Toolbox. As long as the block runs, the server is kept running.

    What a model reads of a tool is the accepted definition, and before each call the server is
    asked for the current one.
    """

    def __init__(
        self, server: McpServer, pins: Pins, *, timeouts: ServerTimeouts | None = None
    ) -> None:
        """Raises ConfigurationError: the extra `mcp` is missing."""
        require_extra("mcp", "mcp")
        self._server = server
        self._timeouts = timeouts or ServerTimeouts()
        self._offering = ListingReview(server, pins)
        self._listing: Sequence[ToolDefinition] | None = None
        """The latest; None: the server was not here yet."""
        self._supervisor = McpSupervisor(server, self._timeouts, on_listed=self._on_listed)
        self._judging = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls = 0

    async def __aenter__(self) -> Self:
        """Start the server in the background; calls wait for it."""
        await self._review_or_log()
        self._start(self._supervisor.run())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def list(self) -> Sequence[ToolSpec]:
        """Cached tools; empty if the server has been unavailable for `absence_s`."""
        if self._offering.is_stale(self._listing):
            await self._review_or_log()
        return () if self._is_offline() else tuple(self._offering.latest.specs.values())

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        if not name.startswith(self._server.prefix):
            raise UnknownTool(f"{name!r} is no tool of the MCP server {self._server.name!r}")
        if self._calls >= MAX_CALLS:
            raise Busy(f"{MAX_CALLS} calls of {self._server.name!r} are running: try again later")
        self._calls += 1
        try:
            async with asyncio.timeout(self._server.timeout_s):
                return await self._call_with_retry(name, arguments)
        except TimeoutError:
            return _error_result(
                f"{name!r} did not finish within {self._server.timeout_s:g} s;"
                " the server was told to stop."
            )
        finally:
            self._calls -= 1

    async def wait_connected(self) -> bool:
        """Wait for a server that is starting, and return whether it is connected and its tools are
        reviewed; False at once if it has failed to start."""
        if await self._supervisor.connection(self._timeouts.connect_timeout_s) is None:
            return False
        await self._review_or_log()
        return True

    def state(self) -> str:
        """State in a few words for people: the number of tools, or the reason that there are
        none."""
        absence = self._supervisor.outage
        if absence is not None:
            return f"away: {absence.reason}"
        if not self._supervisor.is_connected():
            return "starting"
        offers = self._offering.latest
        withheld = f", {offers.waiting} to be reviewed" if offers.waiting else ""
        return f"{pluralize(len(offers.specs), 'tool')}{withheld}"

    async def _call_with_retry(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Tried again once, if the session was lost before anything was sent."""
        for _ in range(2):
            connection = await self._supervisor.connection(self._timeouts.start_wait_s)
            if connection is None:
                break
            with suppress(ConnectionLost):
                return await self._call_once(connection, name, arguments)
        return self._unavailable_result()

    async def _call_once(
        self, connection: McpConnection, name: str, arguments: Mapping[str, object]
    ) -> ToolResult:
        from spade_llm.mcp.client.calls import call_tool

        # Listed before each call: a swap without a notice is seen before the call, not after it.
        offers = await self._review(await connection.listings.fetch())
        if name not in offers.tools:
            return self._refused(name, offers)
        return await call_tool(connection, offers.tools[name], arguments, server=self._server.name)

    def _refused(self, name: str, offers: OfferedTools) -> ToolResult:
        if name not in offers.withheld:
            known = ", ".join(offers.tools)
            raise UnknownTool(f"the MCP server {self._server.name!r} has no {name!r} now: {known}")
        return _error_result(
            f"{name!r} is withheld: {offers.withheld[name]}. An operator may allow it: {REVIEW}."
        )

    def _unavailable_result(self) -> ToolResult:
        absence = self._supervisor.outage
        reason = absence.reason if absence else "it is starting"
        return _error_result(
            f"The MCP server {self._server.name!r} is away ({reason}); nothing was called."
            " It is being started again: try later."
        )

    def _is_offline(self) -> bool:
        absence = self._supervisor.outage
        if absence is None:
            return False
        return asyncio.get_running_loop().time() - absence.since > self._timeouts.outage_grace_s

    def _on_listed(self, listing: Sequence[ToolDefinition]) -> None:
        self._listing = listing
        if self._offering.is_stale(listing):
            self._start(self._review_or_log())

    async def _review_or_log(self) -> None:
        try:
            await self._review()
        except StorageFailed as error:
            _log.warning("MCP server %s: %s", self._server.name, error)

    async def _review(self, listing: Sequence[ToolDefinition] | None = None) -> OfferedTools:
        """Review the listing, by default the latest. Raises StorageFailed."""
        # One at a time, because each runs in a thread and writes the same pins.
        async with self._judging:
            listing = self._listing if listing is None else listing
            if self._offering.is_stale(listing):
                await asyncio.to_thread(self._offering.review, listing)
            return self._offering.latest

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("MCP server %s is given up", self._server.name, exc_info=error)


def _error_result(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)
