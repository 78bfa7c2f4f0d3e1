"""Verification of a memory file: integrity checks of SQLite and between tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.errors import StorageFailed
from spade_llm.memory.transfer.memory_file import open_memory_file
from spade_llm.search.terms import content_hash

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

MAX_FAULTS = 100
"""Named; a file with more is broken enough."""

_CROSS_TABLE_CHECKS = {
    "entries with an id that is no UUID": "SELECT count(*) FROM entry WHERE length(id) <> 16",
    "entries of times that are impossible": """
        SELECT count(*) FROM entry WHERE created_at <= 0 OR updated_at < created_at
    """,
    "messages whose conversation is another owner's": """
        SELECT count(*) FROM message JOIN conversation
        ON conversation.number = message.conversation WHERE conversation.owner <> message.owner
    """,
    "messages of an episode that is another owner's": """
        SELECT count(*) FROM message JOIN entry ON entry.seq = message.episode
        WHERE entry.owner <> message.owner
    """,
    "links between two owners": """
        SELECT count(*) FROM link
        JOIN entry AS one ON one.seq = source JOIN entry AS other ON other.seq = target
        WHERE one.owner <> link.owner OR other.owner <> link.owner
    """,
    "vectors of nothing": """
        SELECT count(*) FROM vector WHERE NOT EXISTS (SELECT 1 FROM entry WHERE seq * 2 = row)
        AND NOT EXISTS (SELECT 1 FROM message WHERE seq * 2 + 1 = row)
    """,
    "vectors wanted of nothing": """
        SELECT count(*) FROM vector_wanted WHERE NOT EXISTS (
            SELECT 1 FROM entry WHERE seq * 2 = row
        ) AND NOT EXISTS (SELECT 1 FROM message WHERE seq * 2 + 1 = row)
    """,
    "entries with neither a vector nor one wanted": """
        SELECT count(*) FROM entry WHERE NOT EXISTS (SELECT 1 FROM vector WHERE row = seq * 2)
        AND NOT EXISTS (SELECT 1 FROM vector_wanted WHERE row = seq * 2)
    """,
    "messages with neither a vector nor one wanted": """
        SELECT count(*) FROM message WHERE NOT EXISTS (
            SELECT 1 FROM vector WHERE row = seq * 2 + 1
        ) AND NOT EXISTS (SELECT 1 FROM vector_wanted WHERE row = seq * 2 + 1)
    """,
}
_CONTENTS = (
    "SELECT content, content_hash FROM entry UNION ALL SELECT content, content_hash FROM message"
)


def verify_memory_file(path: Path) -> list[str]:
    """Check a memory file and return its faults, one sentence each; empty if there are none."""
    try:
        with open_memory_file(path, is_read_only=True) as connection:
            return list(_find_faults(connection))[:MAX_FAULTS]
    except StorageFailed as error:
        return [str(error)]


def _find_faults(connection: sqlite3.Connection) -> Iterator[str]:
    broken = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({MAX_FAULTS})")]
    if broken != ["ok"]:
        # The rest would read the same broken pages.
        yield from broken
        return
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} points to a {parent} that is not there"
    for what, count in _CROSS_TABLE_CHECKS.items():
        if number := int(connection.execute(count).fetchone()[0]):
            yield f"{number} {what}"
    if number := sum(
        content_hash(content) != kept for content, kept in connection.execute(_CONTENTS)
    ):
        yield f"{number} texts that are not the ones that were written"
