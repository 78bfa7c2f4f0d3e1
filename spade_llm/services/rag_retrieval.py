"""Finding passages, of `spade-llm.rag/1`: bodies, handler and client."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from spade_llm.rag.retriever import Retrieval, RetrievalOptions
from spade_llm.services.rag_body import RagBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from spade_llm.acl import Body
    from spade_llm.runtime import Request
    from spade_llm.services.rag_body import LibraryOf
    from spade_llm.services.service import Peer, Service


class Retrieve(RagBody):
    op: ClassVar[str] = "retrieve"
    query: str
    k: int = 5
    options: RetrievalOptions = RetrievalOptions()
    namespaces: tuple[str, ...] = ()
    """As `namespace`: how the first programs said what is now in `options`."""
    namespace: str | None = None

    def as_options(self) -> RetrievalOptions:
        named = (self.namespace,) if self.namespace is not None else ()
        return replace(
            self.options, namespaces=(*self.options.namespaces, *self.namespaces, *named)
        )


class Retrieved(RagBody):
    retrieval: Retrieval


class RetrievalService:
    """The best passages, from the first on, as many as fit into one message."""

    def __init__(self, library_of: LibraryOf) -> None:
        self._library = library_of

    def attach(self, service: Service) -> None:
        service.on(Retrieve, self._retrieve)

    async def _retrieve(self, request: Request, body: Retrieve) -> Body:
        library = self._library(request)
        found = await library.retrieve(body.query, k=body.k, options=body.as_options())
        return fitting(
            found.chunks,
            lambda some: Retrieved(retrieval=replace(found, chunks=tuple(some))),
        )


class RetrievalClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        body = Retrieve(query=query, k=k, options=options or RetrievalOptions())
        return (await self._peer.ask(body, Retrieved)).retrieval
