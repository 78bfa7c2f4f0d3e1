"""`spade-llm.sessions/1`: what an assistant keeps of its conversations with whoever asks.

A session is the thread of the asker's own conversation: nobody can name another's. The assistant
answers, not the memory agent, because it alone knows what has not been handed over yet, and holds
in RAM what a cleared session must not show again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from pydantic import Field

from spade_llm.acl import Body
from spade_llm.memory.session_records import (
    SessionContext,
    SessionCounts,
    SessionHistory,
    SessionSearch,
)
from spade_llm.memory.store import Cleared, MemoryEntry, MemoryPage, MemoryType
from spade_llm.services.service import Peer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.runtime import Asks

Language = Literal["en", "es"]
MAX_SESSIONS = 1000
"""That one request clears."""
ONTOLOGY = "spade-llm.sessions/1"


class Sessions(Protocol):
    """All about the asker only. Sessions are named without the asker's JID, in what is asked and in
    what is answered.

    Raises RequestError; a field out of range is `invalid-arguments` and named.
    """

    async def history(self, session: str, *, limit: int = 50) -> SessionHistory:
        """The latest messages, oldest first, what was said a moment ago among them. Of a session
        that there is not: empty."""
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
        """What is remembered of the asker, newest first; with `text`, what speaks of it, best
        first."""
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


class SessionsClient:
    """Sessions of another agent, an assistant."""

    def __init__(self, requester: Asks, jid: str, *, timeout_s: float = 10.0) -> None:
        self.jid = jid
        self._peer = Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s)

    async def history(self, session: str, *, limit: int = 50) -> SessionHistory:
        body = AskHistory(session=session, limit=limit)
        return (await self._peer.ask(body, HistoryOfSession)).history

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
        return (await self._peer.ask(ClearMessages(sessions=tuple(sessions)), Count)).count

    async def memories(
        self,
        *,
        types: Sequence[MemoryType] = (),
        text: str = "",
        session: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> MemoryPage:
        body = AskMemories(
            types=tuple(types), text=text, session=session, limit=limit, offset=offset
        )
        return (await self._peer.ask(body, Memories)).page

    async def correct(self, id: str, content: str) -> MemoryEntry:
        return (await self._peer.ask(Correct(id=id, content=content), Corrected)).entry

    async def forget(self, ids: Sequence[str]) -> int:
        return (await self._peer.ask(Forget(ids=tuple(ids)), Count)).count

    async def forget_everything(self) -> Cleared:
        return (await self._peer.ask(ForgetEverything(), Everything)).cleared


if TYPE_CHECKING:

    def _is_what_a_local_one_is(client: SessionsClient) -> Sessions:
        return client
