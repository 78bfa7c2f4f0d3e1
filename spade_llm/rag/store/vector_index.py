"""Vector collections of namespaces: contract of their storage (Chroma, PostgreSQL), LRU cache."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.rag.store.rows import Namespace
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionKey:
    """Key of a collection: one per namespace and edition; each reindexing makes a new edition."""

    namespace_id: int
    edition: int = 0

    @property
    def name(self) -> str:
        return collection_name(self.namespace_id, self.edition)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorCollection:
    """Vector collection of a namespace, with its model and dimension."""

    namespace_id: int
    owner: str
    namespace: str
    model: str
    dimension: int
    edition: int = 0

    @property
    def key(self) -> CollectionKey:
        return CollectionKey(namespace_id=self.namespace_id, edition=self.edition)


def collection_name(namespace_id: int, edition: int = 0) -> str:
    """Name of a collection, unique and independent of the namespace's name."""
    digest = hashlib.sha256(f"spade-llm namespace {namespace_id}".encode()).hexdigest()
    name = f"ns-{namespace_id}-{digest[:16]}"
    return f"{name}-{edition}" if edition else name


class VectorStorage(Protocol):
    """Vectors of the passages of a library, by collection and chunk id. Call `close` at the end.

    Each operation raises StorageFailed if the storage cannot be used.
    """

    @property
    def has_copies(self) -> bool:
        """True if copies of vectors are stored in the library's database; a commit of chunks then
        includes them."""
        ...

    async def close(self) -> None: ...

    def belong_to(self, library: str) -> None:
        """Name the library, before the first use: others may have the same namespace ids."""
        ...

    async def add(
        self, collection: VectorCollection, ids: Sequence[int], vectors: NDArray[np.float32]
    ) -> None:
        """Store one row per id; the same id again replaces it."""
        ...

    def committed(
        self, key: CollectionKey, ids: Sequence[int], vectors: NDArray[np.float32]
    ) -> None:
        """Note that the chunks of added vectors were committed."""
        ...

    async def follow(self) -> None:
        """Apply what other replicas have changed to what is in RAM."""
        ...

    async def warm(self, collection: VectorCollection) -> None:
        """Begin to load a collection into RAM, if it fits."""
        ...

    async def remove(self, key: CollectionKey, ids: Sequence[int]) -> None:
        """Remove vectors. Unknown ids are ignored."""
        ...

    async def drop(self, key: CollectionKey) -> None:
        """Remove a collection. An unknown collection is ignored."""
        ...

    async def count(self, key: CollectionKey) -> int:
        """Return the number of vectors in the collection."""
        ...

    async def nearest(
        self,
        collection: VectorCollection,
        vector: NDArray[np.float32],
        limit: int,
        *,
        among: Sequence[int] | None = None,
    ) -> Mapping[int, float]:
        """The ids nearest to the vector, of `among` if given, with their cosine, nearest first."""
        ...

    async def cosines(
        self, collection: VectorCollection, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Compute the cosine of each id with the vector; ids without a vector are left out."""
        ...


def current_collection_key(namespace: Namespace) -> CollectionKey:
    """Return the key of the collection of the current edition."""
    return CollectionKey(namespace_id=namespace.id, edition=namespace.edition)


def current_collection(namespace: Namespace) -> VectorCollection | None:
    """Return the current vector collection; None if the namespace has no vectors."""
    if namespace.model is None or namespace.dimension is None:
        return None
    return collection_for_model(namespace, model=namespace.model, dimension=namespace.dimension)


def collection_for_model(
    namespace: Namespace, *, model: str, dimension: int, edition: int | None = None
) -> VectorCollection:
    """Return the collection for vectors of this model; the edition defaults to the current one."""
    return VectorCollection(
        namespace_id=namespace.id,
        owner=namespace.owner,
        namespace=namespace.name,
        model=model,
        dimension=dimension,
        edition=namespace.edition if edition is None else edition,
    )


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
