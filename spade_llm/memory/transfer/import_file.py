"""Parts of an import file: SQLite database, JSON and JSON Lines, or these in a ZIP archive.

JSON is read item by item: the memory that it takes depends on the largest item (one conversation,
one memory), not on the file.
"""

from __future__ import annotations

import codecs
import json
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments

if TYPE_CHECKING:
    from spade_llm.memory.transfer.records import ImportedRecord, ImportTarget

SQLITE_MAGIC = b"SQLite format 3\0"
ZIP_MAGIC = b"PK\x03\x04"
JSON_SUFFIXES = (".json", ".jsonl", ".af")

MAX_ITEM_CHARS = 64 * 1024 * 1024
"""Maximum length of one item; a file that is a single JSON object is one item."""
MAX_MEMBERS = 100_000
MAX_UNPACKED_BYTES = 4 * 1024**3
"""Maximum size of the JSON files in an archive together."""
MAX_COMPRESSION = 200
"""Maximum ratio of unpacked to packed size. Chats shrink to a tenth; 1000 is a ZIP bomb."""
CHUNK_BYTES = 256 * 1024

# A password is a RuntimeError, an unknown compression method its subclass NotImplementedError.
ARCHIVE_ERRORS = (zipfile.BadZipFile, RuntimeError, zlib.error, EOFError)

_SPACE = re.compile(r"\s*")
_SPACE_AND_COMMAS = re.compile(r"[\s,]*")
_LONGEST_LITERAL = len("-Infinity")

OnBytes = Callable[[int, int], None]
"""Callback with the bytes that were read and their total."""


