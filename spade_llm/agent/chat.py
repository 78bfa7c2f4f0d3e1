"""ChatAgent: a person's end of a chat, as a program: for terminals, scripts and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.services.chat import ChatClient, Delta, Reply
from spade_llm.services.status import AgentStatus, ask_status
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

STATUS_TIMEOUT_S = 5.0


class ChatAgent(XmppAgent):
    def stream(
        self, peer: str, text: str, *, conversation_id: str = ""
    ) -> AsyncGenerator[Delta | Reply]:
        """Deltas in order, then the Reply. Leaving early stops the turn. Raises RequestError."""
        client = ChatClient(self.node.requester, peer)
        return client.stream(text, conversation_id=conversation_id)

    async def say(self, peer: str, text: str, *, conversation_id: str = "") -> Reply:
        """The whole answer. Raises RequestError."""
        client = ChatClient(self.node.requester, peer)
        return await client.say(text, conversation_id=conversation_id)

    async def status(self, peer: str, *, timeout_s: float = STATUS_TIMEOUT_S) -> AgentStatus:
        """What an agent says of itself. Raises RequestError."""
        return await ask_status(self.node.requester, peer, timeout_s=timeout_s)
