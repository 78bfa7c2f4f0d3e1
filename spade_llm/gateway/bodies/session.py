"""Bodies of specs/4 §7."""

from __future__ import annotations

from spade_llm.gateway.bodies.common import HttpBody


class SessionReset(HttpBody):
    success: bool = True
    new_session_id: str
    message: str


class ResetAll(HttpBody):
    confirmation: str


class Deleted(HttpBody):
    sessions: int
    messages: int
    memory_entries: int
    rag_documents: int
    vector_count: int


class EverythingReset(HttpBody):
    success: bool
    """False: the message names what could not be deleted."""
    message: str
    deleted: Deleted
