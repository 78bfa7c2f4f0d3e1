"""Row masks of the memory index: query filter, validity in time, grant scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.search.memory_table import UNKNOWN_STRING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from spade_llm.search.memory_query import GrantScope, MemoryFilter
    from spade_llm.search.memory_table import MemoryRows

    Mask = NDArray[np.bool_]


def granted_rows(table: MemoryRows, scopes: Sequence[GrantScope] | None) -> Mask:
    """Mask of the rows accessible to the caller. Statistics use it too; otherwise they would reveal
    other rows."""
    alive = table.is_alive.rows
    if scopes is None:
        return alive
    let_in = [scope_mask(table, scope) for scope in scopes]
    return np.asarray(np.logical_or.reduce([np.zeros(len(table), np.bool_), *let_in]) & alive)


def scope_mask(table: MemoryRows, scope: GrantScope) -> Mask:
    mask = np.ones(len(table), np.bool_)
    if scope.tag is not None:
        mask &= _tags_mask(table, (scope.tag,))
    if scope.session is not None:
        mask &= _equals_mask(table, "session", scope.session)
    return mask


def matching_rows(
    table: MemoryRows, which: MemoryFilter, *, now: float, with_messages: bool
) -> Mask:
    """Mask of the rows that match the filter and have not expired."""
    mask = now < table.expires_at.rows
    if not which.with_invalid:
        mask &= _is_valid_at(table, which.as_of, now)
    if not with_messages:
        mask &= ~table.is_message
    for part in _filter_masks(table, which):
        mask &= part
    return mask


def _is_valid_at(table: MemoryRows, as_of: datetime | None, now: float) -> Mask:
    """Mask of the rows that are valid at `as_of`, or now. A clock that was set back hides no row
    that was created since."""
    valid_at, created_at = table.valid_at.rows, table.created_at.rows
    if as_of:
        then = as_of.timestamp()
        begun = np.where(np.isinf(valid_at), created_at, valid_at) <= then
    else:
        then = now
        begun = (valid_at <= then) | (valid_at <= created_at)
    return np.asarray(begun & (then < table.invalid_at.rows))


def _filter_masks(table: MemoryRows, which: MemoryFilter) -> Iterator[Mask]:
    for name in ("subject", "session", "category", "tier", "content_type"):
        text = getattr(which, name)
        if text is not None:
            yield _equals_mask(table, name, text)
    if which.types:
        yield np.logical_or.reduce([_equals_mask(table, "type", type_) for type_ in which.types])
    if which.tags:
        yield _tags_mask(table, which.tags)
    # Both ends of the period belong to it.
    if which.created_after is not None:
        yield table.created_at.rows >= which.created_after.timestamp()
    if which.created_before is not None:
        yield table.created_at.rows <= which.created_before.timestamp()


def _equals_mask(table: MemoryRows, name: str, text: str) -> Mask:
    code = table.codes[name].find(text)
    if code == UNKNOWN_STRING:
        return np.zeros(len(table), np.bool_)
    column: NDArray[np.int32] = getattr(table, name).rows
    return np.asarray(column == code)


def _tags_mask(table: MemoryRows, tags: Sequence[str]) -> Mask:
    return table.tag_codes.with_all(tags)[table.tags.rows]
