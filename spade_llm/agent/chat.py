"""ChatAgent: a person's end of a chat, as a program: for terminals, scripts and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.conversation.wishes import NO_WISHES
from spade_llm.services.chat import ChatClient
from spade_llm.services.status import AgentStatus, ask_status, locate
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from spade_llm.conversation.wishes import ToolWishes
    from spade_llm.services.chat import Asked, Delta, Reply

STATUS_TIMEOUT_S = 5.0


class ChatAgent(XmppAgent):
    def stream(
        self, peer: str, text: str, *, conversation_id: str = "", can_approve: bool = False
    ) -> AsyncGenerator[Delta | Asked | Reply]:
        """Deltas in order, then the Reply. Leaving early stops the turn. Raises RequestError.

        With `can_approve`, questions may come between: `approve` answers them.
        """
        client = ChatClient(self.node.requester, peer)
        return client.stream(text, conversation_id=conversation_id, can_approve=can_approve)

    async def say(
        self,
        peer: str,
        text: str,
        *,
        conversation_id: str = "",
        wishes: ToolWishes = NO_WISHES,
    ) -> Reply:
        """The whole answer. Raises RequestError."""
        client = ChatClient(self.node.requester, peer)
        return await client.say(text, conversation_id=conversation_id, wishes=wishes)

    async def approve(self, peer: str, id: str, *, is_approved: bool) -> None:
        """Answer what was asked. Raises RequestRefused if it is not asked now."""
        client = ChatClient(self.node.requester, peer)
        await client.approve(id, is_approved=is_approved)

    async def status(self, peer: str, *, timeout_s: float = STATUS_TIMEOUT_S) -> AgentStatus:
        """What an agent says of itself. Raises RequestError."""
        return await ask_status(self.node.requester, peer, timeout_s=timeout_s)

    async def locate(
        self, peer: str, *, timeout_s: float = STATUS_TIMEOUT_S
    ) -> tuple[AgentStatus, str]:
        """What an agent says of itself, and its full JID. Raises RequestError."""
        return await locate(self.node.requester, peer, timeout_s=timeout_s)
