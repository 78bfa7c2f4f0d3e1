"""Tables `[identity]`, `[manners]`, `[files]` and `[[rooms]]`: an agent in chat clients."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from spade_llm.core.settings.table import Count, Name, Table


class IdentityTable(Table):
    """`[identity]`: what contacts see of an agent."""

    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Without it: the JID's first part, with a capital."""
    description: Annotated[str, Field(max_length=1000)] | None = None
    """Without it: a sentence on what agents of its kind do."""
    url: Name | None = None
    avatar: Name | None = None
    """A PNG, relative to the toml. Without it: a picture of its kind."""
    publish: bool = True
    """False: the account's card and picture are left as they are."""
    status: bool = True
    """The status line says which model it uses and how busy it is."""
    busy_at: Count = 16
    """So many requests at once, and it does not want to be disturbed."""
    status_every_s: float = Field(default=10.0, ge=1, le=3600)
    """Between two changes of what its presence says."""


class MannersTable(Table):
    """`[manners]`: what people's chat clients see of an answer."""

    styling: bool = True
    """Markdown becomes Message Styling (XEP-0393)."""
    streaming: bool = True
    """Answers grow, in clients that show corrections (XEP-0308)."""
    first_s: float = Field(default=1.0, ge=0, le=60)
    """What is there sooner comes as a whole."""
    edit_every_s: float = Field(default=2.5, ge=1, le=60)
    """Between two edits of an answer that grows."""


class FilesTable(Table):
    """`[files]`: what an assistant does with files that people share, and with long answers."""

    take: bool = True
    """Documents that people share are read by the agent of `[services] rag`."""
    max_files: int = Field(default=200, ge=1, le=10_000)
    """Of one person."""
    seconds: float = Field(default=1800.0, gt=0, le=21_600)
    """How long the reading of one may take."""
    long_answer_chars: int = Field(default=12_000, ge=0, le=1_000_000)
    """A longer answer is sent as a file; 0: none is."""


RoomJid = Annotated[str, StringConstraints(pattern=r"^[^@/\s]+@[^@/\s]+$")]


class RoomTable(Table):
    """One multi-user chat, entered at every start."""

    jid: RoomJid
    """`name@conference.domain`."""
    nick: Name | None = None
    """How it is called there; None: as its contacts see it."""
    password: str = Field(default="", max_length=1024)
