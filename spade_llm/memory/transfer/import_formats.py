"""Table of import formats: recognition by content, and the reader of each format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.transfer import chat_exports as chats
from spade_llm.memory.transfer import legacy_files as legacy
from spade_llm.memory.transfer import other_programs as others
from spade_llm.memory.transfer.import_file import FilePart, OnBytes, read_database, read_parts
from spade_llm.memory.transfer.json_lines import FORMAT
from spade_llm.memory.transfer.records import ImportedRecord, ImportTarget
from spade_llm.memory.validation import JID_PATTERN

if TYPE_CHECKING:
    import sqlite3


ReadItem = Callable[[str, object, "ImportTarget"], Iterator[ImportedRecord]]
ReadDatabase = Callable[["sqlite3.Connection", "ImportTarget"], Iterator[ImportedRecord]]


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """Format of the files of one program."""

    name: str
    """Value of `--format`."""
    recognizes: Callable[[Mapping[str, object]], bool] | None = None
    """Whether a JSON object is an item of this format. None: this program has no JSON file."""
    read: ReadItem | None = None
    """Reader of one JSON item."""
    table: str | None = None
    """Table that its database has. None: this program has no SQLite file."""
    read_rows: ReadDatabase | None = None
    names_owner: bool = False
    """The file names the owner of each memory; `owner` and `subject` may be missing."""


# The first format that recognizes an item reads it: the most specific ones come first.
IMPORT_FORMATS = (
    ImportFormat(
        name="spade-llm-0.3",
        recognizes=legacy.is_legacy_interactions,
        read=legacy.read_legacy_interactions,
        table=legacy.LEGACY_TABLE,
        read_rows=legacy.read_legacy_database,
        names_owner=True,
    ),
    ImportFormat(chats.CHATGPT, chats.is_chatgpt, chats.read_chatgpt),
    ImportFormat(chats.CLAUDE, chats.is_claude, chats.read_claude),
    ImportFormat(chats.OPEN_WEBUI, chats.is_open_webui, chats.read_open_webui),
    ImportFormat(others.LETTA, others.is_letta, others.read_letta),
    ImportFormat(
        others.MEM0, others.is_mem0, others.read_mem0, "history", others.read_mem0_database
    ),
    ImportFormat(others.MCP_MEMORY, others.is_mcp_memory, others.read_mcp_memory),
    ImportFormat(others.LLM_MEMORY, others.is_llm_memory, others.read_llm_memory),
    ImportFormat(others.LLM, table="responses", read_rows=others.read_llm_database),
)
OWN_FORMAT = "spade-llm"
FORMAT_NAMES = (OWN_FORMAT, *(one.name for one in IMPORT_FORMATS))


def is_own_export(path: Path) -> bool:
    """Whether the file is our own export (JSON Lines). Raises InvalidArguments, OSError."""
    first = next((part.first for part in read_parts(path)), None)
    return isinstance(first, dict) and first.get("format") == FORMAT


def read_import(
    path: Path, target: ImportTarget, on_bytes: OnBytes, *, format_name: str | None = None
) -> Iterator[ImportedRecord]:
    """Read the records of a file of another program, in any of IMPORT_FORMATS.

    Of an archive, the files in a known format are read. `format_name` makes recognition
    unnecessary for a single file.

    Raises:
        InvalidArguments: unknown format, missing owner or subject (names the option), or the file
            cannot be read.
        OSError: the file cannot be read.
    """
    is_known = False
    for part in read_parts(path, on_bytes):
        found = _format_of(part, format_name)
        if found is None:
            continue
        is_known = True
        if not found.names_owner:
            _check_target(found.name, target)
        yield from _read_part(found, part, target)
    if not is_known:
        raise InvalidArguments(
            f"the format is not known: it must be one of {', '.join(FORMAT_NAMES)}"
            " (docs/memory.md lists their files); --format NAME skips the recognition"
        )


def _format_of(part: FilePart, name: str | None) -> ImportFormat | None:
    formats = [one for one in IMPORT_FORMATS if name in (None, one.name)]
    for one in formats:
        if part.database is not None:
            if one.table in part.tables:
                return one
        elif isinstance(part.first, dict) and one.recognizes and one.recognizes(part.first):
            return one
    is_forced = name is not None and not part.name and part.database is None
    return next((one for one in formats if one.read), None) if is_forced else None


def _read_part(
    found: ImportFormat, part: FilePart, target: ImportTarget
) -> Iterator[ImportedRecord]:
    target = replace(target, file_time=part.modified_at)
    prefix = f"{part.name}: " if part.name else ""
    if part.database is not None and found.read_rows is not None:
        yield from read_database(part.database, found.read_rows, target)
        return
    assert found.read is not None
    for item in part.items:
        name = f"{prefix}{item.name}"
        if item.fault:
            yield ImportedRecord(name=name, fault=item.fault)
        else:
            yield from found.read(name, item.value, target)


def _check_target(name: str, target: ImportTarget) -> None:
    """Raises InvalidArguments: an option is missing, or is no JID."""
    for option, jid, what in (
        ("--owner", target.owner, "the agent that gets the memories, such as assistant@localhost"),
        ("--about", target.subject, "the person they are about, such as ada@localhost"),
    ):
        if jid is None:
            raise InvalidArguments(f"a file of {name} needs {option} JID: {what}")
        found = JID_PATTERN.fullmatch(jid)
        if found is None or found[2]:
            raise InvalidArguments(f"{option}: {jid[:80]!r} is not a bare JID ({what})")
