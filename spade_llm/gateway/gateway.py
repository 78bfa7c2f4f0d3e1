"""Gateway: state shared by all routes; rate limit, concurrency quotas, graceful shutdown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from spade_llm.core.limits import ConcurrencyQuota, Rate, TokenBuckets
from spade_llm.core.tracing import Tracer
from spade_llm.gateway.agent_clients import AgentAvailability, LivenessRequester, Network
from spade_llm.gateway.document_uploads import PutFile, UploadSpool
from spade_llm.gateway.gateway_database import GATEWAY_TABLES
from spade_llm.gateway.metrics import Metrics
from spade_llm.gateway.middleware.idempotency import AnswerStore
from spade_llm.gateway.options import HttpOptions, OriginPolicy
from spade_llm.gateway.session_store import ConversationIndex, GatewaySessions
from spade_llm.gateway.tokens import TokenStore

if TYPE_CHECKING:
    from spade_llm.core.database import DatabasePlace
    from spade_llm.gateway.agent_clients import AgentAddresses
    from spade_llm.messaging import RequestSender

GRACE_S = 5.0
"""Grace period in seconds for requests in flight when the gateway stops."""
MAX_LARGE_BODIES = 64
"""Quota of request bodies in RAM, in bodies of the maximum size; a principal may use half."""
MAX_RATED_PRINCIPALS = 10_000
"""Principals with a token bucket; the least recently seen one is evicted, and starts anew."""
BURST_S = 10.0
"""Burst after a rest, as seconds of the steady rate."""


class RequestRateLimiter:
    """Rate limit of requests per principal (token bucket)."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`per_minute`: 0 means no limit."""
        per_s = per_minute / 60
        self._rate = Rate(per_s=per_s, burst=max(1, int(per_s * BURST_S))) if per_minute else None
        self._clock = clock
        self._buckets: TokenBuckets[str] = TokenBuckets(MAX_RATED_PRINCIPALS)

    def take(self, principal: str) -> bool:
        """Take one token; False if the rate limit is exceeded."""
        if self._rate is None:
            return True
        now_s = self._clock()
        return self._buckets.of(principal, self._rate, now_s).take(now_s)


class GracefulShutdown:
    """Counts requests in flight, and drains them when the gateway stops."""

    def __init__(self, end: Callable[[], None]) -> None:
        """`end` makes the requests fail that still run after the grace period."""
        self._end = end
        self._running = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.has_begun = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a request as in flight, from its head to the end of its response."""
        self._running += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._is_idle.set()

    async def drain(self) -> None:
        """Wait until no request is in flight; after GRACE_S, end those that are."""
        self.has_begun = True
        try:
            async with asyncio.timeout(GRACE_S):
                await self._is_idle.wait()
        except TimeoutError:
            self._end()


class Gateway:
    """State of a gateway; open it (`async with`) before the first request."""

    def __init__(
        self,
        requester: RequestSender,
        addresses: AgentAddresses,
        options: HttpOptions,
        *,
        data: Path | None,
        place: DatabasePlace,
        is_connected: Callable[[], bool],
        upload_file: PutFile | None = None,
        is_replica: bool = False,
        tracer: Tracer | None = None,
    ) -> None:
        """`data=None`: uploads go to a temporary folder. `place`: of the database. `is_connected`
        tells the current state of the XMPP connection. `upload_file` uploads
        a file; None means that there is no upload service. `is_replica`: other processes of this
        gateway use the database, too.

        Raises:
            ConfigurationError: the options do not go together.
        """
        options.check()
        self.requester = requester
        """Requester without a principal: the gateway's own requests, such as an agent's status."""
        self.options = options
        self.addresses = addresses
        self._liveness_requester = LivenessRequester(requester)
        self.network = Network(self._liveness_requester, addresses)
        self.shutdown = GracefulShutdown(self._liveness_requester.end)
        self.is_connected = is_connected
        self.tracer = tracer or Tracer(None, service="gateway", instance="gateway")
        self.origin_policy = OriginPolicy(options)
        self.rate_limiter = RequestRateLimiter(options.requests_per_minute)
        self.stream_quota = ConcurrencyQuota(
            options.max_streams, message="{} streamed answers are in progress"
        )
        self.body_quota = ConcurrencyQuota(
            MAX_LARGE_BODIES * options.max_body_bytes,
            message="requests of {} bytes are in progress",
        )
        self.metrics = Metrics()
        self.metrics.watch(streams=lambda: self.stream_quota.held, is_connected=is_connected)
        self.availability = AgentAvailability(requester, addresses, is_connected=is_connected)
        self.uploads = UploadSpool(data / "uploads" if data else None, upload_file)
        self._db = GATEWAY_TABLES.at(place)
        self.sessions = GatewaySessions(self._db)
        self.conversations = ConversationIndex(self._db)
        self.tokens = TokenStore(self._db)
        self.answers = AnswerStore(self._db, is_shared=is_replica)

    @property
    def is_storage_failing(self) -> bool:
        return self._db.is_failing

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError."""
        await self._db.open()
        self.uploads.clear()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._liveness_requester.aclose()
        await self._db.close()
