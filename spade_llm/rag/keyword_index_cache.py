"""LRU cache of the keyword indexes of namespaces, and cache warm-up at start."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.core.concurrency import BackgroundTask
from spade_llm.core.errors import StorageFailed
from spade_llm.rag.store.index_records import PAGE_CHUNKS
from spade_llm.rag.store.vector_index import current_collection
from spade_llm.search.passage_index import PassageIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.rag.store.index_records import KeywordStore
    from spade_llm.rag.store.registry import Registry
    from spade_llm.rag.store.rows import Namespace
    from spade_llm.rag.store.vector_index import VectorStorage

_log = logging.getLogger(__name__)

MAX_BYTES = 512 * 1024 * 1024
"""Maximum size of all indexes together in bytes; a single larger index is kept alone. 100 000
chunks of 1000 characters take 70 MB."""


@dataclass(slots=True)
class _CachedIndex:
    index: PassageIndex = field(default_factory=PassageIndex)
    is_loaded: bool = False
    stale: dict[int, int] = field(default_factory=dict)
    """Number of the last change by document, for documents that are out of date in the index;
    bounded by those of the namespace."""
    users: int = 0
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the index is changed."""
    reading: asyncio.Task[None] | None = None
    has_gap: bool = False
    """True if changes since the start of the load are missing in `stale`."""

    @property
    def is_usable(self) -> bool:
        return self.is_loaded and not self.index.needs_rebuild

    @property
    def is_settled(self) -> bool:
        """True if there is nothing to wait for: it is usable, or its load failed."""
        return self.is_usable or (self.reading is not None and self.reading.done())


class PassageIndexCache:
    """LRU cache of keyword indexes by namespace, kept up to date with the database."""

    def __init__(self, store: KeywordStore, *, max_bytes: int = MAX_BYTES) -> None:
        self._store, self._max_bytes = store, max_bytes
        self._held: OrderedDict[int, _CachedIndex] = OrderedDict()
        """Cached indexes by namespace id; the most recently used is last."""
        self._seen: int | None = None
        """The number of the last change that `stale` knows of."""
        self._merging: set[asyncio.Task[None]] = set()
        """Bounded by the indexes that are read."""

    def __len__(self) -> int:
        """Return the number of cached namespaces."""
        return len(self._held)

    @property
    def size_bytes(self) -> int:
        return sum(held.index.size_bytes for held in self._held.values())

    async def ready(self, namespaces: Sequence[int], *, patience_s: float) -> frozenset[int]:
        """Load the indexes of the namespaces, for `patience_s` at most, and return the namespaces
        that need no further waiting. The others continue to load in the background, also after a
        cancellation."""
        wanted = {number: self._held_of(number) for number in namespaces}
        reading = [
            self._reading(number, one) for number, one in wanted.items() if not one.is_usable
        ]
        if reading:
            await asyncio.wait(reading, timeout=patience_s)
        return frozenset(number for number, one in wanted.items() if one.is_settled)

    async def close(self) -> None:
        reading = [held.reading for held in self._held.values() if held.reading is not None]
        for task in (*reading, *self._merging):
            task.cancel()
        await asyncio.gather(*reading, *self._merging, return_exceptions=True)

    async def current(self, namespaces: Sequence[int]) -> list[PassageIndex]:
        """Return the indexes of the namespaces, with all that was committed before this call."""
        await self._note_changes()
        in_use = [self._held_of(number) for number in namespaces]
        for number, held in zip(namespaces, in_use, strict=True):
            self._held.move_to_end(number)
            # Counted before the waits below, so that none is evicted while another is loaded.
            held.users += 1
        try:
            for number, held in zip(namespaces, in_use, strict=True):
                await self._bring_up(number, held)
            return [held.index for held in in_use]
        finally:
            for held in in_use:
                held.users -= 1

    def _held_of(self, number: int) -> _CachedIndex:
        # Not setdefault: it would create an index for each question.
        if number not in self._held:
            self._held[number] = _CachedIndex()
        return self._held[number]

    async def _note_changes(self) -> None:
        for change in await self._store.changes(await self._last_seen()):
            seen = self._seen or 0
            # Another query may have noted them meanwhile.
            if change.number > seen:
                # The table keeps the last 10 000 changes only: after a gap, all is read again.
                if change.number > seen + 1:
                    for held in self._held.values():
                        held.is_loaded, held.has_gap = False, True
                self._seen = change.number
                if change.namespace in self._held:
                    self._held[change.namespace].stale[change.document] = change.number
            if change.is_gone:
                self._held.pop(change.namespace, None)

    async def _last_seen(self) -> int:
        """Number of the last change that is noted; at first use, of the last one stored."""
        if self._seen is None:
            last = await self._store.last_change()
            # Another query may have set it meanwhile, and loaded an index since.
            if self._seen is None:
                self._seen = last
        return self._seen

    async def _bring_up(self, namespace: int, held: _CachedIndex) -> None:
        while not held.is_usable:
            # Shielded: a load goes on after a cancellation, for the next query.
            await asyncio.shield(self._reading(namespace, held))
        if not held.stale:
            return
        async with held.alone:
            if held.stale:
                await self._refresh(held)
        self._let_go()

    def _reading(self, namespace: int, held: _CachedIndex) -> asyncio.Task[None]:
        if held.reading is None or held.reading.done():
            held.reading = asyncio.create_task(self._read(namespace, held), name="words-read")
            held.reading.add_done_callback(_log_failure)
        return held.reading

    async def _read(self, namespace: int, held: _CachedIndex) -> None:
        await self._last_seen()
        async with held.alone:
            await self._load(namespace, held)
        self._let_go()

    async def _load(self, namespace: int, held: _CachedIndex) -> None:
        """Load the index from the database. Documents committed meanwhile are also marked in
        `stale` and read again."""
        index = PassageIndex()
        # Before the first read, so that documents that change while we read are marked again.
        held.stale.clear()
        held.has_gap = False
        for page in await self._store.pages(namespace):
            records = await self._store.records(page)
            await asyncio.to_thread(index.put, records)
        held.index, held.is_loaded = index, not held.has_gap
        if len(index) > PAGE_CHUNKS:
            # In the background, so that queries need not wait.
            task = asyncio.create_task(_merge_segments(index), name="words-merge")
            # The event loop holds only weak references to tasks.
            self._merging.add(task)
            task.add_done_callback(self._merging.discard)

    async def _refresh(self, held: _CachedIndex) -> None:
        changed = dict(held.stale)
        records = await self._store.records(sorted(changed))
        held.index.remove(sorted(changed.keys() - records.keys()))
        held.index.put(records)
        # Not before the wait: until they are read, other queries must wait for them, too. A
        # document that has changed again meanwhile stays.
        held.stale = {one: last for one, last in held.stale.items() if changed.get(one) != last}
        if held.index.needs_merge:
            await _merge_segments(held.index)

    def _let_go(self) -> None:
        """Evict the least recently used idle indexes until the rest fits."""
        size = self.size_bytes
        idle = [number for number, held in self._held.items() if not held.users]
        for number in idle:
            if size <= self._max_bytes:
                return
            size -= self._held.pop(number).index.size_bytes


