"""Chat metadata of a message: room, nickname, correction, quote, shared file, receipts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "said."
SEAT_SEPARATOR = " in "
"""Separator between occupant and room in a seat; a JID contains no spaces."""
OCCUPANT_PREFIX = "occupant:"
TRANSIENT_PREFIX = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMetadata:
    """Stamped by servers are `room`, `real` and `occupant`; all else is the sender's own word.

    Only plain messages carry it: nothing of it is ever read from a peer's metadata.
    """

    corrects: str = ""
    """Id of the sender's own earlier message that this one replaces (XEP-0308)."""
    file: str = ""
    """Address of a file that was shared with it (XEP-0066)."""
    room: str = ""
    """Bare JID of the room that it was said in (XEP-0045)."""
    nick: str = ""
    """Nickname of the author in the room."""
    real: str = ""
    """Bare JID of the author, if the room discloses it to us."""
    occupant: str = ""
    """Occupant id of the author, which survives nickname changes (XEP-0421). If the room provides
    none, it is an id of ours that lasts for one stay and begins with TRANSIENT_PREFIX."""
    hops: str = ""
    """Number of program-generated answers that led to this message, as text."""
    quotes: str = ""
    """Text that the client quotes from the message that this one replies to (XEP-0461)."""
    wants: str = ""
    """Receipt that the client requests: `displayed` (XEP-0333), `received` (XEP-0184), or empty. If
    it requests both, `displayed`: one marker is enough."""

    @property
    def seat(self) -> str:
        """Identifier of the author within this room, which equals no JID. Empty: not in a room."""
        if not self.room:
            return ""
        occupant = OCCUPANT_PREFIX + (self.occupant or TRANSIENT_PREFIX + self.nick)
        return f"{self.real or occupant}{SEAT_SEPARATOR}{self.room}"

    @property
    def is_passing(self) -> bool:
        """True if the author cannot be recognized after leaving the room and returning."""
        return bool(self.room) and not self.real and self.occupant[:1] in ("", TRANSIENT_PREFIX)

    def of_answer(self) -> ChatMetadata:
        """Return the metadata of an answer: its room and the occupant that it addresses."""
        if not self.room:
            return NO_CHAT_METADATA
        hops = str(int(self.hops or "0") + 1)
        return replace(self, corrects="", file="", quotes="", wants="", hops=hops)

    def to_fields(self) -> dict[str, str]:
        """Flat text, as the log of requests keeps it."""
        pairs = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {_PREFIX + name: value for name, value in pairs if value}

    @classmethod
    def from_fields(cls, values: Mapping[str, str]) -> ChatMetadata:
        """Inverse of `to_fields`; anything else in it is left out."""
        names = [one.name for one in fields(cls)]
        return cls(**{name: values.get(_PREFIX + name, "") for name in names})


NO_CHAT_METADATA = ChatMetadata()
