"""Reading entries: by id, by key, in pages. Knows no ranking. Each statement names the owner."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.errors import NotFound
from spade_llm.memory.sqlite.conditions import VISIBLE, all_of, true_when, wanted, within
from spade_llm.memory.sqlite.rows import (
    ENTRY_COLUMNS,
    FOUND_MESSAGE_COLUMNS,
    entry_from_row,
    entry_key,
    message_as_entry,
    message_from_row,
    message_key,
)
from spade_llm.memory.store import MemoryPage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.index.scope import Scope
    from spade_llm.memory.sqlite.conditions import Condition
    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value
    from spade_llm.memory.store import MemoryEntry, MemoryFilter

OWNED = "entry.owner = (SELECT number FROM owner WHERE jid = :owner)"

OWNER_OF = f"""
    SELECT jid FROM entry JOIN owner ON owner.number = entry.owner WHERE id = :id AND {VISIBLE}
"""

# The page is cut on the index before whole rows are read.
LIST = f"""
    SELECT {ENTRY_COLUMNS} FROM (
        SELECT seq AS hit FROM entry WHERE {OWNED} AND {VISIBLE} AND {{condition}}
        ORDER BY created_at DESC, seq DESC LIMIT :limit OFFSET :offset
    ) JOIN entry ON entry.seq = hit JOIN owner ON owner.number = entry.owner
    ORDER BY created_at DESC, entry.seq DESC
"""

COUNT = f"SELECT count(*) FROM entry WHERE {OWNED} AND {VISIBLE} AND {{condition}}"

BY_ID = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED} AND id = :id AND {VISIBLE}
"""

BY_SEQ = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED} AND seq = :seq
"""

# The plus: by number, not by what leads to all rows of the owner.
BY_KEYS = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE +{OWNED} AND {VISIBLE}
        AND seq IN (SELECT value >> 1 FROM json_each(:keys) WHERE value & 1 = 0)
"""

MESSAGES_BY_KEYS = f"""
    SELECT {FOUND_MESSAGE_COLUMNS}, message.seq, name, message.subject
    FROM message JOIN conversation ON conversation.number = message.conversation
    WHERE +message.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND message.seq > cleared_at_seq
        AND message.seq IN (SELECT value >> 1 FROM json_each(:keys) WHERE value & 1 = 1)
"""


def page(
    transaction: Transaction,
    owner: str,
    which: MemoryFilter,
    *,
    scopes: Sequence[Scope] | None,
    now: int,
    limit: int,
    offset: int,
) -> MemoryPage:
    """Newest first, with the number of all."""
    condition = all_of([wanted(which), true_when(which), within(scopes)])
    common: Mapping[str, Value] = {**condition.parameters, "owner": owner, "now": now}
    found = transaction.all(
        LIST.format(condition=condition.sql), {**common, "limit": limit, "offset": offset}
    )
    return MemoryPage(
        entries=tuple(entry_from_row(row, now=now) for row in found),
        total=_count(transaction, condition, common),
    )


def own_row(transaction: Transaction, owner: str, id: bytes, *, now: int) -> Row | None:
    """The ENTRY_COLUMNS of an own entry that is visible."""
    return transaction.first(BY_ID, {"owner": owner, "id": id, "now": now})


def own(
    transaction: Transaction, owner: str, ids: Sequence[bytes], *, now: int
) -> Sequence[MemoryEntry]:
    """Own entries that are there, each once, in this order."""
    rows = [own_row(transaction, owner, id, now=now) for id in dict.fromkeys(ids)]
    return [entry_from_row(row, now=now) for row in rows if row is not None]


def owner_of(transaction: Transaction, id: bytes, *, now: int) -> str | None:
    """For whoever has the whole file: no owner asks."""
    found = transaction.first(OWNER_OF, {"id": id, "now": now})
    return None if found is None else str(found[0])


def by_keys(
    transaction: Transaction, owner: str, keys: Sequence[int], *, now: int
) -> dict[int, MemoryEntry]:
    """Those that are still there and visible, messages too."""
    which: Mapping[str, Value] = {"owner": owner, "keys": json.dumps(keys), "now": now}
    found = {
        entry_key(row[0]): entry_from_row(row, now=now) for row in transaction.all(BY_KEYS, which)
    }
    if any(key & 1 for key in keys):
        for *message, seq, conversation, subject in transaction.all(MESSAGES_BY_KEYS, which):
            found[message_key(seq)] = message_as_entry(
                message_from_row(tuple(message)),
                owner=owner,
                conversation=conversation,
                subject=subject,
            )
    return found


def not_found(id: bytes) -> NotFound:
    """The same words for what is not there and for what is another's."""
    return NotFound(f"there is no memory {UUID(bytes=id)}")


def _count(transaction: Transaction, condition: Condition, common: Mapping[str, Value]) -> int:
    return int(transaction.all(COUNT.format(condition=condition.sql), common)[0][0])
