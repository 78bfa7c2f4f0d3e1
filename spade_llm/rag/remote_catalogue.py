"""Remote document catalogue: namespaces, statistics, deletion, and sharing grants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from spade_llm.messaging import Empty, Idempotency
from spade_llm.messaging.body import truncated_to_message
from spade_llm.rag.contract import (
    Access,
    DocumentPage,
    NamespaceGrant,
    NamespaceStats,
    NamespaceSummary,
)
from spade_llm.rag.remote_jobs import DocumentCount, RagBody

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.messaging import Body, Request
    from spade_llm.messaging.rpc import RpcClient, RpcService
    from spade_llm.rag.contract import DocumentSummary
    from spade_llm.rag.remote_jobs import LibraryOf


class NamespacesRequest(RagBody):
    op: ClassVar[str] = "namespaces"
    skip: int = 0
    """Number of namespaces already received."""


class DocumentStatsRequest(RagBody):
    op: ClassVar[str] = "stats"
    namespace: str


class DocumentsRequest(RagBody):
    op: ClassVar[str] = "documents"
    namespace: str | None = None
    limit: int = 100
    offset: int = 0


class DeleteDocumentsRequest(RagBody):
    op: ClassVar[str] = "delete"
    namespace: str
    source: str | None = None


class NamespacesResponse(RagBody):
    namespaces: tuple[NamespaceSummary, ...]
    left: int = 0
    """Number of namespaces that did not fit into this message."""


class DocumentStatsResponse(RagBody):
    stats: NamespaceStats


class DocumentPageResponse(RagBody):
    page: DocumentPage


class CatalogueService:
    def __init__(self, library_of: LibraryOf) -> None:
        self._library = library_of

    def attach(self, service: RpcService) -> None:
        service.on(NamespacesRequest, self._namespaces)
        service.on(DocumentStatsRequest, self._stats)
        service.on(DocumentsRequest, self._documents)
        service.on(DeleteDocumentsRequest, self._delete, effect=Idempotency.WRITE)

    async def _namespaces(self, request: Request, body: NamespacesRequest) -> Body:
        left = (await self._library(request).namespaces())[max(body.skip, 0) :]
        return truncated_to_message(
            left,
            lambda some: NamespacesResponse(namespaces=tuple(some), left=len(left) - len(some)),
        )

    async def _stats(self, request: Request, body: DocumentStatsRequest) -> DocumentStatsResponse:
        return DocumentStatsResponse(stats=await self._library(request).stats(body.namespace))

    async def _documents(self, request: Request, body: DocumentsRequest) -> Body:
        page = await self._library(request).documents(
            namespace=body.namespace, limit=body.limit, offset=body.offset
        )
        return truncated_to_message(
            page.documents, lambda some: DocumentPageResponse(page=_cut(page, some))
        )

    async def _delete(self, request: Request, body: DeleteDocumentsRequest) -> DocumentCount:
        library = self._library(request)
        return DocumentCount(
            count=await library.delete(namespace=body.namespace, source=body.source)
        )


class CatalogueClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        found: list[NamespaceSummary] = []
        while True:
            part = await self._peer.ask(NamespacesRequest(skip=len(found)), NamespacesResponse)
            found += part.namespaces
            if not part.left or not part.namespaces:
                return tuple(found)

    async def stats(self, namespace: str) -> NamespaceStats:
        return (
            await self._peer.ask(DocumentStatsRequest(namespace=namespace), DocumentStatsResponse)
        ).stats

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
        body = DeleteDocumentsRequest(namespace=namespace, source=source)
        return (await self._peer.ask(body, DocumentCount)).count

    async def _page(self, namespace: str | None, limit: int, offset: int) -> DocumentPage:
        body = DocumentsRequest(namespace=namespace, limit=limit, offset=offset)
        return (await self._peer.ask(body, DocumentPageResponse)).page


def _cut(page: DocumentPage, some: Sequence[DocumentSummary]) -> DocumentPage:
    has_more = page.has_more or len(some) < len(page.documents)
    return replace(page, documents=tuple(some), has_more=has_more)


class GrantNamespaceRequest(RagBody):
    op: ClassVar[str] = "grant"
    namespace: str
    to: str
    access: Access = Access.READ


class RevokeNamespaceRequest(RagBody):
    op: ClassVar[str] = "revoke"
    namespace: str
    to: str


class NamespaceGrantsRequest(RagBody):
    op: ClassVar[str] = "grants"
    skip: int = 0
    """Number of grants already received."""


class NamespaceGrantsResponse(RagBody):
    grants: tuple[NamespaceGrant, ...]
    left: int = 0
    """Number of grants that did not fit into this message."""


class SharingService:
    def __init__(self, library_of: LibraryOf) -> None:
        self._library = library_of

    def attach(self, service: RpcService) -> None:
        service.on(GrantNamespaceRequest, self._grant, effect=Idempotency.WRITE)
        service.on(RevokeNamespaceRequest, self._revoke, effect=Idempotency.WRITE)
        service.on(NamespaceGrantsRequest, self._grants)

    async def _grant(self, request: Request, body: GrantNamespaceRequest) -> Empty:
        await self._library(request).grant(body.namespace, to=body.to, access=body.access)
        return Empty()

    async def _revoke(self, request: Request, body: RevokeNamespaceRequest) -> DocumentCount:
        return DocumentCount(count=await self._library(request).revoke(body.namespace, to=body.to))

    async def _grants(self, request: Request, body: NamespaceGrantsRequest) -> Body:
        left = (await self._library(request).grants())[max(body.skip, 0) :]
        return truncated_to_message(
            left,
            lambda some: NamespaceGrantsResponse(grants=tuple(some), left=len(left) - len(some)),
        )


class SharingClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def grant(self, namespace: str, *, to: str, access: Access = Access.READ) -> None:
        await self._peer.ask(
            GrantNamespaceRequest(namespace=namespace, to=to, access=access), Empty
        )

    async def revoke(self, namespace: str, *, to: str) -> bool:
        return (
            await self._peer.ask(RevokeNamespaceRequest(namespace=namespace, to=to), DocumentCount)
        ).count > 0

    async def grants(self) -> Sequence[NamespaceGrant]:
        found: list[NamespaceGrant] = []
        while True:
            part = await self._peer.ask(
                NamespaceGrantsRequest(skip=len(found)), NamespaceGrantsResponse
            )
            found += part.grants
            if not part.left or not part.grants:
                return tuple(found)