async def _merge_segments(index: PassageIndex) -> None:
    (await asyncio.to_thread(index.merge_job()))()


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log the failure; waiting callers get the exception from the task itself."""
    if not task.cancelled() and task.exception() is not None:
        _log.warning("the keyword index of a namespace could not be loaded: %s", task.exception())


MAX_WARMED_NAMESPACES = 8
WARMUP_TIMEOUT_S = 60.0
"""Timeout of the warm-up of one namespace in seconds; after it, the next one starts."""


class CacheWarmup:
    """Loads the indexes of the namespaces that were queried last. Call `start` after the library is
    open, `close` before it is closed."""

    def __init__(
        self,
        registry: Registry,
        words: PassageIndexCache,
        index: VectorStorage,
        *,
        model: str | None,
    ) -> None:
        """`model`: embedder of the queries; vectors of other models are not loaded."""
        self._registry, self._words, self._index = registry, words, index
        self._model = model
        self._noted: set[int] = set()
        """Bounded by the namespaces of the library, as is what waits to be noted."""
        self._to_note: list[int] = []
        self._warming = BackgroundTask(self.warm, name="warming")
        self._noting = BackgroundTask(self._note, name="noting")

    def start(self) -> None:
        self._warming.wake()

    async def close(self) -> None:
        await self._warming.close()
        await self._noting.close()
        await self._words.close()

    def asked(self, namespaces: Sequence[Namespace]) -> None:
        new = [namespace.id for namespace in namespaces if namespace.id not in self._noted]
        if new:
            self._noted.update(new)
            self._to_note += new
            self._noting.wake()

    async def warm(self) -> None:
        """Warm up the caches; `start` runs this in the background."""
        try:
            for namespace in await self._registry.last_asked(MAX_WARMED_NAMESPACES):
                await self._read(namespace)
        except StorageFailed as error:
            _log.warning("the cache warm-up failed: %s", error)

    async def _read(self, namespace: Namespace) -> None:
        words = self._words.ready([namespace.id], patience_s=WARMUP_TIMEOUT_S)
        collection = current_collection(namespace)
        if collection is None or namespace.model != self._model:
            await words
        else:
            await asyncio.gather(words, self._index.warm(collection))

    async def _note(self) -> None:
        while self._to_note:
            ids, self._to_note = self._to_note, []
            try:
                await self._registry.note_asked(ids)
            except StorageFailed as error:
                _log.warning("the queried namespaces could not be noted: %s", error)
