"""Finding and listing entries, of `spade-llm.memory/1`: bodies, handlers and client."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from spade_llm.memory import store
from spade_llm.memory.store import (
    ANY,
    Category,
    MemoryFilter,
    MemoryPage,
    MemoryQuery,
    MemoryStats,
    Outcome,
    ScoredMemory,
)
from spade_llm.services.memory_body import MemoryBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.acl import Body
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.runtime import Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service

logger = logging.getLogger(__name__)


class Search(MemoryBody):
    op: ClassVar[str] = "search"
    query: MemoryQuery | str
    """Text alone is how the first programs asked: with `subject` and `limit` beside it."""
    subject: str | None = None
    limit: int = 10

    def as_query(self) -> MemoryQuery:
        if isinstance(self.query, MemoryQuery):
            return self.query
        which = MemoryFilter(subject=self.subject)
        return MemoryQuery(text=self.query, which=which, limit=self.limit)


class Similar(MemoryBody):
    op: ClassVar[str] = "similar"
    id: str
    limit: int = 10
    min_score: float = 0.0
    which: MemoryFilter = ANY


class List(MemoryBody):
    op: ClassVar[str] = "list"
    which: MemoryFilter = ANY
    category: Category | None = None
    """As `subject`: how the first programs said what is now in `which`."""
    subject: str | None = None
    limit: int = 20
    offset: int = 0

    def as_filter(self) -> MemoryFilter:
        category, subject = self.category, self.subject
        return replace(
            self.which,
            category=self.which.category if category is None else category,
            subject=self.which.subject if subject is None else subject,
        )


class AskStats(MemoryBody):
    op: ClassVar[str] = "stats"
    session: str | None = None


class Found(MemoryBody):
    results: tuple[ScoredMemory, ...]
    outcome: Outcome = Outcome.OK
    left: int = 0
    """How many more were found that do not fit into one message."""

    @classmethod
    def of(cls, outcome: Outcome, hits: Sequence[ScoredMemory], *, count: int) -> Found:
        return cls(results=tuple(hits), outcome=outcome, left=count - len(hits))

    def as_found(self) -> store.Found:
        return store.Found(outcome=self.outcome, hits=self.results, left_out=self.left)


class Page(MemoryBody):
    page: MemoryPage


class Stats(MemoryBody):
    stats: MemoryStats


class SearchService:
    """Answers hold as many entries, from the first on, as fit into one message."""

    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: Service) -> None:
        service.on(Search, self._search)
        service.on(Similar, self._similar)
        service.on(List, self._list)
        service.on(AskStats, self._stats)

    async def _search(self, request: Request, body: Search) -> Body:
        found = await self._store(request).search(body.as_query())
        if found.outcome is Outcome.DENIED:
            logger.warning("%s searched what was not granted to it", request.message.sender)
        return _found(found)

    async def _similar(self, request: Request, body: Similar) -> Body:
        found = await self._store(request).similar(
            body.id, limit=body.limit, min_score=body.min_score, which=body.which
        )
        return _found(found)

    async def _list(self, request: Request, body: List) -> Body:
        page = await self._store(request).list(
            body.as_filter(), limit=body.limit, offset=body.offset
        )
        return fitting(
            page.entries,
            lambda some: Page(page=MemoryPage(entries=tuple(some), total=page.total)),
        )

    async def _stats(self, request: Request, body: AskStats) -> Stats:
        return Stats(stats=await self._store(request).stats(body.session))


class SearchClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def search(self, query: MemoryQuery) -> store.Found:
        return (await self._peer.ask(Search(query=query), Found)).as_found()

    async def similar(
        self, id: str, *, limit: int = 10, min_score: float = 0.0, which: MemoryFilter = ANY
    ) -> store.Found:
        body = Similar(id=id, limit=limit, min_score=min_score, which=which)
        return (await self._peer.ask(body, Found)).as_found()

    async def list(
        self, which: MemoryFilter = ANY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage:
        """In as many answers as it takes."""
        entries: list[MemoryEntry] = []
        while True:
            body = List(which=which, limit=limit - len(entries), offset=offset + len(entries))
            page = (await self._peer.ask(body, Page)).page
            entries.extend(page.entries)
            if not page.entries or len(entries) >= min(limit, page.total - offset):
                return MemoryPage(entries=tuple(entries), total=page.total)

    async def stats(self, session: str | None = None) -> MemoryStats:
        return (await self._peer.ask(AskStats(session=session), Stats)).stats


def _found(found: store.Found) -> Body:
    """A message of a person may be too large to go with its score: the others are given."""
    count = len(found.hits)
    whole = Found.of(found.outcome, found.hits, count=count)
    if whole.fits_one_message:
        return whole
    single = [(hit, Found.of(found.outcome, [hit], count=count)) for hit in found.hits]
    hits = [hit for hit, body in single if body.fits_one_message]
    return fitting(hits, lambda some: Found.of(found.outcome, some, count=count))
