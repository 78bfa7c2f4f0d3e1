"""Versions of an owner's rows: changes by other processes, for a cached index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import Transaction

# The table exists only where several processes may write (postgres_dialect.py).
SELECT_VERSION = "SELECT coalesce(max(version), 0) FROM owner_version WHERE owner = :owner"
SELECT_CHANGES = """
    SELECT version, keys, accessed FROM owner_version
    WHERE owner = :owner AND version > :known ORDER BY version
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerChanges:
    """Changes of an owner's rows up to a version."""

    version: int
    keys: frozenset[int] | None
    """Keys of changed rows; None: they are not known any more, or too many."""
    accessed: frozenset[int] = frozenset()
    """Keys of rows with counted accesses."""


def owner_version(transaction: Transaction, owner: str) -> int:
    """Latest version of an owner's rows; 0 before the first change."""
    return int(transaction.all(SELECT_VERSION, {"owner": owner})[0][0])


def changes_since(transaction: Transaction, owner: str, known: int) -> OwnerChanges | None:
    """Changes after a version; None: there are none."""
    rows = transaction.all(SELECT_CHANGES, {"owner": owner, "known": known})
    if not rows:
        return None
    version = rows[-1][0]
    # Older versions are pruned.
    if rows[0][0] != known + 1 or any(keys is None for _, keys, _ in rows):
        return OwnerChanges(version=version, keys=None)
    return OwnerChanges(
        version=version,
        keys=frozenset(key for _, keys, _ in rows for key in keys),
        accessed=frozenset(key for *_, keys in rows for key in keys),
    )
