"""Memory as a whole, in a file or in PostgreSQL: export, import, statistics, verification.

A `MemoryPlace` is opened for one transaction, without an agent. Backups are of files only.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from spade_llm.core.database_copy import tables_of
from spade_llm.core.errors import InvalidArguments, StorageFailed
from spade_llm.memory.database.connection import SqlValue, Transaction
from spade_llm.memory.database.rows import entry_key, message_key
from spade_llm.memory.database.schema import MEMORY_TABLES, SCHEMA_VERSION
from spade_llm.memory.database.sqlite_connection import SqliteConnection, explain_error
from spade_llm.memory.transfer import json_lines
from spade_llm.search.terms import content_hash, encode_terms

if TYPE_CHECKING:
    from spade_llm.core.postgres import PostgresServer

MemoryPlace: TypeAlias = "Path | PostgresServer"
"""Memory file, or the server with the schema of its agent."""

ENTRY_FIELDS = list(json_lines.RECORD_FIELDS["entry"])
ENTRY_COLUMNS = [name for name in ENTRY_FIELDS if name != "owner"]

SELECT_RECORDS = {
    "entry": f"""
        SELECT {", ".join("jid" if one == "owner" else one for one in ENTRY_FIELDS)}
        FROM entry JOIN owner ON owner.number = entry.owner ORDER BY seq
    """,
    "key": """
        SELECT key_id AS key, id AS entry
        FROM entry_key JOIN entry ON entry.seq = entry_key.entry ORDER BY key_id
    """,
    "message": """
        SELECT jid, conversation.name, message.id, message.subject, role, speaker, message.content,
            at, recalled, entry.id,
            CASE WHEN message.episode IS NOT NULL AND entry.id IS NULL THEN 1 ELSE 0 END
        FROM message
            JOIN owner ON owner.number = message.owner
            JOIN conversation ON conversation.number = message.conversation
            LEFT JOIN entry ON entry.seq = message.episode
        WHERE message.seq > cleared_at_seq
        ORDER BY message.seq
    """,
    "conversation": """
        SELECT jid AS owner, name, (
            SELECT id FROM message WHERE conversation = conversation.number
            AND message.owner = conversation.owner AND seq <= closed_at_seq
            AND seq > cleared_at_seq
            ORDER BY seq DESC LIMIT 1
        ) AS closed_after
        FROM conversation JOIN owner ON owner.number = conversation.owner
        ORDER BY jid, name
    """,
    "link": """
        SELECT jid AS owner, one.id AS source, other.id AS target, relation, link.created_at
        FROM link
            JOIN owner ON owner.number = link.owner
            JOIN entry AS one ON one.seq = link.source
            JOIN entry AS other ON other.seq = link.target
        ORDER BY link.source, link.target, relation
    """,
    "grant": """
        SELECT id, jid AS owner, grantee AS "to", access, tag, session, created_at
        FROM access_grant JOIN owner ON owner.number = access_grant.owner ORDER BY seq
    """,
    "decay": """
        SELECT jid AS owner, is_enabled, older_than_s, below_importance, tiers, last_run_at,
            last_deleted
        FROM decay JOIN owner ON owner.number = decay.owner ORDER BY jid
    """,
    "consent": """
        SELECT jid AS owner, subject, since, refused
        FROM consent JOIN owner ON owner.number = consent.owner ORDER BY jid, subject
    """,
    "audit": """
        SELECT jid AS owner, at, action, count, ids
        FROM audit JOIN owner ON owner.number = audit.owner ORDER BY seq
    """,
}

"""Columns in the order of the kind's fields."""

COUNT_RECORDS = """
    SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM entry_key)
        + (SELECT count(*) FROM message JOIN conversation ON number = conversation
            WHERE seq > cleared_at_seq) + (SELECT count(*) FROM conversation)
        + (SELECT count(*) FROM link) + (SELECT count(*) FROM access_grant)
        + (SELECT count(*) FROM decay) + (SELECT count(*) FROM audit)
        + (SELECT count(*) FROM consent)
"""

ADD_OWNER = "INSERT INTO owner (jid) VALUES (:owner) ON CONFLICT DO NOTHING"

