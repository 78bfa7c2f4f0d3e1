"""`spade-llm.sessions/1`: what an assistant keeps of its conversations with whoever asks.

A session is the thread of the asker's own conversation: nobody can name another's. The assistant
answers, not the memory agent, because it alone knows what has not been handed over yet, and holds
in RAM what a cleared session must not show again.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeVar

from pydantic import Field

from spade_llm.acl import Body
from spade_llm.errors import (
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
from spade_llm.memory.session_records import (
    SessionContext,
    SessionCounts,
    SessionHistory,
    SessionSearch,
)
from spade_llm.memory.store import Cleared, MemoryEntry, MemoryPage, MemoryType
from spade_llm.runtime import Effect
from spade_llm.services.memory_forgetting import ENTRY_ID, ENTRY_SUBJECT
from spade_llm.services.service import Peer, Service, fitting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from spade_llm.memory.store import ObservedMessage
    from spade_llm.runtime import Asks, Dispatcher, Request

logger = logging.getLogger(__name__)

T = TypeVar("T")

Language = Literal["en", "es"]
MAX_SESSIONS = 1000
"""That are cleared together."""
MAX_AT_ONCE = 40
"""That one request clears: their names fit into it, however long."""
ONTOLOGY = "spade-llm.sessions/1"


class Sessions(Protocol):
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
        """In one session, or (None) in all that is remembered of the asker, messages too."""
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
        """What is remembered of the asker, newest first. With `text`: what speaks of it, best
        first, messages too (their `origin` says so: they can be neither corrected nor forgotten);
        `total` then says of what follows only whether there is any."""
        ...

    async def correct(self, id: str, content: str) -> MemoryEntry:
        """Raises RequestRefused (`not-found`) if it is not about the asker."""
        ...

    async def forget(self, ids: Sequence[str]) -> int: ...

    async def forget_everything(self) -> Cleared:
        """All that is remembered of the asker, and every message."""
        ...


class SessionBody(Body):
    """Records travel without their defaults, which are therefore a part of this version."""

    skips_defaults: ClassVar[bool] = True


class AskHistory(SessionBody):
    op: ClassVar[str] = "history"
    session: str
    limit: int = 50
    before: str | None = None


class AskStats(SessionBody):
    op: ClassVar[str] = "stats"
    session: str


class AskContext(SessionBody):
    op: ClassVar[str] = "context"
    session: str
    max_tokens: int = 2000
    types: tuple[MemoryType, ...] = tuple(MemoryType)
    language: Language = "es"


class Search(SessionBody):
    op: ClassVar[str] = "search"
    query: str
    top_k: int = 5
    session: str | None = None


class Retrieve(SessionBody):
    op: ClassVar[str] = "retrieve"
    query: str
    limit: int = 5
    detail_limit: int | None = None


class Clear(SessionBody):
    op: ClassVar[str] = "clear"
    session: str


class ClearMessages(SessionBody):
    op: ClassVar[str] = "clear_messages"
    sessions: tuple[str, ...] = Field(max_length=MAX_SESSIONS)


class AskMemories(SessionBody):
    op: ClassVar[str] = "memories"
    types: tuple[MemoryType, ...] = ()
    text: str = ""
    session: str | None = None
    limit: int = 50
    offset: int = 0


class Correct(SessionBody):
    op: ClassVar[str] = "correct"
    id: str
    content: str


class Forget(SessionBody):
    op: ClassVar[str] = "forget"
    ids: tuple[str, ...]


class ForgetEverything(SessionBody):
    op: ClassVar[str] = "forget_everything"


class HistoryOfSession(SessionBody):
    history: SessionHistory


class CountsOfSession(SessionBody):
    counts: SessionCounts


class ContextOfSession(SessionBody):
    context: SessionContext


class FoundInSessions(SessionBody):
    found: SessionSearch


class Markdown(SessionBody):
    text: str


class Count(SessionBody):
    count: int


class Memories(SessionBody):
    page: MemoryPage


class Corrected(SessionBody):
    entry: MemoryEntry


class Everything(SessionBody):
    cleared: Cleared


class SessionsService:
    """Answers each asker from their own sessions. What one message cannot carry is cut, and says
    so."""

    def __init__(self, sessions_of: Callable[[str], Sessions], dispatcher: Dispatcher) -> None:
        """`sessions_of` takes a bare JID."""
        self._sessions_of = sessions_of
        self._dispatcher = dispatcher

    def attach(self) -> None:
        service = Service(ONTOLOGY)
        service.on(AskHistory, self._history)
        service.on(AskStats, self._stats)
        service.on(AskContext, self._context)
        service.on(Search, self._search)
        service.on(Retrieve, self._retrieve)
        service.on(AskMemories, self._memories)
        service.on(Clear, self._clear, effect=Effect.WRITE)
        service.on(ClearMessages, self._clear_messages, effect=Effect.WRITE)
        service.on(Correct, self._correct, effect=Effect.WRITE)
        service.on(Forget, self._forget, effect=Effect.WRITE)
        service.on(ForgetEverything, self._forget_everything, effect=Effect.WRITE)
        service.attach(self._dispatcher)

    async def _history(self, request: Request, body: AskHistory) -> Body:
        asked = self._of(request).history(body.session, limit=body.limit, before=body.before)
        history = await _answered(asked)
        count = len(history.messages)
        return fitting(
            history.messages[::-1],
            lambda some: HistoryOfSession(
                history=replace(history, messages=tuple(some[::-1]), left=count - len(some))
            ),
        )

    async def _stats(self, request: Request, body: AskStats) -> Body:
        return CountsOfSession(counts=await _answered(self._of(request).stats(body.session)))

    async def _context(self, request: Request, body: AskContext) -> Body:
        asked = self._of(request).context(
            body.session, max_tokens=body.max_tokens, types=body.types, language=body.language
        )
        return ContextOfSession(context=await _answered(asked))

    async def _search(self, request: Request, body: Search) -> Body:
        asked = self._of(request).search(body.query, top_k=body.top_k, session=body.session)
        found = await _answered(asked)
        count = len(found.results) + found.left_out
        return fitting(
            found.results,
            lambda some: FoundInSessions(
                found=replace(found, results=tuple(some), left_out=count - len(some))
            ),
        )

    async def _retrieve(self, request: Request, body: Retrieve) -> Body:
        asked = self._of(request).retrieve(
            body.query, limit=body.limit, detail_limit=body.detail_limit
        )
        parts = _BETWEEN_MEMORIES.split(await _answered(asked))
        return fitting(parts, lambda some: Markdown(text="\n\n".join(some)))

    async def _memories(self, request: Request, body: AskMemories) -> Body:
        asked = self._of(request).memories(
            types=body.types,
            text=body.text,
            session=body.session,
            limit=body.limit,
            offset=body.offset,
        )
        page = await _answered(asked)
        return fitting(
            page.entries,
            lambda some: Memories(page=MemoryPage(entries=tuple(some), total=page.total)),
        )

    async def _clear(self, request: Request, body: Clear) -> Body:
        counts = await _answered(self._of(request).clear(body.session))
        await self._dispatcher.scrub(ENTRY_SUBJECT, [request.message.owner])
        return CountsOfSession(counts=counts)

    async def _clear_messages(self, request: Request, body: ClearMessages) -> Body:
        return Count(count=await _answered(self._of(request).clear_messages(body.sessions)))

    async def _correct(self, request: Request, body: Correct) -> Body:
        return Corrected(entry=await _answered(self._of(request).correct(body.id, body.content)))

    async def _forget(self, request: Request, body: Forget) -> Body:
        count = await _answered(self._of(request).forget(body.ids))
        await self._dispatcher.scrub(ENTRY_ID, list(body.ids))
        return Count(count=count)

    async def _forget_everything(self, request: Request, _body: ForgetEverything) -> Body:
        return Everything(cleared=await _answered(self._of(request).forget_everything()))

    def _of(self, request: Request) -> Sessions:
        return self._sessions_of(request.message.owner)


_BETWEEN_MEMORIES = re.compile(r"\n\n(?=## Memory )")
"""Nothing that is remembered has a line of its own."""

_REFUSALS: Mapping[str, type[Refusal]] = {
    kind.code: kind for kind in (Busy, InvalidArguments, NotFound, Unauthorised)
}


async def _answered(answer: Awaitable[T]) -> T:
    """What memory refuses is our refusal, in its words; else it is away."""
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

    def __init__(self, requester: Asks, jid: str, *, timeout_s: float = 10.0) -> None:
        self.jid = jid
        self._peer = Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    async def history(
        self, session: str, *, limit: int = 50, before: str | None = None
    ) -> SessionHistory:
        """In as many answers as it takes."""
        messages: list[ObservedMessage] = []
        while True:
            first = messages[0].id if messages else before
            body = AskHistory(session=session, limit=limit - len(messages), before=first)
            page = (await self._peer.ask(body, HistoryOfSession)).history
            messages[:0] = page.messages
            if not (page.left and page.messages):
                return replace(page, messages=tuple(messages), left=0)

    async def stats(self, session: str) -> SessionCounts:
        return (await self._peer.ask(AskStats(session=session), CountsOfSession)).counts

    async def context(
        self,
        session: str,
        *,
        max_tokens: int = 2000,
        types: Sequence[MemoryType] = tuple(MemoryType),
        language: Language = "es",
    ) -> SessionContext:
        body = AskContext(
            session=session, max_tokens=max_tokens, types=tuple(types), language=language
        )
        return (await self._peer.ask(body, ContextOfSession)).context

    async def search(
        self, query: str, *, top_k: int = 5, session: str | None = None
    ) -> SessionSearch:
        body = Search(query=query, top_k=top_k, session=session)
        return (await self._peer.ask(body, FoundInSessions)).found

    async def retrieve(self, query: str, *, limit: int = 5, detail_limit: int | None = None) -> str:
        body = Retrieve(query=query, limit=limit, detail_limit=detail_limit)
        return (await self._peer.ask(body, Markdown)).text

    async def clear(self, session: str) -> SessionCounts:
        return (await self._peer.ask(Clear(session=session), CountsOfSession)).counts

    async def clear_messages(self, sessions: Sequence[str]) -> int:
        """More than MAX_AT_ONCE go in several requests."""
        count = 0
        for start in range(0, len(sessions), MAX_AT_ONCE):
            some = tuple(sessions[start : start + MAX_AT_ONCE])
            count += (await self._peer.ask(ClearMessages(sessions=some), Count)).count
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
        """In as many answers as it takes."""
        entries: list[MemoryEntry] = []
        while True:
            body = AskMemories(
                types=tuple(types),
                text=text,
                session=session,
                limit=limit - len(entries),
                offset=offset + len(entries),
            )
            page = (await self._peer.ask(body, Memories)).page
            entries.extend(page.entries)
            if not page.entries or len(entries) >= min(limit, page.total - offset):
                return MemoryPage(entries=tuple(entries), total=page.total)

    async def correct(self, id: str, content: str) -> MemoryEntry:
        return (await self._peer.ask(Correct(id=id, content=content), Corrected)).entry

    async def forget(self, ids: Sequence[str]) -> int:
        return (await self._peer.ask(Forget(ids=tuple(ids)), Count)).count

    async def forget_everything(self) -> Cleared:
        return (await self._peer.ask(ForgetEverything(), Everything)).cleared


if TYPE_CHECKING:

    def _is_what_a_local_one_is(client: SessionsClient) -> Sessions:
        return client
