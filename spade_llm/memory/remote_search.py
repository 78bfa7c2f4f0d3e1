"""Remote memory search: ranked search, listing, statistics, session context for a prompt."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from spade_llm.memory import contract
from spade_llm.memory.contract import MemoryPage, MemoryStatistics, ScoredMemory, SearchOutcome
from spade_llm.memory.remote_protocol import MemoryBody
from spade_llm.memory.retrieval import DEFAULT_LIMIT, retrieve_memory
from spade_llm.memory.session_context import DEFAULT_TOKENS, session_context
from spade_llm.memory.sessions import SessionContext
from spade_llm.messaging.rpc import truncated_to_message
from spade_llm.search.memory_query import (
    ANY_MEMORY,
    Category,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.contract import MemoryEntry
    from spade_llm.memory.remote_protocol import StoreOf
    from spade_llm.messaging import Body, Request
    from spade_llm.messaging.rpc import RpcClient, RpcService

logger = logging.getLogger(__name__)


class MemorySearchRequest(MemoryBody):
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


class SimilarMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "similar"
    id: str
    limit: int = 10
    min_score: float = 0.0
    which: MemoryFilter = ANY_MEMORY


class ListMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "list"
    which: MemoryFilter = ANY_MEMORY
    category: Category | None = None
    """Category filter of old clients, like `subject`; replaced by `which`."""
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


class MemoryStatsRequest(MemoryBody):
    op: ClassVar[str] = "stats"
    session: str | None = None


class MemorySearchResponse(MemoryBody):
    results: tuple[ScoredMemory, ...]
    outcome: SearchOutcome = SearchOutcome.OK
    left: int = 0
    """Number of further hits that did not fit into one message."""

    @classmethod
    def of(
        cls, outcome: SearchOutcome, hits: Sequence[ScoredMemory], *, count: int
    ) -> MemorySearchResponse:
        return cls(results=tuple(hits), outcome=outcome, left=count - len(hits))

    def as_found(self) -> contract.SearchResult:
        return contract.SearchResult(outcome=self.outcome, hits=self.results, left_out=self.left)


class MemoryPageResponse(MemoryBody):
    page: MemoryPage


class MemoryStatsResponse(MemoryBody):
    stats: MemoryStatistics


class SearchService:
    """Answers hold as many entries, from the first on, as fit into one message."""

    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: RpcService) -> None:
        service.on(MemorySearchRequest, self._search)
        service.on(SimilarMemoriesRequest, self._similar)
        service.on(ListMemoriesRequest, self._list)
        service.on(MemoryStatsRequest, self._stats)

    async def _search(self, request: Request, body: MemorySearchRequest) -> Body:
        found = await self._store(request).search(body.as_query())
        if found.outcome is SearchOutcome.DENIED:
            logger.warning("%s searched what was not granted to it", request.message.sender)
        return _found(found)

    async def _similar(self, request: Request, body: SimilarMemoriesRequest) -> Body:
        found = await self._store(request).similar(
            body.id, limit=body.limit, min_score=body.min_score, which=body.which
        )
        return _found(found)

    async def _list(self, request: Request, body: ListMemoriesRequest) -> Body:
        page = await self._store(request).list(
            body.as_filter(), limit=body.limit, offset=body.offset
        )
        return truncated_to_message(
            page.entries,
            lambda some: MemoryPageResponse(page=MemoryPage(entries=tuple(some), total=page.total)),
        )

    async def _stats(self, request: Request, body: MemoryStatsRequest) -> MemoryStatsResponse:
        return MemoryStatsResponse(stats=await self._store(request).stats(body.session))


class SearchClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def search(self, query: MemoryQuery) -> contract.SearchResult:
        return (
            await self._peer.ask(MemorySearchRequest(query=query), MemorySearchResponse)
        ).as_found()

    async def similar(
        self, id: str, *, limit: int = 10, min_score: float = 0.0, which: MemoryFilter = ANY_MEMORY
    ) -> contract.SearchResult:
        body = SimilarMemoriesRequest(id=id, limit=limit, min_score=min_score, which=which)
        return (await self._peer.ask(body, MemorySearchResponse)).as_found()

    async def list(
        self, which: MemoryFilter = ANY_MEMORY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage:
        """List entries in as many responses as necessary."""
        entries: list[MemoryEntry] = []
        while True:
            body = ListMemoriesRequest(
                which=which, limit=limit - len(entries), offset=offset + len(entries)
            )
            page = (await self._peer.ask(body, MemoryPageResponse)).page
            entries.extend(page.entries)
            if not page.entries or len(entries) >= min(limit, page.total - offset):
                return MemoryPage(entries=tuple(entries), total=page.total)

    async def stats(self, session: str | None = None) -> MemoryStatistics:
        return (
            await self._peer.ask(MemoryStatsRequest(session=session), MemoryStatsResponse)
        ).stats


def _found(found: contract.SearchResult) -> Body:
    """A message of a person may be too large to go with its score: the others are given."""
    count = len(found.hits)
    whole = MemorySearchResponse.of(found.outcome, found.hits, count=count)
    if whole.fits_one_message:
        return whole
    single = [
        (hit, MemorySearchResponse.of(found.outcome, [hit], count=count)) for hit in found.hits
    ]
    hits = [hit for hit, body in single if body.fits_one_message]
    return truncated_to_message(
        hits, lambda some: MemorySearchResponse.of(found.outcome, some, count=count)
    )


Language = Literal["en", "es"]


class RetrieveMemoryRequest(MemoryBody):
    op: ClassVar[str] = "retrieve"
    query: str
    limit: int = DEFAULT_LIMIT
    detail_limit: int | None = None
    which: MemoryFilter = ANY_MEMORY


class SessionContextRequest(MemoryBody):
    op: ClassVar[str] = "session_context"
    session: str
    max_tokens: int = DEFAULT_TOKENS
    types: tuple[MemoryType, ...] = tuple(MemoryType)
    subject: str | None = None
    language: Language = "es"


class MemoryMarkdownResponse(MemoryBody):
    text: str


class SessionContextResponse(MemoryBody):
    context: SessionContext


class MemoryContextService:
    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: RpcService) -> None:
        service.on(RetrieveMemoryRequest, self._retrieve)
        service.on(SessionContextRequest, self._context)

    async def _retrieve(
        self, request: Request, body: RetrieveMemoryRequest
    ) -> MemoryMarkdownResponse:
        text = await retrieve_memory(
            self._store(request),
            body.query,
            limit=body.limit,
            detail_limit=body.detail_limit,
            which=body.which,
        )
        return MemoryMarkdownResponse(text=text)

    async def _context(
        self, request: Request, body: SessionContextRequest
    ) -> SessionContextResponse:
        context = await session_context(
            self._store(request),
            body.session,
            max_tokens=body.max_tokens,
            types=body.types,
            subject=body.subject,
            language=body.language,
        )
        return SessionContextResponse(context=context)


class MemoryContextClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def retrieve(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        detail_limit: int | None = None,
        which: MemoryFilter = ANY_MEMORY,
    ) -> str:
        """The Markdown of specs/2. Raises RequestError."""
        body = RetrieveMemoryRequest(
            query=query, limit=limit, detail_limit=detail_limit, which=which
        )
        return (await self._peer.ask(body, MemoryMarkdownResponse)).text

    async def session_context(
        self,
        session: str,
        *,
        max_tokens: int = DEFAULT_TOKENS,
        types: Sequence[MemoryType] = tuple(MemoryType),
        subject: str | None = None,
        language: Language = "es",
    ) -> SessionContext:
        """The context text of specs/4 §5.1. Raises RequestError."""
        body = SessionContextRequest(
            session=session,
            max_tokens=max_tokens,
            types=tuple(types),
            subject=subject,
            language=language,
        )
        return (await self._peer.ask(body, SessionContextResponse)).context