ADD_CONVERSATION = """
    INSERT INTO conversation (owner, name)
    SELECT number, :conversation FROM owner WHERE jid = :owner
    ON CONFLICT DO NOTHING
"""

INSERT_RECORDS = {
    "entry": f"""
        INSERT INTO entry (owner, content_hash, terms, {", ".join(ENTRY_COLUMNS)})
        SELECT number, :content_hash, :terms, {", ".join(f":{name}" for name in ENTRY_COLUMNS)}
        FROM owner WHERE jid = :owner
        ON CONFLICT (id) DO NOTHING
    """,
    "key": """
        INSERT INTO entry_key (key_id, entry) SELECT :key, seq FROM entry WHERE id = :entry
        ON CONFLICT DO NOTHING
    """,
    "message": """
        INSERT INTO message (owner, conversation, id, subject, role, speaker, content, content_hash,
            terms, at, recalled, episode)
        SELECT owner, number, :id, :subject, :role, :speaker, :content, :content_hash, :terms, :at,
            :recalled, coalesce((SELECT seq FROM entry WHERE id = :episode),
                CASE WHEN CAST(:is_left_out AS INTEGER) <> 0 THEN 0 END)
        FROM conversation
        WHERE name = :conversation AND owner = (SELECT number FROM owner WHERE jid = :owner)
        ON CONFLICT (conversation, id) DO NOTHING
    """,
    "conversation": """
        INSERT INTO conversation (owner, name, closed_at_seq)
        SELECT number, :name, 0 FROM owner WHERE jid = :owner
        ON CONFLICT (owner, name) DO UPDATE SET closed_at_seq = (
            SELECT seq FROM message WHERE message.conversation = conversation.number
            AND message.id = :closed_after
        ) WHERE conversation.closed_at_seq < (
            SELECT seq FROM message WHERE message.conversation = conversation.number
            AND message.id = :closed_after
        )
    """,
    "link": """
        INSERT INTO link (source, target, relation, owner, created_at)
        SELECT one.seq, other.seq, :relation, one.owner, :created_at
        FROM entry AS one JOIN entry AS other ON other.owner = one.owner
            JOIN owner ON owner.number = one.owner
        WHERE one.id = :source AND other.id = :target AND jid = :owner
        ON CONFLICT DO NOTHING
    """,
    "grant": """
        INSERT INTO access_grant (id, owner, grantee, access, tag, session, created_at)
        SELECT :id, number, :to, :access, :tag, :session, :created_at
        FROM owner WHERE jid = :owner
        ON CONFLICT (id) DO NOTHING
    """,
    "decay": """
        INSERT INTO decay (owner, is_enabled, older_than_s, below_importance, tiers, last_run_at,
            last_deleted)
        SELECT number, :is_enabled, :older_than_s, :below_importance, :tiers, :last_run_at,
            :last_deleted
        FROM owner WHERE jid = :owner
        ON CONFLICT (owner) DO NOTHING
    """,
    "consent": """
        INSERT INTO consent (owner, subject, since, refused)
        SELECT number, :subject, :since, :refused FROM owner WHERE jid = :owner
        ON CONFLICT DO NOTHING
    """,
    "audit": """
        INSERT INTO audit (owner, at, action, count, ids)
        SELECT number, :at, :action, :count, :ids FROM owner WHERE jid = :owner
        AND NOT EXISTS (SELECT 1 FROM audit WHERE owner = number AND at = :at AND ids = :ids)
    """,
}
"""Statements that insert records; existing records are left as they are."""
KEYS_IN_INDEX = {"entry": entry_key, "message": message_key}
"""Key in its owner's index of a row with this number, by kind."""

OWNER_STATISTICS = """
    SELECT jid,
        (SELECT count(*) FROM entry WHERE owner = number),
        (SELECT count(*) FROM entry WHERE owner = number AND deleted_at IS NOT NULL),
        (SELECT count(*) FROM message WHERE owner = number),
        (SELECT count(*) FROM conversation WHERE owner = owner.number)
    FROM owner ORDER BY jid
"""

