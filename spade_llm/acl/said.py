"""What a chat message says beside its text, in the words of people's clients. Knows no XML."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "said."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Stamped by the server are `room` and `real`; all else is the sender's own word.

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
    wants: str = ""
    """What the client asks to be told: `displayed` (XEP-0333), `received` (XEP-0184), or nothing.
    The former, if both: one mark is enough."""

    def of_answer(self) -> Said:
        """What an answer has of it: the place where it goes."""
        return Said(room=self.room)

    def to_fields(self) -> dict[str, str]:
        """Flat text, as the log of requests keeps it."""
        pairs = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {_PREFIX + name: value for name, value in pairs if value}

    @classmethod
    def from_fields(cls, values: Mapping[str, str]) -> Said:
        """Inverse of `to_fields`; anything else in it is left out."""
        names = [one.name for one in fields(cls)]
        return cls(**{name: values.get(_PREFIX + name, "") for name in names})


NOTHING_SAID = Said()
