"""SQLiteSubjectStore: memories of all owners about one person, to read and remove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spade_llm.memory import validation
from spade_llm.memory.contract import MemoryChange, MemoryEntry, MemoryPage
from spade_llm.memory.database import consent, entry_changes, removal
from spade_llm.memory.database.entries import record_action
from spade_llm.memory.database.queries import VISIBLE, entry_not_found
from spade_llm.memory.database.rows import ENTRY_COLUMNS, entry_from_row, to_microseconds
from spade_llm.memory.validation import room_subject_range

if TYPE_CHECKING:
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import SqlValue, Transaction

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

    def __init__(self, database: DatabaseMemoryBackend, subject: str) -> None:
        self._database = database
        self._subject = subject
        first, end = room_subject_range(subject)
        self._about: Mapping[str, SqlValue] = {"subject": subject, "first": first, "end": end}

    async def list(self, *, limit: int = 20, offset: int = 0) -> MemoryPage:
        validation.check_number("limit", limit, 1, validation.MAX_ROWS)
        validation.check_number("offset", offset, 0, validation.MAX_OFFSET)
        now = self._now()
        which = {**self._about, "now": now, "limit": limit, "offset": offset}
        return await self._database.read(
            lambda tx: MemoryPage(
                entries=tuple(entry_from_row(row, now=now) for row in tx.all(SELECT_PAGE, which)),
                total=tx.all(SELECT_COUNT, which)[0][0],
            )
        )

    async def correct(self, id: str, content: str) -> MemoryEntry:
        validation.check_content(content)
        parsed, now, ttl_s = validation.parse_id(id), self._now(), self._database.short_term_ttl_s
        change = MemoryChange(id=id, content=content)

        def correct(tx: Transaction) -> MemoryEntry:
            found = tx.first(SELECT_OWNER, {**self._about, "id": parsed})
            if found is None:
                raise entry_not_found(parsed)
            owner = found[0]
            changed = entry_changes.update_entry(tx, owner, change, now=now, ttl_s=ttl_s)
            record_action(tx, owner, "corrected_by_subject", [parsed], now=now)
            return changed

        return await self._database.write(correct)

    async def forget(self, ids: Sequence[str]) -> int:
        parsed, now = dict.fromkeys(validation.parse_ids(ids)), self._now()
        return await self._database.write(
            lambda tx: sum(
                removal.forget_entries(tx, owner, [id], subject=known_as, scopes=None, now=now)
                for id in parsed
                for owner, known_as in tx.all(SELECT_OWNER, {**self._about, "id": id})
            )
        )

    async def forget_all(self) -> int:
        now = self._now()
        removed = await self._database.write(
            lambda tx: [
                removal.forget_subject(tx, owner, self._subject, now=now)
                for (owner,) in tx.all(SELECT_OWNERS, self._about)
            ]
        )
        return sum(sum(one.by_type.values()) for one in removed)

    async def consented_owners(self) -> Sequence[str]:
        return await self._database.read(self._consenting_owners)

    async def withdraw_all(self) -> Sequence[str]:
        now = self._now()

        def withdraw(tx: Transaction) -> Sequence[str]:
            owners = self._consenting_owners(tx)
            for owner in owners:
                consent.withdraw_consent(tx, owner, self._subject, now=now)
            return owners

        return await self._database.write(withdraw)

    def _now(self) -> int:
        return to_microseconds(self._database.now())

    def _consenting_owners(self, tx: Transaction) -> Sequence[str]:
        return [owner for (owner,) in tx.all(SELECT_CONSENTING, {"subject": self._subject})]
