"""SqliteSubjectStore: what all owners together remember about one subject, who may see to it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spade_llm.memory import limits
from spade_llm.memory.sqlite import audit, changing, consent, removing
from spade_llm.memory.sqlite.conditions import VISIBLE
from spade_llm.memory.sqlite.finding import not_found
from spade_llm.memory.sqlite.rows import ENTRY_COLUMNS, entry_from_row, to_microseconds
from spade_llm.memory.store import MemoryChange, MemoryPage
from spade_llm.memory.subject import in_rooms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.sqlite.database import Database
    from spade_llm.memory.sqlite.transaction import Transaction, Value
    from spade_llm.memory.store import MemoryEntry

IS_THEIRS = "(subject = :subject OR (subject >= :first AND subject < :end))"
"""What was said in rooms has its own subjects, and is the same person's to see to."""

LIST = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {IS_THEIRS} AND {VISIBLE}
    ORDER BY created_at DESC, seq DESC LIMIT :limit OFFSET :offset
"""

COUNT = f"SELECT count(*) FROM entry WHERE {IS_THEIRS} AND {VISIBLE}"

OWNER_OF = f"""
    SELECT jid, subject FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {IS_THEIRS} AND id = :id
"""

OWNERS = f"""
    SELECT jid FROM owner WHERE number IN (
        SELECT owner FROM entry WHERE {IS_THEIRS}
        UNION SELECT owner FROM message WHERE {IS_THEIRS}
        UNION SELECT owner FROM consent WHERE subject = :subject)
"""

ALLOWED = """
    SELECT jid FROM consent JOIN owner ON owner.number = consent.owner
    WHERE subject = :subject ORDER BY jid
"""


class SqliteSubjectStore:
    """A SubjectStore."""

    def __init__(self, database: Database, subject: str) -> None:
        self._database = database
        self._subject = subject

    async def list(self, *, limit: int = 20, offset: int = 0) -> MemoryPage:
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        limits.check_number("offset", offset, 0, limits.MAX_OFFSET)
        operation = partial(
            _page, subject=self._subject, limit=limit, offset=offset, now=self._now()
        )
        return await self._database.read(operation)

    async def correct(self, id: str, content: str) -> MemoryEntry:
        limits.check_content(content)
        limits.parsed_id(id)
        operation = partial(
            _correct,
            subject=self._subject,
            change=MemoryChange(id=id, content=content),
            now=self._now(),
            ttl_s=self._database.short_term_ttl_s,
        )
        return await self._database.write(operation)

    async def forget(self, ids: Sequence[str]) -> int:
        operation = partial(
            _forget, subject=self._subject, ids=limits.parsed_ids(ids), now=self._now()
        )
        return await self._database.write(operation)

    async def forget_all(self) -> int:
        return await self._database.write(
            partial(_forget_all, subject=self._subject, now=self._now())
        )

    async def allowed(self) -> Sequence[str]:
        return await self._database.read(partial(_allowed, subject=self._subject))

    async def withdraw_all(self) -> Sequence[str]:
        return await self._database.write(
            partial(_withdraw_all, subject=self._subject, now=self._now())
        )

    def _now(self) -> int:
        return to_microseconds(self._database.now())


def _theirs(subject: str) -> dict[str, Value]:
    first, end = in_rooms(subject)
    return {"subject": subject, "first": first, "end": end}


def _page(
    transaction: Transaction, *, subject: str, limit: int, offset: int, now: int
) -> MemoryPage:
    which: dict[str, Value] = {**_theirs(subject), "now": now}
    rows = transaction.all(LIST, {**which, "limit": limit, "offset": offset})
    return MemoryPage(
        entries=tuple(entry_from_row(row, now=now) for row in rows),
        total=transaction.all(COUNT, which)[0][0],
    )


def _correct(
    transaction: Transaction, *, subject: str, change: MemoryChange, now: int, ttl_s: float
) -> MemoryEntry:
    id = limits.parsed_id(change.id)
    owner = transaction.first(OWNER_OF, {**_theirs(subject), "id": id})
    if owner is None:
        raise not_found(id)
    changed = changing.change(transaction, owner[0], change, now=now, ttl_s=ttl_s)
    audit.note(transaction, owner[0], "corrected_by_subject", [id], now=now)
    return changed


def _forget(transaction: Transaction, *, subject: str, ids: Sequence[bytes], now: int) -> int:
    count = 0
    for id in dict.fromkeys(ids):
        for owner, known_as in transaction.all(OWNER_OF, {**_theirs(subject), "id": id}):
            count += removing.forget_ids(
                transaction, owner, [id], subject=known_as, scopes=None, now=now
            )
    return count


def _allowed(transaction: Transaction, *, subject: str) -> Sequence[str]:
    return [owner for (owner,) in transaction.all(ALLOWED, {"subject": subject})]


def _withdraw_all(transaction: Transaction, *, subject: str, now: int) -> Sequence[str]:
    owners = _allowed(transaction, subject=subject)
    for owner in owners:
        consent.withdraw(transaction, owner, subject, now=now)
    return owners


def _forget_all(transaction: Transaction, *, subject: str, now: int) -> int:
    owners = [row[0] for row in transaction.all(OWNERS, _theirs(subject))]
    gone = [removing.forget_subject(transaction, owner, subject, now=now) for owner in owners]
    return sum(sum(one.by_type.values()) for one in gone)
