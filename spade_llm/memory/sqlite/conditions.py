"""What a MemoryFilter means in SQL. Values are parameters, never text of the statement.

Every statement names the owner itself; what stands here narrows it further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.memory.sqlite.codes import CATEGORIES, CONTENT_TYPES, TIERS, TYPES
from spade_llm.memory.sqlite.rows import to_microseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.index.scope import Scope
    from spade_llm.memory.sqlite.transaction import Value
    from spade_llm.memory.store import MemoryFilter

VISIBLE = "deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
"""Neither deleted nor expired; from the second on at which it expires."""

# A clock that was set back does not hide what was true already when it was stored.
TRUE_NOW = """
    (valid_at IS NULL OR valid_at <= max(:now, created_at))
    AND (invalid_at IS NULL OR invalid_at > :now)
"""

TRUE_THEN = (
    "coalesce(valid_at, created_at) <= :as_of AND (invalid_at IS NULL OR invalid_at > :as_of)"
)

HAS_TAG = "EXISTS (SELECT 1 FROM json_each(entry.tags) WHERE value = :{name})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One that must hold, and its parameters."""

    sql: str
    parameters: Mapping[str, Value]


def wanted(which: MemoryFilter) -> Condition:
    """All that the filter names, without what is true when."""
    named = {
        "subject": which.subject,
        "session": which.session,
        "category": CATEGORIES.number_or_none(which.category),
        "tier": TIERS.number_or_none(which.tier),
        "content_type": CONTENT_TYPES.number_or_none(which.content_type),
    }
    conditions = [_equal(column, value) for column, value in named.items() if value is not None]
    conditions += [_tagged(number, tag) for number, tag in enumerate(which.tags)]
    conditions += [_typed(which), *_dated(which)]
    return all_of(conditions)


def true_when(which: MemoryFilter) -> Condition:
    """What is true at the time that is asked for."""
    if which.with_invalid:
        return all_of([])
    if which.as_of is None:
        return Condition(sql=TRUE_NOW, parameters={})
    return Condition(sql=TRUE_THEN, parameters={"as_of": to_microseconds(which.as_of)})


def within(scopes: Sequence[Scope] | None) -> Condition:
    """What at least one of the scopes holds; None: everything."""
    if scopes is None:
        return all_of([])
    parts = [_scope(number, scope) for number, scope in enumerate(scopes)]
    return Condition(
        sql="(" + (" OR ".join(part.sql for part in parts) or "false") + ")",
        parameters={name: value for part in parts for name, value in part.parameters.items()},
    )


def messages_within(scopes: Sequence[Scope] | None) -> Condition:
    """The messages that at least one of the scopes holds; a tag is none of a message's."""
    if scopes is None or any(scope.tag is None and scope.session is None for scope in scopes):
        return all_of([])
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
    return Condition(sql=sql, parameters=names)


def all_of(conditions: Sequence[Condition]) -> Condition:
    return Condition(
        sql=" AND ".join(one.sql for one in conditions) or "true",
        parameters={name: value for one in conditions for name, value in one.parameters.items()},
    )


def _equal(column: str, value: Value) -> Condition:
    return Condition(sql=f"{column} = :{column}", parameters={column: value})


def _tagged(number: int, tag: str) -> Condition:
    name = f"tag_{number}"
    return Condition(sql=HAS_TAG.format(name=name), parameters={name: tag})


def _typed(which: MemoryFilter) -> Condition:
    types = {f"type_{number}": TYPES.number(one) for number, one in enumerate(which.types)}
    if not types:
        return all_of([])
    return Condition(sql=f"type IN ({', '.join(f':{name}' for name in types)})", parameters=types)


def _dated(which: MemoryFilter) -> list[Condition]:
    """Both ends belong to it, as in a search."""
    bounds = (
        ("created_after", ">=", which.created_after),
        ("created_before", "<=", which.created_before),
    )
    return [
        Condition(sql=f"created_at {sign} :{name}", parameters={name: to_microseconds(at)})
        for name, sign, at in bounds
        if at is not None
    ]


def _scope(number: int, scope: Scope) -> Condition:
    parts = []
    if scope.tag is not None:
        parts.append(_tagged(1000 + number, scope.tag))
    if scope.session is not None:
        name = f"session_{number}"
        parts.append(Condition(sql=f"session = :{name}", parameters={name: scope.session}))
    together = all_of(parts)
    return Condition(sql=f"({together.sql})", parameters=together.parameters)