COUNT_VECTORS = "SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM vector_wanted)"
FILE_SIZE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
SCHEMA_SIZE = """
    SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
    WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind = 'r'
        AND relname IN (SELECT value FROM json_each(:tables))
"""

CROSS_TABLE_CHECKS = {
    "entries with an id that is not a UUID": "SELECT count(*) FROM entry WHERE length(id) <> 16",
    "entries with impossible times": """
        SELECT count(*) FROM entry WHERE created_at <= 0 OR updated_at < created_at
    """,
    "messages in a conversation of another owner": """
        SELECT count(*) FROM message JOIN conversation
        ON conversation.number = message.conversation WHERE conversation.owner <> message.owner
    """,
    "messages in an episode of another owner": """
        SELECT count(*) FROM message JOIN entry ON entry.seq = message.episode
        WHERE entry.owner <> message.owner
    """,
    "links between two owners": """
        SELECT count(*) FROM link
        JOIN entry AS one ON one.seq = source JOIN entry AS other ON other.seq = target
        WHERE one.owner <> link.owner OR other.owner <> link.owner
    """,
    "vectors without their row": """
        SELECT count(*) FROM vector WHERE NOT EXISTS (SELECT 1 FROM entry WHERE seq * 2 = row)
        AND NOT EXISTS (SELECT 1 FROM message WHERE seq * 2 + 1 = row)
    """,
    "requested vectors without their row": """
        SELECT count(*) FROM vector_wanted WHERE NOT EXISTS (
            SELECT 1 FROM entry WHERE seq * 2 = row
        ) AND NOT EXISTS (SELECT 1 FROM message WHERE seq * 2 + 1 = row)
    """,
    "entries with neither a vector nor a request for one": """
        SELECT count(*) FROM entry WHERE NOT EXISTS (SELECT 1 FROM vector WHERE row = seq * 2)
        AND NOT EXISTS (SELECT 1 FROM vector_wanted WHERE row = seq * 2)
    """,
    "messages with neither a vector nor a request for one": """
        SELECT count(*) FROM message WHERE NOT EXISTS (
            SELECT 1 FROM vector WHERE row = seq * 2 + 1
        ) AND NOT EXISTS (SELECT 1 FROM vector_wanted WHERE row = seq * 2 + 1)
    """,
}
SELECT_CONTENTS = (
    "SELECT content, content_hash FROM entry UNION ALL SELECT content, content_hash FROM message"
)

OnTransferProgress = Callable[[int, int], None]
"""Callback with the number of processed records and their total."""

PROGRESS_EVERY = 1000
PAGE_ROWS = 500
"""Rows read at once."""
PAGES_AT_ONCE = 1024
LOCK_WAIT_S = 5.0
MAX_FAULTS = 100
MAX_LINE_CHARS = 4_000_000
"""Maximum length of a line; no valid record is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSummary:
    added: int
    conversations: int = 0
    """Number of conversations with added messages."""
    present: int
    """Records that were there already, and stayed as they were."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Number of added records by kind."""
    updated: int = 0
    """Entries that were there with an older text of the same program."""
    faults: tuple[str, ...] = ()
    """Errors of the rejected records, at most MAX_FAULTS."""
    left_out: int = 0
    """Number of rejected records."""
    omitted: Mapping[str, int] = field(default_factory=dict)
    """Number of records that are not imported on purpose, by what they are (in the singular)."""


def export_lines(place: MemoryPlace, progress: OnTransferProgress) -> Iterator[str]:
    """Lines of the header and of every record, a snapshot while others go on writing. Raises
    StorageFailed."""
    with opened_memory(place, is_read_only=True) as transaction:
        ((total,),) = transaction.all(COUNT_RECORDS)
        yield json_lines.HEADER
        done = 0
        for kind, select in SELECT_RECORDS.items():
            for page in transaction.pages(select, {}, size=PAGE_ROWS):
                for row in page:
                    values = dict(zip(json_lines.RECORD_FIELDS[kind], row, strict=True))
                    yield json_lines.encode_record(kind, values)
                    done += 1
                    if done % PROGRESS_EVERY == 0:
                        progress(done, total)
        progress(total, total)


