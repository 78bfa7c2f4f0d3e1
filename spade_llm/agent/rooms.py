"""An assistant in rooms: what its answers there are made with. Composition only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.conversation.room_texts import RoomText, room_text
from spade_llm.xmpp.rooms import Rooms

if TYPE_CHECKING:
    from spade_llm.behaviour.conduct import Conduct
    from spade_llm.services.chat import Utterance
    from spade_llm.xmpp.agent import XmppAgent


def rooms_of(agent: XmppAgent, conduct: Conduct) -> Rooms | None:
    if conduct.rooms is None:
        return None
    return Rooms(agent, conduct.rooms, _Texts(jid=str(agent.jid)))


def in_room(utterance: Utterance, rooms: Rooms | None) -> Utterance:
    """With what was talked about around it; as it is, where it was said in none. A program says yes
    to nothing."""
    said = utterance.message.said
    if rooms is None or not said.room:
        return utterance
    heard = rooms.heard_in(said.room)
    return replace(utterance, heard=heard, ask=None if said.hops else utterance.ask)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    jid: str

    def too_much(self, said: str) -> str:
        return room_text(RoomText.TOO_MUCH, said, jid=self.jid)

    def not_privately(self, said: str) -> str:
        return room_text(RoomText.IN_PRIVATE, said, jid=self.jid)
