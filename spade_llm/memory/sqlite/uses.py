"""Uses that are not written yet: a search counts as an access, and does not wait for a sync.

They are written together, once a second or with the next write. A crash loses those of a second.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.memory.sqlite.changing import count_uses
from spade_llm.memory.sqlite.rows import effective_importance, from_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spade_llm.memory.sqlite.transaction import Transaction
    from spade_llm.memory.store import MemoryEntry

GATHER_S = 1.0
MAX_ENTRIES = 4096
"""Of all owners; one more, and they are written at once."""


class Writing(Protocol):
    def write_later(
        self, operation: Callable[[Transaction], object]
    ) -> asyncio.Future[object] | None:
        """None: it is dropped."""
        ...


class Uses:
    def __init__(self, writing: Writing) -> None:
        self._writing = writing
        self._gathered: dict[tuple[str, int], tuple[int, int]] = {}
        """How often, and when last, by owner and key."""
        self._timer: asyncio.TimerHandle | None = None
        self._written: asyncio.Future[object] | None = None

    def count(self, owner: str, keys: Iterable[int], *, now: int) -> None:
        for key in keys:
            times, _ = self._gathered.get((owner, key), (0, 0))
            self._gathered[owner, key] = (times + 1, now)
        if len(self._gathered) > MAX_ENTRIES:
            self.write()
        elif self._gathered and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self.write)

    def with_them(self, owner: str, key: int, entry: MemoryEntry, *, now: int) -> MemoryEntry:
        """The entry as it will be once they are written."""
        if (owner, key) not in self._gathered:
            return entry
        times, last = self._gathered[owner, key]
        count = entry.access_count + times
        given = entry.importance if entry.is_importance_set else None
        return replace(
            entry,
            access_count=count,
            last_accessed_at=from_microseconds(last),
            importance=effective_importance(given, count, last, now=now),
        )

    def write(self) -> None:
        """What is gathered, before any write that comes later; without waiting."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gathered, self._gathered = self._gathered, {}
        if gathered:
            self._written = self._writing.write_later(partial(count_uses, uses=gathered))

    async def settle(self) -> None:
        """Write them, and wait for it."""
        self.write()
        await self.written()

    async def written(self) -> None:
        """Return once what `write` was called for is committed, or was refused."""
        if self._written is not None and not self._written.done():
            await asyncio.wait([self._written])
