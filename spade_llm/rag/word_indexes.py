"""The words of every namespace that is asked, in RAM: loaded when it is asked, kept current, let go
of. Knows no ranking.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.rag.word_index import WordIndex
from spade_llm.rag.word_store import PAGE_CHUNKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.rag.word_store import WordStore

_log = logging.getLogger(__name__)

MAX_BYTES = 512 * 1024 * 1024
"""Of all indexes together; a single one that is larger is held alone. 100 000 chunks of 1000
characters take 70 MB."""


@dataclass(slots=True)
class _Held:
    index: WordIndex = field(default_factory=WordIndex)
    is_loaded: bool = False
    stale: set[int] = field(default_factory=set)
    """Documents that have changed since they were read; bounded by those of the namespace."""
    users: int = 0
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    """An index is changed by one at a time."""
    reading: asyncio.Task[None] | None = None
    has_gap: bool = False
    """There were changes since it was begun to be read that are not in `stale`."""

    @property
    def is_usable(self) -> bool:
        return self.is_loaded and not self.index.is_worn

    @property
    def is_settled(self) -> bool:
        """There is nothing to wait for: it is usable, or could not be read."""
        return self.is_usable or (self.reading is not None and self.reading.done())


class WordIndexes:
    def __init__(self, store: WordStore, *, max_bytes: int = MAX_BYTES) -> None:
        self._store, self._max_bytes = store, max_bytes
        self._held: OrderedDict[int, _Held] = OrderedDict()
        """By namespace; the one used last is at the end."""
        self._seen: int | None = None
        """The number of the last change that `stale` knows of."""
        self._merging: set[asyncio.Task[None]] = set()
        """Bounded by the indexes that are read."""

    def __len__(self) -> int:
        """Namespaces whose indexes are held."""
        return len(self._held)

    @property
    def size_bytes(self) -> int:
        return sum(held.index.size_bytes for held in self._held.values())

    async def ready(self, namespaces: Sequence[int], *, patience_s: float) -> frozenset[int]:
        """Those that need no waiting, after that long at the latest. The others go on being read,
        whoever waits for them or not."""
        wanted = {number: self._held.setdefault(number, _Held()) for number in namespaces}
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

    async def current(self, namespaces: Sequence[int]) -> list[WordIndex]:
        """Theirs, with all that was committed before this was called."""
        await self._note_changes()
        in_use = [self._held.setdefault(number, _Held()) for number in namespaces]
        for number, held in zip(namespaces, in_use, strict=True):
            self._held.move_to_end(number)
            held.users += 1
        try:
            for number, held in zip(namespaces, in_use, strict=True):
                await self._bring_up(number, held)
            return [held.index for held in in_use]
        finally:
            for held in in_use:
                held.users -= 1

    async def _note_changes(self) -> None:
        if self._seen is None:
            self._seen = await self._store.last_change()
        seen = self._seen
        changes = await self._store.changes(seen)
        for change in changes:
            # Another question may have noted them meanwhile.
            if change.number > self._seen:
                self._note_gap(change.number)
                self._seen = change.number
                held = self._held.get(change.namespace)
                if held is not None:
                    held.stale.add(change.document)
            if change.is_gone:
                self._held.pop(change.namespace, None)

    def _note_gap(self, number: int) -> None:
        if self._seen is not None and number > self._seen + 1:
            for held in self._held.values():
                held.is_loaded, held.has_gap = False, True

    async def _bring_up(self, namespace: int, held: _Held) -> None:
        while not held.is_usable:
            # Read on when nobody waits any more: who asks again finds it done.
            await asyncio.shield(self._reading(namespace, held))
        if not held.stale:
            return
        async with held.alone:
            if held.stale:
                await self._refresh(held)
        self._let_go()

    def _reading(self, namespace: int, held: _Held) -> asyncio.Task[None]:
        if held.reading is None or held.reading.done():
            held.reading = asyncio.create_task(self._read(namespace, held), name="words-read")
            held.reading.add_done_callback(_note_failure)
        return held.reading

    async def _read(self, namespace: int, held: _Held) -> None:
        if self._seen is None:
            self._seen = await self._store.last_change()
        async with held.alone:
            await self._load(namespace, held)
        self._let_go()

    async def _load(self, namespace: int, held: _Held) -> None:
        """What is committed meanwhile is told to `stale`, too, and read once more."""
        index = WordIndex()
        held.stale.clear()
        held.has_gap = False
        for page in await self._store.pages(namespace):
            records = await self._store.records(page)
            await asyncio.to_thread(index.put, records)
        held.index, held.is_loaded = index, not held.has_gap
        if len(index) > PAGE_CHUNKS:
            self._merge_beside(index)

    def _merge_beside(self, index: WordIndex) -> None:
        """Questions need not wait for it."""
        task = asyncio.create_task(_merge(index), name="words-merge")
        self._merging.add(task)
        task.add_done_callback(self._merging.discard)

    async def _refresh(self, held: _Held) -> None:
        documents, held.stale = held.stale, set()
        try:
            records = await self._store.records(sorted(documents))
        except BaseException:
            held.stale |= documents
            raise
        held.index.remove(sorted(documents.difference(records)))
        held.index.put(records)
        if held.index.wants_merge:
            await _merge(held.index)

    def _let_go(self) -> None:
        """Of those used longest ago, until the rest fits."""
        size = self.size_bytes
        idle = [number for number, held in self._held.items() if not held.users]
        for number in idle:
            if size <= self._max_bytes:
                return
            size -= self._held.pop(number).index.size_bytes


async def _merge(index: WordIndex) -> None:
    (await asyncio.to_thread(index.merge_job()))()


def _note_failure(task: asyncio.Task[None]) -> None:
    """Whoever waits for it is told by itself."""
    if not task.cancelled() and task.exception() is not None:
        _log.warning("the words of a namespace could not be read: %s", task.exception())
