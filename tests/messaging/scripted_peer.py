"""A program on an in-memory network that keeps what it gets and answers when it is told to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spade_llm.messaging.outgoing_messages import chat_message

if TYPE_CHECKING:
    from spade_llm.messaging import AclMessage, Bounce, InMemoryNetwork

PATIENCE_S = 5.0


@dataclass(kw_only=True)
class Program:
    """Satisfies Receiver."""

    network: InMemoryNetwork
    jid: str
    received: list[AclMessage] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.transport = self.network.join(self.jid, self)

    def receive(self, message: AclMessage) -> None:
        self.received.append(message)
        self.arrived.set()

    def bounced(self, bounce: Bounce) -> None:
        raise AssertionError(bounce)

    async def got(self, count: int) -> list[AclMessage]:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.received) < count:
                self.arrived.clear()
                await self.arrived.wait()
        return self.received

    async def answer(self, to: AclMessage, text: str, *, in_thread: bool = True) -> None:
        """As a plain SPADE agent does: in the thread and no more; or in reply to its id."""
        said = chat_message(to.sender, text, thread=to.conversation_id, metadata={})
        reply = replace(said, conversation_id="", in_reply_to=to.reply_with)
        await self.transport.send(said if in_thread else reply)
