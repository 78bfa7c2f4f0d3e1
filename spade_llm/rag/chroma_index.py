"""Vectors of chunks in Chroma, in files of our own. Knows ids and vectors, no text and no model.

chromadb is imported at first use, in a thread (it takes a second), and every call runs off the
event loop: changes one at a time in one thread, queries in others.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from spade_llm.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection
    from numpy.typing import NDArray

_Result = TypeVar("_Result")

BATCH = 1000
"""Vectors per change; Chroma takes at most 5461 at once."""
READERS = 2
"""Threads for queries: the machine is shared with the embedder."""
SMALL = 2000
"""A namespace of so many vectors (3 MB) is kept in RAM when it is asked, and looked through there
in 0.1 ms; a query of Chroma's takes 1.5 ms however few they are, and a change of threads."""
MAX_SMALL = 20
"""Namespaces in RAM, 60 MB at the most; the one unused longest leaves."""
MAX_HANDLES = 1000
"""Of collections; beyond it they are found anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Whose vectors, and made by what: a collection of its own."""

    namespace_id: int
    owner: str
    namespace: str
    model: str
    dimension: int

    @property
    def collection(self) -> str:
        return collection_name(self.namespace_id)


def collection_name(namespace_id: int) -> str:
    """Safe whatever the namespace is called, and never that of another one."""
    digest = hashlib.sha256(f"spade-llm namespace {namespace_id}".encode()).hexdigest()
    return f"ns-{namespace_id}-{digest[:16]}"


@dataclass(frozen=True, slots=True)
class _Small:
    """All vectors of a small namespace."""

    ids: Sequence[int]
    vectors: NDArray[np.float32]

    def nearest(self, vector: NDArray[np.float32], limit: int) -> dict[int, float]:
        products = self.vectors @ vector
        best = np.argsort(-products, kind="stable")[:limit]
        return {self.ids[row]: float(products[row]) for row in best}


