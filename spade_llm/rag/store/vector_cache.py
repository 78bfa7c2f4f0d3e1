"""LRU cache of vector collections in RAM, with a bound in bytes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from spade_llm.core.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.search.passage_index import PassageVectors

    Vectors = NDArray[np.float32]
    Change = Callable[[PassageVectors], None]
    Read = Callable[[], Awaitable[PassageVectors | None]]

logger = logging.getLogger(__name__)

MAX_CACHE_BYTES = 256 * 1024 * 1024
"""Maximum size of all collections together in bytes; 100 000 vectors of 384 dimensions take 47 MB.
"""
READ_TIMEOUT_S = 0.05
"""Maximum wait in seconds for a collection to be read; a small one is loaded by then."""


class _CollectionLoad:
    """Load of a collection into RAM, in progress."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self.task = task
        self._began = time.monotonic()
        self.changes: list[Change] = []
        """Changes made meanwhile, bounded by the writes during the load."""

    async def wait(self, patience_s: float) -> None:
        """Wait for the load until `patience_s` after its start."""
        left_s = self._began + patience_s - time.monotonic()
        # After the timeout, wait leaves the task running; wait_for would cancel it.
        await asyncio.wait([self.task], timeout=max(left_s, 0.0))


class VectorCache:
    """LRU cache of vector collections, by their keys."""

    def __init__(
        self, *, max_bytes: int = MAX_CACHE_BYTES, patience_s: float = READ_TIMEOUT_S
    ) -> None:
        self._max_bytes, self._patience_s = max_bytes, patience_s
        self._held: OrderedDict[Hashable, PassageVectors] = OrderedDict()
        """Cached collections; the most recently used is last."""
        self._reading: dict[Hashable, _CollectionLoad] = {}
        self._too_large: set[Hashable] = set()
        """Collections that do not fit, bounded by those queried since the start."""

    async def of(self, key: Hashable, read: Read) -> PassageVectors | None:
        """Return the cached collection, or load it; None if it is not loaded yet or too large.
        `read` returns None if it is too large."""
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key]
        if self.is_too_large(key):
            return None
        if key not in self._reading:
            task = asyncio.create_task(self._read(key, read), name="vectors-read")
            self._reading[key] = _CollectionLoad(task)
        await self._reading[key].wait(self._patience_s)
        return self._held.get(key)

    async def settled(self) -> None:
        """Wait until all loads in progress have ended. The caller sets a timeout."""
        if self._reading:
            await asyncio.wait([reading.task for reading in self._reading.values()])

    def added(self, key: Hashable, ids: Sequence[int], vectors: Vectors) -> None:
        self.changed(key, lambda held: held.put(ids, vectors))

    def committed(self, key: Hashable, ids: Sequence[int], vectors: Vectors) -> None:
        """Replay a committed addition, which a load in progress may have read too early."""
        if key in self._reading:
            self._reading[key].changes.append(lambda held: held.put(ids, vectors))

    def removed(self, key: Hashable, ids: Sequence[int]) -> None:
        self.changed(key, lambda held: held.remove(ids))

    def dropped(self, key: Hashable) -> None:
        self._held.pop(key, None)
        self._too_large.discard(key)
        reading = self._reading.pop(key, None)
        if reading is not None:
            reading.task.cancel()

    def clear(self) -> None:
        for key in (*self._held, *self._reading, *self._too_large):
            self.dropped(key)

    async def close(self) -> None:
        tasks = [reading.task for reading in self._reading.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._held.clear()

    def is_used(self, key: Hashable) -> bool:
        """True if the collection is cached, or being loaded."""
        return key in self._held or key in self._reading

    def is_too_large(self, key: Hashable) -> bool:
        return key in self._too_large or self._max_bytes <= 0

    def fits(self, size_bytes: int) -> bool:
        return size_bytes <= self._max_bytes

    def changed(self, key: Hashable, change: Change) -> None:
        """Apply a change to the collection, if it is used."""
        if key in self._held:
            change(self._held[key])
            self._let_go()
        elif key in self._reading:
            self._reading[key].changes.append(change)

    async def _read(self, key: Hashable, read: Read) -> None:
        try:
            held = await read()
        except StorageFailed as error:
            logger.info("vectors could not be loaded into RAM: %s", error)
            del self._reading[key]
            return
        reading = self._reading.pop(key)
        if held is None:
            self._too_large.add(key)
            return
        # No await from here on: no change can fall between the replay and the entry.
        for change in reading.changes:
            change(held)
        self._held[key] = held
        self._let_go()

    def _let_go(self) -> None:
        """Evict degraded collections, then the least recently used, until the rest fits."""
        for key in [key for key, held in self._held.items() if held.needs_rebuild]:
            del self._held[key]
        size = sum(held.size_bytes for held in self._held.values())
        for key in list(self._held):
            if size <= self._max_bytes:
                return
            size -= self._held.pop(key).size_bytes
