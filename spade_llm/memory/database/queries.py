"""Entry queries: filter conditions, pages, lookup by id or key, statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.core.errors import NotFound
from spade_llm.core.text import tokens_from_chars
from spade_llm.memory.contract import MemoryEntry, MemoryPage, MemoryStatistics
from spade_llm.memory.database.rows import (
    CATEGORY_CODES,
    CONTENT_TYPE_CODES,
    ENTRY_COLUMNS,
    FOUND_MESSAGE_COLUMNS,
    TIER_CODES,
    TYPE_CODES,
    entry_from_row,
    entry_key,
    message_as_entry,
    message_from_row,
    message_key,
    split_keys,
    to_microseconds,
)
from spade_llm.search.memory_query import GrantScope, MemoryFilter, MemoryType

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction

MAX_FORMER = 100
"""Maximum number of closed facts, the latest closed first, that are compared with messages."""

VISIBLE = "deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
"""Condition for entries that are neither deleted nor expired."""

# A clock that was set back does not hide what was true already when it was stored.
VALID_NOW = """
    (valid_at IS NULL OR valid_at <= max(:now, created_at))
    AND (invalid_at IS NULL OR invalid_at > :now)
"""

SAID_BEFORE = "coalesce(valid_at, created_at) < :at"
"""Condition for facts that something said at `at` may end: whichever way a contradiction is found,
and however late, only what was said later ends the validity of a fact."""

VALID_AT = (
    "coalesce(valid_at, created_at) <= :as_of AND (invalid_at IS NULL OR invalid_at > :as_of)"
)

HAS_TAG = "EXISTS (SELECT 1 FROM json_each(entry.tags) WHERE value = :{name})"

OWNED_ENTRY = "entry.owner = (SELECT number FROM owner WHERE jid = :owner)"

HAS_CONTENT = "SELECT EXISTS (SELECT 1 FROM entry) OR EXISTS (SELECT 1 FROM message)"

SELECT_ENTRY_OWNER = f"""
    SELECT jid FROM entry JOIN owner ON owner.number = entry.owner WHERE id = :id AND {VISIBLE}
"""

# The page is cut on the index before whole rows are read.
SELECT_PAGE = f"""
    SELECT {ENTRY_COLUMNS} FROM (
        SELECT seq AS hit FROM entry WHERE {OWNED_ENTRY} AND {VISIBLE} AND {{condition}}
        ORDER BY created_at DESC, seq DESC LIMIT :limit OFFSET :offset
    ) AS page JOIN entry ON entry.seq = hit JOIN owner ON owner.number = entry.owner
    ORDER BY created_at DESC, entry.seq DESC
"""

SELECT_COUNT = f"SELECT count(*) FROM entry WHERE {OWNED_ENTRY} AND {VISIBLE} AND {{condition}}"

SELECT_BY_ID = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED_ENTRY} AND id = :id AND {VISIBLE}
"""

SELECT_BY_SEQ = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED_ENTRY} AND seq = :seq
"""

# The plus: by number, not by what leads to all rows of the owner.
SELECT_BY_KEYS = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE +{OWNED_ENTRY} AND {VISIBLE}
        AND seq IN (SELECT value FROM json_each(:entries))
"""

SELECT_MESSAGES_BY_KEYS = f"""
    SELECT {FOUND_MESSAGE_COLUMNS}, message.seq, name, message.subject
    FROM message JOIN conversation ON conversation.number = message.conversation
    WHERE +message.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND message.seq > cleared_at_seq
        AND message.seq IN (SELECT value FROM json_each(:messages))
"""

SELECT_FORMER = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE {OWNED_ENTRY} AND subject = :subject AND invalid_at <= :now AND {VISIBLE}
        AND type <> {TYPE_CODES.number(MemoryType.EPISODIC)}
    ORDER BY invalid_at DESC LIMIT {MAX_FORMER}
"""

COUNT_ENTRIES = f"""
    SELECT type, tier, count(*) FROM entry WHERE {OWNED_ENTRY} AND {VISIBLE} {{in_session}}
    GROUP BY type, tier
"""

COUNT_MESSAGES = """
    SELECT count(*), coalesce(sum(length(content)), 0) FROM conversation
        JOIN message ON message.owner = conversation.owner AND conversation = number
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND seq > cleared_at_seq {in_session}
"""

# Few are wanted at any time: they are looked up one by one.
COUNT_WITHOUT_VECTOR = f"""
    SELECT count(*) FROM vector_wanted CROSS JOIN entry ON seq = row / 2
    WHERE row % 2 = 0 AND {OWNED_ENTRY} AND {VISIBLE} {{in_session}}