class ChromaIndex:
    """Cosine similarity over the vectors of a directory; `close` it in the end."""

    def __init__(self, directory: Path, *, small: int = SMALL) -> None:
        self._directory = directory
        self._max_small = small
        self._opening = threading.Lock()
        self._client: Client | None = None
        self._collections: dict[int, Collection] = {}
        """Handles, one per namespace in use; finding one anew costs more than a query."""
        self._small: OrderedDict[int, _Small] = OrderedDict()
        self._changing_now: Counter[int] = Counter()
        self._generation = 0
        """Counts the beginnings and ends of changes, so that nothing outdated is kept."""
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="chroma-write")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="chroma-read")

    async def close(self) -> None:
        await asyncio.to_thread(self._readers.shutdown)
        await asyncio.to_thread(self._writer.shutdown)
        await asyncio.to_thread(self._close_client)

    async def add(self, shelf: Shelf, ids: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Store one row per id; the same id again replaces it."""
        with self._changing(shelf.namespace_id):
            for part in _parts(len(ids)):
                await self._run(self._writer, partial(self._add, shelf, ids[part], vectors[part]))

    async def remove(self, namespace_id: int, ids: Sequence[int]) -> None:
        """Forget these; those that are not there are no error."""
        with self._changing(namespace_id):
            for part in _parts(len(ids)):
                await self._run(self._writer, partial(self._remove, namespace_id, ids[part]))

    async def drop(self, namespace_id: int) -> None:
        """Forget a whole namespace; one that is not there is no error."""
        with self._changing(namespace_id):
            await self._run(self._writer, partial(self._drop, namespace_id))

    async def count(self, namespace_id: int) -> int:
        """How many vectors a namespace has."""
        return await self._run(self._readers, partial(self._count, namespace_id))

    async def nearest(
        self, shelf: Shelf, vector: NDArray[np.float32], limit: int
    ) -> Mapping[int, float]:
        """The ids nearest to the vector, with their cosine, nearest first."""
        small = await self._small_of(shelf)
        if small is not None:
            return small.nearest(vector, limit)
        return await self._run(self._readers, partial(self._nearest, shelf, vector, limit))

    async def cosines(
        self, shelf: Shelf, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> Mapping[int, float]:
        """How near these are to the vector; those without a vector are left out."""
        return await self._run(self._readers, partial(self._cosines, shelf, vector, ids))

    @contextmanager
    def _changing(self, namespace_id: int) -> Iterator[None]:
        """What is in RAM of this namespace is outdated from the first moment of a change on."""
        self._changing_now[namespace_id] += 1
        self._outdate(namespace_id)
        try:
            yield
        finally:
            self._changing_now[namespace_id] -= 1
            self._outdate(namespace_id)

    def _outdate(self, namespace_id: int) -> None:
        self._generation += 1
        self._small.pop(namespace_id, None)
        if not self._changing_now[namespace_id]:
            del self._changing_now[namespace_id]

    async def _small_of(self, shelf: Shelf) -> _Small | None:
        """All of its vectors, kept until the next change; None while one goes on, or if they are
        too many."""
        if shelf.namespace_id in self._small:
            self._small.move_to_end(shelf.namespace_id)
            return self._small[shelf.namespace_id]
        if shelf.namespace_id in self._changing_now:
            return None
        generation = self._generation
        small = await self._run(self._readers, partial(self._read_small, shelf))
        if small is not None and generation == self._generation:
            self._small[shelf.namespace_id] = small
            if len(self._small) > MAX_SMALL:
                self._small.popitem(last=False)
        return small

    async def _run(self, pool: ThreadPoolExecutor, call: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(pool, _translated, call)

    def _open_client(self) -> Client:
        with self._opening:
            if self._client is None:
                self._client = _new_client(self._directory)
            return self._client

    def _close_client(self) -> None:
        with self._opening:
            client, self._client = self._client, None
            if client is not None:
                client.close()

    def _add(self, shelf: Shelf, ids: Sequence[int], vectors: NDArray[np.float32]) -> None:
        collection = self._find(shelf.namespace_id) or self._create(shelf)
        collection.upsert(ids=[str(number) for number in ids], embeddings=vectors)

    def _create(self, shelf: Shelf) -> Collection:
        return self._open_client().get_or_create_collection(
            shelf.collection,
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine"}},
            metadata={
                "owner": shelf.owner,
                "namespace": shelf.namespace,
                "model": shelf.model,
                "dimension": shelf.dimension,
            },
        )

    def _remove(self, namespace_id: int, ids: Sequence[int]) -> None:
        collection = self._find(namespace_id)
        if collection is not None:
            collection.delete(ids=[str(number) for number in ids])

    def _drop(self, namespace_id: int) -> None:
        if self._find(namespace_id) is not None:
            self._open_client().delete_collection(collection_name(namespace_id))
        self._collections.pop(namespace_id, None)

    def _count(self, namespace_id: int) -> int:
        collection = self._find(namespace_id)
        return 0 if collection is None else collection.count()

    def _nearest(
        self, shelf: Shelf, vector: NDArray[np.float32], limit: int
    ) -> Mapping[int, float]:
        found = self._existing(shelf).query(
            query_embeddings=vector.reshape(1, -1), n_results=limit, include=["distances"]
        )
        distances = found["distances"] or [[]]
        pairs = zip(found["ids"][0], distances[0], strict=True)
        return {int(number): 1.0 - float(distance) for number, distance in pairs}

    def _read_small(self, shelf: Shelf) -> _Small | None:
        collection = self._existing(shelf)
        if collection.count() > self._max_small:
            return None
        found = collection.get(include=["embeddings"])
        vectors = np.asarray(found["embeddings"], dtype=np.float32)
        ids = [int(number) for number in found["ids"]]
        return _Small(ids, vectors.reshape(len(ids), shelf.dimension))

    def _cosines(
        self, shelf: Shelf, vector: NDArray[np.float32], ids: Sequence[int]
    ) -> Mapping[int, float]:
        wanted = [str(number) for number in ids]
        found = self._existing(shelf).get(ids=wanted, include=["embeddings"])
        if not found["ids"]:
            return {}
        products = np.asarray(found["embeddings"], dtype=np.float32) @ vector
        return {int(number): float(x) for number, x in zip(found["ids"], products, strict=True)}

    def _existing(self, shelf: Shelf) -> Collection:
        collection = self._find(shelf.namespace_id)
        if collection is None:
            raise StorageFailed(
                f"the vectors of namespace {shelf.namespace!r} are missing; "
                "delete the namespace and add its documents again"
            )
        return collection

    def _find(self, namespace_id: int) -> Collection | None:
        from chromadb.errors import NotFoundError

        known = self._collections.get(namespace_id)
        if known is not None:
            return known
        client = self._open_client()
        try:
            found = client.get_collection(collection_name(namespace_id), embedding_function=None)
        except NotFoundError:
            return None
        if len(self._collections) >= MAX_HANDLES:
            self._collections.clear()
        self._collections[namespace_id] = found
        return found


def _new_client(directory: Path) -> Client:
    from chromadb.api.client import Client
    from chromadb.config import Settings

    directory.mkdir(parents=True, exist_ok=True)
    return Client(
        settings=Settings(
            is_persistent=True, persist_directory=str(directory), anonymized_telemetry=False
        )
    )


def _translated(call: Callable[[], _Result]) -> _Result:
    from chromadb.errors import ChromaError

    try:
        return call()
    except (ChromaError, OSError) as error:
        raise StorageFailed("the vector index could not be read or written") from error


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + BATCH) for start in range(0, count, BATCH))
