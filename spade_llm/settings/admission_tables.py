"""`[admission]`: who may talk to an agent, and how fast."""

from __future__ import annotations

from pydantic import Field

from spade_llm.settings.table import Name, Table


class AdmissionTable(Table):
    """0 is no limit."""

    allow: list[Name] = ["*"]
    """JIDs and domains that may talk; `*`: everybody, those of other domains as guests."""
    guests: list[Name] = []
    """JIDs and domains that may talk as guests."""
    messages_per_minute: int = Field(default=600, ge=0, le=1_000_000)
    """Of one JID, to a model."""
    messages_at_once: int = Field(default=200, ge=1, le=100_000)
    guest_messages_per_minute: int = Field(default=60, ge=0, le=1_000_000)
    guest_messages_at_once: int = Field(default=20, ge=1, le=100_000)
    domain_messages_per_minute: int = Field(default=1200, ge=0, le=1_000_000)
    """Of all of one other domain together."""
    domain_messages_at_once: int = Field(default=240, ge=1, le=100_000)
    requests_per_second: int = Field(default=500, ge=0, le=1_000_000)
    """Of one program, to services."""
    requests_at_once: int = Field(default=2500, ge=1, le=1_000_000)
    signals_per_second: int = Field(default=20, ge=0, le=1_000_000)
    """Of one JID: IQ requests, presences, marks, chat states, reactions."""
    signals_at_once: int = Field(default=100, ge=1, le=1_000_000)
