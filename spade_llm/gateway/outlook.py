"""Which agents are there: asked of all at once, and remembered for a moment. Knows no HTTP."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError
from spade_llm.services.status import AgentStatus, ask_status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spade_llm.gateway.metrics import Metrics
    from spade_llm.gateway.network import Addresses
    from spade_llm.runtime import Asks

FRESH_S = 2.0
TIMEOUT_S = 2.0

Seen = dict[str, AgentStatus | None]
"""By bare JID; None: it did not answer."""


class Outlook:
    def __init__(
        self,
        requester: Asks,
        addresses: Addresses,
        metrics: Metrics,
        *,
        is_connected: Callable[[], bool],
    ) -> None:
        self._requester = requester
        self._addresses = addresses
        self._metrics = metrics
        self._is_connected = is_connected
        self._seen: Seen = {}
        self._at = -FRESH_S
        self._looking = asyncio.Lock()

    async def look(self) -> Mapping[str, AgentStatus | None]:
        """At all agents behind the gateway, not longer ago than FRESH_S; TIMEOUT_S at the most.
        Without a connection all are away."""
        if not self._is_connected():
            return dict.fromkeys(self._addresses.all)
        async with self._looking:
            if time.monotonic() - self._at >= FRESH_S:
                await self._look()
        return self._seen

    async def _look(self) -> None:
        jids = tuple(dict.fromkeys(self._addresses.all))
        self._seen = dict(zip(jids, await asyncio.gather(*map(self._ask, jids)), strict=True))
        self._at = time.monotonic()
        for jid, status in self._seen.items():
            self._metrics.agents.labels(jid.partition("@")[0]).set(status is not None)

    async def _ask(self, jid: str) -> AgentStatus | None:
        try:
            return await ask_status(self._requester, jid, timeout_s=TIMEOUT_S)
        except RequestError:
            return None
