"""What is there and what goes, of `spade-llm.rag/1`: bodies, handlers and client.

A list that is more than one message carries is fetched in several; who asks the client sees one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from spade_llm.rag.documents import DocumentPage, NamespaceStats, NamespaceSummary
from spade_llm.runtime import Effect
from spade_llm.services.rag_body import Count, RagBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.acl import Body
    from spade_llm.rag.documents import DocumentSummary
    from spade_llm.runtime import Request
    from spade_llm.services.rag_body import LibraryOf
    from spade_llm.services.service import Peer, Service


class AskNamespaces(RagBody):
    op: ClassVar[str] = "namespaces"
    skip: int = 0
    """How many were answered before."""


class AskStats(RagBody):
    op: ClassVar[str] = "stats"
    namespace: str


class AskDocuments(RagBody):
    op: ClassVar[str] = "documents"
    namespace: str | None = None
    limit: int = 100
    offset: int = 0


class Delete(RagBody):
    op: ClassVar[str] = "delete"
    namespace: str
    source: str | None = None


class Namespaces(RagBody):
    namespaces: tuple[NamespaceSummary, ...]
    left: int = 0
    """How many do not fit into this message."""


class Stats(RagBody):
    stats: NamespaceStats


class Page(RagBody):
    page: DocumentPage


class CatalogueService:
    def __init__(self, library_of: LibraryOf) -> None:
        self._library = library_of

    def attach(self, service: Service) -> None:
        service.on(AskNamespaces, self._namespaces)
        service.on(AskStats, self._stats)
        service.on(AskDocuments, self._documents)
        service.on(Delete, self._delete, effect=Effect.WRITE)

    async def _namespaces(self, request: Request, body: AskNamespaces) -> Body:
        left = (await self._library(request).namespaces())[max(body.skip, 0) :]
        return fitting(
            left, lambda some: Namespaces(namespaces=tuple(some), left=len(left) - len(some))
        )

    async def _stats(self, request: Request, body: AskStats) -> Stats:
        return Stats(stats=await self._library(request).stats(body.namespace))

    async def _documents(self, request: Request, body: AskDocuments) -> Body:
        page = await self._library(request).documents(
            namespace=body.namespace, limit=body.limit, offset=body.offset
        )
        return fitting(page.documents, lambda some: Page(page=_cut(page, some)))

    async def _delete(self, request: Request, body: Delete) -> Count:
        library = self._library(request)
        return Count(count=await library.delete(namespace=body.namespace, source=body.source))


class CatalogueClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        found: list[NamespaceSummary] = []
        while True:
            part = await self._peer.ask(AskNamespaces(skip=len(found)), Namespaces)
            found += part.namespaces
            if not part.left or not part.namespaces:
                return tuple(found)

    async def stats(self, namespace: str) -> NamespaceStats:
        return (await self._peer.ask(AskStats(namespace=namespace), Stats)).stats

    async def documents(
        self, *, namespace: str | None = None, limit: int = 100, offset: int = 0
    ) -> DocumentPage:
        page = await self._page(namespace, limit, offset)
        documents = list(page.documents)
        while page.has_more and page.documents and len(documents) < limit:
            left = limit - len(documents)
            page = await self._page(namespace, left, offset + len(documents))
            documents += page.documents
        return replace(page, documents=tuple(documents), limit=limit, offset=offset)

    async def delete(self, *, namespace: str, source: str | None = None) -> int:
        body = Delete(namespace=namespace, source=source)
        return (await self._peer.ask(body, Count)).count

    async def _page(self, namespace: str | None, limit: int, offset: int) -> DocumentPage:
        body = AskDocuments(namespace=namespace, limit=limit, offset=offset)
        return (await self._peer.ask(body, Page)).page


def _cut(page: DocumentPage, some: Sequence[DocumentSummary]) -> DocumentPage:
    has_more = page.has_more or len(some) < len(page.documents)
    return replace(page, documents=tuple(some), has_more=has_more)
