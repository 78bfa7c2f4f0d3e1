"""Files as spade_llm 0.2 and 0.3 leave them, made here: a table and a JSON."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

AGENT = "helper@localhost"

TABLE = """
    CREATE TABLE agent_memories (
        id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, category TEXT NOT NULL, content TEXT NOT NULL,
        context TEXT, confidence REAL DEFAULT 1.0, created_at TEXT NOT NULL,
        last_accessed TEXT NOT NULL, access_count INTEGER DEFAULT 0
    )
"""

Row = tuple[object, ...]


def a_row(id: str, content: object = "Ada likes tea", **other: object) -> Row:
    fields: dict[str, object] = {
        "agent_id": AGENT,
        "category": "fact",
        "content": content,
        "context": None,
        "confidence": 1.0,
        "created_at": "2025-03-01T10:00:00.123456",
        "last_accessed": "2025-03-02T10:00:00",
        "access_count": 0,
    }
    return (id, *{**fields, **other}.values())


def write_database(path: Path, rows: Sequence[Row]) -> Path:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(TABLE)
        file.executemany("INSERT INTO agent_memories VALUES (?,?,?,?,?,?,?,?,?)", rows)
    return path


def a_note(content: object, timestamp: str = "2025-03-01T10:00:00") -> Mapping[str, object]:
    return {"content": content, "timestamp": timestamp}


def write_interactions(path: Path, conversations: Mapping[str, object]) -> Path:
    whole = {"agent_id": AGENT, "interactions": conversations}
    path.write_text(json.dumps(whole, indent=2), encoding="utf-8")
    return path
