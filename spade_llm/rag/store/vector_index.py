"""Vector collections of namespaces, and the contract of their storage (Chroma, PostgreSQL)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.rag.store.rows import Namespace


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
