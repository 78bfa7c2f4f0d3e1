"""SqliteMemoryStore: one owner's memories and conversations. Knows no file and no transaction.

Arguments out of bounds raise InvalidArguments before anything is done.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from spade_llm.memory import limits, rows, statements, words
from spade_llm.memory.store import MemoryPage, ScoredMemory

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    import aiosqlite

    from spade_llm.memory.group_commit import T
    from spade_llm.memory.rows import Row, Value
    from spade_llm.memory.store import Category, MemoryDraft, MemoryEntry, ObservedMessage

SPARE_HITS = 16
"""Hits read beyond the limit, in case that some say the same."""


class Database(Protocol):
    """What a store asks of the file: reads, and writes that are synced when they return."""

    @property
    def now(self) -> Callable[[], datetime]: ...

    async def read(self, sql: str, parameters: Mapping[str, Value]) -> list[Row]: ...

    async def write(self, operation: Callable[[aiosqlite.Connection], Awaitable[T]]) -> T: ...

    def write_later(
        self, operation: Callable[[aiosqlite.Connection], Awaitable[object]]
    ) -> None: ...


class SqliteMemoryStore:
    """A MemoryStore and a HistoryStore."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    async def add(self, draft: MemoryDraft, *, key: str | None = None) -> MemoryEntry:
        limits.check_draft(draft)
        limits.check_optional("key", key, limits.MAX_NAME_CHARS)
        row = rows.entry_row(
            draft, id=rows.new_id(self._owner, key), owner=self._owner, now=self._database.now()
        )
        operation = partial(_add, row=row, is_keyed=key is not None)
        return rows.entry_from_row(await self._database.write(operation))

    async def search(
        self, query: str, *, subject: str | None = None, limit: int = 10
    ) -> Sequence[ScoredMemory]:
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        limits.check_optional("subject", subject, limits.MAX_NAME_CHARS)
        for match in (words.any_word(query), words.any_beginning(query)):
            found = await self._matching(match, subject, limit)
            if found:
                self._note_recall(found)
                return found
        return []

    async def list(
        self,
        *,
        category: Category | None = None,
        subject: str | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> MemoryPage:
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        limits.check_number("offset", offset, 0, limits.MAX_OFFSET)
        limits.check_optional("subject", subject, limits.MAX_NAME_CHARS)
        which: dict[str, Value] = {
            "owner": self._owner,
            "subject": subject,
            "category": category and category.value,
        }
        found = await self._database.read(
            statements.LIST, {**which, "limit": limit, "offset": offset}
        )
        ((total,),) = await self._database.read(statements.COUNT, which)
        return MemoryPage(entries=tuple(map(rows.entry_from_row, found)), total=total)

    async def forget(self, ids: Sequence[str], *, subject: str | None = None) -> int:
        limits.check_optional("subject", subject, limits.MAX_NAME_CHARS)
        wanted: list[dict[str, Value]] = [
            {"owner": self._owner, "subject": subject, "id": id} for id in limits.parsed_ids(ids)
        ]
        return await self._database.write(partial(_forget, wanted=wanted))

    async def forget_subject(self, subject: str) -> int:
        limits.check_name("subject", subject)
        which: dict[str, Value] = {"owner": self._owner, "subject": subject}
        return await self._database.write(partial(_forget_subject, which=which))

    async def observe(
        self, conversation: str, messages: Sequence[ObservedMessage], *, subject: str | None = None
    ) -> int:
        limits.check_name("conversation", conversation)
        limits.check_optional("subject", subject, limits.MAX_NAME_CHARS)
        limits.check_messages(messages)
        where: dict[str, Value] = {
            "owner": self._owner,
            "conversation": conversation,
            "subject": subject,
        }
        new = [{**where, **rows.message_row(message)} for message in messages]
        return await self._database.write(partial(_changed, sql=statements.OBSERVE, parameters=new))

    async def history(self, conversation: str, *, limit: int = 50) -> Sequence[ObservedMessage]:
        limits.check_name("conversation", conversation)
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        newest_first = await self._database.read(
            statements.HISTORY,
            {"owner": self._owner, "conversation": conversation, "limit": limit},
        )
        return [rows.message_from_row(row) for row in reversed(newest_first)]

    async def close_conversation(self, conversation: str) -> None:
        limits.check_name("conversation", conversation)
        which: dict[str, Value] = {"owner": self._owner, "conversation": conversation}
        await self._database.write(
            partial(_changed, sql=statements.CLOSE_CONVERSATION, parameters=[which])
        )

    async def _matching(
        self, match: str, subject: str | None, limit: int
    ) -> Sequence[ScoredMemory]:
        """The best hits, every content once; the best one's score is 1."""
        which: dict[str, Value] = {"match": match, "owner": self._owner, "subject": subject}
        best: dict[bytes, Row] = {}
        size, offset, is_more = limit + SPARE_HITS, 0, bool(match)
        while is_more and len(best) < limit:
            page: dict[str, Value] = {**which, "limit": size, "offset": offset}
            hits = await self._database.read(statements.SEARCH, page)
            for hit in hits:
                best.setdefault(hit[1], hit)
            size, offset, is_more = size * 2, offset + size, len(hits) == size
        return _scored(tuple(best.values())[:limit])

    def _note_recall(self, found: Sequence[ScoredMemory]) -> None:
        now = rows.to_microseconds(self._database.now())
        recalled: list[dict[str, Value]] = [
            {"owner": self._owner, "id": UUID(hit.entry.id).bytes, "now": now} for hit in found
        ]
        self._database.write_later(partial(_changed, sql=statements.RECALLED, parameters=recalled))


def _scored(hits: Sequence[Row]) -> list[ScoredMemory]:
    return [
        ScoredMemory(entry=rows.entry_from_row(hit[2:]), score=hit[0] / hits[0][0]) for hit in hits
    ]


async def _add(
    connection: aiosqlite.Connection, *, row: Mapping[str, Value], is_keyed: bool
) -> Row:
    """The ENTRY_COLUMNS of the entry that is new, that says the same, or that this id led to."""
    (added,) = await connection.execute_fetchall(statements.ADD, row)
    if is_keyed and added[0] != row["id"]:
        key = {"id": row["id"], "entry_id": added[0]}
        await connection.execute_fetchall(statements.REMEMBER_KEY, key)
    return tuple(added)


async def _forget(
    connection: aiosqlite.Connection, *, wanted: Sequence[Mapping[str, Value]]
) -> int:
    forgotten = await _changed(connection, sql=statements.FORGET, parameters=wanted)
    if forgotten:
        await connection.execute_fetchall(statements.MERGE_TEXT)
    return forgotten


async def _forget_subject(connection: aiosqlite.Connection, *, which: Mapping[str, Value]) -> int:
    await _changed(connection, sql=statements.FORGET_MESSAGES, parameters=[which])
    await _changed(connection, sql=statements.FORGET_MARKS, parameters=[which])
    forgotten = await _changed(connection, sql=statements.FORGET_SUBJECT, parameters=[which])
    if forgotten:
        await connection.execute_fetchall(statements.MERGE_TEXT)
    return forgotten


async def _changed(
    connection: aiosqlite.Connection, *, sql: str, parameters: Sequence[Mapping[str, Value]]
) -> int:
    """Run it once per parameters; how many rows changed in all."""
    async with connection.executemany(sql, parameters) as cursor:
        return max(cursor.rowcount, 0)
