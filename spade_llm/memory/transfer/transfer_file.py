"""A memory's file, as a whole: written out as lines, filled from lines, copied, counted.

Works on connections of its own, beside the agent's or instead of it. Knows no agent.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments, StorageFailed
from spade_llm.memory.sqlite.errors import meaning
from spade_llm.memory.sqlite.schema import SCHEMA_VERSION
from spade_llm.memory.transfer import transfer, transfer_statements
from spade_llm.text.counted import counted
from spade_llm.text.terms import content_hash, encode_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from spade_llm.memory.sqlite.transaction import Value
    from spade_llm.memory.transfer.spade_llm_files import OldRecord

Progress = Callable[[int, int], None]
"""Takes how many are done, and of how many."""

PROGRESS_EVERY = 1000
PAGES_AT_ONCE = 1024
LOCK_WAIT_S = 5.0
MAX_FAULTS = 100
MAX_LINE_CHARS = 4_000_000
"""Longer lines are refused: no record that a memory takes is written so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    added: int
    present: int
    """Records that were there already, and stayed as they were."""
    faults: tuple[str, ...] = ()
    """What could not be taken, each named; at most MAX_FAULTS."""
    left_out: int = 0
    """How many that were."""


def export_lines(path: Path, progress: Progress) -> Iterator[str]:
    """The header and every record, of one moment, while others go on writing.

    Raises StorageFailed.
    """
    with opened(path, is_read_only=True) as connection:
        connection.execute("BEGIN")
        ((total,),) = connection.execute(transfer_statements.COUNT).fetchall()
        yield transfer.HEADER
        done = 0
        for kind, select in transfer_statements.SELECT.items():
            for values in _rows(connection, select):
                yield transfer.line_of(kind, values)
                done += 1
                if done % PROGRESS_EVERY == 0:
                    progress(done, total)
        progress(total, total)


def import_lines(path: Path, lines: Iterable[str], *, is_dry_run: bool = False) -> Imported:
    """Fill a memory that nobody else uses: all of it, or (an error, or a dry run) nothing.

    Raises:
        InvalidArguments: a line is wrong; says which and why.
        StorageFailed: the file could not be written.
    """
    with _changed(path, is_dry_run=is_dry_run) as connection:
        return _import(connection, lines)


def import_old(path: Path, records: Iterable[OldRecord], *, is_dry_run: bool = False) -> Imported:
    """The same from a file of spade_llm, but for what is wrong in it: that is left out, and named.

    Raises:
        InvalidArguments: it is no such file, or cannot be read; nothing was imported.
        StorageFailed: the file could not be written.
    """
    added, present, faults = 0, 0, []
    with _changed(path, is_dry_run=is_dry_run) as connection:
        for record in records:
            if fault := record.fault:
                faults.append(f"{record.name}: {fault}")
                continue
            is_new = _insert(connection, *transfer.read_line(json.dumps(record.fields)))
            added, present = added + is_new, present + 1 - is_new
    shown = tuple(faults[:MAX_FAULTS])
    return Imported(added=added, present=present, faults=shown, left_out=len(faults))


def back_up(path: Path, target: Path, progress: Progress) -> None:
    """A copy of one moment, with vectors, while others go on writing. Raises StorageFailed."""
    with opened(path, is_read_only=True) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(
            copy, pages=PAGES_AT_ONCE, progress=lambda _, left, total: progress(total - left, total)
        )
        copy.execute("PRAGMA journal_mode = DELETE")


def stats_lines(path: Path) -> Iterator[str]:
    """What there is, one line for each owner and a few about the file. Raises StorageFailed."""
    with opened(path, is_read_only=True) as connection:
        connection.execute("BEGIN")
        owners = connection.execute(transfer_statements.STATS_OF_OWNERS).fetchall()
        for jid, entries, hidden, messages, conversations in owners:
            yield (
                f"{jid}: {counted(entries, 'memory', 'memories')}"
                f" ({hidden} of them deleted and not purged yet),"
                f" {counted(messages, 'message')} in {counted(conversations, 'conversation')}"
            )
        ((vectors, wanted, size),) = connection.execute(transfer_statements.STATS_OF_FILE)
        models = [name for (name,) in connection.execute("SELECT name FROM model")]
    yield f"vectors: {vectors} ({', '.join(models) or 'no model'}), {wanted} to be computed"
    yield f"file: {size} bytes, schema {SCHEMA_VERSION}"


def _import(connection: sqlite3.Connection, lines: Iterable[str]) -> Imported:
    added, number = 0, 0
    for number, line in enumerate(lines, start=1):
        try:
            if number == 1:
                transfer.check_header(line)
            elif line.strip():
                added += _insert(connection, *_read(line))
        except (InvalidArguments, sqlite3.IntegrityError) as error:
            reason = error if isinstance(error, InvalidArguments) else "a value is missing"
            raise InvalidArguments(f"line {number}: {reason}; nothing was imported") from None
    if number == 0:
        raise InvalidArguments("the file is empty")
    return Imported(added=added, present=number - 1 - added)


def _read(line: str) -> tuple[str, dict[str, Value]]:
    if len(line) > MAX_LINE_CHARS:
        raise InvalidArguments(f"it has over {MAX_LINE_CHARS} characters")
    return transfer.read_line(line)


def _insert(connection: sqlite3.Connection, kind: str, values: Mapping[str, Value]) -> int:
    """1, or 0 if it was there."""
    if "owner" in values:
        connection.execute(transfer_statements.ADD_OWNER, values)
    if kind == "message":
        connection.execute(transfer_statements.ADD_CONVERSATION, values)
    row = {**values, **_found_by(kind, values)}
    return max(connection.execute(transfer_statements.INSERT[kind], row).rowcount, 0)


def _found_by(kind: str, values: Mapping[str, Value]) -> Mapping[str, Value]:
    """What a row is found by; its vector is wanted by the table itself."""
    if kind not in ("entry", "message"):
        return {}
    content, context = str(values["content"]), values.get("context") or values.get("speaker")
    tags = transfer.read_tags(values.get("tags"))
    return {
        "content_hash": content_hash(content),
        "terms": encode_terms(content, None if context is None else str(context), tags),
    }


def _rows(connection: sqlite3.Connection, select: str) -> Iterator[Mapping[str, Value]]:
    cursor = connection.execute(select)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


@contextmanager
def _changed(path: Path, *, is_dry_run: bool) -> Iterator[sqlite3.Connection]:
    """One transaction; a dry run's is undone."""
    with opened(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("ROLLBACK" if is_dry_run else "COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def opened(path: Path, *, is_read_only: bool = False) -> Iterator[sqlite3.Connection]:
    """A memory's file of this version. Raises StorageFailed, also for what the block does."""
    mode = "ro" if is_read_only else "rw"
    try:
        with closing(
            sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=LOCK_WAIT_S,
                isolation_level=None,
            )
        ) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            _check_version(connection, path)
            yield connection
    except sqlite3.Error as error:
        raise StorageFailed(f"{str(path)!r}: {meaning(error) or 'SQLite refuses it'}") from error


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    ((found,),) = connection.execute("PRAGMA user_version").fetchall()
    if found != SCHEMA_VERSION:
        raise StorageFailed(
            f"{str(path)!r} has version {found}, and {SCHEMA_VERSION} is needed: a memory agent of"
            " this spade-llm brings an older one up to date when it starts"
        )
