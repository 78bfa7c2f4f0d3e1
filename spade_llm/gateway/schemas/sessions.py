"""Schemas of sessions: list, reset, answer explanation, tool approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from spade_llm.gateway.schemas.common import HttpBody, Timestamp

if TYPE_CHECKING:
    from spade_llm.gateway.sessions import SessionRow


class SessionReset(HttpBody):
    success: bool = True
    new_session_id: str
    message: str


class ResetAll(HttpBody):
    confirmation: str


class DeletedCounts(HttpBody):
    sessions: int
    messages: int
    memory_entries: int
    rag_documents: int
    vector_count: int


class EverythingReset(HttpBody):
    success: bool
    """False: the message names what could not be deleted."""
    message: str
    deleted: DeletedCounts


class CurrentPrincipal(HttpBody):
    principal: str = Field(description="Bare JID: sessions, memories and documents are its own.")
    is_admin: bool
    token: str = Field(description="Its name; empty: none was needed.")
    models: list[str] = Field(description="Of /v1; the first one answers /llm/chat.")
    language: str = Field(description="Of the headings in `context_text`.")
    has_documents: bool
    has_tools: bool


class SessionLine(HttpBody):
    session_id: str
    title: str = Field(description="Beginning of its first question.")
    created: Timestamp
    updated: Timestamp

    @classmethod
    def of(cls, row: SessionRow) -> SessionLine:
        return cls(
            session_id=row.session_id, title=row.title, created=row.created, updated=row.updated
        )


class SessionList(HttpBody):
    sessions: list[SessionLine] = Field(description="The latest first.")
    total_count: int


class AnswerExplanation(HttpBody):
    session_id: str
    text: str = Field(description="What the last answer was built from, a line for each thing.")


class Approval(HttpBody):
    id: Annotated[str, Field(min_length=1, max_length=64)] = Field(
        description="`question` of the event `asked`."
    )
    is_approved: bool


class ActionDone(HttpBody):
    success: bool = True
