"""Rows for an OwnerIndex, column by column. Knows no store; times are seconds (UTC)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Parallel sequences, all as long as `key`. Hidden (deleted) rows are removed, not given."""

    key: Sequence[int]
    """seq * 2 of an entry, seq * 2 + 1 of a message; messages of a conversation in key order."""
    subject: Sequence[str | None]
    session: Sequence[str | None]
    """Of a message: its conversation."""
    speaker: Sequence[str | None]
    """Of a message: the name that others call its writer by."""
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
    """As it counts now, set or computed."""
    stability: Sequence[float | None]
    """Days; None: never reviewed."""
    reviewed_at: Sequence[float | None]
    content_hash: Sequence[int]
    """As `terms.content_hash` gives it."""
    terms: Sequence[bytes]
    """As `terms.encode_terms` gives it."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if len(getattr(self, field.name)) != len(self.key):
                raise ValueError(f"{field.name} has another length than key")

    def __len__(self) -> int:
        return len(self.key)
