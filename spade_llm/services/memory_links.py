"""Which entries belong together, of `spade-llm.memory/1`: bodies, handlers and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.memory import store
from spade_llm.runtime import Effect
from spade_llm.services.memory_body import Count, MemoryBody
from spade_llm.services.service import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.acl import Body
    from spade_llm.runtime import Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service


class AddLink(MemoryBody):
    op: ClassVar[str] = "link"
    source: str
    target: str
    relation: str = "related"


class Unlink(MemoryBody):
    op: ClassVar[str] = "unlink"
    source: str
    target: str
    relation: str | None = None


class LinksOf(MemoryBody):
    op: ClassVar[str] = "links"
    id: str


class Links(MemoryBody):
    links: tuple[store.Link, ...]


class LinksService:
    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: Service) -> None:
        service.on(AddLink, self._link, effect=Effect.WRITE)
        service.on(Unlink, self._unlink, effect=Effect.WRITE)
        service.on(LinksOf, self._links)

    async def _link(self, request: Request, body: AddLink) -> Links:
        store = self._store(request)
        return Links(links=(await store.link(body.source, body.target, relation=body.relation),))

    async def _unlink(self, request: Request, body: Unlink) -> Count:
        store = self._store(request)
        return Count(count=await store.unlink(body.source, body.target, relation=body.relation))

    async def _links(self, request: Request, body: LinksOf) -> Body:
        links = await self._store(request).links(body.id)
        return fitting(links, lambda some: Links(links=tuple(some)))


class LinksClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def link(self, source: str, target: str, *, relation: str = "related") -> store.Link:
        body = AddLink(source=source, target=target, relation=relation)
        (link,) = (await self._peer.ask(body, Links)).links
        return link

    async def unlink(self, source: str, target: str, *, relation: str | None = None) -> int:
        body = Unlink(source=source, target=target, relation=relation)
        return (await self._peer.ask(body, Count)).count

    async def links(self, id: str) -> Sequence[store.Link]:
        return (await self._peer.ask(LinksOf(id=id), Links)).links
