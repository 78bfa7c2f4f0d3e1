"""ChromaIndex: vectors of passages in Chroma collections."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spade_llm.core.errors import StorageFailed
from spade_llm.rag.passage_embedding import REINDEX_COMMAND
from spade_llm.rag.store.chroma_client import (
    close_client,
    open_directory,
    open_server,
    remove_unused_folders,
    translate_chroma_errors,
)
from spade_llm.rag.store.index_records import quantize_document
from spade_llm.rag.store.vector_index import MAX_CACHE_BYTES, READ_TIMEOUT_S, VectorCache
from spade_llm.search.passage_index import PassageVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection
    from numpy.typing import NDArray

    from spade_llm.rag.store.index_records import VectorCopyStore
    from spade_llm.rag.store.vector_index import CollectionKey, VectorCollection

YIELD_SHARE = 2.0
"""Ratio of pause to working time: queries have priority."""


class YieldingThread:
    """Throttle for long work in a thread (duty cycle): call `take` between two parts of the work.

    Without the pauses, the thread would hold the interpreter lock while queries wait.
    """

    def __init__(self, *, after_s: float) -> None:
        """`after_s`: work that takes no longer is not throttled."""
        self._from = time.monotonic() + after_s
        self._began = time.monotonic()

    def take(self) -> None:
        """Sleep for YIELD_SHARE times the duration of the last part."""
        now = time.monotonic()
        if now > self._from:
            time.sleep(YIELD_SHARE * (now - self._began))
        self._began = time.monotonic()


_Result = TypeVar("_Result")

BATCH = 1000
"""Vectors per removal; Chroma takes at most 5461 at once."""
ADD_BATCH = 100
"""Vectors per change. No other Python runs meanwhile (chromadb 1.5.9 keeps the GIL): 20 to 80 ms,
and three times that where thousands of vectors are alike."""
READERS = 2
"""Number of threads for queries; the machine is shared with the embedder."""
READ_BATCH = 100
"""Vectors read into RAM at once: 4 ms, during which no other Python thread runs."""
BYTES_BESIDE = 100
"""Overhead of a vector in RAM in bytes, in addition to one byte per dimension (measured at 384)."""
MAX_HANDLES = 1000
"""Maximum number of cached collection handles; when it is reached, the cache is cleared."""
COPIES_TIMEOUT_S = 2.0
"""Maximum wait in seconds for the copies of vectors to be read: 100 000 take a quarter of a second.
"""


class ChromaIndex:
    """Vector index in a directory, or on a Chroma server at `url` (`VectorStorage`)."""

    def __init__(
        self,
        directory: Path,
        *,
        url: str | None = None,
        held_bytes: int = MAX_CACHE_BYTES,
        copies: VectorCopyStore | None = None,
    ) -> None:
        """`copies`: store of vector copies that are read in place of Chroma; not used with a
        server."""
        self._copies = None if url else copies
        self._open = partial(open_server, url) if url else partial(open_directory, directory)
        self._directory = None if url else directory.absolute()
        self._prefix = ""
        self._is_closing = False
        self._opening = threading.Lock()
        self._client: Client | None = None
        self._collections: dict[CollectionKey, Collection] = {}
        """Handles, one per collection in use; finding one anew costs more than a query."""
        patience_s = READ_TIMEOUT_S if self._copies is None else COPIES_TIMEOUT_S
        self._cache = VectorCache(max_bytes=held_bytes, patience_s=patience_s)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="chroma-write")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="chroma-read")

    async def close(self) -> None:
        # Ends a long read between two batches; the shutdown below would wait for it.
        self._is_closing = True
        await self._cache.close()
        await asyncio.to_thread(self._readers.shutdown)
        await asyncio.to_thread(self._writer.shutdown)
        await asyncio.to_thread(self._close_client)

    def belong_to(self, library: str) -> None:
        """Set the prefix of the collection names: on a server there may be other libraries with the
        same namespace ids."""
        self._prefix = f"{library}-" if self._directory is None else ""

    async def add(
        self, collection: VectorCollection, ids: Sequence[int], vectors: NDArray[np.float32]
    ) -> None:
        """Store one row per id; the same id again replaces it. Pauses between batches as long as a
        batch took, so that queries are served."""
        for part in _slices(len(ids), ADD_BATCH):
            began = time.monotonic()
            await self._run(self._writer, partial(self._add, collection, ids[part], vectors[part]))
            self._cache.added(collection.key, ids[part], vectors[part])
            if part.stop < len(ids):
                await asyncio.sleep(time.monotonic() - began)

    @property
    def has_copies(self) -> bool:
        """True if copies of vectors are stored in the database; a commit of chunks then includes
        them."""
        return self._copies is not None

    def committed(
        self, key: CollectionKey, ids: Sequence[int], vectors: NDArray[np.float32]
    ) -> None:
        """Replay added vectors after the commit of their chunks, for a load that is in progress."""
        self._cache.committed(key, ids, vectors)

    async def follow(self) -> None:
        """Nothing: one process uses it."""

    async def warm(self, collection: VectorCollection) -> None:
        """Begin to load a collection into RAM, if it fits."""
        await self._held(collection)

    async def remove(self, key: CollectionKey, ids: Sequence[int]) -> None:
        """Remove vectors. Unknown ids are ignored."""
        for part in _slices(len(ids)):
            self._cache.removed(key, ids[part])
            await self._run(self._writer, partial(self._remove, key, ids[part]))

    async def drop(self, key: CollectionKey) -> None:
        """Remove a collection. An unknown collection is ignored."""
        self._cache.dropped(key)
        await self._run(self._writer, partial(self._drop, key))

    async def count(self, key: CollectionKey) -> int:
        """Return the number of vectors in the collection."""
        return await self._run(self._readers, partial(self._count, key))

    async def nearest(
        self,
        collection: VectorCollection,
        vector: NDArray[np.float32],
        limit: int,
        *,
        among: Sequence[int] | None = None,
    ) -> Mapping[int, float]:
        """The ids nearest to the vector, of `among` if given, with their cosine, nearest first."""
        held = await self._held(collection)
        if held is None:
            find = partial(self._nearest, collection, vector, limit, among)
            held = await self._some(collection, await self._run(self._readers, find))
        return held.nearest(vector, limit, among)

    async def cosines(
        self, collection: VectorCollection, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Compute the cosine of each id with the vector; ids without a vector are left out."""
        held = await self._held(collection) or await self._some(collection, ids)
        return held.cosines(vector, ids)

    async def stored(
        self, collection: VectorCollection, ids: Sequence[int]
    ) -> Mapping[int, NDArray[np.float32]]:
        """Read vectors by id; ids without a vector are left out."""
        return await self._run(self._readers, partial(self._read_some, collection, ids))

    async def _some(self, collection: VectorCollection, ids: Sequence[int]) -> PassageVectors:
        """Read vectors, quantized as in RAM: scores are the same before and after a load."""
        some, found = PassageVectors(), await self.stored(collection, ids)
        if found:
            some.put(list(found), np.stack(list(found.values())))
        return some

    async def _held(self, collection: VectorCollection) -> PassageVectors | None:
        return await self._cache.of(collection.key, partial(self._read, collection))

    async def _read(self, collection: VectorCollection) -> PassageVectors | None:
        """Load the collection into RAM; None if it is too large. The cache records the changes made
        meanwhile."""
        if self._copies is None:
            return await asyncio.to_thread(
                translate_chroma_errors, partial(self._read_all, collection)
            )
        return await self._read_copies(collection, self._copies)

    async def _read_copies(
        self, collection: VectorCollection, copies: VectorCopyStore
    ) -> PassageVectors | None:
        pages, count = await copies.pages(collection.namespace_id)
        if not self._fits(count, collection):
            return None
        held = PassageVectors()
        for documents in pages:
            page = await copies.read(documents, collection.edition, collection.dimension)
            await asyncio.to_thread(held.put_values, page.ids, page.values)
            for missing in _deletion_groups(page.missing):
                await self._make_copies(collection, copies, missing, held)
        return held

    async def _make_copies(
        self,
        collection: VectorCollection,
        copies: VectorCopyStore,
        missing: Mapping[int, Sequence[int]],
        held: PassageVectors,
    ) -> None:
        """Make the missing copies, for documents stored by an older version or reindexed."""
        ids = [number for some in missing.values() for number in some]
        read = partial(self._read_some, collection, ids)
        found = await asyncio.to_thread(translate_chroma_errors, read)
        if not found:
            return
        await asyncio.to_thread(held.put, list(found), np.stack(list(found.values())))
        whole = {
            document: quantize_document(some, np.stack([found[number] for number in some]))
            for document, some in missing.items()
            if all(number in found for number in some)
        }
        await copies.keep(collection.edition, whole)

    def _fits(self, count: int, collection: VectorCollection) -> bool:
        return self._cache.fits(count * (collection.dimension + BYTES_BESIDE))

    async def _run(self, pool: ThreadPoolExecutor, call: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(pool, translate_chroma_errors, call)

    def _open_client(self) -> Client:
        with self._opening:
            if self._client is None:
                self._client = self._open()
            return self._client

    def _close_client(self) -> None:
        with self._opening:
            client, self._client = self._client, None
            if client is not None:
                close_client(client)

    def _add(
        self, collection: VectorCollection, ids: Sequence[int], vectors: NDArray[np.float32]
    ) -> None:
        chroma = self._find(collection.key) or self._create(collection)
        chroma.upsert(ids=[str(number) for number in ids], embeddings=vectors)

    def _create(self, collection: VectorCollection) -> Collection:
        return self._open_client().get_or_create_collection(
            self._name(collection.key),
            # chromadb's default embedder downloads a model at first use.
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine"}},
            metadata={"model": collection.model, "dimension": collection.dimension},
        )

    def _remove(self, key: CollectionKey, ids: Sequence[int]) -> None:
        chroma = self._find(key)
        if chroma is not None:
            chroma.delete(ids=[str(number) for number in ids])

    def _drop(self, key: CollectionKey) -> None:
        if self._find(key) is not None:
            self._open_client().delete_collection(self._name(key))
        self._collections.pop(key, None)
        if self._directory is not None:
            remove_unused_folders(self._directory)

    def _count(self, key: CollectionKey) -> int:
        chroma = self._find(key)
        return 0 if chroma is None else chroma.count()

    def _nearest(
        self,
        collection: VectorCollection,
        vector: NDArray[np.float32],
        limit: int,
        among: Sequence[int] | None,
    ) -> Sequence[int]:
        found = self._existing(collection).query(
            query_embeddings=vector.reshape(1, -1),
            ids=None if among is None else [str(number) for number in among],
            n_results=limit,
            include=[],
        )
        return [int(number) for number in found["ids"][0]]

    def _read_all(self, collection: VectorCollection) -> PassageVectors | None:
        chroma = self._existing(collection)
        if not self._fits(chroma.count(), collection):
            return None
        held = PassageVectors()
        for found in self._in_batches(chroma, chroma.get(include=[])["ids"]):
            held.put(list(found), np.stack(list(found.values())))
        # A load that `close` ended early is incomplete.
        return None if self._is_closing else held

    def _read_some(
        self, collection: VectorCollection, ids: Sequence[int]
    ) -> Mapping[int, NDArray[np.float32]]:
        chroma = self._existing(collection)
        all_found: dict[int, NDArray[np.float32]] = {}
        for found in self._in_batches(chroma, list(map(str, ids))):
            all_found |= found
        return all_found

    def _in_batches(
        self, chroma: Collection, ids: Sequence[str]
    ) -> Iterator[Mapping[int, NDArray[np.float32]]]:
        """Read vectors in batches and yield to queries between them; ends early when the index is
        closed."""
        rest = YieldingThread(after_s=READ_TIMEOUT_S)
        for start in range(0, len(ids), READ_BATCH):
            if self._is_closing:
                return
            rest.take()
            wanted = list(ids[start : start + READ_BATCH])
            found = chroma.get(ids=wanted, include=["embeddings"])
            if found["ids"]:
                rows = np.asarray(found["embeddings"], np.float32)
                yield dict(zip(map(int, found["ids"]), rows, strict=True))

    def _existing(self, collection: VectorCollection) -> Collection:
        chroma = self._find(collection.key)
        if chroma is None:
            raise StorageFailed(
                f"the vectors of namespace {collection.namespace!r} are missing;"
                f" run `{REINDEX_COMMAND}`"
            )
        return chroma

    def _find(self, key: CollectionKey) -> Collection | None:
        from chromadb.errors import NotFoundError

        known = self._collections.get(key)
        if known is not None:
            return known
        client = self._open_client()
        try:
            found = client.get_collection(self._name(key), embedding_function=None)
        except NotFoundError:
            return None
        if len(self._collections) >= MAX_HANDLES:
            self._collections.clear()
        self._collections[key] = found
        return found

    def _name(self, key: CollectionKey) -> str:
        return self._prefix + key.name


def _deletion_groups(chunks: Mapping[int, Sequence[int]]) -> Iterator[Mapping[int, Sequence[int]]]:
    """Group the documents by about BATCH chunks, so that completed groups are kept if the work is
    interrupted."""
    group: dict[int, Sequence[int]] = {}
    for document, ids in chunks.items():
        group[document] = ids
        if sum(map(len, group.values())) >= BATCH:
            yield group
            group = {}
    if group:
        yield group


def _slices(count: int, size: int = BATCH) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size))
