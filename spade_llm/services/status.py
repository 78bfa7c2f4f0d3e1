"""`spade-llm.agent/1`: what every agent says of itself."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, ClassVar

from spade_llm.acl import Body
from spade_llm.services.service import Peer, Service

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spade_llm.runtime import Asks, Dispatcher, Request

ONTOLOGY = "spade-llm.agent/1"


class AskStatus(Body):
    op: ClassVar[str] = "status"


class AgentStatus(Body):
    kind: str
    """assistant, memory, rag or tools."""
    summary: str
    """One line for people, for instance `model gpt-5-mini, 3 conversations`."""
    running: int = 0
    """Requests that are being answered now."""
    queued: int = 0
    notes: tuple[str, ...] = ()
    """What people should know: who is away, what waits for them."""
    ontologies: tuple[str, ...] = ()
    """What can be asked of it; empty: an agent of 0.2.0 or before, which does not say."""


def serve(
    dispatcher: Dispatcher,
    *,
    kind: str,
    summary: Callable[[], Awaitable[str]],
    notes: Callable[[], Sequence[str]] = tuple,
) -> None:
    async def status(_request: Request, _body: AskStatus) -> AgentStatus:
        load = dispatcher.load
        return AgentStatus(
            kind=kind,
            summary=await summary(),
            running=load.running,
            queued=load.queued,
            notes=tuple(notes()),
            ontologies=tuple(sorted(dispatcher.ontologies)),
        )

    service = Service(ONTOLOGY)
    service.on(AskStatus, status)
    service.attach(dispatcher)


async def ask_status(requester: Asks, jid: str, *, timeout_s: float) -> AgentStatus:
    """Raises RequestError."""
    return await Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s).ask(AskStatus(), AgentStatus)


async def locate(requester: Asks, jid: str, *, timeout_s: float) -> tuple[AgentStatus, str]:
    """The status, and the full JID that it came from: where to ask by service discovery.

    Raises RequestError.
    """
    peer = Peer(requester, jid, ONTOLOGY, timeout_s=timeout_s)
    async with aclosing(peer.stream(AskStatus())) as answers:
        async for message in answers:
            if message.is_terminal:
                return peer.read(AgentStatus, message), message.sender
    raise RuntimeError("a stream ended without its terminal answer")
