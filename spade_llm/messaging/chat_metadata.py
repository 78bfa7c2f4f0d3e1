"""Chat metadata of a message: room, nickname, correction, quote, shared file, receipts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "said."
SEAT_SEPARATOR = " in "
"""Between who and where in a seat: a JID has no spaces."""
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
    """Who said it there."""
    real: str = ""
    """Bare JID of who said it there, where the room shows it to us."""
    occupant: str = ""
    """Who said it there, by an id that outlives names (XEP-0421); where the room gives none, one of
    ours that lasts as long as they stay, and begins with PASSING."""
    hops: str = ""
    """How many programs' answers led to it, as a number."""
    quotes: str = ""
    """What its client repeats of the message that it replies to (XEP-0461)."""
    wants: str = ""
    """What the client asks to be told: `displayed` (XEP-0333), `received` (XEP-0184), or nothing.
    The former, if both: one mark is enough."""

    @property
    def seat(self) -> str:
        """Who said it, in this room and nowhere else: no JID is equal to it. Empty: in no room."""
        if not self.room:
            return ""
        occupant = OCCUPANT_PREFIX + (self.occupant or TRANSIENT_PREFIX + self.nick)
        return f"{self.real or occupant}{SEAT_SEPARATOR}{self.room}"

    @property
    def is_passing(self) -> bool:
        """Who said it cannot be known again once they have left."""
        return bool(self.room) and not self.real and self.occupant[:1] in ("", TRANSIENT_PREFIX)

    def of_answer(self) -> ChatMetadata:
        """What an answer has of it: the place where it goes, and there whom it is for."""
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
