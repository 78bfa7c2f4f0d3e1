"""Memory passports of a memory: issue, import and remove them; the key that replicas share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.database import DatabaseServer, StoreTables
from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.database.queries import VISIBLE
from spade_llm.memory.database.rows import to_microseconds
from spade_llm.memory.database.subject_store import ABOUT_SUBJECT, SELECT_OWNERS
from spade_llm.memory.transfer import json_lines
from spade_llm.memory.transfer.memory_file import ImportSummary
from spade_llm.memory.transfer.passport import (
    KEY_FILE,
    MAX_ENTRIES,
    MAX_MESSAGES,
    MAX_PASSPORT_BYTES,
    TRAVELLING_FIELDS,
    PassportHeader,
    PassportKey,
    read_key_file,
    sign_passport,
    write_key_file,
)
from spade_llm.memory.transfer.passport_import import (
    MAX_IMPORTED,
    PassportImport,
    count_imported,
    imported_issuers,
    remove_imported,
)
from spade_llm.memory.validation import normalize_subject, room_subject_range

if TYPE_CHECKING:
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction
    from spade_llm.memory.transfer.passport import Passport


BATCH = 200
"""Records imported in one transaction, so that other writes run in between."""
VECTORS_WAIT_S = 10.0
"""Maximum time in seconds that an import waits for the vectors of what it has added."""
SIGNATURE_BYTES = 8192
"""Room for header and signature: the header has two JIDs of at most 3071 bytes."""
_ENTRY_NAMES = sorted(TRAVELLING_FIELDS - {"owner"})
SELECT_ENTRIES = f"""
    SELECT jid, {", ".join(_ENTRY_NAMES)} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {ABOUT_SUBJECT} AND {VISIBLE}
    ORDER BY created_at DESC, seq DESC LIMIT :limit
"""
COUNT_ENTRIES = f"SELECT count(*) FROM entry WHERE {ABOUT_SUBJECT} AND {VISIBLE}"

_MESSAGE_NAMES = ("owner", "conversation", "id", "subject", "role", "speaker", "content", "at")
MESSAGES_ABOUT = f"""
    FROM message JOIN owner ON owner.number = message.owner
        JOIN conversation ON conversation.number = message.conversation
    WHERE {ABOUT_SUBJECT} AND seq > cleared_at_seq
"""
SELECT_MESSAGES = f"""
    SELECT jid, conversation.name, message.id, subject, role, speaker, content, at
    {MESSAGES_ABOUT} ORDER BY seq DESC LIMIT :limit
"""
COUNT_MESSAGES = f"SELECT count(*) {MESSAGES_ABOUT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PassportContent:
    """Encoded records about one person, oldest first."""

    lines: tuple[str, ...]
    entries: int
    messages: int
    left_out: int


@dataclass(slots=True, kw_only=True)
class _LineBudget:
    """Bytes that are left for lines, in all and for one."""

    total: int
    line: int

    def takes(self, line: str) -> bool:
        size = len(line.encode()) + 1
        if size > min(self.line, self.total):
            return False
        self.total -= size
        return True


class PassportStore:
    """Passports of one memory file, for chat commands and the command line."""

    def __init__(self, backend: DatabaseMemoryBackend, key: PassportKey, *, issuer: str) -> None:
        """`issuer`: bare JID of the memory agent."""
        self._backend = backend
        self._key = key
        self.issuer = issuer

    @property
    def public_key(self) -> str:
        return self._key.public

    async def issue(
        self,
        subject: str,
        *,
        max_bytes: int = MAX_PASSPORT_BYTES,
        max_line_bytes: int = MAX_PASSPORT_BYTES,
    ) -> tuple[PassportHeader, bytes]:
        """Sign a person's passport, newest memories first if not all fit. Raises StorageFailed."""
        now = self._backend.now()
        content = await self._backend.read(
            lambda tx: collect_records(
                tx, subject, now=now, max_bytes=max_bytes, max_line_bytes=max_line_bytes
            )
        )
        return issue_passport(content, subject, issuer=self.issuer, key=self._key, now=now)

    async def owners(self, subject: str) -> Sequence[str]:
        """Agents that have memories or messages of this person, in alphabetical order."""
        about = _about(subject)
        rows = await self._backend.read(lambda tx: tx.all(SELECT_OWNERS, about))
        return sorted(jid for (jid,) in rows)

    async def load(self, passport: Passport, *, subject: str, owner: str) -> ImportSummary:
        """Import a verified passport as memories of `owner` about `subject`. What is there already
        stays; importing the same passport again adds nothing.

        Raises:
            InvalidArguments: this person has imported too much.
            StorageFailed, Busy: it stopped half-way; repeat it to import the rest.
        """
        subject = str(normalize_subject(subject))
        already = await self._backend.read(lambda tx: count_imported(tx, subject))
        if already + len(passport.records) > MAX_IMPORTED:
            raise InvalidArguments(
                f"a person can import {MAX_IMPORTED} memories and messages, and {already} are"
                " there: remove earlier ones first"
            )
        batch = PassportImport(passport.header.issuer, subject, owner, self._backend.now())
        added = 0
        for start in range(0, len(passport.records), BATCH):
            records = passport.records[start : start + BATCH]
            added += await self._backend.write(partial(batch.insert, records=records))
        # The next question is then answered with all of it, not by keywords only.
        with suppress(TimeoutError):
            async with asyncio.timeout(VECTORS_WAIT_S):
                await self._backend.wait_idle()
        return ImportSummary(added=added, present=len(passport.records) - added)

    async def issuers(self, subject: str) -> Sequence[str]:
        """Issuers of the passports that a person has imported here."""
        return await self._backend.read(lambda tx: imported_issuers(tx, subject))

    async def remove(self, subject: str, issuer: str) -> int:
        """Erase what a person imported from this issuer; return the number of entries and
        messages. Raises StorageFailed, Busy."""
        now = to_microseconds(self._backend.now())
        return await self._backend.write(
            lambda tx: remove_imported(tx, subject, issuer=issuer, now=now)
        )


