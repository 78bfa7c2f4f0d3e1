"""Connected agents for tests: nodes on an InMemoryNetwork, and what passed between them.

A test that speaks only through `Member` runs unchanged on another network that offers the same.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spade_llm.core.errors import PeerUnavailable
from spade_llm.messaging import (
    AclMessage,
    AnswerLog,
    DispatcherLimits,
    ErrorBody,
    Idempotency,
    InMemoryNetwork,
    Node,
    OutgoingRequest,
    Performative,
    Request,
    Route,
    VolatileAnswerLog,
    new_id,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime

    from spade_llm.messaging import Bounce, Handler, InMemoryTransport

PATIENCE_S = 5.0
TEST = "test/1"


@dataclass(kw_only=True)
class Member:
    """One agent on the network, with everything it received."""

    network: InMemoryNetwork
    jid: str
    log: AnswerLog = field(default_factory=VolatileAnswerLog)
    limits: DispatcherLimits | None = None
    first_retry_s: float = 2.0
    received: list[AclMessage] = field(default_factory=list)
    bounces: list[Bounce] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    lose: int = 0
    """So many of the next messages to leave are lost on the way."""

    def __post_init__(self) -> None:
        self.transport: InMemoryTransport = self.network.join(self.jid, self)
        self.node = Node(self.send, self.log, limits=self.limits, first_retry_s=self.first_retry_s)

    def receive(self, message: AclMessage) -> None:
        self.received.append(message)
        self.arrived.set()
        self.node.receive(message)

    def bounced(self, bounce: Bounce) -> None:
        self.bounces.append(bounce)
        self.arrived.set()
        self.node.bounced(bounce)

    async def send(self, message: AclMessage) -> None:
        if self.lose > 0:
            self.lose -= 1
        else:
            await self.transport.send(message)

    def serves(
        self, handler: Handler, effect: Idempotency = Idempotency.READ, ontology: str = TEST
    ) -> None:
        self.node.dispatcher.route(ontology, Route(handler=handler, effect_of=lambda _: effect))

    async def ask(
        self,
        peer: str,
        content: str = "",
        *,
        timeout_s: float = PATIENCE_S,
        id: str = "",
        conversation_id: str = "",
    ) -> str:
        question = self.question(peer, content, id=id, conversation_id=conversation_id)
        return (await self.node.requester.ask(question, timeout_s=timeout_s)).content

    def question(
        self, peer: str, content: str = "", *, id: str = "", conversation_id: str = ""
    ) -> OutgoingRequest:
        return OutgoingRequest(
            peer=peer,
            ontology=TEST,
            content=content,
            conversation_id=conversation_id,
            id=id or new_id(),
        )

    async def got(self, count: int) -> list[AclMessage]:
        """Everything received, once it is `count` messages."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.received) < count:
                self.arrived.clear()
                await self.arrived.wait()
        return self.received


@asynccontextmanager
async def network_of(
    *jids: str, limits: DispatcherLimits | None = None, first_retry_s: float = 2.0
) -> AsyncIterator[list[Member]]:
    """Members with these JIDs on one network, closed at the end."""
    network = InMemoryNetwork()
    members = [
        Member(network=network, jid=jid, limits=limits, first_retry_s=first_retry_s) for jid in jids
    ]
    try:
        yield members
    finally:
        for member in members:
            await member.node.close(patience_s=0)
            network.leave(member.jid)


def request(
    content: str = "",
    *,
    sender: str = "ana@home/phone",
    id: str = "",
    conversation_id: str = "",
    ontology: str = TEST,
    reply_by: datetime | None = None,
) -> AclMessage:
    """A request as a dispatcher gets it."""
    return AclMessage(
        performative=Performative.REQUEST,
        sender=sender,
        receiver="service@home/1",
        content=content,
        ontology=ontology,
        conversation_id=conversation_id,
        reply_with=id or new_id(),
        reply_by=reply_by,
    )


def cancel(asked: AclMessage, *, sender: str = "") -> AclMessage:
    """What its asker sends when nobody waits for `asked` any more."""
    return replace(
        asked,
        performative=Performative.CANCEL,
        sender=sender or asked.sender,
        content="",
        reply_with=new_id(),
        in_reply_to=asked.reply_with,
    )


class Outbox:
    """A Send that keeps what is sent, and hands it to whoever waits for it."""

    def __init__(self) -> None:
        self.sent: list[AclMessage] = []
        self.is_connected = True
        self._more = asyncio.Event()

    async def __call__(self, message: AclMessage) -> None:
        if not self.is_connected:
            raise PeerUnavailable("not connected", peer=message.receiver)
        self.sent.append(message)
        self._more.set()

    async def has(self, count: int) -> list[AclMessage]:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.sent) < count:
                self._more.clear()
                await self._more.wait()
        return self.sent


def code_of(answer: AclMessage) -> str:
    return ErrorBody.decode(answer.content).code


async def echo(asked: Request) -> str:
    return asked.message.content


class Gate:
    """A handler that says when it was entered, waits to be let through, then echoes."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.left: list[str] = []
        self.was_cancelled = asyncio.Event()
        self._entered = asyncio.Event()
        self._open = asyncio.Event()

    async def __call__(self, asked: Request) -> str:
        self.entered.append(asked.message.content)
        self._entered.set()
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise
        self.left.append(asked.message.content)
        return asked.message.content

    def open(self) -> None:
        self._open.set()

    async def is_entered(self, count: int = 1) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.entered) < count:
                self._entered.clear()
                await self._entered.wait()
