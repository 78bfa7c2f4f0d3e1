"""ChatAgent: a person's end of a chat, as a program: for terminals, scripts and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import PeerUnavailable, RequestNotUnderstood
from spade_llm.services.chat import TURN_TIMEOUT_S, ChatClient, Delta, Reply, plain_question
from spade_llm.services.status import AgentStatus, ask_status
from spade_llm.xmpp.agent import XmppAgent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

STATUS_TIMEOUT_S = 5.0


class ChatAgent(XmppAgent):
    async def stream(
        self, peer: str, text: str, *, conversation_id: str = ""
    ) -> AsyncIterator[Delta | Reply]:
        """Deltas in order, then the Reply; a peer that speaks no ontology of ours is asked in
        plain text and answers with the Reply alone. Raises RequestError."""
        client = ChatClient(self.node.requester, peer)
        try:
            async for piece in client.stream(text, conversation_id=conversation_id):
                yield piece
        except RequestNotUnderstood:
            yield Reply(text=await self._say_plainly(peer, text, conversation_id))

    async def say(self, peer: str, text: str, *, conversation_id: str = "") -> Reply:
        """The whole answer. Raises RequestError."""
        async for piece in self.stream(peer, text, conversation_id=conversation_id):
            if isinstance(piece, Reply):
                return piece
        raise PeerUnavailable(f"{peer} ended its answer early", peer=peer)

    async def status(self, peer: str, *, timeout_s: float = STATUS_TIMEOUT_S) -> AgentStatus:
        """What an agent says of itself. Raises RequestError."""
        return await ask_status(self.node.requester, peer, timeout_s=timeout_s)

    async def _say_plainly(self, peer: str, text: str, conversation_id: str) -> str:
        question = plain_question(peer, text, conversation_id=conversation_id)
        answer = await self.node.requester.ask(question, timeout_s=TURN_TIMEOUT_S)
        return answer.content