def collect_records(
    transaction: Transaction,
    subject: str,
    *,
    now: datetime,
    max_bytes: int = MAX_PASSPORT_BYTES,
    max_line_bytes: int = MAX_PASSPORT_BYTES,
) -> PassportContent:
    """Visible entries, then messages, about a person, of all owners; the newest that fit."""
    about = {**_about(subject), "now": to_microseconds(now)}
    budget = _LineBudget(total=max_bytes - SIGNATURE_BYTES, line=max_line_bytes)
    entries = [
        line
        for row in transaction.all(SELECT_ENTRIES, {**about, "limit": MAX_ENTRIES})
        if budget.takes(line := _encode("entry", ("owner", *_ENTRY_NAMES), row))
    ]
    messages = [
        line
        for row in transaction.all(SELECT_MESSAGES, {**about, "limit": MAX_MESSAGES})
        if budget.takes(line := _encode("message", _MESSAGE_NAMES, row))
    ]
    total = sum(transaction.all(sql, about)[0][0] for sql in (COUNT_ENTRIES, COUNT_MESSAGES))
    return PassportContent(
        # Oldest first: an entry comes after those that it was made from.
        lines=(*reversed(entries), *reversed(messages)),
        entries=len(entries),
        messages=len(messages),
        left_out=total - len(entries) - len(messages),
    )


def issue_passport(
    content: PassportContent, subject: str, *, issuer: str, key: PassportKey, now: datetime
) -> tuple[PassportHeader, bytes]:
    """Header and file of a passport with this content."""
    header = PassportHeader(
        issuer=str(normalize_subject(issuer)),
        subject=str(normalize_subject(subject)),
        made_at=now,
        key=key.public,
        entries=content.entries,
        messages=content.messages,
        left_out=content.left_out,
    )
    return header, sign_passport(header, content.lines, key)


def _about(subject: str) -> dict[str, SqlValue]:
    subject = str(normalize_subject(subject))
    first, end = room_subject_range(subject)
    return {"subject": subject, "first": first, "end": end}


def _encode(kind: str, names: Sequence[str], row: SqlRow) -> str:
    values: dict[str, SqlValue] = dict.fromkeys(json_lines.RECORD_FIELDS[kind])
    values |= dict(zip(names, row, strict=True))
    # Required by the export format.
    values |= {"access_count": 0} if kind == "entry" else {"is_left_out": 0}
    return json_lines.encode_record(kind, values)


PASSPORT_KEY_TABLES = StoreTables(
    name="passport_key",
    what="the key of memory passports",
    schema="""
CREATE TABLE IF NOT EXISTS passport_key (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    pem TEXT NOT NULL
);
""",
)
_ADD = "INSERT INTO passport_key(number, pem) VALUES (1, ?) ON CONFLICT DO NOTHING"
_READ = "SELECT pem FROM passport_key"


async def shared_passport_key(server: DatabaseServer, directory: Path) -> PassportKey:
    """The key in the database. The first replica puts it there: that of its directory, with which
    the agent signed as a single process, or a new one. A directory without a key gets a copy, for
    the command line.

    Raises:
        ConfigurationError: the file cannot be read or written, or is no such key; the database
            cannot be used.
        StorageFailed: the database does not answer.
    """
    path = directory / KEY_FILE  # Small, and read once at the start.
    own = read_key_file(path) if path.exists() else PassportKey.generate()
    database = PASSPORT_KEY_TABLES.at(server)
    await database.open()
    try:
        await database.execute(_ADD, own.pem)
        ((pem,),) = await database.execute(_READ)
    finally:
        await database.close()
    key = PassportKey.from_pem(str(pem), place="the table passport_key of the database")
    if not path.exists():
        write_key_file(path, key)
    return key
