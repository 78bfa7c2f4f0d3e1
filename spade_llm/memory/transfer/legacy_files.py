"""Legacy files of spade_llm 0.2 and 0.3: reader, and migration beside the old file."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel

from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.memory import validation
from spade_llm.memory.contract import MemoryDraft
from spade_llm.memory.sqlite.connection import BlockingMemory
from spade_llm.memory.transfer.memory_file import import_records
from spade_llm.memory.transfer.records import (
    ImportedRecord,
    ImportTarget,
    entry_fields,
    read_record,
)
from spade_llm.memory.validation import normalize_subject
from spade_llm.search.memory_query import Category

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

logger = logging.getLogger(__name__)

SQLITE_HEADER = b"SQLite format 3\0"
MAX_JSON_BYTES = 256 * 1024 * 1024
INTERACTION = "interaction"
"""Tag of notes on a conversation."""

SELECT_LEGACY_TABLE = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'agent_memories'"
SELECT_LEGACY_ROWS = """
    SELECT id, agent_id, category, content, context, confidence, created_at, last_accessed,
        access_count
    FROM agent_memories ORDER BY rowid
"""

MIGRATED_SUFFIX = ".memory"
"""Suffix that is appended to the name of the old file."""


class _LegacyRow(BaseModel):
    id: str
    agent_id: str
    category: Category
    content: str
    context: str | None = None
    confidence: float | None = 1.0
    created_at: str
    last_accessed: str | None = None
    access_count: int | None = 0


class _LegacyNote(BaseModel):
    content: str
    timestamp: str


def read_legacy_file(path: Path, target: ImportTarget) -> Iterator[ImportedRecord] | None:
    """Read the records of a legacy file; None if it is not one (it may be an export of this
    program).

    Raises OSError; iteration raises InvalidArguments.
    """
    if _is_sqlite(path):
        return read_legacy_database(path, target)
    try:
        _interactions(path)
    except InvalidArguments:
        return None
    return read_legacy_interactions(path, target)


def is_legacy_database(path: Path) -> bool:
    """Check whether the file is a legacy database. Raises InvalidArguments, OSError."""
    return path.is_file() and _is_sqlite(path) and _has_table(path)


def read_legacy_database(path: Path, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read the rows of a legacy database, in order.

    Raises:
        InvalidArguments: it is no such database, or cannot be read.
    """
    if not _has_table(path):
        raise InvalidArguments("it has no table agent_memories: not a spade_llm memory file")
    try:
        with closing(_open_read_only(path)) as file:
            file.row_factory = sqlite3.Row
            # Invalid UTF-8 becomes surrogates: only its row is rejected, not the file.
            file.text_factory = partial(bytes.decode, errors="surrogateescape")
            for number, row in enumerate(file.execute(SELECT_LEGACY_ROWS), start=1):
                yield read_record(f"row {number}", partial(_record_of_row, dict(row), target))
    except sqlite3.Error as error:
        raise InvalidArguments(f"its table agent_memories cannot be read: {error}") from error


def read_legacy_interactions(path: Path, target: ImportTarget) -> Iterator[ImportedRecord]:
    """Read the notes of a legacy JSON file, conversation by conversation.

    Raises:
        InvalidArguments: it is no such JSON.
        OSError: it cannot be read.
    """
    agent, conversations = _interactions(path)
    for conversation, notes in conversations.items():
        for number, note in enumerate(notes if isinstance(notes, list) else [notes], start=1):
            yield read_record(
                f"{conversation[:80]!r} note {number}",
                partial(
                    _record_of_note, note, target=target, agent=agent, conversation=conversation
                ),
            )


def migrated_path(path: Path) -> Path:
    """Return the memory file for `path`: itself, or the migrated copy of a legacy file. Reads and
    writes files.

    Raises ConfigurationError: the legacy file cannot be read.
    """
    if not is_legacy_database(path):
        return path
    return migrate_legacy_file(path, path.with_name(path.name + MIGRATED_SUFFIX))


