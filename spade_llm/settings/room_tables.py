"""`[[rooms]]`: where an assistant is beside its own chats."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from spade_llm.settings.table import Name, Table

RoomJid = Annotated[str, StringConstraints(pattern=r"^[^@/\s]+@[^@/\s]+$")]


class RoomTable(Table):
    """One multi-user chat, entered at every start."""

    jid: RoomJid
    """`name@conference.domain`."""
    nick: Name | None = None
    """How it is called there; None: as its contacts see it."""
    password: str = Field(default="", max_length=1024)
