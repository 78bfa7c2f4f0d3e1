"""Which rows a query may see: by its filter, by time, by what others were let into."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spade_llm.memory.index.codes import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from spade_llm.memory.index.row_table import RowTable
    from spade_llm.memory.index.scope import Scope
    from spade_llm.memory.store import MemoryFilter

    Mask = NDArray[np.bool_]


def universe_of(table: RowTable, scopes: Sequence[Scope] | None) -> Mask:
    """What exists for who asks: also for statistics, which would tell of the rest otherwise."""
    alive = table.is_alive.rows
    if scopes is None:
        return alive
    let_in = [scope_mask(table, scope) for scope in scopes]
    return np.asarray(np.logical_or.reduce([np.zeros(len(table), np.bool_), *let_in]) & alive)


def scope_mask(table: RowTable, scope: Scope) -> Mask:
    mask = np.ones(len(table), np.bool_)
    if scope.tag is not None:
        mask &= _has_tags(table, (scope.tag,))
    if scope.session is not None:
        mask &= _equals(table, "session", scope.session)
    return mask


def wanted(table: RowTable, which: MemoryFilter, *, now: float, with_messages: bool) -> Mask:
    """What the filter means and is there now."""
    mask = now < table.expires_at.rows
    if not which.with_invalid:
        mask &= _holds(table, which.as_of, now)
    if not with_messages:
        mask &= ~table.is_message
    for part in _conditions(table, which):
        mask &= part
    return mask


def _holds(table: RowTable, as_of: datetime | None, now: float) -> Mask:
    """True then. A clock that was set back hides nothing of today."""
    valid_at, created_at = table.valid_at.rows, table.created_at.rows
    if as_of:
        then = as_of.timestamp()
        begun = np.where(np.isinf(valid_at), created_at, valid_at) <= then
    else:
        then = now
        begun = (valid_at <= then) | (valid_at <= created_at)
    return np.asarray(begun & (then < table.invalid_at.rows))


def _conditions(table: RowTable, which: MemoryFilter) -> Iterator[Mask]:
    for name in ("subject", "session", "category", "tier", "content_type"):
        text = getattr(which, name)
        if text is not None:
            yield _equals(table, name, text)
    if which.types:
        yield np.logical_or.reduce([_equals(table, "type", type_) for type_ in which.types])
    if which.tags:
        yield _has_tags(table, which.tags)
    yield from _made(table, which)


def _made(table: RowTable, which: MemoryFilter) -> Iterator[Mask]:
    """Both ends belong to it."""
    if which.created_after is not None:
        yield table.created_at.rows >= which.created_after.timestamp()
    if which.created_before is not None:
        yield table.created_at.rows <= which.created_before.timestamp()


def _equals(table: RowTable, name: str, text: str) -> Mask:
    code = table.codes[name].find(text)
    if code == UNKNOWN:
        return np.zeros(len(table), np.bool_)
    column: NDArray[np.int32] = getattr(table, name).rows
    return np.asarray(column == code)


def _has_tags(table: RowTable, tags: Sequence[str]) -> Mask:
    return table.tag_codes.with_all(tags)[table.tags.rows]
