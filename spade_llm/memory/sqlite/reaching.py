"""Which entry an id means to an asker: its own, or one that its owner lets it see.

An id that is not there and one of an owner who granted nothing are answered alike.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import Unauthorised
from spade_llm.memory.sqlite import finding, grants, removing
from spade_llm.memory.sqlite.rows import entry_from_row
from spade_llm.memory.store import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.index.scope import Scope
    from spade_llm.memory.sqlite.transaction import Row, Transaction
    from spade_llm.memory.store import MemoryEntry, MemoryFilter, MemoryPage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """An entry within reach, and whose it is."""

    owner: str
    seq: int
    entry: MemoryEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An owner's memory, and what of it the asker may have; None: all of it, for it is its own."""

    owner: str
    scopes: Sequence[Scope] | None

    @property
    def is_denied(self) -> bool:
        return self.scopes is not None and not self.scopes


def asked(transaction: Transaction, asker: str, of: str | None, *, access: Access) -> Asked:
    """What a filter's `of` gives to the asker; a denial is logged."""
    if of is None or of == asker:
        return Asked(owner=asker, scopes=None)
    scopes = grants.granted_scopes(transaction, of, asker=asker, access=access)
    if not scopes:
        logger.warning("%s asked to %s the memory of %s: not granted", asker, access, of)
    return Asked(owner=of, scopes=scopes)


def page(
    transaction: Transaction, asker: str, which: MemoryFilter, *, now: int, limit: int, offset: int
) -> MemoryPage:
    """Newest first. Raises Unauthorised."""
    found = _allowed(asked(transaction, asker, which.of, access=Access.READ))
    return finding.page(
        transaction, found.owner, which, scopes=found.scopes, now=now, limit=limit, offset=offset
    )


def hide(
    transaction: Transaction,
    asker: str,
    which: MemoryFilter,
    ids: Sequence[bytes] | None,
    *,
    limit: int | None,
    now: int,
) -> Sequence[bytes]:
    """The ids of what is now deleted. Raises Unauthorised."""
    found = _allowed(asked(transaction, asker, which.of, access=Access.WRITE))
    hidden = removing.hide(
        transaction, found.owner, which, ids, scopes=found.scopes, limit=limit, now=now
    )
    _log_missing(asker, len(set(ids or ())) - len(hidden))
    return hidden


def forget(
    transaction: Transaction, asker: str, ids: Sequence[bytes], *, subject: str | None, now: int
) -> int:
    """Its own, hidden ones too, and those that it was granted to write; how many there were."""
    count = removing.forget_ids(transaction, asker, ids, subject=subject, scopes=None, now=now)
    for id in dict.fromkeys(ids):
        granted = grants.granted_entry(transaction, id, asker=asker)
        if granted is not None and granted[2] is Access.WRITE:
            owner = granted[0]
            scopes = grants.granted_scopes(transaction, owner, asker=asker, access=Access.WRITE)
            count += removing.forget_ids(
                transaction, owner, [id], subject=subject, scopes=scopes, now=now
            )
    _log_missing(asker, len(set(ids)) - count)
    return count


def _log_missing(asker: str, count: int) -> None:
    """Ids may have been guessed: it is said how often, not which."""
    if count > 0:
        logger.warning("%s named %d memories that are not there, or not its own", asker, count)


def _allowed(found: Asked) -> Asked:
    """Raises Unauthorised; the same if there is no such owner."""
    if found.is_denied:
        raise Unauthorised(f"{found.owner} has not granted this")
    return found


def reach(transaction: Transaction, asker: str, id: bytes, *, access: Access, now: int) -> Reached:
    """The visible entry that the asker may read (or write).

    Raises:
        NotFound: it is not there, or not for this asker to see.
        Unauthorised: it may be read, not written.
    """
    own = finding.own_row(transaction, asker, id, now=now)
    if own is not None:
        return _reached(asker, own, now=now)
    granted = grants.granted_entry(transaction, id, asker=asker)
    row = granted and finding.own_row(transaction, granted[0], id, now=now)
    if granted is None or row is None:
        logger.warning("%s asked for a memory that is not there, or not its own", asker)
        raise finding.not_found(id)
    if access is Access.WRITE and granted[2] is not Access.WRITE:
        logger.warning("%s may not write a memory of %s", asker, granted[0])
        raise Unauthorised("this memory was granted to be read, not to be written")
    return _reached(granted[0], row, now=now)


def _reached(owner: str, row: Row, *, now: int) -> Reached:
    return Reached(owner=owner, seq=row[0], entry=entry_from_row(row, now=now))
