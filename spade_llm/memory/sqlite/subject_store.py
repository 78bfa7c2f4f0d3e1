"""SQLiteSubjectStore: memories of all owners about one person, to read and remove."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spade_llm.memory import validation
from spade_llm.memory.contract import MemoryChange, MemoryPage
from spade_llm.memory.sqlite import consent, entry_changes, removal
from spade_llm.memory.sqlite.entries import record_action
from spade_llm.memory.sqlite.queries import VISIBLE, entry_not_found
from spade_llm.memory.sqlite.rows import ENTRY_COLUMNS, entry_from_row, to_microseconds
from spade_llm.memory.validation import room_subject_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.contract import MemoryEntry
    from spade_llm.memory.sqlite.backend import SQLiteMemoryBackend
    from spade_llm.memory.sqlite.connection import SqlValue, Transaction

ABOUT_SUBJECT = "(subject = :subject OR (subject >= :first AND subject < :end))"
"""Condition for entries about a person, including the person's subjects in rooms."""

SELECT_PAGE = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {ABOUT_SUBJECT} AND {VISIBLE}
    ORDER BY created_at DESC, seq DESC LIMIT :limit OFFSET :offset
"""

SELECT_COUNT = f"SELECT count(*) FROM entry WHERE {ABOUT_SUBJECT} AND {VISIBLE}"

SELECT_OWNER = f"""
    SELECT jid, subject FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {ABOUT_SUBJECT} AND id = :id
"""

SELECT_OWNERS = f"""
    SELECT jid FROM owner WHERE number IN (
        SELECT owner FROM entry WHERE {ABOUT_SUBJECT}
        UNION SELECT owner FROM message WHERE {ABOUT_SUBJECT}
        UNION SELECT owner FROM consent WHERE subject = :subject)
"""

SELECT_CONSENTING = """
    SELECT jid FROM consent JOIN owner ON owner.number = consent.owner
    WHERE subject = :subject ORDER BY jid
"""


class SQLiteSubjectStore:
    """A SubjectStore."""

    def __init__(self, database: SQLiteMemoryBackend, subject: str) -> None:
        self._database = database
        self._subject = subject

    async def list(self, *, limit: int = 20, offset: int = 0) -> MemoryPage:
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_number("offset", offset, 0, validation.MAX_OFFSET)
        operation = partial(
            _list_about, subject=self._subject, limit=limit, offset=offset, now=self._now()
        )
        return await self._database.read(operation)

    async def correct(self, id: str, content: str) -> MemoryEntry:
        validation.check_content(content)
        validation.parse_id(id)
        operation = partial(
            _correct_entry,
            subject=self._subject,
            change=MemoryChange(id=id, content=content),
            now=self._now(),
            ttl_s=self._database.short_term_ttl_s,
        )
        return await self._database.write(operation)

    async def forget(self, ids: Sequence[str]) -> int:
        operation = partial(
            _forget_entries, subject=self._subject, ids=validation.parse_ids(ids), now=self._now()
        )
        return await self._database.write(operation)

    async def forget_all(self) -> int:
        return await self._database.write(
            partial(_forget_all, subject=self._subject, now=self._now())
        )

    async def consented_owners(self) -> Sequence[str]:
        return await self._database.read(partial(_consenting_owners, subject=self._subject))

    async def withdraw_all(self) -> Sequence[str]:
        return await self._database.write(
            partial(_withdraw_all, subject=self._subject, now=self._now())
        )

    def _now(self) -> int:
        return to_microseconds(self._database.now())


def _subject_parameters(subject: str) -> dict[str, SqlValue]:
    first, end = room_subject_range(subject)
    return {"subject": subject, "first": first, "end": end}


def _list_about(
    transaction: Transaction, *, subject: str, limit: int, offset: int, now: int
) -> MemoryPage:
    which: dict[str, SqlValue] = {**_subject_parameters(subject), "now": now}
    rows = transaction.all(SELECT_PAGE, {**which, "limit": limit, "offset": offset})
    return MemoryPage(
        entries=tuple(entry_from_row(row, now=now) for row in rows),
        total=transaction.all(SELECT_COUNT, which)[0][0],
    )


def _correct_entry(
    transaction: Transaction, *, subject: str, change: MemoryChange, now: int, ttl_s: float
) -> MemoryEntry:
    id = validation.parse_id(change.id)
    owner = transaction.first(SELECT_OWNER, {**_subject_parameters(subject), "id": id})
    if owner is None:
        raise entry_not_found(id)
    changed = entry_changes.update_entry(transaction, owner[0], change, now=now, ttl_s=ttl_s)
    record_action(transaction, owner[0], "corrected_by_subject", [id], now=now)
    return changed


def _forget_entries(
    transaction: Transaction, *, subject: str, ids: Sequence[bytes], now: int
) -> int:
    count = 0
    for id in dict.fromkeys(ids):
        for owner, known_as in transaction.all(
            SELECT_OWNER, {**_subject_parameters(subject), "id": id}
        ):
            count += removal.forget_entries(
                transaction, owner, [id], subject=known_as, scopes=None, now=now
            )
    return count


def _consenting_owners(transaction: Transaction, *, subject: str) -> Sequence[str]:
    return [owner for (owner,) in transaction.all(SELECT_CONSENTING, {"subject": subject})]


def _withdraw_all(transaction: Transaction, *, subject: str, now: int) -> Sequence[str]:
    owners = _consenting_owners(transaction, subject=subject)
    for owner in owners:
        consent.withdraw_consent(transaction, owner, subject, now=now)
    return owners


def _forget_all(transaction: Transaction, *, subject: str, now: int) -> int:
    owners = [row[0] for row in transaction.all(SELECT_OWNERS, _subject_parameters(subject))]
    gone = [removal.forget_subject(transaction, owner, subject, now=now) for owner in owners]
    return sum(sum(one.by_type.values()) for one in gone)
