"""Which conversation with an assistant a message belongs to. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.acl import AclMessage


def place_of(message: AclMessage) -> str:
    """The stamped sender's bare JID, and the thread if there is one: nobody is in another's. A
    room's occupants share one: their sender is the room."""
    return place_with(message.owner, message.conversation_id)


def place_with(peer: str, thread: str) -> str:
    """Of a bare JID; the thread is empty where its client sends none."""
    return f"{peer}#{thread}" if thread else peer


def thread_in(place: str | None, *, of: str) -> str | None:
    """The thread of a bare JID's own place; None: it has none, or the place is another's."""
    return place[len(of) + 1 :] if place and place.startswith(f"{of}#") else None
