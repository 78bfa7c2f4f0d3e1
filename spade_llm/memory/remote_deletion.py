"""Remote memory deletion: delete, forget, clear a subject, and decay policy (expiry)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from spade_llm.memory.contract import DecayPolicy, DecayStatus, RemovedCounts
from spade_llm.memory.remote_protocol import MAX_LIMIT, MemoryBody, MemoryCount, MemoryIds
from spade_llm.memory.validation import normalize_subject
from spade_llm.messaging import Empty, Idempotency
from spade_llm.messaging.rpc import truncated_to_message
from spade_llm.search.memory_query import MemoryFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.remote_protocol import StoreOf
    from spade_llm.messaging import Body, Dispatcher, Request
    from spade_llm.messaging.rpc import RpcClient, RpcService

ENTRY_ID, ENTRY_SUBJECT, ENTRY_SESSION = "$.entry.id", "$.entry.subject", "$.entry.session"
"""JSON paths of entry ids, subjects and sessions in the responses of `remote_entries.py`."""


class DeleteMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "delete"
    which: MemoryFilter
    ids: tuple[str, ...] | None = None
    limit: int | None = None
    """Maximum number of entries to delete if no ids are given."""


class ForgetMemoriesRequest(MemoryBody):
    op: ClassVar[str] = "forget"
    ids: tuple[str, ...]
    subject: str | None = None


class ForgetSubjectRequest(MemoryBody):
    op: ClassVar[str] = "forget_subject"
    subject: str


class ForgetSessionRequest(MemoryBody):
    op: ClassVar[str] = "forget_session"
    session: str


class ClearSubjectRequest(MemoryBody):
    op: ClassVar[str] = "clear_subject"
    subject: str


class MarkReviewedRequest(MemoryBody):
    op: ClassVar[str] = "reviewed"
    ids: tuple[str, ...]


class DeletedMemories(MemoryBody):
    ids: tuple[str, ...]
    is_all: bool = True
    """False: there may be more of them; ask again."""


class ClearedResponse(MemoryBody):
    cleared: RemovedCounts


class DeletionService:
    """Deletion service. It also removes forgotten entries from the agent's cached responses."""

    def __init__(self, store_of: StoreOf, dispatcher: Dispatcher) -> None:
        self._store = store_of
        self._dispatcher = dispatcher

    def attach(self, service: RpcService) -> None:
        service.on(DeleteMemoriesRequest, self._delete, effect=Idempotency.WRITE)
        service.on(ForgetMemoriesRequest, self._forget, effect=Idempotency.WRITE)
        service.on(ForgetSubjectRequest, self._forget_subject, effect=Idempotency.WRITE)
        service.on(ClearSubjectRequest, self._clear_subject, effect=Idempotency.WRITE)
        service.on(ForgetSessionRequest, self._forget_session, effect=Idempotency.WRITE)
        service.on(MarkReviewedRequest, self._reviewed, effect=Idempotency.WRITE)

    async def _delete(self, request: Request, body: DeleteMemoriesRequest) -> DeletedMemories:
        """Delete memories; without ids, at most as many as one response can name."""
        store, ids = self._store(request), body.ids
        if ids is not None:
            return DeletedMemories(ids=tuple(await store.delete(body.which, ids=ids)))
        limit = MAX_LIMIT if body.limit is None else min(body.limit, MAX_LIMIT)
        deleted = await store.delete(body.which, limit=limit)
        return DeletedMemories(ids=tuple(deleted), is_all=len(deleted) < limit)

    async def _forget(self, request: Request, body: ForgetMemoriesRequest) -> MemoryCount:
        count = await self._store(request).forget(body.ids, subject=body.subject)
        await self._dispatcher.scrub(ENTRY_ID, [str(UUID(id)) for id in body.ids])
        return MemoryCount(count=count)

    async def _forget_subject(self, request: Request, body: ForgetSubjectRequest) -> MemoryCount:
        cleared = await self._cleared(request, body.subject)
        return MemoryCount(count=sum(cleared.by_type.values()))

    async def _clear_subject(self, request: Request, body: ClearSubjectRequest) -> ClearedResponse:
        return ClearedResponse(cleared=await self._cleared(request, body.subject))

    async def _cleared(self, request: Request, subject: str) -> RemovedCounts:
        cleared = await self._store(request).clear_subject(subject)
        known = str(normalize_subject(subject))
        await self._dispatcher.scrub(ENTRY_SUBJECT, [known], peer=request.message.owner)
        return cleared

    async def _forget_session(
        self, request: Request, body: ForgetSessionRequest
    ) -> ClearedResponse:
        cleared = await self._store(request).forget_session(body.session)
        await self._dispatcher.scrub(ENTRY_SESSION, [body.session], peer=request.message.owner)
        return ClearedResponse(cleared=cleared)

    async def _reviewed(self, request: Request, body: MarkReviewedRequest) -> Empty:
        await self._store(request).reviewed(body.ids)
        return Empty()


class DeletionClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
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
            answer = await self._peer.ask(
                DeleteMemoriesRequest(which=which, ids=wanted, limit=left), DeletedMemories
            )
            deleted.extend(answer.ids)
            is_all = answer.is_all or len(deleted) == limit
        return deleted

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        return (
            await self._peer.ask(
                ForgetMemoriesRequest(ids=tuple(ids), subject=subject), MemoryCount
            )
        ).count

    async def forget_subject(self, subject: str) -> int:
        return (await self._peer.ask(ForgetSubjectRequest(subject=subject), MemoryCount)).count

    async def clear_subject(self, subject: str) -> RemovedCounts:
        return (await self._peer.ask(ClearSubjectRequest(subject=subject), ClearedResponse)).cleared

    async def forget_session(self, session: str) -> RemovedCounts:
        return (
            await self._peer.ask(ForgetSessionRequest(session=session), ClearedResponse)
        ).cleared

    async def reviewed(self, ids: Sequence[str]) -> None:
        await self._peer.ask(MarkReviewedRequest(ids=tuple(ids)), Empty)


class ConfigureDecayRequest(MemoryBody):
    op: ClassVar[str] = "configure_decay"
    policy: DecayPolicy


class RunDecayRequest(MemoryBody):
    op: ClassVar[str] = "run_decay"
    dry_run: bool = True


class DecayStatusRequest(MemoryBody):
    op: ClassVar[str] = "decay_status"


class DecayStatusResponse(MemoryBody):
    status: DecayStatus


class DecayService:
    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: RpcService) -> None:
        service.on(ConfigureDecayRequest, self._configure, effect=Idempotency.WRITE)
        service.on(RunDecayRequest, self._run, effect=Idempotency.WRITE)
        service.on(DecayStatusRequest, self._status)

    async def _configure(
        self, request: Request, body: ConfigureDecayRequest
    ) -> DecayStatusResponse:
        return DecayStatusResponse(status=await self._store(request).configure_decay(body.policy))

    async def _run(self, request: Request, body: RunDecayRequest) -> Body:
        ids = await self._store(request).run_decay(dry_run=body.dry_run)
        return truncated_to_message(ids, lambda some: MemoryIds(ids=tuple(some), total=len(ids)))

    async def _status(self, request: Request, _body: DecayStatusRequest) -> DecayStatusResponse:
        return DecayStatusResponse(status=await self._store(request).decay_status())


class DecayClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def configure_decay(self, policy: DecayPolicy) -> DecayStatus:
        return (
            await self._peer.ask(ConfigureDecayRequest(policy=policy), DecayStatusResponse)
        ).status

    async def run_decay(self, *, dry_run: bool = True) -> Sequence[str]:
        """Run or simulate the decay. The ids are limited to one response (about 3000);
        `decay_status` has the full count."""
        return (await self._peer.ask(RunDecayRequest(dry_run=dry_run), MemoryIds)).ids

    async def decay_status(self) -> DecayStatus:
        return (await self._peer.ask(DecayStatusRequest(), DecayStatusResponse)).status
