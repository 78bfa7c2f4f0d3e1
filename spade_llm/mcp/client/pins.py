"""Tool definitions of an MCP server: text, digest, offered names, diff; pins of them (SQLite).

A definition is accepted, waits for a review, or is rejected. The agent writes the pins when it
first sees a tool, and an operator in a review, possibly at the same time.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import cast

from spade_llm.core.errors import NotFound, StorageFailed
from spade_llm.core.redaction import escape_hidden, sanitize_json, sanitize_text
from spade_llm.providers.model import MAX_NAME_CHARS, ToolSpec, safe_name

MAX_TOOL_NAME_CHARS = 200
MAX_DESCRIPTION_CHARS = 4000
MAX_DEFINITION_CHARS = 32_000
"""Maximum length of a definition (JSON) in characters. A larger one is not offered, because a model
would read it in every turn."""

_MAX_TEXT_CHARS = MAX_DESCRIPTION_CHARS - 60

_PINNED_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""Fields of a tool that are pinned; icons and `_meta` are not, because no model reads them."""

_DIGEST_CHARS = 8

MIN_WIDTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """Definition of a tool. Its text holds everything by which the server may influence a model;
    equal texts are equal definitions."""

    name: str
    text: str
    """JSON with sorted keys: name, title, description, schemas, annotations, as they came."""

    @property
    def digest(self) -> str:
        return definition_digest(self.text)

    @property
    def defect(self) -> str:
        """Reason why the tool cannot be offered even if it is accepted; empty if it can."""
        if not 0 < len(self.name) <= MAX_TOOL_NAME_CHARS:
            return f"its name has {len(self.name)} characters (limit {MAX_TOOL_NAME_CHARS})"
        if len(self.text) > MAX_DEFINITION_CHARS:
            return f"its definition has {len(self.text)} characters (limit {MAX_DEFINITION_CHARS})"
        if self._parts().get("inputSchema", {}).get("type") != "object":
            return "its input schema is not an object schema"
        return ""

    def spec(self, offered: str, *, server: str) -> ToolSpec:
        parts = self._parts()
        words = sanitize_text(
            str(parts.get("description") or parts.get("title") or ""), _MAX_TEXT_CHARS
        )
        return ToolSpec(
            name=offered,
            description=f"[MCP server {server} says:] {words}".rstrip(),
            parameters=cast("Mapping[str, object]", sanitize_json(parts["inputSchema"])),
        )

    def _parts(self) -> dict[str, dict[str, object]]:
        # Only `parse_definition` writes the text: an object whose schema is an object.
        return cast("dict[str, dict[str, object]]", json.loads(self.text))


def parse_definition(parts: Mapping[str, object]) -> ToolDefinition:
    """Build a definition from the fields of an MCP tool, under their names on the wire."""
    kept = {key: parts[key] for key in _PINNED_FIELDS if parts.get(key) is not None}
    # Sorted keys: a server that only reorders them has not changed its definition.
    return ToolDefinition(
        name=str(parts["name"]), text=json.dumps(kept, sort_keys=True, ensure_ascii=True)
    )


