"""Remote sessions (`spade-llm.sessions/1`): service and client for stored conversations.

A session is the thread of the caller's own conversation; sessions of others cannot be addressed.
The assistant answers, not the memory agent: only the assistant has the messages still in the
outbox, and the messages in RAM that must be removed with a deleted session.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol, TypeVar

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
from spade_llm.memory.contract import MemoryEntry, MemoryPage, ObservedMessage, RemovedCounts
from spade_llm.memory.remote_endpoint import (
    ENTRY_ID,
    ENTRY_SUBJECT,
    MemoryBody,
    MemoryPageResponse,
)
from spade_llm.memory.sessions import SessionContext, SessionCounts, SessionHistory, SessionSearch
from spade_llm.messaging.body import truncated_to_message
from spade_llm.messaging.operation import Operation
from spade_llm.messaging.request import Idempotency
from spade_llm.messaging.rpc import RpcClient, RpcService
from spade_llm.search.memory_query import MemoryType

if TYPE_CHECKING:
    from spade_llm.messaging import Body, Dispatcher, Request, RequestSender

logger = logging.getLogger(__name__)

T = TypeVar("T")

Language = Literal["en", "es"]
MAX_SESSIONS = 1000
"""Maximum number of sessions cleared by one call."""
MAX_AT_ONCE = 40
"""Maximum number of sessions cleared by one request: their names fit into it at any length."""
ONTOLOGY = "spade-llm.sessions/1"

READ, WRITE = Idempotency.READ, Idempotency.WRITE


class CallerSessions(Protocol):
    """Sessions of the asker: history, memories, deletion; all about the asker only. Sessions are
    named without the asker's JID, in what is asked and in what is answered.

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

    async def retrieve(self, query: str, *, limit: int = 5, detail_limit: int | None = None) -> str:
        """The Markdown of retrieve_memory."""

    async def clear(self, session: str) -> SessionCounts:
        """Remove the session's messages and memories everywhere; how many there were."""

    async def clear_messages(self, sessions: Sequence[str]) -> int:
        """Remove the messages of these (at most 1000) and keep what is remembered of them, also
        what is only about to be learned from them. How many messages there were."""

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

    async def correct(self, id: str, content: str) -> MemoryEntry:
        """Raises RequestRefused (`not-found`) if it is not about the asker."""

    async def forget(self, ids: Sequence[str]) -> int: ...

    async def forget_everything(self) -> RemovedCounts:
        """Remove all memories of the caller, and every message."""


class SessionHistoryResponse(MemoryBody):
    history: SessionHistory


class SessionSearchResponse(MemoryBody):
    found: SessionSearch


class SessionMarkdownResponse(MemoryBody):
    text: str


