"""Links between an owner's entries in the file. Knows no entry's text."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.errors import InvalidArguments
from spade_llm.memory.sqlite.conditions import VISIBLE
from spade_llm.memory.sqlite.finding import OWNED, not_found
from spade_llm.memory.sqlite.rows import from_microseconds
from spade_llm.memory.store import Link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.transaction import Transaction, Value

SEQ = f"SELECT seq FROM entry WHERE {OWNED} AND id = :id AND {VISIBLE}"

ADD = """
    INSERT INTO link (source, target, relation, owner, created_at)
    SELECT :source, :target, :relation, number, :now FROM owner WHERE jid = :owner
    ON CONFLICT DO NOTHING
"""

COUNT = "SELECT count(*) FROM link WHERE source = :seq OR target = :seq"

REMOVE = """
    DELETE FROM link
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner)
        AND ((source, target) = (:source, :target) OR (target, source) = (:source, :target))
        AND (:relation IS NULL OR relation = :relation)
"""

# Ends that are deleted or expired are not shown.
OF_ENTRY = """
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
"""Of one entry."""


def link(
    transaction: Transaction, owner: str, ends: tuple[bytes, bytes], relation: str, *, now: int
) -> Link:
    """The link that is new, or there. Raises NotFound, InvalidArguments (too many)."""
    source, target = (_seq(transaction, owner, id, now=now) for id in ends)
    for seq in (source, target):
        if transaction.all(COUNT, {"seq": seq})[0][0] >= MAX_LINKS:
            raise InvalidArguments(f"a memory has at most {MAX_LINKS} links: unlink one first")
    which: Mapping[str, Value] = {
        "owner": owner,
        "seq": source,
        "source": source,
        "target": target,
        "relation": relation,
        "now": now,
    }
    transaction.count(ADD, which)
    return _links(transaction, ONE_LINK, which)[0]


def unlink(
    transaction: Transaction,
    owner: str,
    ends: tuple[bytes, bytes],
    relation: str | None,
    *,
    now: int,
) -> int:
    """How many there were. Raises NotFound."""
    source, target = (_seq(transaction, owner, id, now=now) for id in ends)
    return transaction.count(
        REMOVE, {"owner": owner, "source": source, "target": target, "relation": relation}
    )


def links(transaction: Transaction, owner: str, id: bytes, *, now: int) -> Sequence[Link]:
    """Oldest first. Raises NotFound."""
    seq = _seq(transaction, owner, id, now=now)
    return _links(transaction, "", {"owner": owner, "seq": seq, "now": now})


def _seq(transaction: Transaction, owner: str, id: bytes, *, now: int) -> int:
    found = transaction.first(SEQ, {"owner": owner, "id": id, "now": now})
    if found is None:
        raise not_found(id)
    return int(found[0])


def _links(transaction: Transaction, condition: str, which: Mapping[str, Value]) -> list[Link]:
    return [
        Link(
            source=str(UUID(bytes=source)),
            target=str(UUID(bytes=target)),
            relation=relation,
            created_at=from_microseconds(created_at),
        )
        for source, target, relation, created_at in transaction.all(
            OF_ENTRY.format(condition=condition), which
        )
    ]