def import_lines(
    place: MemoryPlace, lines: Iterable[str], *, is_dry_run: bool = False
) -> ImportSummary:
    """Import records into a memory that no other process uses: all of them, or (after an error, or
    in a dry run) none.

    Raises:
        InvalidArguments: a line is invalid; names the line and the reason.
        StorageFailed: the memory could not be written.
    """
    with opened_memory(place, is_dry_run=is_dry_run) as transaction:
        return _import_lines(transaction, lines)


def backup_file(path: Path, target: Path, progress: OnTransferProgress) -> None:
    """Copy a snapshot of the file, with vectors, while others go on writing. Raises
    StorageFailed."""
    with (
        open_memory_file(path, is_read_only=True) as source,
        closing(sqlite3.connect(target)) as copy,
    ):
        source.backup(
            copy, pages=PAGES_AT_ONCE, progress=lambda _, left, total: progress(total - left, total)
        )
        # The copied header says WAL, which would need two more files beside it to be read.
        copy.execute("PRAGMA journal_mode = DELETE")


@dataclass(frozen=True, slots=True)
class OwnerStatistics:
    """Content of one owner, an agent."""

    owner: str
    memories: int
    deleted: int
    """Memories that are deleted and not purged yet."""
    messages: int
    conversations: int


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """Size of a memory file, or of the memory's tables in PostgreSQL with their indexes."""

    vectors: int
    pending_vectors: int
    """Number of vectors that are still to be computed."""
    size_bytes: int
    embedders: tuple[str, ...]
    """Names of the embedding models of the vectors."""
    schema_version: int = SCHEMA_VERSION


def read_statistics(place: MemoryPlace) -> tuple[list[OwnerStatistics], FileStatistics]:
    """Statistics of each owner, and of the whole. Raises StorageFailed."""
    with opened_memory(place, is_read_only=True) as transaction:
        owners = [OwnerStatistics(*row) for row in transaction.all(OWNER_STATISTICS)]
        ((vectors, pending),) = transaction.all(COUNT_VECTORS)
        if isinstance(place, Path):
            ((size,),) = transaction.all(FILE_SIZE)
        else:
            tables = json.dumps([table.name for table in tables_of(MEMORY_TABLES)])
            ((size,),) = transaction.all(SCHEMA_SIZE, {"tables": tables})
        models = tuple(name for (name,) in transaction.all("SELECT name FROM model"))
    return owners, FileStatistics(vectors, pending, size, models)


def verify_memory(place: MemoryPlace) -> list[str]:
    """Check a memory and return its faults, one sentence each; empty if there are none."""
    try:
        with opened_memory(place, is_read_only=True) as transaction:
            # PostgreSQL looks after its own pages and references.
            if isinstance(place, Path):
                pages = transaction.all(f"PRAGMA integrity_check({MAX_FAULTS})")
                # The other checks would read the same broken pages.
                if (broken := [str(row[0]) for row in pages]) != ["ok"]:
                    return broken
            return list(_find_faults(transaction, place))[:MAX_FAULTS]
    except StorageFailed as error:
        return [str(error)]


@contextmanager
def opened_memory(
    place: MemoryPlace, *, is_read_only: bool = False, is_dry_run: bool = False
) -> Iterator[Transaction]:
    """Transaction on a memory of this schema version: a snapshot, or a write that excludes other
    writers and is committed when the block ends, except in a dry run.

    Raises:
        ConfigurationError: the PostgreSQL server cannot be used.
        StorageFailed: the memory cannot be read or written, or there is none.
    """
    if not isinstance(place, Path):
        # Here: psycopg is an extra.
        from spade_llm.memory.database.postgres_connection import command_transaction

        with command_transaction(
            place, is_read_only=is_read_only, is_dry_run=is_dry_run
        ) as transaction:
            yield transaction
        return
    with open_memory_file(place, is_read_only=is_read_only) as connection:
        connection.execute("BEGIN" if is_read_only else "BEGIN IMMEDIATE")
        yield Transaction(connection)
        connection.execute("ROLLBACK" if is_read_only or is_dry_run else "COMMIT")
        if not is_read_only:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def open_memory_file(path: Path, *, is_read_only: bool = False) -> Iterator[SqliteConnection]:
    """Open a memory file of this schema version. Raises StorageFailed, also for errors in the
    block."""
    # Without `c` for create: a wrong path is an error, not a new and empty memory.
    mode = "ro" if is_read_only else "rw"
    try:
        with closing(
            sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=LOCK_WAIT_S,
                isolation_level=None,
                factory=SqliteConnection,
            )
        ) as connection:
            # Off by default, for each connection.
            connection.execute("PRAGMA foreign_keys = ON")
            _check_version(connection, path)
            yield connection
    except sqlite3.Error as error:
        raise StorageFailed(
            f"{str(path)!r}: {explain_error(error) or 'SQLite cannot use it'}"
        ) from error


