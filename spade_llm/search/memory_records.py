"""Records of the memory index: input columns, hits, grant scope."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.search.memory_query import ScoreExplanation


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexColumns:
    """Parallel sequences, all as long as `key`. Hidden (deleted) rows are removed, not given."""

    key: Sequence[int]
    """seq * 2 of an entry, seq * 2 + 1 of a message; messages of a conversation in key order."""
    subject: Sequence[str | None]
    session: Sequence[str | None]
    """Conversation, if the row is a message."""
    speaker: Sequence[str | None]
    """Name that others use for the speaker, if the row is a message."""
    type: Sequence[str | None]
    category: Sequence[str | None]
    tier: Sequence[str | None]
    content_type: Sequence[str | None]
    tags: Sequence[tuple[str, ...]]
    created_at: Sequence[float]
    expires_at: Sequence[float | None]
    valid_at: Sequence[float | None]
    invalid_at: Sequence[float | None]
    importance: Sequence[float]
    """Effective importance, set or computed."""
    stability: Sequence[float | None]
    """Days; None: never reviewed."""
    reviewed_at: Sequence[float | None]
    content_hash: Sequence[int]
    """Hash of the content (`terms.content_hash`)."""
    terms: Sequence[bytes]
    """Encoded terms (`terms.encode_terms`)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if len(getattr(self, field.name)) != len(self.key):
                raise ValueError(f"{field.name} has another length than key")

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHit:
    key: int
    score: float
    """0…1."""
    why: ScoreExplanation | None = None
    """Explanation of the score, if the query asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantScope:
    """A row is in it if it has the tag and is of the session; neither given: all rows are."""

    grant: str
    """Id of the grant, for `Why`."""
    tag: str | None = None
    session: str | None = None