@dataclass(frozen=True, slots=True)
class JsonItem:
    """An element of the top-level array, or one of several top-level values."""

    name: str
    value: object
    fault: str = ""
    """The reason why there is no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """A document of an import file: a database, or JSON items."""

    name: str
    """Name in the archive; empty for the file itself."""
    modified_at: datetime
    database: sqlite3.Connection | None = None
    tables: frozenset[str] = frozenset()
    first: object = None
    """First JSON item."""
    items: Iterable[JsonItem] = field(default=())
    """All JSON items, also the first one; to be read once."""


def read_parts(path: Path, on_bytes: OnBytes = lambda _done, _total: None) -> Iterator[FilePart]:
    """Open a file and yield its parts, one after another; each is valid until the next one.

    Raises:
        InvalidArguments: the archive or database cannot be read, or exceeds a limit.
        OSError: the file cannot be read.
    """
    status = path.stat()
    modified_at = datetime.fromtimestamp(status.st_mtime, UTC)
    with path.open("rb") as file:
        magic = file.read(len(SQLITE_MAGIC))
    if magic == SQLITE_MAGIC:
        yield from _database_part(path, modified_at)
    elif magic.startswith(ZIP_MAGIC):
        yield from _archive_parts(path, on_bytes)
    else:
        with path.open("rb") as file:
            stream = _CountingReader(file, status.st_size, on_bytes)
            yield _json_part("", modified_at, stream)


def open_database(path: Path) -> sqlite3.Connection:
    """Open a database of another program for reading only. Raises sqlite3.Error."""
    # as_uri() escapes `?` and `#`, which would end the path; mode=ro never makes a file.
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    # Invalid UTF-8 becomes surrogates: only its row is rejected, not the file.
    connection.text_factory = partial(bytes.decode, errors="surrogateescape")
    return connection


def read_database(
    database: sqlite3.Connection,
    read: Callable[[sqlite3.Connection, ImportTarget], Iterator[ImportedRecord]],
    target: ImportTarget,
) -> Iterator[ImportedRecord]:
    """Read the records of a database. Raises InvalidArguments: it cannot be read."""
    try:
        yield from read(database, target)
    except sqlite3.Error as error:
        raise InvalidArguments(f"the database cannot be read: {error}") from error


class JsonItemReader:
    """Iterator of the elements of a JSON array, or of JSON values one after another (JSON Lines).

    An invalid line of JSON Lines becomes an item with a fault. In an array, a fault is the last
    item: what follows it cannot be told apart.
    """

    def __init__(self, stream: _CountingReader) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._is_at_end = False
        self._is_in_array = False

    def __iter__(self) -> Iterator[JsonItem]:
        number = 0
        while char := self._next_char():
            if char in "[]" and (char == "]") is self._is_in_array:
                self._is_in_array = not self._is_in_array
                self._at += 1
                continue
            number += 1
            name = f"record {number}"
            try:
                yield JsonItem(name, self._decode())
            except InvalidArguments as error:
                yield JsonItem(name, None, str(error))
                if self._is_in_array or not self._skip_line():
                    return

    def _next_char(self) -> str:
        """First character of the next token; empty at the end."""
        while True:
            separators = _SPACE_AND_COMMAS if self._is_in_array else _SPACE
            found = separators.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read(CHUNK_BYTES):
                return ""

    def _decode(self) -> object:
        """Decode the value at the current position. Raises InvalidArguments."""
        while True:
            try:
                value, self._at = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                held = len(self._text) - self._at
                if held > MAX_ITEM_CHARS:
                    raise InvalidArguments(f"it has over {MAX_ITEM_CHARS} characters") from None
                if not _may_be_truncated(error):
                    raise InvalidArguments(f"it is not JSON ({error.msg})") from None
                # As much again: reading and decoding stay linear in the size of the item.
                if not self._read(max(CHUNK_BYTES, held)):
                    raise InvalidArguments("the file ends within it") from None
            except RecursionError:
                raise InvalidArguments("it is nested too deep") from None
            else:
                # A number could go on in the next chunk; all that is read here are objects.
                return value

    def _skip_line(self) -> bool:
        while (end := self._text.find("\n", self._at)) < 0:
            self._at = len(self._text)
            if not self._read(CHUNK_BYTES):
                return False
        self._at = end
        return True

    def _read(self, size: int) -> bool:
        """Append to the text, after removing what was consumed; False at the end of the file."""
        if self._is_at_end:
            return False
        chunk = self._stream.read(size)
        self._is_at_end = not chunk
        try:
            text = self._decoder.decode(chunk, final=self._is_at_end)
        except UnicodeDecodeError as error:
            raise InvalidArguments(f"it is not UTF-8 text: {error.reason}") from None
        self._text = self._text[self._at :] + text
        self._at = 0
        return not self._is_at_end or bool(text)


class _CountingReader:
    """Binary stream that reports the number of bytes read."""

    def __init__(self, stream: IO[bytes], total: int, on_bytes: OnBytes, done: int = 0) -> None:
        self._stream = stream
        self._total = total
        self._on_bytes = on_bytes
        self._done = done

    def read(self, size: int) -> bytes:
        try:
            chunk = self._stream.read(size)
        except ARCHIVE_ERRORS as error:
            raise _archive_error(error) from error
        self._done += len(chunk)
        self._on_bytes(self._done, self._total)
        return chunk


def _json_part(name: str, modified_at: datetime, stream: _CountingReader) -> FilePart:
    items = iter(JsonItemReader(stream))
    first = next(items, None)
    return FilePart(
        name=name,
        modified_at=modified_at,
        first=first.value if first else None,
        items=chain([first], items) if first else (),
    )


def _database_part(path: Path, modified_at: datetime) -> Iterator[FilePart]:
    try:
        with closing(open_database(path)) as database:
            rows = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            tables = frozenset(str(name) for (name,) in rows)
            yield FilePart(name="", modified_at=modified_at, database=database, tables=tables)
    except sqlite3.Error as error:
        raise InvalidArguments(f"the database cannot be read: {error}") from error


def _archive_parts(path: Path, on_bytes: OnBytes) -> Iterator[FilePart]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = _json_members(archive)
            total, done = sum(member.file_size for member in members), 0
            for member in members:
                with archive.open(member) as file:
                    stream = _CountingReader(file, total, on_bytes, done)
                    yield _json_part(member.filename, _modified_at(member), stream)
                done += member.file_size
    except ARCHIVE_ERRORS as error:
        raise _archive_error(error) from error


def _archive_error(error: Exception) -> InvalidArguments:
    return InvalidArguments(f"the ZIP archive cannot be read: {error}")


def _modified_at(member: zipfile.ZipInfo) -> datetime:
    try:
        return datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
        # Some programs leave the date empty: month 0.
        return datetime.now(UTC)


def _json_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """JSON files of an archive. Raises InvalidArguments: a ZIP bomb."""
    if len(archive.infolist()) > MAX_MEMBERS:
        raise InvalidArguments(f"the ZIP archive has over {MAX_MEMBERS} files")
    found = [
        member
        for member in archive.infolist()
        if PurePosixPath(member.filename).suffix.lower() in JSON_SUFFIXES
    ]
    if sum(member.file_size for member in found) > MAX_UNPACKED_BYTES:
        raise InvalidArguments(f"its JSON files have over {MAX_UNPACKED_BYTES} bytes")
    for member in found:
        if member.file_size > CHUNK_BYTES + MAX_COMPRESSION * member.compress_size:
            raise InvalidArguments(
                f"{member.filename[:80]!r} is {MAX_COMPRESSION} times as large as it is packed:"
                " this looks like a ZIP bomb; unpack it by hand if you trust it"
            )
    return found


def _may_be_truncated(error: json.JSONDecodeError) -> bool:
    """Whether more text could help: the error is at the end, or in a string without an end."""
    at_end = error.pos >= len(error.doc) - _LONGEST_LITERAL
    return at_end or error.msg.startswith("Unterminated string")
