"""Relations of entries: links between them, and access grants to other agents."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from spade_llm.core.errors import InvalidArguments, Unauthorised
from spade_llm.memory.contract import MemoryAccess, MemoryEntry, MemoryGrant, MemoryLink, MemoryPage
from spade_llm.memory.database import queries, removal
from spade_llm.memory.database.entries import owner_number, record_action
from spade_llm.memory.database.queries import OWNED_ENTRY, VISIBLE, entry_not_found
from spade_llm.memory.database.rows import ACCESS_CODES, entry_from_row, from_microseconds
from spade_llm.search.memory_query import GrantScope, MemoryFilter

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction

logger = logging.getLogger(__name__)

GRANT_COLUMNS = "access_grant.id, grantee, access, tag, session, created_at"

OWNED_GRANT = "owner = (SELECT number FROM owner WHERE jid = :owner)"

SELECT_SAME_GRANT = f"""
    SELECT {GRANT_COLUMNS} FROM access_grant
    WHERE {OWNED_GRANT} AND grantee = :grantee AND access = :access AND tag IS :tag
        AND session IS :session
"""

INSERT_GRANT = """
    INSERT INTO access_grant (id, owner, grantee, access, tag, session, created_at)
    VALUES (:id, :number, :grantee, :access, :tag, :session, :now)
"""

DELETE_GRANT = f"DELETE FROM access_grant WHERE {OWNED_GRANT} AND id = :id"

SELECT_GRANTS = f"SELECT {GRANT_COLUMNS} FROM access_grant WHERE {OWNED_GRANT} ORDER BY seq"

COUNT_GRANTS = f"SELECT count(*) FROM access_grant WHERE {OWNED_GRANT}"

# Access numbers rise with what they allow.
SELECT_GRANTS_TO = f"""
    SELECT {GRANT_COLUMNS} FROM access_grant
    WHERE {OWNED_GRANT} AND grantee IN (:asker, :domain) AND access >= :access ORDER BY seq
"""

# Several grants may hold one entry: the one that allows most counts.
SELECT_GRANTED_ENTRY = """
    SELECT jid, entry.seq, max(access)
    FROM access_grant JOIN entry ON entry.owner = access_grant.owner
        JOIN owner ON owner.number = entry.owner
    WHERE grantee IN (:asker, :domain) AND entry.id = :id
        AND (tag IS NULL OR EXISTS (SELECT 1 FROM json_each(entry.tags) WHERE value = tag))
        AND (access_grant.session IS NULL OR access_grant.session = entry.session)
    GROUP BY jid, entry.seq
"""

MAX_GRANTS = 1000
"""Maximum number of grants of an owner."""


SELECT_LINKED_SEQ = f"SELECT seq FROM entry WHERE {OWNED_ENTRY} AND id = :id AND {VISIBLE}"

INSERT_LINK = """
    INSERT INTO link (source, target, relation, owner, created_at)
    SELECT :source, :target, :relation, number, :now FROM owner WHERE jid = :owner
    ON CONFLICT DO NOTHING
"""

COUNT_LINKS = "SELECT count(*) FROM link WHERE source = :seq OR target = :seq"

DELETE_LINKS = """
    DELETE FROM link
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner)
        AND ((source, target) = (:source, :target) OR (target, source) = (:source, :target))
        AND (CAST(:relation AS TEXT) IS NULL OR relation = :relation)
"""

# Ends that are deleted or expired are not shown.
SELECT_ENTRY_LINKS = """
    SELECT one.id, other.id, relation, link.created_at
    FROM link JOIN entry AS one ON one.seq = source JOIN entry AS other ON other.seq = target
    WHERE link.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND (source = :seq OR target = :seq)
        AND one.deleted_at IS NULL AND (one.expires_at IS NULL OR one.expires_at > :now)
        AND other.deleted_at IS NULL AND (other.expires_at IS NULL OR other.expires_at > :now)
        {condition}
    ORDER BY link.created_at, other.seq, one.seq
