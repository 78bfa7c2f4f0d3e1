"""Given: which message was called what where a search found it. Knows no text.

The id of a found message is derived from three names, and leads to no row by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.limits import LruDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spade_llm.memory.store import MemoryEntry

MAX_GIVEN = 16_384
"""The latest ones, of all owners: 3 MB."""


class Given:
    def __init__(self) -> None:
        self._keys: LruDict[tuple[str, str], int] = LruDict(MAX_GIVEN)

    def note(self, owner: str, found: Mapping[int, MemoryEntry]) -> None:
        """Of these rows by key the messages were given to their owner."""
        for key, entry in found.items():
            if key & 1:
                self._keys[owner, entry.id] = key

    def keys(self, owner: str, ids: Iterable[str]) -> Sequence[int]:
        """Of those that are known."""
        return [self._keys[owner, id] for id in ids if (owner, id) in self._keys]