"""

COUNT_MESSAGES_WITHOUT_VECTOR = """
    SELECT count(*) FROM vector_wanted CROSS JOIN message ON message.seq = row / 2
        JOIN conversation ON number = message.conversation
    WHERE row % 2 = 1 AND message.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND message.seq > cleared_at_seq AND (CAST(:session AS TEXT) IS NULL OR name = :session)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlCondition:
    sql: str
    parameters: Mapping[str, SqlValue]


def column_condition(column: str, value: SqlValue) -> SqlCondition:
    return SqlCondition(sql=f"{column} = :{column}", parameters={column: value})


def filter_conditions(which: MemoryFilter) -> SqlCondition:
    """Condition for all fields of the filter, except the time of validity."""
    named = {
        "subject": which.subject,
        "session": which.session,
        "category": CATEGORY_CODES.number_or_none(which.category),
        "tier": TIER_CODES.number_or_none(which.tier),
        "content_type": CONTENT_TYPE_CODES.number_or_none(which.content_type),
    }
    conditions = [
        column_condition(column, value) for column, value in named.items() if value is not None
    ]
    conditions += [_tag_condition(number, tag) for number, tag in enumerate(which.tags)]
    conditions += [_type_conditions(which), *_date_conditions(which)]
    return join_conditions(conditions)


def validity_condition(which: MemoryFilter) -> SqlCondition:
    """Condition for entries that are valid at the requested time."""
    if which.with_invalid:
        return join_conditions([])
    if which.as_of is None:
        return SqlCondition(sql=VALID_NOW, parameters={})
    return SqlCondition(sql=VALID_AT, parameters={"as_of": to_microseconds(which.as_of)})


def scope_condition(scopes: Sequence[GrantScope] | None) -> SqlCondition:
    """Condition for entries in at least one of the scopes; None: all entries."""
    if scopes is None:
        return join_conditions([])
    parts = [_one_scope(number, scope) for number, scope in enumerate(scopes)]
    return SqlCondition(
        # No scope holds nothing: an empty list must not mean everything.
        sql="(" + (" OR ".join(part.sql for part in parts) or "false") + ")",
        parameters={name: value for part in parts for name, value in part.parameters.items()},
    )


def message_scope_condition(scopes: Sequence[GrantScope] | None) -> SqlCondition:
    """Condition for messages in at least one of the scopes; messages have no tags."""
    if scopes is None or any(scope.tag is None and scope.session is None for scope in scopes):
        return join_conditions([])
    names = {
        f"session_{number}": scope.session
        for number, scope in enumerate(scopes)
        if scope.tag is None
    }
    listed = ", ".join(f":{name}" for name in names)
    sql = f"""
        conversation IN (SELECT number FROM conversation
            WHERE conversation.owner = message.owner AND name IN ({listed}))
    """
    return SqlCondition(sql=sql, parameters=names)


def join_conditions(conditions: Sequence[SqlCondition]) -> SqlCondition:
    return SqlCondition(
        sql=" AND ".join(one.sql for one in conditions) or "true",
        parameters={name: value for one in conditions for name, value in one.parameters.items()},
    )


def list_entries(
    transaction: Transaction,
    owner: str,
    which: MemoryFilter,
    *,
    scopes: Sequence[GrantScope] | None,
    now: int,
    limit: int,
    offset: int,
) -> MemoryPage:
    """Page of entries, newest first, with the number of all."""
    condition = join_conditions(
        [filter_conditions(which), validity_condition(which), scope_condition(scopes)]
    )
    common: Mapping[str, SqlValue] = {**condition.parameters, "owner": owner, "now": now}
    found = transaction.all(
        SELECT_PAGE.format(condition=condition.sql), {**common, "limit": limit, "offset": offset}
    )
    return MemoryPage(
        entries=tuple(entry_from_row(row, now=now) for row in found),
        total=int(transaction.all(SELECT_COUNT.format(condition=condition.sql), common)[0][0]),
    )


def own_entry_row(transaction: Transaction, owner: str, id: bytes, *, now: int) -> SqlRow | None:
    """ENTRY_COLUMNS of a visible entry of this owner."""
    return transaction.first(SELECT_BY_ID, {"owner": owner, "id": id, "now": now})


def own_entries(
    transaction: Transaction, owner: str, ids: Sequence[bytes], *, now: int
) -> Sequence[MemoryEntry]:
    """Visible entries of this owner, each once, in the order of the ids."""
    rows = [own_entry_row(transaction, owner, id, now=now) for id in dict.fromkeys(ids)]
    return [entry_from_row(row, now=now) for row in rows if row is not None]