"""

ONE_LINK = "AND (source, target, relation) = (:source, :target, :relation)"

MAX_LINKS = 1000
"""Maximum number of links of an entry."""


def add_link(
    transaction: Transaction, owner: str, ends: tuple[bytes, bytes], relation: str, *, now: int
) -> MemoryLink:
    """Link two entries; an equal existing link is returned. Raises NotFound, InvalidArguments (too
    many)."""
    source, target = (_linked_seq(transaction, owner, id, now=now) for id in ends)
    for seq in (source, target):
        if transaction.all(COUNT_LINKS, {"seq": seq})[0][0] >= MAX_LINKS:
            raise InvalidArguments(f"a memory has at most {MAX_LINKS} links: unlink one first")
    which: Mapping[str, SqlValue] = {
        "owner": owner,
        "seq": source,
        "source": source,
        "target": target,
        "relation": relation,
        "now": now,
    }
    transaction.count(INSERT_LINK, which)
    return _select_links(transaction, ONE_LINK, which)[0]


def remove_links(
    transaction: Transaction,
    owner: str,
    ends: tuple[bytes, bytes],
    relation: str | None,
    *,
    now: int,
) -> int:
    """Remove links; return their number. Raises NotFound."""
    source, target = (_linked_seq(transaction, owner, id, now=now) for id in ends)
    return transaction.count(
        DELETE_LINKS, {"owner": owner, "source": source, "target": target, "relation": relation}
    )


def entry_links(
    transaction: Transaction, owner: str, id: bytes, *, now: int
) -> Sequence[MemoryLink]:
    """Return the links of an entry, oldest first. Raises NotFound."""
    seq = _linked_seq(transaction, owner, id, now=now)
    return _select_links(transaction, "", {"owner": owner, "seq": seq, "now": now})


def add_grant(
    transaction: Transaction,
    owner: str,
    to: str,
    *,
    access: MemoryAccess,
    tag: str | None,
    session: str | None,
    now: int,
) -> MemoryGrant:
    """Grant access; an equal existing grant is returned. Raises InvalidArguments (too many)."""
    which: Mapping[str, SqlValue] = {
        "owner": owner,
        "number": owner_number(transaction, owner),
        "grantee": to.lower(),
        "access": ACCESS_CODES.number(access),
        "tag": tag,
        "session": session,
        "now": now,
    }
    there = transaction.first(SELECT_SAME_GRANT, which)
    if there is None:
        if transaction.all(COUNT_GRANTS, which)[0][0] >= MAX_GRANTS:
            raise InvalidArguments(f"there are {MAX_GRANTS} grants: revoke one first")
        id = uuid4().bytes
        transaction.count(INSERT_GRANT, {**which, "id": id})
        record_action(transaction, owner, "grant", [id], now=now)
        there = transaction.all(SELECT_SAME_GRANT, which)[0]
    return grant_from_row(there)


def remove_grant(transaction: Transaction, owner: str, id: bytes, *, now: int) -> bool:
    """Revoke a grant; False if there is none."""
    is_gone = transaction.count(DELETE_GRANT, {"owner": owner, "id": id}) > 0
    if is_gone:
        record_action(transaction, owner, "revoke", [id], now=now)
    return is_gone


def list_grants(transaction: Transaction, owner: str) -> Sequence[MemoryGrant]:
    """List the grants of this owner, oldest first."""
    return [grant_from_row(row) for row in transaction.all(SELECT_GRANTS, {"owner": owner})]


def granted_scopes(
    transaction: Transaction, owner: str, *, caller: str, access: MemoryAccess
) -> Sequence[GrantScope]:
    """Scopes of the owner's memory that the caller may access."""
    rows = transaction.all(
        SELECT_GRANTS_TO,
        {**_grantee_names(caller), "owner": owner, "access": ACCESS_CODES.number(access)},
    )
    return [
        GrantScope(grant=str(UUID(bytes=id)), tag=tag, session=session)
        for id, _, _, tag, session, _ in rows
    ]


def granted_entry(
    transaction: Transaction, id: bytes, *, caller: str
) -> tuple[str, int, MemoryAccess] | None:
    """Owner and number of another owner's entry, and the caller's access; None: no grant."""
    found = transaction.first(SELECT_GRANTED_ENTRY, {**_grantee_names(caller), "id": id})
    if found is None:
        return None
    owner, seq, access = found
    return owner, seq, ACCESS_CODES.value(access)


