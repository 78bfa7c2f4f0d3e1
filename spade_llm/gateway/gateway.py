"""State that all routes of the gateway share, with its rate limit and concurrency quotas."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spade_llm.core.limits import ConcurrencyQuota, Rate, TokenBuckets
from spade_llm.gateway.conversations import Conversations
from spade_llm.gateway.database import gateway_database, open_gateway_database
from spade_llm.gateway.doors import Doors
from spade_llm.gateway.idempotency import KeptAnswers
from spade_llm.gateway.metrics import Metrics
from spade_llm.gateway.network import Network
from spade_llm.gateway.outlook import Outlook
from spade_llm.gateway.state import State
from spade_llm.gateway.stopping import Shutdown
from spade_llm.gateway.tokens import Tokens
from spade_llm.gateway.uploads import Uploads
from spade_llm.gateway.watching import Watched
from spade_llm.tracing import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from spade_llm.gateway.network import Addresses
    from spade_llm.gateway.options import HttpOptions
    from spade_llm.gateway.uploads import Put
    from spade_llm.runtime import Asks

BODIES = 64
"""Of the largest size, in RAM at once, half of them one principal's."""
MAX_KNOWN = 10_000
"""Principals with a token bucket; the least recently seen one is evicted, and starts anew."""
BURST_S = 10.0
"""Burst after a rest, as seconds of the steady rate."""


class RequestRates:
    """Rate limit of requests per principal (token bucket)."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """0: no limit."""
        per_s = per_minute / 60
        self._rate = Rate(per_s=per_s, burst=max(1, int(per_s * BURST_S))) if per_minute else None
        self._clock = clock
        self._buckets: TokenBuckets[str] = TokenBuckets(MAX_KNOWN)

    def take(self, principal: str) -> bool:
        """One request more; False: too many."""
        if self._rate is None:
            return True
        now_s = self._clock()
        return self._buckets.of(principal, self._rate, now_s).take(now_s)


class Gateway:
    """Open it (`async with`) before the first request comes; it closes after the last."""

    def __init__(
        self,
        requester: Asks,
        addresses: Addresses,
        options: HttpOptions,
        *,
        data: Path | None,
        is_connected: Callable[[], bool],
        put: Put | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        """`data=None`: nothing survives. `is_connected`: to the XMPP server, now. `put`: gives it
        a file; None: nobody takes any.

        Raises:
            ConfigurationError: the options do not go together.
        """
        options.check()
        self.requester = requester
        """Asks as the gateway itself: for what belongs to nobody, such as an agent's status."""
        self.options = options
        self.addresses = addresses
        self._watched = Watched(requester)
        self.network = Network(self._watched, addresses)
        self.shutdown = Shutdown(self._watched.end)
        self.is_connected = is_connected
        self.tracer = tracer or Tracer(None, service="gateway", instance="gateway")
        self.doors = Doors(options)
        self.rates = RequestRates(options.requests_per_minute)
        self.streams = ConcurrencyQuota(options.max_streams, busy="{} answers are being streamed")
        self.bodies = ConcurrencyQuota(
            BODIES * options.max_body_bytes, busy="requests of {} bytes are being worked on"
        )
        self.metrics = Metrics()
        self.metrics.watch(streams=lambda: self.streams.held, is_connected=is_connected)
        self.outlook = Outlook(requester, addresses, self.metrics, is_connected=is_connected)
        self.uploads = Uploads(data / "uploads" if data else None, put)
        self._db = gateway_database(data)
        self.state = State(self._db)
        self.conversations = Conversations(self._db)
        self.tokens = Tokens(self._db)
        self.answers = KeptAnswers(self._db)

    @property
    def is_storage_failing(self) -> bool:
        return self._db.is_failing

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError."""
        open_gateway_database(self._db)
        self.uploads.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._watched.aclose()
        self._db.close()
