"""Import of other programs' files: table of formats, recognition by content, insert or update."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.database.rows import ID_BYTES, entry_key
from spade_llm.memory.transfer import chat_exports as chats
from spade_llm.memory.transfer import json_lines, memory_file
from spade_llm.memory.transfer import legacy_files as legacy
from spade_llm.memory.transfer import other_programs as others
from spade_llm.memory.transfer.import_file import read_database, read_parts
from spade_llm.memory.transfer.json_lines import FORMAT
from spade_llm.memory.transfer.records import ImportedRecord
from spade_llm.memory.validation import JID_PATTERN

if TYPE_CHECKING:
    import sqlite3

    from spade_llm.memory.database.connection import SqlValue, Transaction
    from spade_llm.memory.transfer.import_file import FilePart, OnBytes
    from spade_llm.memory.transfer.memory_file import MemoryPlace
    from spade_llm.memory.transfer.records import ImportTarget


ReadItem = Callable[[str, object, "ImportTarget"], Iterator[ImportedRecord]]
ReadDatabase = Callable[["sqlite3.Connection", "ImportTarget"], Iterator[ImportedRecord]]


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """Format of the files of one program."""

    name: str
    """Value of `--format`."""
    recognizes: Callable[[Mapping[str, object]], bool]
    """Whether a JSON object is an item of this format."""
    read: ReadItem
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
)
OWN_FORMAT = "spade-llm"
FORMAT_NAMES = (OWN_FORMAT, *(one.name for one in IMPORT_FORMATS))


def is_own_export(path: Path) -> bool:
    """Whether the file is an export of this program (JSON Lines). Raises InvalidArguments,
    OSError."""
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
        elif isinstance(part.first, dict) and one.recognizes(part.first):
            return one
    is_forced = name is not None and not part.name and part.database is None
    return formats[0] if is_forced and formats else None


def _read_part(
    found: ImportFormat, part: FilePart, target: ImportTarget
) -> Iterator[ImportedRecord]:
    target = replace(target, file_time=part.modified_at)
    prefix = f"{part.name}: " if part.name else ""
    if part.database is not None and found.read_rows is not None:
        yield from read_database(part.database, found.read_rows, target)
        return
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


# A correction made here is newer than the text of the other program, and stays.
UPDATE_ENTRY = """
    UPDATE entry SET content = :content, content_hash = :content_hash, terms = :terms,
        updated_at = :updated_at, invalid_at = NULL
    WHERE id = :id AND content_hash <> :content_hash AND updated_at < :updated_at
        AND deleted_at IS NULL
    RETURNING seq
"""

SELECT_FORGOTTEN = """
    SELECT ids FROM audit JOIN owner ON owner.number = audit.owner
    WHERE jid = :owner AND action = 'forget'
"""

FORGOTTEN = "forgotten memory"


def import_records(
    place: MemoryPlace, records: Iterable[ImportedRecord], *, is_dry_run: bool = False
) -> memory_file.ImportSummary:
    """Import records of another program; invalid records are left out and named.

    Entries that were forgotten here stay forgotten. An entry that the other program has changed
    since gets the new text, unless it was changed here later.

    Raises:
        InvalidArguments: the imported file cannot be read; nothing was imported.
        StorageFailed: the memory could not be written.
    """
    with memory_file.opened_memory(place, is_dry_run=is_dry_run) as transaction:
        importer = _Importer(transaction)
        for record in records:
            importer.add(record)
    return importer.summary()


class _Importer:
    """Import into an open transaction, with its counts."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._added = Counter[str]()
        self._omitted = Counter[str]()
        self._conversations = set[str]()
        self._forgotten_ids: dict[SqlValue, frozenset[SqlValue]] = {}
        self._present = 0
        self._updated = 0
        self._left_out = 0
        self._faults: list[str] = []

    def add(self, record: ImportedRecord) -> None:
        """Insert or update what the record describes, or count why not."""
        if record.omitted:
            self._omitted[record.omitted] += 1
            return
        try:
            if record.fault:
                raise InvalidArguments(record.fault)
            kind, values = json_lines.decode_record(json.dumps(record.fields))
        except InvalidArguments as error:
            self._left_out += 1
            if len(self._faults) < memory_file.MAX_FAULTS:
                self._faults.append(f"{record.name}: {error}")
            return
        if kind == "entry":
            self._add_entry(values)
        elif memory_file.insert_record(self._transaction, kind, values):
            self._added[kind] += 1
            if kind == "message":
                self._conversations.add(str(values["conversation"]))
        else:
            self._present += 1

    def summary(self) -> memory_file.ImportSummary:
        return memory_file.ImportSummary(
            added=self._added.total(),
            counts=self._added,
            conversations=len(self._conversations),
            present=self._present,
            updated=self._updated,
            faults=tuple(self._faults),
            left_out=self._left_out,
            omitted=self._omitted,
        )

    def _add_entry(self, values: Mapping[str, SqlValue]) -> None:
        if values["id"] in self._forgotten(values["owner"]):
            self._omitted[FORGOTTEN] += 1
        elif memory_file.insert_record(self._transaction, "entry", values):
            self._added["entry"] += 1
        else:
            row = {**values, **memory_file.derived_columns("entry", values)}
            keys = [entry_key(seq) for (seq,) in self._transaction.all(UPDATE_ENTRY, row)]
            self._transaction.mark_changed(str(values["owner"]), keys)
            self._updated += len(keys)
            self._present += not keys

    def _forgotten(self, owner: SqlValue) -> frozenset[SqlValue]:
        """Ids of the entries that an owner has forgotten, from the audit log."""
        if owner not in self._forgotten_ids:
            rows = self._transaction.all(SELECT_FORGOTTEN, {"owner": owner})
            self._forgotten_ids[owner] = frozenset(
                packed[at : at + ID_BYTES]
                for (packed,) in rows
                for at in range(0, len(packed), ID_BYTES)
            )
        return self._forgotten_ids[owner]
