"""Whom an owner lets in, of `spade-llm.rag/1`: bodies, handlers and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.acl import Empty
from spade_llm.rag.documents import Access, NamespaceGrant
from spade_llm.runtime import Effect
from spade_llm.services.rag_body import Count, RagBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.acl import Body
    from spade_llm.runtime import Request
    from spade_llm.services.rag_body import LibraryOf
    from spade_llm.services.service import Peer, Service


class Grant(RagBody):
    op: ClassVar[str] = "grant"
    namespace: str
    to: str
    access: Access = Access.READ


class Revoke(RagBody):
    op: ClassVar[str] = "revoke"
    namespace: str
    to: str


class AskGrants(RagBody):
    op: ClassVar[str] = "grants"
    skip: int = 0
    """How many were answered before."""


class Grants(RagBody):
    grants: tuple[NamespaceGrant, ...]
    left: int = 0
    """How many do not fit into this message."""


class SharingService:
    def __init__(self, library_of: LibraryOf) -> None:
        self._library = library_of

    def attach(self, service: Service) -> None:
        service.on(Grant, self._grant, effect=Effect.WRITE)
        service.on(Revoke, self._revoke, effect=Effect.WRITE)
        service.on(AskGrants, self._grants)

    async def _grant(self, request: Request, body: Grant) -> Empty:
        await self._library(request).grant(body.namespace, to=body.to, access=body.access)
        return Empty()

    async def _revoke(self, request: Request, body: Revoke) -> Count:
        return Count(count=await self._library(request).revoke(body.namespace, to=body.to))

    async def _grants(self, request: Request, body: AskGrants) -> Body:
        left = (await self._library(request).grants())[max(body.skip, 0) :]
        return fitting(left, lambda some: Grants(grants=tuple(some), left=len(left) - len(some)))


class SharingClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def grant(self, namespace: str, *, to: str, access: Access = Access.READ) -> None:
        await self._peer.ask(Grant(namespace=namespace, to=to, access=access), Empty)

    async def revoke(self, namespace: str, *, to: str) -> bool:
        return (await self._peer.ask(Revoke(namespace=namespace, to=to), Count)).count > 0

    async def grants(self) -> Sequence[NamespaceGrant]:
        found: list[NamespaceGrant] = []
        while True:
            part = await self._peer.ask(AskGrants(skip=len(found)), Grants)
            found += part.grants
            if not part.left or not part.grants:
                return tuple(found)
