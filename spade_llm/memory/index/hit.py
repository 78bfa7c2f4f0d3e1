"""What a search of an OwnerIndex gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.memory.store import Why


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHit:
    key: int
    score: float
    """0…1."""
    why: Why | None = None
    """If the query asked for it."""