def migrate_legacy_file(source: Path, target: Path) -> Path:
    """Return `target`, after importing the legacy file if `target` does not exist; faults are
    logged.

    Raises ConfigurationError: the legacy file cannot be read.
    """
    if target.exists() or not source.exists():
        return target
    # Filled under another name: a process that is killed meanwhile leaves no half memory behind.
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        _import_into(unfinished, source)
        unfinished.rename(target)
    except (InvalidArguments, OSError) as error:
        raise ConfigurationError(
            f"{str(source)!r} cannot be migrated: {error}; move it away to start empty"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def _has_table(path: Path) -> bool:
    try:
        with closing(_open_read_only(path)) as file:
            return file.execute(SELECT_LEGACY_TABLE).fetchone() is not None
    except sqlite3.Error as error:
        raise InvalidArguments(f"it cannot be read: {error}") from error


def _open_read_only(path: Path) -> sqlite3.Connection:
    # as_uri() escapes `?` and `#`, which would end the path; mode=ro never makes a file.
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _interactions(path: Path) -> tuple[str, Mapping[str, object]]:
    if path.stat().st_size > MAX_JSON_BYTES:
        raise InvalidArguments(f"it has over {MAX_JSON_BYTES} bytes")
    try:
        found = json.loads(path.read_bytes())
    # JSON that is nested too deep raises RecursionError.
    except (ValueError, RecursionError):
        raise InvalidArguments("it is not JSON") from None
    match found:
        case {"agent_id": str(agent), "interactions": dict(conversations)}:
            return agent, conversations
    raise InvalidArguments('it is not {"agent_id": …, "interactions": {…}}')


def _record_of_row(row: Mapping[str, object], target: ImportTarget) -> Mapping[str, object]:
    """Raises InvalidArguments, ValidationError."""
    old = _LegacyRow.model_validate(row)
    validation.check_name("id", old.id)
    validation.check_number("access_count", old.access_count or 0, 0, validation.MAX_OFFSET)
    draft = MemoryDraft(
        content=old.content,
        category=old.category,
        context=old.context or None,
        confidence=1.0 if old.confidence is None else old.confidence,
        subject=target.subject,
    )
    created_at = _parse_time("created_at", old.created_at)
    used_at = _parse_time("last_accessed", old.last_accessed) if old.last_accessed else None
    owner, key = _owner(target, old.agent_id), f"spade_llm\0agent_memories\0{old.id}"
    return {
        **entry_fields(draft, owner=owner, key=key, created_at=created_at),
        "access_count": old.access_count or 0,
        "last_accessed_at": used_at.isoformat() if used_at and old.access_count else None,
    }


def _record_of_note(
    note: object, *, target: ImportTarget, agent: str, conversation: str
) -> Mapping[str, object]:
    """Raises InvalidArguments, ValidationError."""
    old = _LegacyNote.model_validate(note)
    at = _parse_time("timestamp", old.timestamp)
    draft = MemoryDraft(
        content=old.content,
        category=Category.FACT,
        subject=target.subject,
        session=conversation,
        tags=(INTERACTION,),
    )
    key = f"spade_llm\0interactions\0{conversation}\0{old.timestamp}\0{old.content}"
    return entry_fields(draft, owner=_owner(target, agent), key=key, created_at=at)


def _owner(target: ImportTarget, agent: str) -> str:
    owner = target.owner or str(normalize_subject(agent))
    validation.check_name("agent_id", owner)
    return owner


def _parse_time(field: str, text: str) -> datetime:
    """Parse a time of a legacy file: local time without a zone, taken as this machine's."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidArguments(f"{field}: {text[:40]!r} is not an ISO date and time") from None


def _import_into(path: Path, source: Path) -> None:
    # Does nothing but make the file and its tables.
    BlockingMemory(path).run(lambda _transaction: None)
    records = read_legacy_file(source, ImportTarget())
    if records is None:
        raise InvalidArguments("not a memory file of spade_llm 0.2 or 0.3")
    done = import_records(path, records)
    logger.info("%s: %d memories migrated to %s", source, done.added, path.name)
    for fault in done.faults:
        logger.warning("%s: skipped: %s", source, fault)