def definition_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def offered_name(server: str, tool: str) -> str:
    """Name under which a server's tool is offered. A name that is long or has other characters gets
    a digest of the whole, so that different tools keep different names."""
    plain = f"{server}_{safe_name(tool, max_chars=len(tool))}"
    if plain == f"{server}_{tool}" and len(plain) <= MAX_NAME_CHARS:
        return plain
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{plain[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}_{digest}"


def offered_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Names of the server's tools, keyed by offered name. If two collide (which takes intent), the
    one that needed no change is kept."""
    names: dict[str, str] = {}
    for tool in tools:
        name = offered_name(server, tool)
        if name not in names or name == f"{server}_{tool}":
            names[name] = tool
    return names


def side_by_side(old: str | None, new: str, *, width: int) -> list[str]:
    """Diff in two columns, old and new; `|` marks changed lines, `>` and `<` added and deleted
    ones."""
    column = (max(width, MIN_WIDTH) - 3) // 2
    left = [] if old is None else _lines(old, column)
    right = _lines(new, column)
    return [f"{one:{column}} {mark} {other}".rstrip() for one, mark, other in _pairs(left, right)]


def _pairs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    # difflib's autojunk would take frequent lines of long definitions for noise.
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[a:b], right[c:d]):
            if kind == "equal":
                yield one, " ", other
            else:
                mark = ">" if one is None else "<" if other is None else "|"
                yield one or "", mark, other or ""


def _lines(definition: str, column: int) -> list[str]:
    parts = json.loads(definition)
    words = escape_hidden(str(parts.pop("description", "")))
    found = ["description:", *_wrapped(words, column - 2)]
    rest = json.dumps(parts, indent=1, ensure_ascii=False, sort_keys=True)
    return [
        piece
        for line in (*found, *escape_hidden(rest).splitlines())
        for piece in _cut(line, column)
    ]


def _wrapped(text: str, column: int) -> list[str]:
    return [f"  {line}" for part in text.splitlines() for line in wrap(part, column) or [""]]


def _cut(line: str, column: int) -> list[str]:
    return [line[at : at + column] for at in range(0, len(line), column)] or [""]


PINS_FILE = "mcp.db"
MAX_TOOLS = 500
"""Maximum number of stored tools per server; further tools are never offered."""
BUSY_TIMEOUT_S = 5.0
_CHANGE_COUNTER = 24
"""Offset of the change counter in SQLite's file header; it counts transactions if there is no
write-ahead log."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS mcp_servers (name TEXT PRIMARY KEY, first_seen TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mcp_tools (
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  accepted TEXT,
  accepted_at TEXT,
  waiting TEXT,
  waiting_since TEXT,
  is_rejected INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (server, tool)
) WITHOUT ROWID;
"""
_KNOWS_SERVER = "SELECT 1 FROM mcp_servers WHERE name = ?"
_ADD_SERVER = "INSERT OR IGNORE INTO mcp_servers VALUES (?, ?)"
_OF_SERVER = "SELECT tool, accepted, waiting, is_rejected FROM mcp_tools WHERE server = ?"
_PIN = "INSERT INTO mcp_tools (server, tool, accepted, accepted_at) VALUES (?, ?, ?, ?)"
_ADD_WAITING = "INSERT INTO mcp_tools (server, tool, waiting, waiting_since) VALUES (?, ?, ?, ?)"
_SET_WAITING = (
    "UPDATE mcp_tools SET waiting = ?, waiting_since = ?, is_rejected = 0"
    " WHERE server = ? AND tool = ?"
)
_WAITING = (
    "SELECT server, tool, accepted, waiting, waiting_since, is_rejected FROM mcp_tools"
    " WHERE waiting IS NOT NULL ORDER BY server, tool"
)
_WAITING_ONE = "SELECT waiting FROM mcp_tools WHERE server = ? AND tool = ?"
_ACCEPT = (
    "UPDATE mcp_tools SET accepted = waiting, accepted_at = ?, waiting = NULL,"
    " waiting_since = NULL, is_rejected = 0 WHERE server = ? AND tool = ?"
)
_REJECT = "UPDATE mcp_tools SET is_rejected = 1 WHERE server = ? AND tool = ?"


class PinVerdict(StrEnum):
    ACCEPTED = "accepted"
    CHANGED = "changed since it was accepted"
    NEW = "added after the server's first listing"
    REJECTED = "rejected"
    TOO_MANY = f"the limit of {MAX_TOOLS} tools per server is reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDefinition:
    """Definition that waits for an operator's review."""

    server: str
    tool: str
    accepted: str | None
    """Definition accepted so far; None for a new tool."""
    offered: str
    since: str
    is_rejected: bool

    @property
    def digest(self) -> str:
        return definition_digest(self.offered)


