"""Multi-user chat (XEP-0045) of an LLM agent: setup, and room context of a message."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spade_llm.assistant.commands.registry import RoomNotice, room_notice
from spade_llm.xmpp.features.rooms import Rooms

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.assistant.config import AssistantConfig
    from spade_llm.xmpp.agent import XmppAgent


def build_rooms(agent: XmppAgent, conduct: AssistantConfig) -> Rooms | None:
    if conduct.rooms is None:
        return None
    return Rooms(agent, conduct.rooms, _RoomNotices(jid=str(agent.jid)))


def with_room_context(utterance: ChatTurnInput, rooms: Rooms) -> ChatTurnInput:
    """Add the recent messages of its room to a message; unchanged outside rooms. Approval is
    disabled for messages of programs (forwarded answers)."""
    said = utterance.message.said
    if not said.room:
        return utterance
    heard = rooms.heard_in(said.room)
    return replace(utterance, heard=heard, ask=None if said.hops else utterance.ask)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RoomNotices:
    jid: str

    def too_much(self, said: str) -> str:
        return room_notice(RoomNotice.TOO_MUCH, said, jid=self.jid)

    def not_privately(self, said: str) -> str:
        return room_notice(RoomNotice.IN_PRIVATE, said, jid=self.jid)