def entry_owner(transaction: Transaction, id: bytes, *, now: int) -> str | None:
    """Owner of an entry, without an access check: only for tools with access to the whole file."""
    found = transaction.first(SELECT_ENTRY_OWNER, {"id": id, "now": now})
    return None if found is None else str(found[0])


def entries_by_key(
    transaction: Transaction, owner: str, keys: Sequence[int], *, now: int
) -> dict[int, MemoryEntry]:
    """Visible entries and messages by key; deleted ones are missing."""
    entries, messages = split_keys(keys)
    which: Mapping[str, SqlValue] = {"owner": owner, "now": now}
    found = {
        entry_key(row[0]): entry_from_row(row, now=now)
        for row in transaction.all(SELECT_BY_KEYS, {**which, "entries": json.dumps(entries)})
    }
    if messages:
        which = {**which, "messages": json.dumps(messages)}
        for *message, seq, conversation, subject in transaction.all(SELECT_MESSAGES_BY_KEYS, which):
            found[message_key(seq)] = message_as_entry(
                message_from_row(tuple(message)),
                owner=owner,
                conversation=conversation,
                subject=subject,
            )
    return found


def former_facts(
    transaction: Transaction, owner: str, subject: str, *, now: int
) -> Sequence[MemoryEntry]:
    """Facts about a subject that no longer hold, the latest closed first."""
    rows = transaction.all(SELECT_FORMER, {"owner": owner, "subject": subject, "now": now})
    return [entry_from_row(row, now=now) for row in rows]


def entry_not_found(id: bytes) -> NotFound:
    """Error for an id; the same whether the entry is missing or another owner's."""
    return NotFound(f"there is no memory {UUID(bytes=id)}")


def memory_statistics(
    transaction: Transaction, owner: str, session: str | None, *, now: int
) -> MemoryStatistics:
    which: Mapping[str, SqlValue] = {"owner": owner, "session": session, "now": now}
    of_session = "" if session is None else "AND session = :session"
    named = "" if session is None else "AND name = :session"
    entries = transaction.all(COUNT_ENTRIES.format(in_session=of_session), which)
    messages, chars = transaction.all(COUNT_MESSAGES.format(in_session=named), which)[0]
    without_vector = transaction.all(COUNT_WITHOUT_VECTOR.format(in_session=of_session), which)[0][
        0
    ]
    without_vector += transaction.all(COUNT_MESSAGES_WITHOUT_VECTOR, which)[0][0]
    by_type = dict.fromkeys((TYPE_CODES.value(type) for type, _, _ in entries), 0)
    by_tier = dict.fromkeys((TIER_CODES.value(tier) for _, tier, _ in entries), 0)
    for type, tier, count in entries:
        by_type[TYPE_CODES.value(type)] += count
        by_tier[TIER_CODES.value(tier)] += count
    return MemoryStatistics(
        messages=messages,
        message_tokens=tokens_from_chars(chars),
        by_type=by_type,
        by_tier=by_tier,
        without_vector=without_vector,
    )


def _tag_condition(number: int, tag: str) -> SqlCondition:
    # The tag itself is bound as a parameter: text of others never becomes SQL.
    name = f"tag_{number}"
    return SqlCondition(sql=HAS_TAG.format(name=name), parameters={name: tag})


def _type_conditions(which: MemoryFilter) -> SqlCondition:
    types = {f"type_{number}": TYPE_CODES.number(one) for number, one in enumerate(which.types)}
    if not types:
        return join_conditions([])
    return SqlCondition(
        sql=f"type IN ({', '.join(f':{name}' for name in types)})", parameters=types
    )


def _date_conditions(which: MemoryFilter) -> list[SqlCondition]:
    """Conditions for the creation date; both ends are included."""
    bounds = (
        ("created_after", ">=", which.created_after),
        ("created_before", "<=", which.created_before),
    )
    return [
        SqlCondition(sql=f"created_at {sign} :{name}", parameters={name: to_microseconds(at)})
        for name, sign, at in bounds
        if at is not None
    ]


def _one_scope(number: int, scope: GrantScope) -> SqlCondition:
    parts = []
    if scope.tag is not None:
        parts.append(_tag_condition(1000 + number, scope.tag))
    if scope.session is not None:
        name = f"session_{number}"
        parts.append(SqlCondition(sql=f"session = :{name}", parameters={name: scope.session}))
    together = join_conditions(parts)
    return SqlCondition(sql=f"({together.sql})", parameters=together.parameters)
