"""Whom an owner lets in, of `spade-llm.memory/1`: bodies, handlers and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.memory.store import Access, Grant
from spade_llm.runtime import Effect
from spade_llm.services.memory_body import Count, MemoryBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.acl import Body
    from spade_llm.runtime import Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service


class AddGrant(MemoryBody):
    op: ClassVar[str] = "grant"
    to: str
    access: Access = Access.READ
    tag: str | None = None
    session: str | None = None


class Revoke(MemoryBody):
    op: ClassVar[str] = "revoke"
    id: str


class ListGrants(MemoryBody):
    op: ClassVar[str] = "grants"


class Grants(MemoryBody):
    grants: tuple[Grant, ...]


class GrantsService:
    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: Service) -> None:
        service.on(AddGrant, self._grant, effect=Effect.WRITE)
        service.on(Revoke, self._revoke, effect=Effect.WRITE)
        service.on(ListGrants, self._grants)

    async def _grant(self, request: Request, body: AddGrant) -> Grants:
        grant = await self._store(request).grant(
            body.to, access=body.access, tag=body.tag, session=body.session
        )
        return Grants(grants=(grant,))

    async def _revoke(self, request: Request, body: Revoke) -> Count:
        return Count(count=await self._store(request).revoke(body.id))

    async def _grants(self, request: Request, _body: ListGrants) -> Body:
        grants = await self._store(request).grants()
        return fitting(grants, lambda some: Grants(grants=tuple(some)))


class GrantsClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def grant(
        self,
        to: str,
        *,
        access: Access = Access.READ,
        tag: str | None = None,
        session: str | None = None,
    ) -> Grant:
        body = AddGrant(to=to, access=access, tag=tag, session=session)
        (grant,) = (await self._peer.ask(body, Grants)).grants
        return grant

    async def revoke(self, id: str) -> bool:
        return (await self._peer.ask(Revoke(id=id), Count)).count > 0

    async def grants(self) -> Sequence[Grant]:
        return (await self._peer.ask(ListGrants(), Grants)).grants
