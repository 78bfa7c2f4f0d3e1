"""What a person takes away: memories as JSON, one per line, as many as one answer carries. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.store import MemoryEntry

MAX_EXPORT_BYTES = 100_000
"""One answer has at most 128 KB; what does not fit is said."""


def exported(entries: Sequence[MemoryEntry]) -> tuple[list[str], int]:
    """The lines, from the first on, and how many entries do not fit."""
    lines: list[str] = []
    room = MAX_EXPORT_BYTES
    for entry in entries:
        line = _json(entry)
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
    return lines, len(entries) - len(lines)


def _json(entry: MemoryEntry) -> str:
    return json.dumps(
        {
            "id": entry.id,
            "owner": entry.owner,
            "content": entry.content,
            "context": entry.context,
            "category": entry.category,
            "type": entry.type,
            "confidence": entry.confidence,
            "tags": entry.tags,
            "metadata": dict(entry.metadata),
            "created_at": entry.created_at.isoformat(),
            "updated_at": entry.updated_at.isoformat(),
            "invalid_at": entry.invalid_at.isoformat() if entry.invalid_at else None,
        },
        ensure_ascii=False,
    )
