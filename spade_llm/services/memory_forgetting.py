"""Hiding, forgetting and keeping well, of `spade-llm.memory/1`: bodies, handlers and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from spade_llm.acl import Empty
from spade_llm.memory.store import Cleared, MemoryFilter
from spade_llm.memory.subject import known_as
from spade_llm.runtime import Effect
from spade_llm.services.memory_body import MAX_LIMIT, Count, MemoryBody

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.runtime import Dispatcher, Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service


ENTRY_ID, ENTRY_SUBJECT, ENTRY_SESSION = "$.entry.id", "$.entry.subject", "$.entry.session"
"""Where the answers of memory_entries.py name what they show."""


class Delete(MemoryBody):
    op: ClassVar[str] = "delete"
    which: MemoryFilter
    ids: tuple[str, ...] | None = None
    limit: int | None = None
    """Without ids: no more than so many."""


class Forget(MemoryBody):
    op: ClassVar[str] = "forget"
    ids: tuple[str, ...]
    subject: str | None = None


class ForgetSubject(MemoryBody):
    op: ClassVar[str] = "forget_subject"
    subject: str


class ForgetSession(MemoryBody):
    op: ClassVar[str] = "forget_session"
    session: str


class ClearSubject(MemoryBody):
    op: ClassVar[str] = "clear_subject"
    subject: str


class Reviewed(MemoryBody):
    op: ClassVar[str] = "reviewed"
    ids: tuple[str, ...]


class Deleted(MemoryBody):
    ids: tuple[str, ...]
    is_all: bool = True
    """False: there may be more of them; ask again."""


class WasCleared(MemoryBody):
    cleared: Cleared


class ForgettingService:
    """What is forgotten is not in the answers that the agent remembers either."""

    def __init__(self, store_of: StoreOf, dispatcher: Dispatcher) -> None:
        self._store = store_of
        self._dispatcher = dispatcher

    def attach(self, service: Service) -> None:
        service.on(Delete, self._delete, effect=Effect.WRITE)
        service.on(Forget, self._forget, effect=Effect.WRITE)
        service.on(ForgetSubject, self._forget_subject, effect=Effect.WRITE)
        service.on(ClearSubject, self._clear_subject, effect=Effect.WRITE)
        service.on(ForgetSession, self._forget_session, effect=Effect.WRITE)
        service.on(Reviewed, self._reviewed, effect=Effect.WRITE)

    async def _delete(self, request: Request, body: Delete) -> Deleted:
        """Without ids: so many at a time as can be named in one answer."""
        store, ids = self._store(request), body.ids
        if ids is not None:
            return Deleted(ids=tuple(await store.delete(body.which, ids=ids)))
        limit = MAX_LIMIT if body.limit is None else min(body.limit, MAX_LIMIT)
        deleted = await store.delete(body.which, limit=limit)
        return Deleted(ids=tuple(deleted), is_all=len(deleted) < limit)

    async def _forget(self, request: Request, body: Forget) -> Count:
        count = await self._store(request).forget(body.ids, subject=body.subject)
        await self._dispatcher.scrub(ENTRY_ID, [str(UUID(id)) for id in body.ids])
        return Count(count=count)

    async def _forget_subject(self, request: Request, body: ForgetSubject) -> Count:
        cleared = await self._cleared(request, body.subject)
        return Count(count=sum(cleared.by_type.values()))

    async def _clear_subject(self, request: Request, body: ClearSubject) -> WasCleared:
        return WasCleared(cleared=await self._cleared(request, body.subject))

    async def _cleared(self, request: Request, subject: str) -> Cleared:
        cleared = await self._store(request).clear_subject(subject)
        known = str(known_as(subject))
        await self._dispatcher.scrub(ENTRY_SUBJECT, [known], peer=request.message.owner)
        return cleared

    async def _forget_session(self, request: Request, body: ForgetSession) -> WasCleared:
        cleared = await self._store(request).forget_session(body.session)
        await self._dispatcher.scrub(ENTRY_SESSION, [body.session], peer=request.message.owner)
        return WasCleared(cleared=cleared)

    async def _reviewed(self, request: Request, body: Reviewed) -> Empty:
        await self._store(request).reviewed(body.ids)
        return Empty()


class ForgettingClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def delete(
        self,
        which: MemoryFilter,
        *,
        ids: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Sequence[str]:
        """All that `which` means goes in steps of MAX_LIMIT, each a transaction of its own."""
        wanted = None if ids is None else tuple(ids)
        deleted: list[str] = []
        is_all = False
        while not is_all:
            left = None if limit is None else limit - len(deleted)
            answer = await self._peer.ask(Delete(which=which, ids=wanted, limit=left), Deleted)
            deleted.extend(answer.ids)
            is_all = answer.is_all or len(deleted) == limit
        return deleted

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        return (await self._peer.ask(Forget(ids=tuple(ids), subject=subject), Count)).count

    async def forget_subject(self, subject: str) -> int:
        return (await self._peer.ask(ForgetSubject(subject=subject), Count)).count

    async def clear_subject(self, subject: str) -> Cleared:
        return (await self._peer.ask(ClearSubject(subject=subject), WasCleared)).cleared

    async def forget_session(self, session: str) -> Cleared:
        return (await self._peer.ask(ForgetSession(session=session), WasCleared)).cleared

    async def reviewed(self, ids: Sequence[str]) -> None:
        await self._peer.ask(Reviewed(ids=tuple(ids)), Empty)
