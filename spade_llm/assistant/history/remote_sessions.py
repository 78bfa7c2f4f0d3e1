"""Remote sessions (`spade-llm.sessions/1`): service and client for stored conversations.

A session is the thread of the caller's own conversation; sessions of others cannot be addressed.
The assistant answers, not the memory agent: only the assistant has the messages still in the
outbox, and the messages in RAM that must be removed with a deleted session.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeVar

from pydantic import Field

from spade_llm.core.errors import (
    Busy,
    InvalidArguments,
    NotFound,
    Refusal,
    RequestError,
    RequestRefused,
    StorageFailed,
    Unauthorised,
    Unavailable,
)
from spade_llm.memory.contract import MemoryEntry, MemoryPage, RemovedCounts
from spade_llm.memory.remote_endpoint import ENTRY_ID, ENTRY_SUBJECT
from spade_llm.memory.sessions import SessionContext, SessionCounts, SessionHistory, SessionSearch
from spade_llm.messaging import Body, Idempotency
from spade_llm.messaging.body import truncated_to_message
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.search.memory_query import MemoryType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from spade_llm.memory.contract import ObservedMessage
    from spade_llm.messaging import Dispatcher, Request, RequestSender

logger = logging.getLogger(__name__)

T = TypeVar("T")

Language = Literal["en", "es"]
MAX_SESSIONS = 1000
"""Maximum number of sessions cleared by one call."""
MAX_AT_ONCE = 40
"""Maximum number of sessions cleared by one request: their names fit into it at any length."""
ONTOLOGY = "spade-llm.sessions/1"


class CallerSessions(Protocol):
    """All about the asker only. Sessions are named without the asker's JID, in what is asked and in
    what is answered.

    Raises RequestError: RequestRefused `invalid-arguments` (a field out of range, named),
    `not-offered` (an assistant without a memory remembers nothing; history, stats, context and
    clearing work on what it has in RAM) and `busy` (clearing: something does not let itself be
    stopped); RequestFailed `unavailable` (its memory is away).
    """

    async def history(
        self, session: str, *, limit: int = 50, before: str | None = None
    ) -> SessionHistory:
        """The latest messages (1…1000), oldest first, what was said a moment ago among them; of
        those that came before the message `before`, if it is given. Of a session that there is not:
        empty."""
        ...

    async def stats(self, session: str) -> SessionCounts: ...

    async def context(
        self,
        session: str,
        *,
        max_tokens: int = 2000,
        types: Sequence[MemoryType] = tuple(MemoryType),
        language: Language = "es",
    ) -> SessionContext: ...

    async def search(
        self, query: str, *, top_k: int = 5, session: str | None = None
    ) -> SessionSearch:
        """Search one session, or (None) all memories about the caller, including messages."""
        ...

    async def retrieve(self, query: str, *, limit: int = 5, detail_limit: int | None = None) -> str:
        """The Markdown of specs/2."""
        ...

    async def clear(self, session: str) -> SessionCounts:
        """Remove the session's messages and memories everywhere; how many there were."""
        ...

    async def clear_messages(self, sessions: Sequence[str]) -> int:
        """Remove the messages of these (at most 1000) and keep what is remembered of them, also
        what is only about to be learned from them. How many messages there were."""
        ...

    async def memories(
        self,
        *,
        types: Sequence[MemoryType] = (),
        text: str = "",
        session: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> MemoryPage:
        """Memories about the caller, newest first. With `text`: search results, best first,
        including messages (identified by `origin`; they can be neither corrected nor forgotten);
        then `total` only shows whether there are more."""
        ...

    async def correct(self, id: str, content: str) -> MemoryEntry:
        """Raises RequestRefused (`not-found`) if it is not about the asker."""
        ...

    async def forget(self, ids: Sequence[str]) -> int: ...

    async def forget_everything(self) -> RemovedCounts:
        """All that is remembered of the asker, and every message."""
        ...


class SessionBody(Body):
    """Records travel without their defaults, which are therefore a part of this version."""

    skips_defaults: ClassVar[bool] = True


class SessionHistoryRequest(SessionBody):
    op: ClassVar[str] = "history"
    session: str
    limit: int = 50
    before: str | None = None


class SessionStatsRequest(SessionBody):
    op: ClassVar[str] = "stats"
    session: str


class SessionContextQuery(SessionBody):
    op: ClassVar[str] = "context"
    session: str
    max_tokens: int = 2000
    types: tuple[MemoryType, ...] = tuple(MemoryType)
    language: Language = "es"


class SessionSearchRequest(SessionBody):
    op: ClassVar[str] = "search"
    query: str
    top_k: int = 5
    session: str | None = None


class SessionRetrieveRequest(SessionBody):
    op: ClassVar[str] = "retrieve"
    query: str
    limit: int = 5
    detail_limit: int | None = None


class ClearSessionRequest(SessionBody):
    op: ClassVar[str] = "clear"
    session: str


class ClearSessionMessagesRequest(SessionBody):
    op: ClassVar[str] = "clear_messages"
    sessions: tuple[str, ...] = Field(max_length=MAX_SESSIONS)


class SessionMemoriesRequest(SessionBody):
    op: ClassVar[str] = "memories"
    types: tuple[MemoryType, ...] = ()
    text: str = ""
    session: str | None = None
    limit: int = 50
    offset: int = 0


class CorrectMemoryRequest(SessionBody):
    op: ClassVar[str] = "correct"
    id: str
    content: str


class ForgetMemoryRequest(SessionBody):
    op: ClassVar[str] = "forget"
    ids: tuple[str, ...]


class ForgetEverythingRequest(SessionBody):
    op: ClassVar[str] = "forget_everything"


class SessionHistoryResponse(SessionBody):
    history: SessionHistory


class SessionStatsResponse(SessionBody):
    counts: SessionCounts


class SessionContextAnswer(SessionBody):
    context: SessionContext


class SessionSearchResponse(SessionBody):
    found: SessionSearch


class SessionMarkdownResponse(SessionBody):
    text: str


class SessionCount(SessionBody):
    count: int


class SessionMemoriesResponse(SessionBody):
    page: MemoryPage


class CorrectedMemoryResponse(SessionBody):
    entry: MemoryEntry


class ForgottenResponse(SessionBody):
    cleared: RemovedCounts


class SessionsService:
    """Answers each asker from their own sessions. What one message cannot carry is cut, and says
    so."""

    def __init__(
        self, sessions_of: Callable[[str], CallerSessions], dispatcher: Dispatcher
    ) -> None:
        """`sessions_of` takes a bare JID."""
        self._sessions_of = sessions_of
        self._dispatcher = dispatcher

    def attach(self) -> None:
        service = RpcService(ONTOLOGY)
        service.on(SessionHistoryRequest, self._history)
        service.on(SessionStatsRequest, self._stats)
        service.on(SessionContextQuery, self._context)
        service.on(SessionSearchRequest, self._search)
        service.on(SessionRetrieveRequest, self._retrieve)
        service.on(SessionMemoriesRequest, self._memories)
        service.on(ClearSessionRequest, self._clear, effect=Idempotency.WRITE)
        service.on(ClearSessionMessagesRequest, self._clear_messages, effect=Idempotency.WRITE)
        service.on(CorrectMemoryRequest, self._correct, effect=Idempotency.WRITE)
        service.on(ForgetMemoryRequest, self._forget, effect=Idempotency.WRITE)
        service.on(ForgetEverythingRequest, self._forget_everything, effect=Idempotency.WRITE)
        service.attach(self._dispatcher)

    async def _history(self, request: Request, body: SessionHistoryRequest) -> Body:
        asked = self._of(request).history(body.session, limit=body.limit, before=body.before)
        history = await _memory_errors_as_refusals(asked)
        count = len(history.messages)
        return truncated_to_message(
            # Reversed, since the end is cut: the oldest messages are left out.
            history.messages[::-1],
            lambda some: SessionHistoryResponse(
                history=replace(history, messages=tuple(some[::-1]), left=count - len(some))
            ),
        )

    async def _stats(self, request: Request, body: SessionStatsRequest) -> Body:
        return SessionStatsResponse(
            counts=await _memory_errors_as_refusals(self._of(request).stats(body.session))
        )

    async def _context(self, request: Request, body: SessionContextQuery) -> Body:
        asked = self._of(request).context(
            body.session, max_tokens=body.max_tokens, types=body.types, language=body.language
        )
        return SessionContextAnswer(context=await _memory_errors_as_refusals(asked))

    async def _search(self, request: Request, body: SessionSearchRequest) -> Body:
        asked = self._of(request).search(body.query, top_k=body.top_k, session=body.session)
        found = await _memory_errors_as_refusals(asked)
        count = len(found.results) + found.left_out
        return truncated_to_message(
            found.results,
            lambda some: SessionSearchResponse(
                found=replace(found, results=tuple(some), left_out=count - len(some))
            ),
        )

    async def _retrieve(self, request: Request, body: SessionRetrieveRequest) -> Body:
        asked = self._of(request).retrieve(
            body.query, limit=body.limit, detail_limit=body.detail_limit
        )
        parts = _BETWEEN_MEMORIES.split(await _memory_errors_as_refusals(asked))
        return truncated_to_message(
            parts, lambda some: SessionMarkdownResponse(text="\n\n".join(some))
        )

    async def _memories(self, request: Request, body: SessionMemoriesRequest) -> Body:
        asked = self._of(request).memories(
            types=body.types,
            text=body.text,
            session=body.session,
            limit=body.limit,
            offset=body.offset,
        )
        page = await _memory_errors_as_refusals(asked)
        return truncated_to_message(
            page.entries,
            lambda some: SessionMemoriesResponse(
                page=MemoryPage(entries=tuple(some), total=page.total)
            ),
        )

    async def _clear(self, request: Request, body: ClearSessionRequest) -> Body:
        counts = await _memory_errors_as_refusals(self._of(request).clear(body.session))
        await self._dispatcher.scrub(ENTRY_SUBJECT, [request.message.owner])
        return SessionStatsResponse(counts=counts)

    async def _clear_messages(self, request: Request, body: ClearSessionMessagesRequest) -> Body:
        return SessionCount(
            count=await _memory_errors_as_refusals(self._of(request).clear_messages(body.sessions))
        )

    async def _correct(self, request: Request, body: CorrectMemoryRequest) -> Body:
        return CorrectedMemoryResponse(
            entry=await _memory_errors_as_refusals(self._of(request).correct(body.id, body.content))
        )

    async def _forget(self, request: Request, body: ForgetMemoryRequest) -> Body:
        count = await _memory_errors_as_refusals(self._of(request).forget(body.ids))
        await self._dispatcher.scrub(ENTRY_ID, list(body.ids))
        return SessionCount(count=count)

    async def _forget_everything(self, request: Request, _body: ForgetEverythingRequest) -> Body:
        return ForgottenResponse(
            cleared=await _memory_errors_as_refusals(self._of(request).forget_everything())
        )

    def _of(self, request: Request) -> CallerSessions:
        return self._sessions_of(request.message.owner)


_BETWEEN_MEMORIES = re.compile(r"\n\n(?=## Memory )")
"""Nothing that is remembered has a line of its own."""

_REFUSALS: Mapping[str, type[Refusal]] = {
    kind.code: kind for kind in (Busy, InvalidArguments, NotFound, Unauthorised)
}


async def _memory_errors_as_refusals(answer: Awaitable[T]) -> T:
    """Convert memory's refusals to refusals of this service, with the same text; other errors to
    Unavailable."""
    try:
        return await answer
    except RequestRefused as error:
        raise _REFUSALS.get(error.wire_code, Refusal)(error.detail) from None
    except (RequestError, TimeoutError) as error:
        logger.warning("memory cannot be asked for a person's sessions: %s", error)
        if isinstance(error, RequestError) and error.wire_code == StorageFailed.code:
            raise StorageFailed(error.detail) from None
        raise Unavailable("the memory agent cannot be reached now; try again later") from None


class SessionsClient:
    """Sessions of another agent, an assistant."""

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = 10.0) -> None:
        self.jid = jid
        self._peer = RpcClient(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    async def history(
        self, session: str, *, limit: int = 50, before: str | None = None
    ) -> SessionHistory:
        """Fetch the history in as many requests as needed."""
        messages: list[ObservedMessage] = []
        while True:
            first = messages[0].id if messages else before
            body = SessionHistoryRequest(session=session, limit=limit - len(messages), before=first)
            page = (await self._peer.ask(body, SessionHistoryResponse)).history
            messages[:0] = page.messages
            # An empty page ends it, too: a peer that always has more must not hold us.
            if not (page.left and page.messages):
                return replace(page, messages=tuple(messages), left=0)

    async def stats(self, session: str) -> SessionCounts:
        return (
            await self._peer.ask(SessionStatsRequest(session=session), SessionStatsResponse)
        ).counts

    async def context(
        self,
        session: str,
        *,
        max_tokens: int = 2000,
        types: Sequence[MemoryType] = tuple(MemoryType),
        language: Language = "es",
    ) -> SessionContext:
        body = SessionContextQuery(
            session=session, max_tokens=max_tokens, types=tuple(types), language=language
        )
        return (await self._peer.ask(body, SessionContextAnswer)).context

    async def search(
        self, query: str, *, top_k: int = 5, session: str | None = None
    ) -> SessionSearch:
        body = SessionSearchRequest(query=query, top_k=top_k, session=session)
        return (await self._peer.ask(body, SessionSearchResponse)).found

    async def retrieve(self, query: str, *, limit: int = 5, detail_limit: int | None = None) -> str:
        body = SessionRetrieveRequest(query=query, limit=limit, detail_limit=detail_limit)
        return (await self._peer.ask(body, SessionMarkdownResponse)).text

    async def clear(self, session: str) -> SessionCounts:
        return (
            await self._peer.ask(ClearSessionRequest(session=session), SessionStatsResponse)
        ).counts

    async def clear_messages(self, sessions: Sequence[str]) -> int:
        """More than MAX_AT_ONCE go in several requests."""
        count = 0
        for start in range(0, len(sessions), MAX_AT_ONCE):
            some = tuple(sessions[start : start + MAX_AT_ONCE])
            count += (
                await self._peer.ask(ClearSessionMessagesRequest(sessions=some), SessionCount)
            ).count
        return count

    async def memories(
        self,
        *,
        types: Sequence[MemoryType] = (),
        text: str = "",
        session: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> MemoryPage:
        """Fetch the memories in as many requests as needed."""
        entries: list[MemoryEntry] = []
        while True:
            body = SessionMemoriesRequest(
                types=tuple(types),
                text=text,
                session=session,
                limit=limit - len(entries),
                offset=offset + len(entries),
            )
            page = (await self._peer.ask(body, SessionMemoriesResponse)).page
            entries.extend(page.entries)
            if not page.entries or len(entries) >= min(limit, page.total - offset):
                return MemoryPage(entries=tuple(entries), total=page.total)

    async def correct(self, id: str, content: str) -> MemoryEntry:
        return (
            await self._peer.ask(
                CorrectMemoryRequest(id=id, content=content), CorrectedMemoryResponse
            )
        ).entry

    async def forget(self, ids: Sequence[str]) -> int:
        return (await self._peer.ask(ForgetMemoryRequest(ids=tuple(ids)), SessionCount)).count

    async def forget_everything(self) -> RemovedCounts:
        return (await self._peer.ask(ForgetEverythingRequest(), ForgottenResponse)).cleared


if TYPE_CHECKING:

    def _is_what_a_local_one_is(client: SessionsClient) -> CallerSessions:
        return client
