"""In which rooms an assistant is, as its agent.toml says. Reads no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.settings import AgentSettings
    from spade_llm.xmpp.rooms import RoomsOptions


def rooms_of(settings: AgentSettings) -> RoomsOptions:
    from spade_llm.xmpp.room_list import KnownRoom
    from spade_llm.xmpp.rooms import RoomsOptions

    return RoomsOptions(
        rooms=tuple(
            KnownRoom(jid=one.jid.lower(), nick=one.nick or "", password=one.password)
            for one in settings.rooms
        ),
        takes_invitations=settings.room_invitations,
    )
