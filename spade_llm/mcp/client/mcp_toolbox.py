"""Tools of one MCP server as a Toolbox; a supervisor reconnects it with back-off and jitter."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Self

from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import Busy, StorageFailed, UnknownTool
from spade_llm.core.imports import require_extra
from spade_llm.core.redaction import mask_secrets
from spade_llm.core.text import pluralize
from spade_llm.mcp.client.tool_listing import ConnectionLost, ListingReview, OfferedTools
from spade_llm.mcp.server_configs import McpServerSettings, ServerTimeouts
from spade_llm.tools.toolbox import NO_CONTEXT, STARTING, CallContext, ToolResult, error_result

if TYPE_CHECKING:
    from spade_llm.mcp.client.pins import Pins, ToolDefinition
    from spade_llm.mcp.client.server_connection import McpConnection
    from spade_llm.providers.model import ToolSpec


_log = logging.getLogger(__name__)

MAX_CALLS = 128
"""Maximum number of concurrent calls of a server; further calls are refused."""
REVIEW = "`spade-llm tools review`"


class McpToolbox:
    """Toolbox over one MCP server, which is kept running for the block.

    Models get the accepted definition of a tool; before each call the server is asked for the
    current one.
    """

    def __init__(
        self, server: McpServerSettings, pins: Pins, *, timeouts: ServerTimeouts | None = None
    ) -> None:
        """Raises ConfigurationError: the extra `mcp` is missing."""
        require_extra("mcp", "mcp")
        # Not in a thread while the program runs, although the SDK takes most of a second to import:
        # an import in another thread at that time may find the packages of both half imported.
        import_module("spade_llm.mcp.client.server_connection")
        self._server = server
        self._timeouts = timeouts or ServerTimeouts()
        self._offering = ListingReview(server, pins)
        self._listing: Sequence[ToolDefinition] | None = None
        """Latest listing; None before the first one."""
        self._supervisor = McpSupervisor(server, self._timeouts, on_listed=self._on_listed)
        self._judging = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls = 0

    async def __aenter__(self) -> Self:
        """Start the server in the background; calls wait until it is connected."""
        await self._review_or_log()
        self._start(self._supervisor.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def list(self) -> Sequence[ToolSpec]:
        """Cached tools; empty if the server has been unavailable for `outage_grace_s`."""
        if self._offering.is_stale(self._listing):
            await self._review_or_log()
        outage = self._supervisor.outage
        if outage is not None and _now() - outage.since > self._timeouts.outage_grace_s:
            return ()
        return tuple(self._offering.latest.specs.values())

    async def call(
        self, name: str, arguments: Mapping[str, object], *, context: CallContext = NO_CONTEXT
    ) -> ToolResult:
        if not name.startswith(self._server.prefix):
            raise UnknownTool(f"the MCP server {self._server.name!r} has no tool {name!r}")
        if self._calls >= MAX_CALLS:
            raise Busy(
                f"MCP server {self._server.name!r}: concurrency limit reached ({MAX_CALLS} calls);"
                " try again later"
            )
        self._calls += 1
        try:
            async with asyncio.timeout(self._server.timeout_s):
                return await self._call_with_retry(name, arguments)
        except TimeoutError:
            return error_result(
                f"{name!r} did not finish within {self._server.timeout_s:g} s; the call was"
                " cancelled."
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
        """Short state for operators: the number of tools, or the reason of an outage."""
        outage = self._supervisor.outage
        if outage is not None:
            return f"unavailable: {outage.reason}"
        if not self._supervisor.is_connected():
            return STARTING
        offers = self._offering.latest
        withheld = f", {offers.waiting} waiting for review" if offers.waiting else ""
        return f"{pluralize(len(offers.specs), 'tool')}{withheld}"

    async def _call_with_retry(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Call the tool; try again once if the connection was lost before anything was sent."""
        for _ in range(2):
            connection = await self._supervisor.connection(self._timeouts.start_wait_s)
            if connection is None:
                break
            with suppress(ConnectionLost):
                return await self._call_once(connection, name, arguments)
        outage = self._supervisor.outage
        reason = outage.reason if outage else "it is starting"
        return error_result(
            f"The MCP server {self._server.name!r} is unavailable ({reason}); nothing was called."
            " It is being restarted; try again later."
        )

    async def _call_once(
        self, connection: McpConnection, name: str, arguments: Mapping[str, object]
    ) -> ToolResult:
        from spade_llm.mcp.client.server_connection import call_tool

        # Listed before each call: a changed definition is seen even without a notification.
        offers = await self._review(await connection.listings.fetch())
        if name not in offers.tools:
            return self._refused(name, offers)
        return await call_tool(connection, offers.tools[name], arguments, server=self._server.name)

    def _refused(self, name: str, offers: OfferedTools) -> ToolResult:
        if name not in offers.withheld:
            known = ", ".join(offers.tools)
            raise UnknownTool(
                f"the MCP server {self._server.name!r} has no tool {name!r}; available: {known}"
            )
        return error_result(
            f"{name!r} is withheld: {offers.withheld[name]}."
            f" An operator can accept it with {REVIEW}."
        )

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
            _log.error("MCP server %s: a task failed", self._server.name, exc_info=error)


