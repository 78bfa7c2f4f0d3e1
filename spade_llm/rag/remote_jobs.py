"""Remote document jobs: ingestion queue, progress, heartbeat; shared message bodies."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from spade_llm.core.errors import Busy, RequestError
from spade_llm.messaging import Body, Request
from spade_llm.rag.contract import Catalogue, Library, Progress, Sharing
from spade_llm.rag.names import is_personal_namespace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

ONTOLOGY = "spade-llm.rag/1"


class OwnerDocuments(Library, Catalogue, Sharing, Protocol):
    """Documents of one owner, with all roles of rag/contract.py."""


class LibraryBackend(Protocol):
    """Libraries of several owners."""

    def for_owner(self, owner: str) -> OwnerDocuments: ...


class RagBody(Body):
    """Records travel without their defaults, which are therefore a part of this version."""

    skips_defaults: ClassVar[bool] = True


logger = logging.getLogger(__name__)

MAX_TIME_S = 6 * 3600.0
"""Maximum duration of one request, with its wait in the queue; its partial results are kept."""
TIMEOUT_S = MAX_TIME_S + 60
"""Timeout of the caller."""
MAX_RUNNING = 4
"""Maximum number of requests in one queue, running or waiting; more are refused (Busy)."""
MAX_PER_QUEUE = 4
"""Maximum number of requests in one queue, running or waiting; further ones are refused (Busy)."""
MAX_PER_OWNER = 32
"""Maximum number of requests in all queues of one owner."""
MAX_TOTAL = 64
"""Maximum number of requests of all owners."""
PROGRESS_EVERY_S = 0.5
"""Minimum time between two progress reports; the last one is always sent."""
HEARTBEAT_S = 30.0
SILENCE_S = 300.0
"""Time without a report after which the caller gives up."""
DISCONNECTED_S = 15.0
"""Time between two reports while the network is down; the work goes on."""


class ProgressPart(RagBody):
    progress: Progress


@dataclass(slots=True)
class _OwnerQueue:
    """Queue of one owner, or of one person with a personal namespace."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class IngestionQueue:
    """Fair queue of long requests: in order for each owner and person, some of them at a time."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], _OwnerQueue] = {}
        self._held: Counter[str] = Counter()
        """Number of requests by owner."""
        self._running = asyncio.Semaphore(MAX_RUNNING)

    @asynccontextmanager
    async def turn(self, request: Request, namespace: str = "") -> AsyncIterator[ProgressStream]:
        """Agree, wait, and run the block. Each personal `namespace` has its own queue, so that the
        files of one person do not delay those of another.

        Raises:
            Busy: MAX_PER_QUEUE, MAX_PER_OWNER or MAX_TOTAL is reached.
        """
        person = namespace if is_personal_namespace(namespace) else ""
        with self._place(request.message.owner, person) as queue:
            # In this order: heartbeats while it waits, and no shared slot taken before its turn.
            async with ProgressStream(request) as reporter, queue.turn, self._running:
                yield reporter

    @contextmanager
    def _place(self, owner: str, person: str) -> Iterator[_OwnerQueue]:
        queue = self._queues.get((owner, person)) or _OwnerQueue()
        if (
            queue.length >= MAX_PER_QUEUE
            or self._held[owner] >= MAX_PER_OWNER
            or self._held.total() >= MAX_TOTAL
        ):
            raise Busy("too many long requests are waiting; try again when one has ended")
        # Only now, so that a refused request leaves no queue behind.
        self._queues[owner, person] = queue
        queue.length += 1
        self._held[owner] += 1
        try:
            yield queue
        finally:
            queue.length -= 1
            # In-place subtraction drops counts of 0, so that the table stays bounded.
            self._held -= Counter((owner,))
            if not queue.length:
                del self._queues[owner, person]


class ProgressStream:
    """Progress reports to the caller of a request; a report that cannot be sent is skipped.

    Within its block, the last report is repeated every HEARTBEAT_S.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._last = Progress(done=0, total=0, chunks=0)
        self._has_news = asyncio.Event()
        self._pause_s = PROGRESS_EVERY_S
        self._heartbeat: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        with self._tolerate_errors():
            await self._request.agree()
        self._heartbeat = asyncio.create_task(self._send_reports())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            await asyncio.gather(self._heartbeat, return_exceptions=True)

    async def tell(self, progress: Progress) -> None:
        """Report progress (an OnProgress); call it after each document."""
        self._last = progress
        self._has_news.set()
        if progress.done >= progress.total:
            await self._send()

    async def _send_reports(self) -> None:
        """Send news, at most every PROGRESS_EVERY_S, and heartbeats."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._has_news.wait()
            await self._send()
            await asyncio.sleep(self._pause_s)

    async def _send(self) -> None:
        self._has_news.clear()
        self._pause_s = PROGRESS_EVERY_S
        with self._tolerate_errors():
            await self._request.part(ProgressPart(progress=self._last).encode())

    @contextmanager
    def _tolerate_errors(self) -> Iterator[None]:
        try:
            yield
        except RequestError as error:
            self._pause_s = DISCONNECTED_S
            logger.info(
                "progress could not be reported to %s: %s", self._request.message.sender, error
            )