class SessionsEndpoint:
    """The sessions of a caller as they are served to a request. Signatures are those of the wire;
    what is not here is served by the sessions themselves.

    Long answers are truncated to one message, and say so. What is forgotten is also removed from
    the answers that the agent has cached.
    """

    def __init__(self, sessions: CallerSessions, request: Request, dispatcher: Dispatcher) -> None:
        self._sessions = sessions
        self._caller = request.message.owner
        self._dispatcher = dispatcher

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        method = getattr(self._sessions, name)
        return lambda **arguments: _memory_errors_as_refusals(method(**arguments))

    async def history(
        self, session: str, *, limit: int = 50, before: str | None = None
    ) -> SessionHistoryResponse:
        history = await _memory_errors_as_refusals(
            self._sessions.history(session, limit=limit, before=before)
        )
        count = len(history.messages)
        return truncated_to_message(
            # Reversed, since the end is cut: the oldest messages are left out.
            history.messages[::-1],
            lambda some: SessionHistoryResponse(
                history=replace(history, messages=tuple(some[::-1]), left=count - len(some))
            ),
        )

    async def search(
        self, query: str, *, top_k: int = 5, session: str | None = None
    ) -> SessionSearchResponse:
        found = await _memory_errors_as_refusals(
            self._sessions.search(query, top_k=top_k, session=session)
        )
        count = len(found.results) + found.left_out
        return truncated_to_message(
            found.results,
            lambda some: SessionSearchResponse(
                found=replace(found, results=tuple(some), left_out=count - len(some))
            ),
        )

    async def retrieve(
        self, query: str, *, limit: int = 5, detail_limit: int | None = None
    ) -> SessionMarkdownResponse:
        text = await _memory_errors_as_refusals(
            self._sessions.retrieve(query, limit=limit, detail_limit=detail_limit)
        )
        return truncated_to_message(
            _BETWEEN_MEMORIES.split(text),
            lambda some: SessionMarkdownResponse(text="\n\n".join(some)),
        )

    async def memories(
        self,
        *,
        types: Sequence[MemoryType] = (),
        text: str = "",
        session: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> MemoryPageResponse:
        page = await _memory_errors_as_refusals(
            self._sessions.memories(
                types=types, text=text, session=session, limit=limit, offset=offset
            )
        )
        return truncated_to_message(
            page.entries,
            lambda some: MemoryPageResponse(page=MemoryPage(entries=tuple(some), total=page.total)),
        )

    async def clear(self, session: str) -> SessionCounts:
        counts = await _memory_errors_as_refusals(self._sessions.clear(session))
        await self._dispatcher.scrub(ENTRY_SUBJECT, [self._caller])
        return counts

    async def clear_messages(
        self, sessions: Annotated[tuple[str, ...], Field(max_length=MAX_SESSIONS)]
    ) -> int:
        return await _memory_errors_as_refusals(self._sessions.clear_messages(sessions))

    async def forget(self, ids: Sequence[str]) -> int:
        count = await _memory_errors_as_refusals(self._sessions.forget(ids))
        await self._dispatcher.scrub(ENTRY_ID, list(ids))
        return count


# Each memory is one paragraph: nothing that is remembered has a line of its own.
_BETWEEN_MEMORIES = re.compile(r"\n\n(?=## Memory )")

_REFUSALS: Mapping[str, type[Refusal]] = {
    kind.code: kind for kind in (Busy, InvalidArguments, NotFound, Unauthorised)
}


async def _memory_errors_as_refusals(answer: Awaitable[T]) -> T:
    """Convert memory's refusals to refusals of this service (same text), others to Unavailable."""
    try:
        return await answer
    except RequestRefused as error:
        raise _REFUSALS.get(error.wire_code, Refusal)(error.detail) from None
    except (RequestError, TimeoutError) as error:
        logger.warning("memory is unavailable for a sessions request: %s", error)
        if isinstance(error, RequestError) and error.wire_code == StorageFailed.code:
            raise StorageFailed(error.detail) from None
        raise Unavailable("the memory agent cannot be reached now; try again later") from None


class SessionsService:
    """Answers each caller from its own sessions."""

    def __init__(
        self, sessions_of: Callable[[str], CallerSessions], dispatcher: Dispatcher
    ) -> None:
        """`sessions_of` takes a bare JID."""
        self._sessions_of = sessions_of
        self._dispatcher = dispatcher

    def attach(self) -> None:
        def endpoint(request: Request) -> SessionsEndpoint:
            sessions = self._sessions_of(request.message.owner)
            return SessionsEndpoint(sessions, request, self._dispatcher)

        service = RpcService(ONTOLOGY)
        service.serve(SessionsClient, endpoint)
        service.attach(self._dispatcher)


class SessionsClient(RpcClient):
    """Sessions of another agent, an assistant. Operations with a leading underscore are one message
    of a method that sends several, or whose response is not the result."""

    body_base: ClassVar[type[Body]] = MemoryBody

    def __init__(self, requester: RequestSender, jid: str, *, timeout_s: float = 10.0) -> None:
        super().__init__(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    _history = Operation(SessionsEndpoint.history)
    stats = Operation(CallerSessions.stats, READ, "counts")
    context = Operation(CallerSessions.context, READ, "context")
    _search = Operation(SessionsEndpoint.search)
    _retrieve = Operation(SessionsEndpoint.retrieve)
    _memories = Operation(SessionsEndpoint.memories)
    clear = Operation(CallerSessions.clear, WRITE, "counts")
    _clear_messages = Operation(SessionsEndpoint.clear_messages, WRITE, "count")
    correct = Operation(CallerSessions.correct, WRITE, "entry")
    forget = Operation(CallerSessions.forget, WRITE, "count")
    forget_everything = Operation(CallerSessions.forget_everything, WRITE, "cleared")

    async def history(
        self, session: str, *, limit: int = 50, before: str | None = None
    ) -> SessionHistory:
        """Fetch the history in as many requests as needed."""
        messages: list[ObservedMessage] = []
        while True:
            first = messages[0].id if messages else before
            answer = await self._history(session, limit=limit - len(messages), before=first)
            page = answer.history
            messages[:0] = page.messages
            # An empty page ends it, too: a peer that always has more must not hold us.
            if not (page.left and page.messages):
                return replace(page, messages=tuple(messages), left=0)

    async def search(
        self, query: str, *, top_k: int = 5, session: str | None = None
    ) -> SessionSearch:
        return (await self._search(query, top_k=top_k, session=session)).found

    async def retrieve(self, query: str, *, limit: int = 5, detail_limit: int | None = None) -> str:
        return (await self._retrieve(query, limit=limit, detail_limit=detail_limit)).text

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
        ask = partial(self._memories, types=types, text=text, session=session)
        entries: list[MemoryEntry] = []
        while True:
            answer = await ask(limit=limit - len(entries), offset=offset + len(entries))
            page = answer.page
            entries.extend(page.entries)
            if not page.entries or len(entries) >= min(limit, page.total - offset):
                return MemoryPage(entries=tuple(entries), total=page.total)

    async def clear_messages(self, sessions: Sequence[str]) -> int:
        """Clear in as many requests as needed, of MAX_AT_ONCE sessions each."""
        count = 0
        for start in range(0, len(sessions), MAX_AT_ONCE):
            count += await self._clear_messages(tuple(sessions[start : start + MAX_AT_ONCE]))
        return count


if TYPE_CHECKING:

    def _is_what_a_local_one_is(client: SessionsClient) -> CallerSessions:
        return client
