"""What people allow an owner, of `spade-llm.memory/1`: bodies, handlers and client."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from spade_llm.memory.store import Consent
from spade_llm.memory.subject import known_as
from spade_llm.runtime import Effect
from spade_llm.services.memory_body import MemoryBody
from spade_llm.services.memory_forgetting import ENTRY_SUBJECT

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.runtime import Dispatcher, Request
    from spade_llm.services.memory_body import StoreOf
    from spade_llm.services.service import Peer, Service


class AskConsent(MemoryBody):
    op: ClassVar[str] = "consent"
    subject: str


class SetConsent(MemoryBody):
    op: ClassVar[str] = "set_consent"
    subject: str
    is_given: bool


class Consented(MemoryBody):
    consent: Consent


class ConsentService:
    """`on_given` is called when there may be something to learn; it neither waits nor fails."""

    def __init__(
        self, store_of: StoreOf, dispatcher: Dispatcher, *, on_given: Callable[[], None]
    ) -> None:
        self._store = store_of
        self._dispatcher = dispatcher
        self._on_given = on_given

    def attach(self, service: Service) -> None:
        service.on(AskConsent, self._ask)
        service.on(SetConsent, self._set, effect=Effect.WRITE)

    async def _ask(self, request: Request, body: AskConsent) -> Consented:
        return Consented(consent=await self._store(request).consent(body.subject))

    async def _set(self, request: Request, body: SetConsent) -> Consented:
        """Patterns that are gone are not in the answers that the agent remembers either."""
        store = self._store(request)
        consent = await store.set_consent(body.subject, is_given=body.is_given)
        if body.is_given:
            self._on_given()
        else:
            subject = str(known_as(body.subject))
            await self._dispatcher.scrub(ENTRY_SUBJECT, [subject], peer=request.message.owner)
        return Consented(consent=consent)


class ConsentClient:
    """The same, asked of another agent."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def consent(self, subject: str) -> Consent:
        return (await self._peer.ask(AskConsent(subject=subject), Consented)).consent

    async def set_consent(self, subject: str, *, is_given: bool) -> Consent:
        body = SetConsent(subject=subject, is_given=is_given)
        return (await self._peer.ask(body, Consented)).consent
