"""Tables `[admission]` and `[http]`: admission control, rate limits, HTTP access."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from spade_llm.core.settings.table import Count, Name, Table


class AdmissionTable(Table):
    """0 is no limit."""

    allow: list[Name] = ["*"]
    """JIDs and domains that may talk to the agent; `*`: all, those of other domains as guests."""
    guests: list[Name] = []
    """JIDs and domains that may talk as guests."""
    messages_per_minute: int = Field(default=600, ge=0, le=1_000_000)
    """Rate limit for messages of one JID to a model."""
    messages_at_once: int = Field(default=200, ge=1, le=100_000)
    guest_messages_per_minute: int = Field(default=60, ge=0, le=1_000_000)
    guest_messages_at_once: int = Field(default=20, ge=1, le=100_000)
    domain_messages_per_minute: int = Field(default=1200, ge=0, le=1_000_000)
    """Rate limit for messages of all JIDs of one other domain together."""
    domain_messages_at_once: int = Field(default=240, ge=1, le=100_000)
    requests_per_second: int = Field(default=500, ge=0, le=1_000_000)
    """Rate limit for requests of one program to services."""
    requests_at_once: int = Field(default=2500, ge=1, le=1_000_000)
    signals_per_second: int = Field(default=20, ge=0, le=1_000_000)
    """Rate limit for signals of one JID: IQ requests, presences, marks, chat states, reactions."""
    signals_at_once: int = Field(default=100, ge=1, le=1_000_000)


class HttpTable(Table):
    """`[http]`: address and access control of a gateway."""

    host: Name = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    """0: any free one."""
    local_principal: Name | None = "you"
    """Principal of requests without a token, if `host` is a loopback address; it may do what an
    admin token may. `none`: a token is required, as at any other address."""
    language: Literal["en", "es"] = "es"
    """Language of the headings in `context_text`."""
    hosts: list[Name] = []
    """Names that requests may address us by, beside `host` and those of the loopback."""
    cors_origins: list[Name] = []
    """Origins of web pages, such as `https://app.example.org`, that may use us; empty: none."""
    requests_per_minute: int = Field(default=6000, ge=0, le=1_000_000)
    """Rate limit of one principal; 0: no limit."""
    max_body_kb: Count = 1024
    """Maximum size of a JSON body; for uploads see `[upload]`."""
    max_upload_mb: Count = 50
    max_streams: Count = 512
    """Answers that are being written at once, of all together."""
    console: bool = True
    """The web console at /console."""

    @field_validator("local_principal")
    @classmethod
    def _none_to_null(cls, name: str | None) -> str | None:
        return None if name == "none" else name
