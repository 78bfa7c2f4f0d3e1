"""Tables `[identity]`, `[manners]`, `[files]` and `[[rooms]]`: an agent in chat clients."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from spade_llm.core.settings.table import Count, Name, Table

RoomJid = Annotated[str, StringConstraints(pattern=r"^[^@/\s]+@[^@/\s]+$")]


class IdentityTable(Table):
    """`[identity]`: what contacts see of an agent."""

    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Display name. Default: the first part of the JID, with a capital."""
    description: Annotated[str, Field(max_length=1000)] | None = None
    """Description. Default: a sentence on what agents of this kind do."""
    url: Name | None = None
    avatar: Name | None = None
    """A PNG, relative to the toml. Without it: a picture of its kind."""
    publish: bool = True
    """False: the account's card and picture are left as they are."""
    status: bool = True
    """The status line says which model it uses and how busy it is."""
    busy_at: Count = 16
    """Number of concurrent requests from which the agent shows "do not disturb"."""
    status_every_s: float = Field(default=10.0, ge=1, le=3600)
    """Minimum interval between two changes of the presence status."""


class MannersTable(Table):
    """`[manners]`: what people's chat clients see of an answer."""

    styling: bool = True
    """Markdown becomes Message Styling (XEP-0393)."""
    streaming: bool = True
    """Answers grow, in clients that show corrections (XEP-0308)."""
    first_s: float = Field(default=1.0, ge=0, le=60)
    """Answers that are complete within this time are sent as a whole."""
    edit_every_s: float = Field(default=2.5, ge=1, le=60)
    """Interval between two corrections of a growing answer."""


class FilesTable(Table):
    """`[files]`: what an assistant does with files that people share, and with long answers."""

    take: bool = True
    """Documents that people share are read by the agent of `[services] rag`."""
    max_files: int = Field(default=200, ge=1, le=10_000)
    """Maximum number of files per person."""
    seconds: float = Field(default=1800.0, gt=0, le=21_600)
    """Time limit for ingesting one file."""
    long_answer_chars: int = Field(default=12_000, ge=0, le=1_000_000)
    """A longer answer is sent as a file; 0: none is."""


class RoomTable(Table):
    """Multi-user chat that the agent joins at every start."""

    jid: RoomJid
    """`name@conference.domain`."""
    nick: Name | None = None
    """Nickname in the room; None: the name that contacts see."""
    password: str = Field(default="", max_length=1024)