def grant_from_row(row: SqlRow) -> MemoryGrant:
    """The grant in GRANT_COLUMNS."""
    id, grantee, access, tag, session, created_at = row
    return MemoryGrant(
        id=str(UUID(bytes=id)),
        to=grantee,
        access=ACCESS_CODES.value(access),
        tag=tag,
        session=session,
        created_at=from_microseconds(created_at),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessibleEntry:
    """Entry accessible to the caller, with its owner."""

    owner: str
    seq: int
    entry: MemoryEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessibleMemory:
    """Owner of a memory, and the scopes that the caller may read; None: all, it is its own."""

    owner: str
    scopes: Sequence[GrantScope] | None

    @property
    def is_denied(self) -> bool:
        return self.scopes is not None and not self.scopes


def accessible_memory(
    transaction: Transaction, caller: str, of: str | None, *, access: MemoryAccess
) -> AccessibleMemory:
    """Resolve a filter's `of` to the memory accessible to the caller; a denial is logged."""
    if of is None or of == caller:
        return AccessibleMemory(owner=caller, scopes=None)
    scopes = granted_scopes(transaction, of, caller=caller, access=access)
    if not scopes:
        logger.warning(
            "%s requested %s access to the memory of %s: not granted", caller, access, of
        )
    return AccessibleMemory(owner=of, scopes=scopes)


def list_accessible(
    transaction: Transaction, caller: str, which: MemoryFilter, *, now: int, limit: int, offset: int
) -> MemoryPage:
    """List entries, newest first. Raises Unauthorised."""
    found = _require_access(
        accessible_memory(transaction, caller, which.of, access=MemoryAccess.READ)
    )
    return queries.list_entries(
        transaction, found.owner, which, scopes=found.scopes, now=now, limit=limit, offset=offset
    )


def hide_accessible(
    transaction: Transaction,
    caller: str,
    which: MemoryFilter,
    ids: Sequence[bytes] | None,
    *,
    limit: int | None,
    now: int,
) -> Sequence[bytes]:
    """Delete entries softly and return their ids. Raises Unauthorised."""
    found = _require_access(
        accessible_memory(transaction, caller, which.of, access=MemoryAccess.WRITE)
    )
    hidden = removal.hide_entries(
        transaction, found.owner, which, ids, scopes=found.scopes, limit=limit, now=now
    )
    _log_missing(caller, len(set(ids or ())) - len(hidden))
    return hidden


def forget_accessible(
    transaction: Transaction, caller: str, ids: Sequence[bytes], *, subject: str | None, now: int
) -> int:
    """Erase own entries, hidden ones too, and entries with write access; return their number."""
    count = removal.forget_entries(transaction, caller, ids, subject=subject, scopes=None, now=now)
    for id in dict.fromkeys(ids):
        granted = granted_entry(transaction, id, caller=caller)
        if granted is not None and granted[2] is MemoryAccess.WRITE:
            owner = granted[0]
            scopes = granted_scopes(transaction, owner, caller=caller, access=MemoryAccess.WRITE)
            count += removal.forget_entries(
                transaction, owner, [id], subject=subject, scopes=scopes, now=now
            )
    _log_missing(caller, len(set(ids)) - count)
    return count


def accessible_entry(
    transaction: Transaction, caller: str, id: bytes, *, access: MemoryAccess, now: int
) -> AccessibleEntry:
    """Return a visible entry that the caller may read (or write).

    Raises:
        NotFound: it is missing or not accessible.
        Unauthorised: it may be read, not written.
    """
    own = queries.own_entry_row(transaction, caller, id, now=now)
    if own is not None:
        return _own_entry(caller, own, now=now)
    granted = granted_entry(transaction, id, caller=caller)
    row = granted and queries.own_entry_row(transaction, granted[0], id, now=now)
    if granted is None or row is None:
        logger.warning(
            "%s requested a memory that does not exist or is not accessible to it", caller
        )
        # The same error whether it is hidden, another's or not there: it must not tell which ids
        # exist.
        raise entry_not_found(id)
    # Who may read the entry knows that it is there, so the reason can be named.
    if access is MemoryAccess.WRITE and granted[2] is not MemoryAccess.WRITE:
        logger.warning("%s has no write access to a memory of %s", caller, granted[0])
        raise Unauthorised("the grant allows reading this memory, not writing it")
    return _own_entry(granted[0], row, now=now)


def _grantee_names(jid: str) -> dict[str, SqlValue]:
    return {"asker": jid.lower(), "domain": jid.lower().rpartition("@")[2]}


def _log_missing(caller: str, count: int) -> None:
    """Log the number of missing ids; the ids themselves may have been guessed."""
    if count > 0:
        logger.warning(
            "%s named %d memories that do not exist or are not accessible to it", caller, count
        )


def _require_access(found: AccessibleMemory) -> AccessibleMemory:
    """Check that access was granted. Raises Unauthorised, also for an unknown owner."""
    if found.is_denied:
        raise Unauthorised(f"{found.owner} has not granted this")
    return found


def _own_entry(owner: str, row: SqlRow, *, now: int) -> AccessibleEntry:
    return AccessibleEntry(owner=owner, seq=row[0], entry=entry_from_row(row, now=now))


def _linked_seq(transaction: Transaction, owner: str, id: bytes, *, now: int) -> int:
    found = transaction.first(SELECT_LINKED_SEQ, {"owner": owner, "id": id, "now": now})
    if found is None:
        raise entry_not_found(id)
    return int(found[0])


def _select_links(
    transaction: Transaction, condition: str, which: Mapping[str, SqlValue]
) -> list[MemoryLink]:
    return [
        MemoryLink(
            source=str(UUID(bytes=source)),
            target=str(UUID(bytes=target)),
            relation=relation,
            created_at=from_microseconds(created_at),
        )
        for source, target, relation, created_at in transaction.all(
            SELECT_ENTRY_LINKS.format(condition=condition), which
        )
    ]