class Pins:
    """Database of the definitions. Methods block for a millisecond: not on the event loop."""

    def __init__(self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)):
        self._path = path
        self._now = now

    def version(self) -> bytes:
        """Version of the file, which differs after every change by any process. Takes 20 µs."""
        try:
            with self._path.open("rb") as file:
                file.seek(_CHANGE_COUNTER)
                return file.read(4)
        except OSError:
            return b""

    def accepted(self, server: str) -> list[ToolDefinition]:
        """Raises StorageFailed."""
        with self._open() as database:
            rows = _rows(database, server)
        return [
            ToolDefinition(name=name, text=row.accepted)
            for name, row in rows.items()
            if row.accepted
        ]

    def review(
        self, server: str, definitions: Iterable[ToolDefinition], *, pins_new: bool = False
    ) -> Mapping[str, PinVerdict]:
        """Compare definitions with the pins, and return a verdict per tool.

        All tools of a server's first listing are pinned, because the operator has just configured
        it. Tools that are added or changed later wait for review.

        Raises:
            StorageFailed
        """
        with self._open() as database:
            is_known = database.execute(_KNOWS_SERVER, (server,)).fetchone() is not None
            rows = _rows(database, server)
            pinning = pins_new or not is_known
            verdicts = {
                one.name: self._judge(database, server, one, rows, pinning) for one in definitions
            }
            if not is_known:
                database.execute(_ADD_SERVER, (server, self._stamp()))
        return verdicts

    def waiting(self) -> list[PendingDefinition]:
        """Definitions that wait for a review."""
        with self._open() as database:
            return [
                PendingDefinition(
                    server=server,
                    tool=tool,
                    accepted=accepted,
                    offered=waiting,
                    since=since,
                    is_rejected=bool(is_rejected),
                )
                for server, tool, accepted, waiting, since, is_rejected in database.execute(
                    _WAITING
                )
            ]

    def accept(self, seen: PendingDefinition) -> None:
        """Accept exactly the definition that was shown. Raises NotFound: the server has offered
        another one in the meantime."""
        with self._open() as database:
            self._check(database, seen)
            database.execute(_ACCEPT, (self._stamp(), seen.server, seen.tool))

    def reject(self, seen: PendingDefinition) -> None:
        """Reject a definition: withheld, and not reviewed until it changes. Raises as `accept`."""
        with self._open() as database:
            self._check(database, seen)
            database.execute(_REJECT, (seen.server, seen.tool))

    def _judge(
        self,
        database: sqlite3.Connection,
        server: str,
        definition: ToolDefinition,
        rows: dict[str, _PinRow],
        pinning: bool,
    ) -> PinVerdict:
        name, text = definition.name, definition.text
        row = rows.get(name)
        if row is None:
            if len(rows) >= MAX_TOOLS:
                return PinVerdict.TOO_MANY
            rows[name] = _PinRow(text if pinning else None, None if pinning else text, False)
            statement = _PIN if pinning else _ADD_WAITING
            database.execute(statement, (server, name, text, self._stamp()))
            return PinVerdict.ACCEPTED if pinning else PinVerdict.NEW
        # It came back to what was accepted: nothing waits for review any more.
        if row.accepted == text:
            self._note_waiting(database, server, name, row, None)
            return PinVerdict.ACCEPTED
        self._note_waiting(database, server, name, row, text)
        # A rejection holds for one text only; another one is judged anew.
        if row.is_rejected and row.waiting == text:
            return PinVerdict.REJECTED
        return PinVerdict.CHANGED if row.accepted else PinVerdict.NEW

    def _note_waiting(
        self, database: sqlite3.Connection, server: str, name: str, row: _PinRow, text: str | None
    ) -> None:
        if row.waiting != text:
            database.execute(_SET_WAITING, (text, text and self._stamp(), server, name))

    def _check(self, database: sqlite3.Connection, seen: PendingDefinition) -> None:
        found = database.execute(_WAITING_ONE, (seen.server, seen.tool)).fetchone()
        if found is None or found[0] != seen.offered:
            raise NotFound(
                f"{seen.tool!r} of {seen.server!r} has changed since it was shown: review it again"
            )

    def _stamp(self) -> str:
        return self._now().isoformat(timespec="seconds")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the database and run the block in a transaction."""
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S)) as database:
                database.executescript(_SCHEMA)
                database.execute("PRAGMA synchronous = FULL")
                database.isolation_level = None
                # The write lock at once: agent and operator may both read, judge and write.
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise StorageFailed(f"cannot access the pinned MCP tools: {error}") from error


@dataclass(frozen=True, slots=True)
class _PinRow:
    accepted: str | None
    waiting: str | None
    is_rejected: bool


def _rows(database: sqlite3.Connection, server: str) -> dict[str, _PinRow]:
    return {
        tool: _PinRow(accepted, waiting, bool(is_rejected))
        for tool, accepted, waiting, is_rejected in database.execute(_OF_SERVER, (server,))
    }
