"""Supervisor of one server: reconnects with exponential back-off and jitter."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from spade_llm.mcp.client.sanitize import mask_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.mcp.client.connection import McpConnection
    from spade_llm.mcp.client.definitions import ToolDefinition
    from spade_llm.mcp.client.servers import McpServer, ServerTimeouts

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Outage:
    since: float
    reason: str
    next_try: float
    """Both by the loop's clock."""


class McpSupervisor:
    def __init__(
        self,
        server: McpServer,
        timeouts: ServerTimeouts,
        *,
        on_listed: Callable[[Sequence[ToolDefinition]], None],
        random_fraction: Callable[[], float] = random.random,
    ) -> None:
        self.outage: Outage | None = None
        """Current outage; None while the server is connected, and before the first attempt has
        failed."""
        self._server = server
        self._timeouts = timeouts
        self._on_listed = on_listed
        self._random_fraction = random_fraction
        self._connection: McpConnection | None = None
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Keep the server running, with back-off between attempts, until cancelled."""
        # The SDK takes most of a second to import.
        await asyncio.to_thread(import_module, "spade_llm.mcp.client.connection")
        failures = 0
        while True:
            started = _now()
            # A server may repeat the token that it declines.
            reason = mask_secrets(await self._one_session(), self._server.secrets)
            failures = 0 if _now() - started >= self._timeouts.backoff_reset_s else failures + 1
            await self._pause(reason, failures)

    async def connection(self, timeout_s: float) -> McpConnection | None:
        """The session; one that is being opened is waited for. None: the server is away."""
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
        from spade_llm.mcp.client.connection import McpConnection, run_connection

        connection = self._connection = McpConnection(
            self._server, self._timeouts, on_listed=self._on_listed
        )
        watch = asyncio.create_task(self._mark_connected(connection))
        try:
            return await run_connection(connection)
        finally:
            watch.cancel()
            await asyncio.wait([watch])
            self._connection = None

    async def _mark_connected(self, connection: McpConnection) -> None:
        await connection.ready.wait()
        _log.info("MCP server %s is here", self._server.name)
        self.outage = None
        self._changed.set()

    async def _pause(self, reason: str, failures: int) -> None:
        pause_s = self._pause_s(failures)
        _log.warning(
            "MCP server %s is away: %s; next try in %.1f s", self._server.name, reason, pause_s
        )
        # One outage, however many attempts fail in it.
        since = self.outage.since if self.outage else _now()
        self.outage = Outage(since=since, reason=reason, next_try=_now() + pause_s)
        self._changed.set()
        await asyncio.sleep(pause_s)

    def _pause_s(self, failures: int) -> float:
        # The exponent is capped: a float overflows at 2 ** 1024.
        grown = self._timeouts.min_backoff_s * 2.0 ** min(failures, 30)
        return min(grown, self._timeouts.max_backoff_s) * (0.5 + self._random_fraction() / 2)


def _now() -> float:
    return asyncio.get_running_loop().time()
