"""Clearing: conversations of one person end and are removed, here and in memory.

First what runs in them is stopped and none begins; then all that they said is handed over, so that
nothing of it is underway; then it is removed. What fails on the way can be asked for again.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT
from spade_llm.errors import Busy
from spade_llm.memory.store import Cleared
from spade_llm.services.chat_bodies import ONTOLOGY
from spade_llm.services.chat_place import place_with
from spade_llm.services.chat_stop import STOP_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence

    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.conversation.held import HeldConversations
    from spade_llm.conversation.history import Conversation, Conversations
    from spade_llm.runtime import Dispatcher

TURNS = (CHAT_TEXT, ONTOLOGY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearing:
    """Peers are bare JIDs, sessions their threads. Raises RequestError, ServiceError, TimeoutError;
    Busy where something that runs does not let itself be stopped."""

    dispatcher: Dispatcher
    conversations: Conversations
    held: HeldConversations
    memory: MemoryBehaviour

    async def session(self, peer: str, session: str) -> Cleared:
        """Its messages and memories."""
        place = place_with(peer, session)
        async with self._stopped(peer, [session]):
            await self.memory.hand_over(peer)
            gone = await self.memory.clear_conversation(place)
            gone = gone if self.memory.memory else _said_in([self.conversations.at(place)])
            await self._clear_here(peer, [session])
        return gone

    async def messages(self, peer: str, sessions: Sequence[str]) -> int:
        """Only what was said in them; how many messages."""
        places = [place_with(peer, session) for session in sessions]
        async with self._stopped(peer, sessions):
            await self.memory.hand_over(peer)
            here = _said_in([self.conversations.at(place) for place in places]).messages
            count = await self.memory.clear_messages(places)
            await self._clear_here(peer, sessions)
        return count if self.memory.memory else here

    async def everything(self, peer: str) -> Cleared:
        """All conversations, and all that is remembered of the peer."""
        async with self._stopped(peer, None):
            await self.memory.hand_over(peer)
            gone = await self.memory.clear_peer(peer)
            gone = gone if self.memory.memory else _said_in(self.conversations.of_peer(peer))
            self.conversations.drop_peer(peer)
        return gone

    async def _clear_here(self, peer: str, sessions: Sequence[str]) -> None:
        for session in sessions:
            place = place_with(peer, session)
            self.conversations.drop(place)
            await self.memory.clear_here(place)
        await self.dispatcher.scrub_asked(peer, sessions)

    @asynccontextmanager
    async def _stopped(self, peer: str, sessions: Sequence[str] | None) -> AsyncIterator[None]:
        """Within its block nothing is said in these sessions (None: in any)."""
        names = [peer] if sessions is None else [place_with(peer, one) for one in sessions]
        async with self.held.hold(names):
            for session in [None] if sessions is None else sessions:
                stopped = self.dispatcher.stop(peer, session, TURNS)
                if not await stopped.has_ended(timeout_s=STOP_S):
                    raise Busy("an answer in it does not let itself be stopped; ask again later")
            yield


def _said_in(conversations: Collection[Conversation | None]) -> Cleared:
    return Cleared(messages=sum(len(one.said) for one in conversations if one), by_type={})
