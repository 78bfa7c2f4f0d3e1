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
    """All that one owner can do."""


class LibraryBackend(Protocol):
    def for_owner(self, owner: str) -> OwnerDocuments: ...


class RagBody(Body):
    """Records travel without their defaults, which are therefore a part of this version."""

    skips_defaults: ClassVar[bool] = True


logger = logging.getLogger(__name__)

MAX_TIME_S = 6 * 3600.0
"""Of one request, its wait for its turn included; what it has done by then stays."""
TIMEOUT_S = MAX_TIME_S + 60
"""How long its asker waits."""
MAX_RUNNING = 4
"""At a time, of all owners, and one of each: the embedder is shared."""
MAX_PER_QUEUE = 4
"""Running or waiting in one line; one more is refused as busy."""
MAX_PER_OWNER = 32
"""Of one owner in all lines together."""
MAX_TOTAL = 64
"""Of all owners."""
PROGRESS_EVERY_S = 0.5
"""Least time between two reports of progress; the last one is always sent."""
HEARTBEAT_S = 30.0
SILENCE_S = 300.0
"""After so much of it the asker gives up: whoever serves it is gone, and not back."""
DISCONNECTED_S = 15.0
"""Pause in the reports when the network is away: the work goes on."""


class ProgressPart(RagBody):
    progress: Progress


@dataclass(slots=True)
class _OwnerQueue:
    """Those of one owner, or of one of the people that it keeps files for."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    length: int = 0


class IngestionQueue:
    """In order for each owner and its people, a few of them at a time."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], _OwnerQueue] = {}
        self._held: Counter[str] = Counter()
        """By owner."""
        self._running = asyncio.Semaphore(MAX_RUNNING)

    @asynccontextmanager
    async def turn(self, request: Request, namespace: str = "") -> AsyncIterator[ProgressStream]:
        """Agree, wait, and run the block. What goes into a personal `namespace` has a line of its
        own: nobody waits for what another person shared.

        Raises:
            Busy: its line has MAX_OF_OWNER going on, its owner MAX_OF_PEOPLE, or all MAX_HELD.
        """
        person = namespace if is_personal_namespace(namespace) else ""
        with self._place(request.message.owner, person) as line:
            # In this order: heartbeats while it waits, and no common place taken before its turn.
            async with ProgressStream(request) as reporter, line.turn, self._running:
                yield reporter

    @contextmanager
    def _place(self, owner: str, person: str) -> Iterator[_OwnerQueue]:
        line = self._lines.get((owner, person)) or _OwnerQueue()
        if line.length >= MAX_PER_QUEUE or self._is_full(owner):
            raise Busy("too many long requests wait here already; ask again when one has ended")
        # Only now, so that a refused request leaves no queue behind.
        self._lines[owner, person] = line
        line.length += 1
        self._held[owner] += 1
        try:
            yield line
        finally:
            line.length -= 1
            # In-place subtraction drops counts of 0, so that the table stays bounded.
            self._held -= Counter((owner,))
            if not line.length:
                del self._lines[owner, person]

    def _is_full(self, owner: str) -> bool:
        return self._held[owner] >= MAX_PER_OWNER or self._held.total() >= MAX_TOTAL


class ProgressStream:
    """Tells the asker how far its request is; a report that cannot be sent stops nothing.

    Within its block the last report is repeated every BEAT_S, as a sign of life.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._last = Progress(done=0, total=0, chunks=0)
        self._has_news = asyncio.Event()
        self._pause_s = PROGRESS_EVERY_S
        self._beating: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        with self._forgiven():
            await self._request.agree()
        self._beating = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)

    async def tell(self, progress: Progress) -> None:
        """As OnProgress: to be called after each document."""
        self._last = progress
        self._has_news.set()
        if progress.done >= progress.total:
            await self._send()

    async def _beat(self) -> None:
        """Many documents are done at one stroke: what is true after it is told, too."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._has_news.wait()
            await self._send()
            await asyncio.sleep(self._pause_s)

    async def _send(self) -> None:
        self._has_news.clear()
        self._pause_s = PROGRESS_EVERY_S
        with self._forgiven():
            await self._request.part(ProgressPart(progress=self._last).encode())

    @contextmanager
    def _forgiven(self) -> Iterator[None]:
        try:
            yield
        except RequestError as error:
            self._pause_s = DISCONNECTED_S
            logger.info("%s was not told of progress: %s", self._request.message.sender, error)
