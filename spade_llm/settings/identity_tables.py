"""`[identity]` of an agent.toml: who it is to people. Reads no file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from spade_llm.settings.table import Count, Name, Table


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
