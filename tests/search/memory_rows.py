"""Rows for an index, as a test says them: only what differs from an ordinary one."""

from __future__ import annotations

from dataclasses import dataclass

from spade_llm.search.memory_table import IndexColumns
from spade_llm.search.terms import content_hash, encode_terms

NOW = 1_700_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    key: int
    content: str = "bread"
    context: str | None = None
    subject: str | None = None
    session: str | None = None
    speaker: str | None = None
    type: str = "semantic"
    category: str | None = None
    tier: str = "long_term"
    content_type: str = "text"
    tags: tuple[str, ...] = ()
    created_at: float = NOW - 60
    expires_at: float | None = None
    valid_at: float | None = None
    invalid_at: float | None = None
    importance: float = 0.5
    stability: float | None = None
    reviewed_at: float | None = None


def columns(*rows: Row) -> IndexColumns:
    return IndexColumns(
        key=[row.key for row in rows],
        subject=[row.subject for row in rows],
        session=[row.session for row in rows],
        speaker=[row.speaker for row in rows],
        type=[row.type for row in rows],
        category=[row.category for row in rows],
        tier=[row.tier for row in rows],
        content_type=[row.content_type for row in rows],
        tags=[row.tags for row in rows],
        created_at=[row.created_at for row in rows],
        expires_at=[row.expires_at for row in rows],
        valid_at=[row.valid_at for row in rows],
        invalid_at=[row.invalid_at for row in rows],
        importance=[row.importance for row in rows],
        stability=[row.stability for row in rows],
        reviewed_at=[row.reviewed_at for row in rows],
        content_hash=[content_hash(row.content) for row in rows],
        terms=[encode_terms(row.content, row.context or row.speaker, row.tags) for row in rows],
    )
