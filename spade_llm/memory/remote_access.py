"""Remote memory access: grants to other agents, and people's consent to learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.memory.contract import Consent, MemoryAccess, MemoryGrant
from spade_llm.memory.remote_deletion import ENTRY_SUBJECT
from spade_llm.memory.remote_protocol import MemoryBody, MemoryCount
from spade_llm.memory.validation import normalize_subject
from spade_llm.messaging import Idempotency
from spade_llm.messaging.rpc import truncated_to_message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.memory.remote_protocol import StoreOf
    from spade_llm.messaging import Body, Dispatcher, Request
    from spade_llm.messaging.rpc import RpcClient, RpcService


class GrantAccessRequest(MemoryBody):
    op: ClassVar[str] = "grant"
    to: str
    access: MemoryAccess = MemoryAccess.READ
    tag: str | None = None
    session: str | None = None


class RevokeAccessRequest(MemoryBody):
    op: ClassVar[str] = "revoke"
    id: str


class ListGrantsRequest(MemoryBody):
    op: ClassVar[str] = "grants"


class AccessGrants(MemoryBody):
    grants: tuple[MemoryGrant, ...]


class GrantsService:
    def __init__(self, store_of: StoreOf) -> None:
        self._store = store_of

    def attach(self, service: RpcService) -> None:
        service.on(GrantAccessRequest, self._grant, effect=Idempotency.WRITE)
        service.on(RevokeAccessRequest, self._revoke, effect=Idempotency.WRITE)
        service.on(ListGrantsRequest, self._grants)

    async def _grant(self, request: Request, body: GrantAccessRequest) -> AccessGrants:
        grant = await self._store(request).grant(
            body.to, access=body.access, tag=body.tag, session=body.session
        )
        return AccessGrants(grants=(grant,))

    async def _revoke(self, request: Request, body: RevokeAccessRequest) -> MemoryCount:
        return MemoryCount(count=await self._store(request).revoke(body.id))

    async def _grants(self, request: Request, _body: ListGrantsRequest) -> Body:
        grants = await self._store(request).grants()
        return truncated_to_message(grants, lambda some: AccessGrants(grants=tuple(some)))


class GrantsClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def grant(
        self,
        to: str,
        *,
        access: MemoryAccess = MemoryAccess.READ,
        tag: str | None = None,
        session: str | None = None,
    ) -> MemoryGrant:
        body = GrantAccessRequest(to=to, access=access, tag=tag, session=session)
        (grant,) = (await self._peer.ask(body, AccessGrants)).grants
        return grant

    async def revoke(self, id: str) -> bool:
        return (await self._peer.ask(RevokeAccessRequest(id=id), MemoryCount)).count > 0

    async def grants(self) -> Sequence[MemoryGrant]:
        return (await self._peer.ask(ListGrantsRequest(), AccessGrants)).grants


class ConsentRequest(MemoryBody):
    op: ClassVar[str] = "consent"
    subject: str


class SetConsentRequest(MemoryBody):
    op: ClassVar[str] = "set_consent"
    subject: str
    is_given: bool


class ConsentResponse(MemoryBody):
    consent: Consent


class ConsentService:
    """`on_given` is called when there may be something to learn; it neither waits nor fails."""

    def __init__(
        self, store_of: StoreOf, dispatcher: Dispatcher, *, on_given: Callable[[], None]
    ) -> None:
        self._store = store_of
        self._dispatcher = dispatcher
        self._on_given = on_given

    def attach(self, service: RpcService) -> None:
        service.on(ConsentRequest, self._ask)
        service.on(SetConsentRequest, self._set, effect=Idempotency.WRITE)

    async def _ask(self, request: Request, body: ConsentRequest) -> ConsentResponse:
        return ConsentResponse(consent=await self._store(request).consent(body.subject))

    async def _set(self, request: Request, body: SetConsentRequest) -> ConsentResponse:
        """Patterns that are gone are not in the answers that the agent remembers either."""
        store = self._store(request)
        consent = await store.set_consent(body.subject, is_given=body.is_given)
        if body.is_given:
            self._on_given()
        else:
            subject = str(normalize_subject(body.subject))
            await self._dispatcher.scrub(ENTRY_SUBJECT, [subject], peer=request.message.owner)
        return ConsentResponse(consent=consent)


class ConsentClient:
    """The same, asked of another agent."""

    def __init__(self, peer: RpcClient) -> None:
        self._peer = peer

    async def consent(self, subject: str) -> Consent:
        return (await self._peer.ask(ConsentRequest(subject=subject), ConsentResponse)).consent

    async def set_consent(self, subject: str, *, is_given: bool) -> Consent:
        body = SetConsentRequest(subject=subject, is_given=is_given)
        return (await self._peer.ask(body, ConsentResponse)).consent
