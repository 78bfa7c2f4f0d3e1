"""Access counter: deferred counts of accesses to entries; aliases of returned messages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.core.limits import LruDict
from spade_llm.memory.database.queries import OWNED_ENTRY
from spade_llm.memory.database.rows import effective_importance, from_microseconds

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryEntry
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import Transaction

FLUSH_DELAY_S = 1.0
MAX_ENTRIES = 4096
"""Maximum number of counted entries of all owners; above it the counts are written at once."""

AccessCounts = dict[tuple[str, int], tuple[int, int]]

MAX_ALIASES = 16_384
"""Maximum number of aliases of all owners, the latest ones: 3 MB."""


UPDATE_ACCESSES = f"""
    UPDATE entry SET access_count = access_count + :times, last_accessed_at = :at
    WHERE {OWNED_ENTRY} AND seq = :seq
"""


class AccessCounter:
    """Number of accesses to entries that are not written yet, written together with a delay."""

    def __init__(self, database: DatabaseMemoryBackend) -> None:
        self._database = database
        self._pending: AccessCounts = {}
        """Number of accesses and time of the last one, by owner and key."""
        self._in_flight: list[tuple[asyncio.Future[object], AccessCounts]] = []
        """The same of those that are being written, in order; bounded by the writer's queue."""
        self._timer: asyncio.TimerHandle | None = None
        self._last_write: asyncio.Future[object] | None = None

    def count(self, owner: str, keys: Iterable[int], *, now: int) -> None:
        for key in keys:
            times, _ = self._pending.get((owner, key), (0, 0))
            self._pending[owner, key] = (times + 1, now)
        if len(self._pending) > MAX_ENTRIES:
            self.write()
        elif self._pending and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_DELAY_S, self.write)

    def with_pending(self, owner: str, key: int, entry: MemoryEntry, *, now: int) -> MemoryEntry:
        """Add the pending accesses to an entry that was just read."""
        read = entry
        for written, counts in self._in_flight:
            uses = counts.get((owner, key))
            # Between the commit in its thread and its future here, the row has the uses already.
            is_included = (
                uses is not None
                and read.last_accessed_at is not None
                and read.last_accessed_at >= from_microseconds(uses[1])
            )
            if uses is not None and not written.done() and not is_included:
                entry = _with_accesses(entry, uses, now=now)
        pending = self._pending.get((owner, key))
        return entry if pending is None else _with_accesses(entry, pending, now=now)

    def write(self) -> None:
        """Write the pending counts before any later write, without waiting."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pending, self._pending = self._pending, {}
        self._in_flight = [one for one in self._in_flight if not one[0].done()]
        if pending:
            self._last_write = self._database.write_later(partial(add_accesses, uses=pending))
        if pending and self._last_write is not None:
            self._in_flight.append((self._last_write, pending))

    async def flush(self) -> None:
        """Write the pending counts and wait until they are committed."""
        self.write()
        await self.wait_written()

    async def wait_written(self) -> None:
        """Return once the last `write` is committed or refused."""
        if self._last_write is not None and not self._last_write.done():
            # wait() neither raises its failure nor cancels it: lost counts must fail no reader.
            await asyncio.wait([self._last_write])


class MessageAliases:
    """Row keys of messages, by the ids under which searches returned them (LRU)."""

    def __init__(self) -> None:
        self._keys: LruDict[tuple[str, str], int] = LruDict(MAX_ALIASES)

    def note(self, owner: str, found: Mapping[int, MemoryEntry]) -> None:
        """Record the ids under which messages were returned to their owner. `found`: entries by
        key."""
        for key, entry in found.items():
            # Odd keys are messages: the ids under which they are found lead to no row.
            if key & 1:
                self._keys[owner, entry.id] = key

    def keys(self, owner: str, ids: Iterable[str]) -> Sequence[int]:
        return [self._keys[owner, id] for id in ids if (owner, id) in self._keys]


def _with_accesses(entry: MemoryEntry, uses: tuple[int, int], *, now: int) -> MemoryEntry:
    times, last = uses
    count = entry.access_count + times
    given = entry.importance if entry.is_importance_set else None
    return replace(
        entry,
        access_count=count,
        last_accessed_at=from_microseconds(last),
        importance=effective_importance(given, count, last, now=now),
    )


def add_accesses(transaction: Transaction, uses: Mapping[tuple[str, int], tuple[int, int]]) -> None:
    """Add access counts, with the time of the last access, for entries by (owner, key)."""
    transaction.each(
        UPDATE_ACCESSES,
        [
            {"owner": owner, "seq": key // 2, "times": times, "at": at}
            for (owner, key), (times, at) in uses.items()
        ],
    )
    for owner, key in uses:
        transaction.mark_accessed(owner, [key])
