"""Whom an owner lets in, and what an asker may therefore see. Knows no entry's text."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from spade_llm.errors import InvalidArguments
from spade_llm.memory.index.scope import Scope
from spade_llm.memory.sqlite import audit
from spade_llm.memory.sqlite.adding import owner_number
from spade_llm.memory.sqlite.codes import ACCESSES
from spade_llm.memory.sqlite.rows import from_microseconds
from spade_llm.memory.store import Access, Grant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value

GRANT_COLUMNS = "access_grant.id, grantee, access, tag, session, created_at"

OWN = "owner = (SELECT number FROM owner WHERE jid = :owner)"

SAME = f"""
    SELECT {GRANT_COLUMNS} FROM access_grant
    WHERE {OWN} AND grantee = :grantee AND access = :access AND tag IS :tag AND session IS :session
"""

ADD = """
    INSERT INTO access_grant (id, owner, grantee, access, tag, session, created_at)
    VALUES (:id, :number, :grantee, :access, :tag, :session, :now)
"""

REVOKE = f"DELETE FROM access_grant WHERE {OWN} AND id = :id"

LIST = f"SELECT {GRANT_COLUMNS} FROM access_grant WHERE {OWN} ORDER BY seq"

COUNT = f"SELECT count(*) FROM access_grant WHERE {OWN}"

# Access numbers rise with what they allow.
GIVEN_TO = f"""
    SELECT {GRANT_COLUMNS} FROM access_grant
    WHERE {OWN} AND grantee IN (:asker, :domain) AND access >= :access ORDER BY seq
"""

GRANTED_ENTRY = """
    SELECT jid, entry.seq, max(access)
    FROM access_grant JOIN entry ON entry.owner = access_grant.owner
        JOIN owner ON owner.number = entry.owner
    WHERE grantee IN (:asker, :domain) AND entry.id = :id
        AND (tag IS NULL OR EXISTS (SELECT 1 FROM json_each(entry.tags) WHERE value = tag))
        AND (access_grant.session IS NULL OR access_grant.session = entry.session)
    GROUP BY jid, entry.seq
"""

MAX_GRANTS = 1000
"""Of one owner."""


def grant_row(
    to: str, *, access: Access, tag: str | None, session: str | None, now: int
) -> Mapping[str, Value]:
    """The parameters of ADD, without the owner."""
    return {
        "grantee": to.lower(),
        "access": ACCESSES.number(access),
        "tag": tag,
        "session": session,
        "now": now,
    }


def grant(transaction: Transaction, jid: str, row: Mapping[str, Value]) -> Grant:
    """The grant that is new, or there. Raises InvalidArguments: too many."""
    which: Mapping[str, Value] = {**row, "owner": jid, "number": owner_number(transaction, jid)}
    there = transaction.first(SAME, which)
    if there is None:
        if transaction.all(COUNT, which)[0][0] >= MAX_GRANTS:
            raise InvalidArguments(f"there are {MAX_GRANTS} grants: revoke one first")
        id = uuid4().bytes
        transaction.count(ADD, {**which, "id": id})
        audit.note(transaction, jid, "grant", [id], now=int(str(row["now"])))
        there = transaction.all(SAME, which)[0]
    return grant_from_row(there)


def revoke(transaction: Transaction, owner: str, id: bytes, *, now: int) -> bool:
    """False if there is no such grant."""
    is_gone = transaction.count(REVOKE, {"owner": owner, "id": id}) > 0
    if is_gone:
        audit.note(transaction, owner, "revoke", [id], now=now)
    return is_gone


def given(transaction: Transaction, owner: str) -> Sequence[Grant]:
    """By this owner, oldest first."""
    return [grant_from_row(row) for row in transaction.all(LIST, {"owner": owner})]


def granted_scopes(
    transaction: Transaction, owner: str, *, asker: str, access: Access
) -> Sequence[Scope]:
    """The parts of the owner's memory that the asker may read (or write)."""
    rows = transaction.all(
        GIVEN_TO, {**_asker(asker), "owner": owner, "access": ACCESSES.number(access)}
    )
    return [
        Scope(grant=str(UUID(bytes=id)), tag=tag, session=session)
        for id, _, _, tag, session, _ in rows
    ]


def granted_entry(
    transaction: Transaction, id: bytes, *, asker: str
) -> tuple[str, int, Access] | None:
    """Whose it is, its number, and what the asker may do with another owner's entry."""
    found = transaction.first(GRANTED_ENTRY, {**_asker(asker), "id": id})
    if found is None:
        return None
    owner, seq, access = found
    return owner, seq, ACCESSES.value(access)


def grant_from_row(row: Row) -> Grant:
    """The grant in GRANT_COLUMNS."""
    id, grantee, access, tag, session, created_at = row
    return Grant(
        id=str(UUID(bytes=id)),
        to=grantee,
        access=ACCESSES.value(access),
        tag=tag,
        session=session,
        created_at=from_microseconds(created_at),
    )


def _asker(jid: str) -> dict[str, Value]:
    return {"asker": jid.lower(), "domain": jid.lower().rpartition("@")[2]}
