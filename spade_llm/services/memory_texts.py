"""What a model reads of a memory, made where the memory is: one request instead of several.

Of `spade-llm.memory/1`: bodies, handlers and client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from spade_llm.memory.retrieve import DEFAULT_LIMIT, retrieve_memory
from spade_llm.memory.session_context import DEFAULT_TOKENS, session_context
from spade_llm.memory.session_records import SessionContext
from spade_llm.memory.store import ANY, MemoryFilter, MemoryType
from spade_llm.services.memory_body import MemoryBody

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.runtime import Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service

Language = Literal["en", "es"]


class Retrieve(MemoryBody):
    op: ClassVar[str] = "retrieve"
    query: str
    limit: int = DEFAULT_LIMIT
    detail_limit: int | None = None
    which: MemoryFilter = ANY


class AskSessionContext(MemoryBody):
    op: ClassVar[str] = "session_context"
    session: str
    max_tokens: int = DEFAULT_TOKENS
    types: tuple[MemoryType, ...] = tuple(MemoryType)
    subject: str | None = None
    language: Language = "es"


class Markdown(MemoryBody):
    text: str


class ContextOfSession(MemoryBody):
    context: SessionContext


class TextsService:
    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: Service) -> None:
        service.on(Retrieve, self._retrieve)
        service.on(AskSessionContext, self._context)

    async def _retrieve(self, request: Request, body: Retrieve) -> Markdown:
        text = await retrieve_memory(
            self._store(request),
            body.query,
            limit=body.limit,
            detail_limit=body.detail_limit,
            which=body.which,
        )
        return Markdown(text=text)

    async def _context(self, request: Request, body: AskSessionContext) -> ContextOfSession:
        context = await session_context(
            self._store(request),
            body.session,
            max_tokens=body.max_tokens,
            types=body.types,
            subject=body.subject,
            language=body.language,
        )
        return ContextOfSession(context=context)


class TextsClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def retrieve(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        detail_limit: int | None = None,
        which: MemoryFilter = ANY,
    ) -> str:
        """The Markdown of specs/2. Raises RequestError."""
        body = Retrieve(query=query, limit=limit, detail_limit=detail_limit, which=which)
        return (await self._peer.ask(body, Markdown)).text

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
        body = AskSessionContext(
            session=session,
            max_tokens=max_tokens,
            types=tuple(types),
            subject=subject,
            language=language,
        )
        return (await self._peer.ask(body, ContextOfSession)).context
