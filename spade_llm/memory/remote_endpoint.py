"""Remote memory endpoint: operations whose wire form differs from the store's method.

They have paged answers or effects on cached answers. `remote.py` says how an operation is added.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import Field

from spade_llm.memory.contract import (
    Consent,
    MemoryEntry,
    MemoryPage,
    ObservedMessage,
    OwnedMemory,
    RemovedCounts,
    ScoredMemory,
    SearchOutcome,
    SearchResult,
)
from spade_llm.memory.retrieval import DEFAULT_LIMIT, retrieve_memory
from spade_llm.memory.sessions import DEFAULT_TOKENS, Language, SessionContext, session_context
from spade_llm.memory.validation import normalize_subject
from spade_llm.messaging import Body, Dispatcher, Request
from spade_llm.messaging.body import truncated_to_message
from spade_llm.search.memory_query import (
    ANY_MEMORY,
    Category,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
)

logger = logging.getLogger(__name__)


ONTOLOGY = "spade-llm.memory/1"
MAX_LIMIT = 1000
"""Most entries of one answer; fewer where they would not fit into one message."""

ENTRY_ID, ENTRY_SUBJECT, ENTRY_SESSION = "$.entry.id", "$.entry.subject", "$.entry.session"
"""JSON paths of entry ids, subjects and sessions in responses that have one entry."""


class MemoryBody(Body):
    """Body of a memory message; fields with default values are omitted, so the defaults are part of
    this version."""

    skips_defaults: ClassVar[bool] = True


class MemorySearchResponse(MemoryBody):
    results: tuple[ScoredMemory, ...]
    outcome: SearchOutcome = SearchOutcome.OK
    left: int = 0
    """Number of further hits that did not fit into one message."""
    former: tuple[MemoryEntry, ...] = ()
    """Facts about the subject that no longer hold, which messages among the hits may still say."""

    @classmethod
    def of(cls, result: SearchResult, hits: Sequence[ScoredMemory]) -> MemorySearchResponse:
        return cls(
            results=tuple(hits),
            outcome=result.outcome,
            left=len(result.hits) - len(hits),
            former=result.former,
        )

    def as_result(self) -> SearchResult:
        return SearchResult(
            outcome=self.outcome, hits=self.results, left_out=self.left, former=self.former
        )


class MemoryPageResponse(MemoryBody):
    page: MemoryPage


class EntriesResponse(MemoryBody):
    entries: tuple[MemoryEntry, ...]
    """Entries that fit into one message."""
    left: int = 0
    """Number of entries that do not fit."""


class MessagesResponse(MemoryBody):
    messages: tuple[ObservedMessage, ...]
    left: int = 0
    """Number of requested messages that did not fit into the response."""


class DeletedMemories(MemoryBody):
    ids: tuple[str, ...]
    is_all: bool = True
    """False: there may be more of them; ask again."""


class MemoryIds(MemoryBody):
    ids: tuple[str, ...]
    """Ids that fit into one message."""
    total: int


def described(text: str) -> Any:
    """Field description for the wire reference."""
    return Field(description=text)


class MemoryEndpoint:
    """The memory of an owner as it is served to a request. Signatures are those of the wire; what
    is not here is served by the store.

    Long answers are truncated to one message. What is forgotten is also removed from the answers
    that the agent has cached.
    """

    def __init__(
        self,
        store: OwnedMemory,
        request: Request,
        dispatcher: Dispatcher,
        on_observed: Callable[[], None],
    ) -> None:
        self._store = store
        self._caller = request.message.sender
        self._owner = request.message.owner
        self._dispatcher = dispatcher
        self._on_observed = on_observed

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def search(
        self,
        query: Annotated[
            MemoryQuery | str,
            described(
                "Text alone is how the first programs asked: with `subject` and `limit` beside it."
            ),
        ],
        subject: str | None = None,
        limit: int = 10,
    ) -> MemorySearchResponse:
        if isinstance(query, str):
            query = MemoryQuery(text=query, which=MemoryFilter(subject=subject), limit=limit)
        result = await self._store.search(query)
        if result.outcome is SearchOutcome.DENIED:
            logger.warning("%s searched what was not granted to it", self._caller)
        return _search_response(result)

    async def similar(
        self, id: str, *, limit: int = 10, min_score: float = 0.0, which: MemoryFilter = ANY_MEMORY
    ) -> MemorySearchResponse:
        return _search_response(
            await self._store.similar(id, limit=limit, min_score=min_score, which=which)
        )

    async def list(
        self,
        which: MemoryFilter = ANY_MEMORY,
        category: Annotated[
            Category | None,
            described("Category filter of old clients, like `subject`; replaced by `which`."),
        ] = None,
        subject: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> MemoryPageResponse:
        which = replace(
            which,
            category=which.category if category is None else category,
            subject=which.subject if subject is None else subject,
        )
        page = await self._store.list(which, limit=limit, offset=offset)
        return truncated_to_message(
            page.entries,
            lambda some: MemoryPageResponse(page=MemoryPage(entries=tuple(some), total=page.total)),
        )

    async def peek(
        self,
        ids: Sequence[str],
        skip: Annotated[
            int,
            described(
                "Number of existing entries to skip, since earlier responses contained them."
            ),
        ] = 0,
    ) -> EntriesResponse:
        entries = (await self._store.peek(ids))[skip:]
        return truncated_to_message(
            entries,
            lambda some: EntriesResponse(entries=tuple(some), left=len(entries) - len(some)),
        )

    async def history(
        self,
        conversation: str,
        limit: int = 50,
        before: Annotated[
            str | None,
            described(
                "Id of a message; only messages before it are returned. None: the latest. Services"
                " of version 0.1.0 ignore it."
            ),
        ] = None,
    ) -> MessagesResponse:
        messages = await self._store.history(conversation, limit=limit, before=before)
        return truncated_to_message(
            # What does not fit is cut from the end: reversed, so that the latest messages stay.
            messages[::-1],
            lambda some: MessagesResponse(
                messages=tuple(some[::-1]), left=len(messages) - len(some)
            ),
        )

    async def episode_messages(self, id: str) -> MessagesResponse:
        messages = await self._store.episode_messages(id)
        return truncated_to_message(
            messages,
            lambda some: MessagesResponse(messages=tuple(some), left=len(messages) - len(some)),
        )

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        count = await self._store.observe(conversation, messages, subject=subject)
        self._on_observed()
        return count

    async def clear_messages(self, conversations: Sequence[str]) -> int:
        count = await self._store.clear_messages(conversations)
        self._on_observed()  # What was cleared is over, and can be learned from.
        return count

    async def retrieve(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        detail_limit: int | None = None,
        which: MemoryFilter = ANY_MEMORY,
    ) -> str:
        """Search and return the results as Markdown."""
        return await retrieve_memory(
            self._store, query, limit=limit, detail_limit=detail_limit, which=which
        )

    async def session_context(
        self,
        session: str,
        *,
        max_tokens: int = DEFAULT_TOKENS,
        types: Sequence[MemoryType] = tuple(MemoryType),
        subject: str | None = None,
        language: Language = "es",
    ) -> SessionContext:
        """Render the context of a session as text."""
        return await session_context(
            self._store,
            session,
            max_tokens=max_tokens,
            types=types,
            subject=subject,
            language=language,
        )

    async def delete(
        self,
        which: MemoryFilter,
        ids: Sequence[str] | None = None,
        limit: Annotated[
            int | None, described("Maximum number of entries to delete if no ids are given.")
        ] = None,
    ) -> DeletedMemories:
        """Delete memories; without ids, at most as many as one response can name."""
        if ids is not None:
            return DeletedMemories(ids=tuple(await self._store.delete(which, ids=ids)))
        limit = MAX_LIMIT if limit is None else min(limit, MAX_LIMIT)
        deleted = await self._store.delete(which, limit=limit)
        return DeletedMemories(ids=tuple(deleted), is_all=len(deleted) < limit)

    async def run_decay(self, *, dry_run: bool = True) -> MemoryIds:
        ids = await self._store.run_decay(dry_run=dry_run)
        return truncated_to_message(ids, lambda some: MemoryIds(ids=tuple(some), total=len(ids)))

    async def revoke(self, id: str) -> int:
        return int(await self._store.revoke(id))

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        count = await self._store.forget(ids, subject=subject)
        # Answers are kept for retries. They name ids in the usual form; a caller may use capitals.
        await self._dispatcher.scrub(ENTRY_ID, [str(UUID(id)) for id in ids])
        return count

    async def forget_subject(self, subject: str) -> int:
        return sum((await self.clear_subject(subject)).by_type.values())

    async def clear_subject(self, subject: str) -> RemovedCounts:
        cleared = await self._store.clear_subject(subject)
        await self._scrub_subject(subject)
        return cleared

    async def forget_session(self, session: str) -> RemovedCounts:
        cleared = await self._store.forget_session(session)
        await self._dispatcher.scrub(ENTRY_SESSION, [session], peer=self._owner)
        return cleared

    async def set_consent(self, subject: str, *, is_given: bool) -> Consent:
        consent = await self._store.set_consent(subject, is_given=is_given)
        if is_given:
            self._on_observed()  # There may be something to learn now.
        else:
            await self._scrub_subject(subject)
        return consent

    async def _scrub_subject(self, subject: str) -> None:
        known = str(normalize_subject(subject))
        await self._dispatcher.scrub(ENTRY_SUBJECT, [known], peer=self._owner)


def _search_response(result: SearchResult) -> MemorySearchResponse:
    """Response with as many hits as fit into one message; one that never fits is left out."""
    whole = MemorySearchResponse.of(result, result.hits)
    if whole.fits_one_message:
        return whole
    fitting = [
        hit for hit in result.hits if MemorySearchResponse.of(result, [hit]).fits_one_message
    ]
    return truncated_to_message(fitting, lambda some: MemorySearchResponse.of(result, some))