def _import_lines(transaction: Transaction, lines: Iterable[str]) -> ImportSummary:
    counts, number, present = Counter[str](), 0, 0
    for number, line in enumerate(lines, start=1):
        try:
            if number == 1:
                json_lines.check_header(line)
                continue
            if not line.strip():
                continue
            if len(line) > MAX_LINE_CHARS:
                raise InvalidArguments(f"it has over {MAX_LINE_CHARS} characters")
            kind, values = json_lines.decode_record(line)
            is_new = insert_record(transaction, kind, values)
        except (InvalidArguments, sqlite3.IntegrityError) as error:
            reason = error if isinstance(error, InvalidArguments) else "a value is missing"
            raise InvalidArguments(f"line {number}: {reason}; nothing was imported") from None
        counts[kind] += is_new
        present += 1 - is_new
    if number == 0:
        raise InvalidArguments("the file is empty")
    return ImportSummary(added=counts.total(), present=present, counts=+counts)


def insert_record(transaction: Transaction, kind: str, values: Mapping[str, SqlValue]) -> int:
    """Insert a record; return 1, or 0 if it existed."""
    if "owner" in values:
        transaction.count(ADD_OWNER, values)
    # The record of its conversation comes later, since `closed_after` names a message.
    if kind == "message":
        transaction.count(ADD_CONVERSATION, values)
    row = {**values, **derived_columns(kind, values)}
    key_of = KEYS_IN_INDEX.get(kind)
    if key_of is None:
        return transaction.count(INSERT_RECORDS[kind], row)
    added = transaction.all(f"{INSERT_RECORDS[kind]} RETURNING seq", row)
    # Other processes that have the owner's index in RAM must read these rows.
    transaction.mark_changed(str(values["owner"]), [key_of(seq) for (seq,) in added])
    return len(added)


def derived_columns(kind: str, values: Mapping[str, SqlValue]) -> Mapping[str, SqlValue]:
    """Compute the search columns of a row; the table itself requests its vector."""
    if kind not in ("entry", "message"):
        return {}
    content, context = str(values["content"]), values.get("context") or values.get("speaker")
    tags = json_lines.read_tags(values.get("tags"))
    return {
        "content_hash": content_hash(content),
        "terms": encode_terms(content, None if context is None else str(context), tags),
    }


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    ((found,),) = connection.execute("PRAGMA user_version").fetchall()
    if found != SCHEMA_VERSION:
        raise StorageFailed(
            f"{str(path)!r} has schema {found}, not {SCHEMA_VERSION}: start a memory agent of this"
            " version to migrate an older file"
        )


def _find_faults(transaction: Transaction, place: MemoryPlace) -> Iterator[str]:
    if isinstance(place, Path):
        for table, row, parent, _ in transaction.all("PRAGMA foreign_key_check"):
            yield f"row {row} of {table} refers to a missing {parent}"
    for what, count in CROSS_TABLE_CHECKS.items():
        if number := int(transaction.all(count)[0][0]):
            yield f"{number} {what}"
    pages = transaction.pages(SELECT_CONTENTS, {}, size=PAGE_ROWS)
    if number := sum(content_hash(content) != kept for page in pages for content, kept in page):
        yield f"{number} texts that do not match their hash"