@dataclass(slots=True, kw_only=True)
class Outage:
    """Outage of a server; times by the event loop's clock."""

    since: float
    reason: str
    next_try: float


class McpSupervisor:
    """Keeps one server running, with exponential back-off and jitter between attempts."""

    def __init__(
        self,
        server: McpServerSettings,
        timeouts: ServerTimeouts,
        *,
        on_listed: Callable[[Sequence[ToolDefinition]], None],
        random_fraction: Callable[[], float] = random.random,
    ) -> None:
        self.outage: Outage | None = None
        """Current outage; None while connected, and before the first attempt has failed."""
        self._server = server
        self._timeouts = timeouts
        self._on_listed = on_listed
        self._random_fraction = random_fraction
        self._connection: McpConnection | None = None
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Keep the server running until cancelled."""
        failures = 0
        while True:
            started = _now()
            # A server may repeat the token that it refuses.
            reason = mask_secrets(await self._one_session(), self._server.secrets)
            failures = 0 if _now() - started >= self._timeouts.backoff_reset_s else failures + 1
            await self._pause(reason, failures)

    async def connection(self, timeout_s: float) -> McpConnection | None:
        """Current connection; waits for one that is being opened. None: the server is
        unavailable."""
        deadline = _now() + timeout_s
        while not self.is_connected():
            if self.outage is not None or _now() >= deadline:
                return None
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self._changed.wait()
        return self._connection

    def is_connected(self) -> bool:
        return self._connection is not None and self._connection.ready.is_set()

    async def _one_session(self) -> str:
        from spade_llm.mcp.client.server_connection import McpConnection, run_connection

        connection = self._connection = McpConnection(
            self._server, self._timeouts, on_listed=self._on_listed
        )

        async def mark_connected() -> None:
            await connection.ready.wait()
            _log.info("MCP server %s is connected", self._server.name)
            self.outage = None
            self._changed.set()

        try:
            async with concurrent_task(mark_connected()):
                return await run_connection(connection)
        finally:
            self._connection = None

    async def _pause(self, reason: str, failures: int) -> None:
        # The exponent is capped: a float overflows at 2 ** 1024.
        grown = self._timeouts.min_backoff_s * 2.0 ** min(failures, 30)
        jitter = 0.5 + self._random_fraction() / 2
        pause_s = min(grown, self._timeouts.max_backoff_s) * jitter
        _log.warning(
            "MCP server %s is unavailable: %s; next attempt in %.1f s",
            self._server.name,
            reason,
            pause_s,
        )
        # One outage, however many attempts fail in it.
        since = self.outage.since if self.outage else _now()
        self.outage = Outage(since=since, reason=reason, next_try=_now() + pause_s)
        self._changed.set()
        await asyncio.sleep(pause_s)


def _now() -> float:
    return asyncio.get_running_loop().time()
