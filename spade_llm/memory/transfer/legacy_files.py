"""Legacy files of spade_llm 0.2 and 0.3: reader, and migration beside the old file."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.memory import validation
from spade_llm.memory.contract import MemoryDraft
from spade_llm.memory.database.sqlite_connection import BlockingMemory
from spade_llm.memory.transfer.import_file import read_database, read_parts
from spade_llm.memory.transfer.importer import import_records
from spade_llm.memory.transfer.records import (
    ImportedRecord,
    ImportTarget,
    entry_fields,
    read_record,
)
from spade_llm.memory.validation import normalize_subject
from spade_llm.search.memory_query import Category

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger(__name__)

INTERACTION = "interaction"
"""Tag of notes on a conversation."""

LEGACY_TABLE = "agent_memories"
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


def is_legacy_database(path: Path) -> bool:
    """Check whether the file is a legacy database. Raises InvalidArguments, OSError."""
    return path.is_file() and any(LEGACY_TABLE in part.tables for part in read_parts(path))


def read_legacy_database(
    database: sqlite3.Connection, target: ImportTarget
) -> Iterator[ImportedRecord]:
    """Read the rows of a legacy database, in order. Raises sqlite3.Error."""
    for number, row in enumerate(database.execute(SELECT_LEGACY_ROWS), start=1):
        yield read_record(f"row {number}", partial(_record_of_row, dict(row), target))


def is_legacy_interactions(item: Mapping[str, object]) -> bool:
    match item:
        case {"agent_id": str(), "interactions": dict()}:
            return True
    return False


def read_legacy_interactions(
    name: str, item: object, target: ImportTarget
) -> Iterator[ImportedRecord]:
    """Read the notes of a legacy JSON file, conversation by conversation."""
    match item:
        case {"agent_id": str(agent), "interactions": dict(conversations)}:
            pass
        case _:
            fault = 'it is not {"agent_id": …, "interactions": {…}}'
            yield ImportedRecord(name=name, fault=fault)
            return
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
        # Does nothing but make the file and its tables.
        BlockingMemory(unfinished).run(lambda _transaction: None)
        done = import_records(unfinished, _legacy_records(source))
        logger.info("%s: %d memories migrated to %s", source, done.added, unfinished.name)
        for fault in done.faults:
            logger.warning("%s: skipped: %s", source, fault)
        unfinished.rename(target)
    except (InvalidArguments, OSError) as error:
        raise ConfigurationError(
            f"{str(source)!r} cannot be migrated: {error}; move it away to start empty"
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return target


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


def _legacy_records(source: Path) -> Iterator[ImportedRecord]:
    """Records of a legacy database or JSON file. Raises InvalidArguments."""
    for part in read_parts(source):
        if part.database is not None and LEGACY_TABLE in part.tables:
            yield from read_database(part.database, read_legacy_database, ImportTarget())
        elif isinstance(part.first, dict) and is_legacy_interactions(part.first):
            yield from read_legacy_interactions("", part.first, ImportTarget())
        else:
            raise InvalidArguments("not a memory file of spade_llm 0.2 or 0.3")
