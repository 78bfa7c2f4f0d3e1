"""Chroma vector store with a program's own documents and embeddings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar, Unpack, cast

import numpy as np

from spade_llm.compat.documents import Document
from spade_llm.compat.vector_store import (
    DEFAULT_K,
    EmbeddingFunction,
    SearchKeywords,
    VectorStore,
    Where,
)
from spade_llm.core.imports import require_extra
from spade_llm.rag.store.chroma_client import close_client, set_deadlines, translate_chroma_errors

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection
    from chromadb.api.types import Embeddings, GetResult, Metadatas, QueryResult
    from chromadb.config import Settings

SERVER_PORT = 8000
T = TypeVar("T")

MAX_RESULTS = 1000
DEFAULT_NAME = "documents"


def maximal_marginal_relevance(
    query: Sequence[float], found: Sequence[Sequence[float]], *, k: int, balance: float
) -> list[int]:
    """Indexes of up to k vectors of `found`, in the order of choice. `balance`: 1 nearest, 0 most
    different."""
    if not len(found):
        return []
    vectors = _unit(np.asarray(found, dtype=np.float64))
    nearness = vectors @ _unit(np.asarray([query], dtype=np.float64))[0]
    redundancy = np.full(len(vectors), -np.inf)
    chosen = [int(np.argmax(nearness))]
    while len(chosen) < min(k, len(vectors)):
        redundancy = np.maximum(redundancy, vectors @ vectors[chosen[-1]])
        worth = balance * nearness - (1 - balance) * redundancy
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
    return chosen


def open_client(keywords: ChromaKeywords) -> ClientAPI:
    """Open a client at the location of the keywords. Blocking. Raises exceptions of chromadb."""
    import chromadb
    from chromadb.config import DEFAULT_DATABASE, DEFAULT_TENANT, Settings

    if given := keywords.get("client"):
        return given
    # By default, chromadb sends telemetry.
    settings = keywords.get("client_settings") or Settings(anonymized_telemetry=False)
    tenant = keywords.get("tenant") or DEFAULT_TENANT
    database = keywords.get("database") or DEFAULT_DATABASE
    if directory := keywords.get("persist_directory"):
        Path(directory).mkdir(mode=0o700, parents=True, exist_ok=True)
        return chromadb.PersistentClient(directory, settings, tenant, database)
    if host := keywords.get("host"):
        client = chromadb.HttpClient(
            host,
            keywords.get("port") or SERVER_PORT,
            keywords.get("ssl", False),
            dict(keywords.get("headers") or {}),
            settings,
            tenant,
            database,
        )
        set_deadlines(client)
        return client
    return chromadb.EphemeralClient(settings, tenant, database)


class ChromaKeywords(TypedDict, total=False):
    """Location of the database, and its distance metric."""

    persist_directory: str | Path | None
    host: str | None
    port: int | None
    ssl: bool
    headers: Mapping[str, str] | None
    tenant: str | None
    database: str | None
    client: ClientAPI | None
    client_settings: Settings | None
    collection_metadata: Mapping[str, object] | None
    collection_configuration: CreateCollectionConfiguration | None
    relevance_score_fn: Callable[[float], float] | None


class Chroma(VectorStore):
    """Chroma vector store: in files (`persist_directory`), on a server (`host`), in a given
    `client`, or else in RAM.

    Use it with `async with`, or with `initialize()` and `cleanup()`. The first use opens it, too.
    """

    def __init__(
        self,
        collection_name: str = DEFAULT_NAME,
        embedding_fn: EmbeddingFunction | None = None,
        **keywords: Unpack[ChromaKeywords],
    ) -> None:
        require_extra("documents", "chromadb")
        super().__init__(embedding_fn)
        places = [key for key in ("persist_directory", "host", "client") if keywords.get(key)]
        if len(places) > 1:
            raise ValueError(f"Chroma: give only one of {', '.join(places)}")
        self.collection_name = collection_name
        self._keywords = keywords
        self._opening = asyncio.Lock()
        self._client: ClientAPI | None = None
        self._collection: Collection | None = None

    async def __aenter__(self) -> Self:
        await self.initialize()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cleanup()

    async def initialize(self) -> None:
        await self._opened()

    async def add_documents(self, documents: Sequence[Document]) -> list[str]:
        """Raises ValueError without `embedding_fn`, StorageFailed."""
        if not documents:
            return []
        await self._put([one.id for one in documents], documents)
        return [one.id for one in documents]

    async def update_document(self, document_id: str, document: Document) -> None:
        """Replace a document, or add it under this id."""
        await self.update_documents([document_id], [document])

    async def update_documents(self, ids: Sequence[str], documents: Sequence[Document]) -> None:
        """Replace documents, or add them under these ids. Raises ValueError: not as many
        documents as ids."""
        if len(ids) != len(documents):
            raise ValueError(f"{len(ids)} ids for {len(documents)} documents: give one for each")
        await self._put(ids, documents)

    async def similarity_search(
        self, query: str, k: int = DEFAULT_K, **keywords: Unpack[SearchKeywords]
    ) -> list[Document]:
        found = await self.similarity_search_with_score(query, k, **keywords)
        return [document for document, _ in found]

    async def similarity_search_with_score(
        self, query: str, k: int = DEFAULT_K, **keywords: Unpack[SearchKeywords]
    ) -> list[tuple[Document, float]]:
        found = await self._nearest(await self._vector(query), k, keywords)
        score = self._score()
        distances = (found["distances"] or [[]])[0]
        return [
            (document, score(distance))
            for document, distance in zip(_query_documents(found), distances, strict=True)
        ]

    async def max_marginal_relevance_search(
        self,
        query: str,
        k: int = DEFAULT_K,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **keywords: Unpack[SearchKeywords],
    ) -> list[Document]:
        vector = await self._vector(query)
        found = await self._nearest(vector, max(k, fetch_k), keywords)
        documents = _query_documents(found)
        # Chroma types vectors as one of several arrays; each is a sequence of numbers.
        vectors = cast("Sequence[Sequence[float]]", (found["embeddings"] or [[]])[0])
        return [
            documents[at]
            for at in maximal_marginal_relevance(vector, vectors, k=k, balance=lambda_mult)
        ]

    async def get_by_ids(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents that exist, with these ids."""
        found = await self.get(ids=ids)
        return _documents(found["ids"], found["documents"], found["metadatas"])

    async def get(
        self,
        ids: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
        offset: int | None = None,
        where_document: Where | None = None,
        include: Sequence[str] | None = None,
    ) -> GetResult:
        """Return documents in Chroma's own form: `ids`, `documents`, `metadatas`."""
        collection = await self._opened()
        wanted: dict[str, object] = {
            "ids": list(ids) if ids is not None else None,
            "where": where,
            "limit": limit,
            "offset": offset,
            "where_document": where_document,
            "include": list(include or ("metadatas", "documents")),
        }
        return await _in_thread(lambda: collection.get(**wanted))  # type: ignore[arg-type]

    async def delete(self, ids: Sequence[str]) -> bool:
        collection = await self._opened()
        if ids:
            await _in_thread(lambda: collection.delete(ids=list(ids)))
        return bool(ids)

    async def get_document_count(self) -> int:
        """Return the number of documents in the collection."""
        collection = await self._opened()
        return await _in_thread(collection.count)

    async def delete_collection(self) -> None:
        """Delete the collection with all its documents."""
        await self._opened()
        client, self._collection = self._client, None
        if client is not None:
            await _in_thread(lambda: client.delete_collection(self.collection_name))

    async def reset_collection(self) -> None:
        """Delete all documents."""
        await self.delete_collection()
        await self._opened()

    async def cleanup(self) -> None:
        client, self._client, self._collection = self._client, None, None
        if client is not None and self._keywords.get("client") is None:
            # A client that we open is always a `Client`.
            await asyncio.to_thread(close_client, cast("Client", client))

    async def _opened(self) -> Collection:
        async with self._opening:
            if self._collection is None:
                self._collection = await _in_thread(self._open)
            return self._collection

    def _open(self) -> Collection:
        self._client = self._client or open_client(self._keywords)
        more: dict[str, object] = {
            "metadata": self._keywords.get("collection_metadata"),
            "configuration": self._keywords.get("collection_configuration"),
        }
        given = {key: value for key, value in more.items() if value is not None}
        return self._client.get_or_create_collection(
            self.collection_name,
            # By default chromadb would download its own embedder (80 MB) at first use.
            embedding_function=None,
            **given,  # type: ignore[arg-type]  # of a dict with known keys
        )

    async def _put(self, ids: Sequence[str], documents: Sequence[Document]) -> None:
        collection = await self._opened()
        texts = [one.text for one in documents]
        vectors = await self._vectors(texts)
        facts = [_storable(one.metadata) for one in documents]
        await _in_thread(
            lambda: collection.upsert(
                ids=list(ids),
                documents=texts,
                embeddings=cast("Embeddings", vectors),
                metadatas=cast("Metadatas", facts),
            )
        )

    async def _vector(self, query: str) -> list[float]:
        return (await self._vectors([query]))[0]

    async def _vectors(self, texts: list[str]) -> list[list[float]]:
        if self.embedding_fn is None:
            raise ValueError("Chroma: give embedding_fn, for instance provider.get_embeddings")
        return await self.embedding_fn(texts)

    async def _nearest(self, vector: list[float], k: int, keywords: SearchKeywords) -> QueryResult:
        collection = await self._opened()
        wanted: dict[str, object] = {
            "query_embeddings": [vector],
            "n_results": min(k, MAX_RESULTS),
            "where": keywords.get("filters") or keywords.get("where"),
            "where_document": keywords.get("where_document"),
            "include": ["documents", "metadatas", "distances", "embeddings"],
        }
        return await _in_thread(lambda: collection.query(**wanted))  # type: ignore[arg-type]

    def _score(self) -> Callable[[float], float]:
        if own := self._keywords.get("relevance_score_fn"):
            return own
        configured = self._keywords.get("collection_configuration") or {}
        space = (configured.get("hnsw") or configured.get("spann") or {}).get("space")
        return _SCORES.get(str(space), _squared_l2_score)


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    # A vector of zeros stays one instead of becoming NaN.
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths))


def _squared_l2_score(distance: float) -> float:
    return 1.0 / (1.0 + distance)


_SCORES: dict[str, Callable[[float], float]] = {
    "cosine": lambda distance: 1.0 - distance,
    "ip": lambda distance: -distance,
    "l2": _squared_l2_score,
}
"""Conversion of Chroma's distances (0: identical) to scores, by metric."""


def _storable(metadata: Mapping[str, object]) -> dict[str, object] | None:
    """Convert metadata for Chroma, which accepts only scalars, and None instead of an empty dict.
    Other values become JSON text."""
    scalars = (str, int, float, bool)
    found: dict[str, object] = {
        key: value if isinstance(value, scalars) else json.dumps(value, default=str)
        for key, value in metadata.items()
        if value is not None
    }
    return found or None


def _query_documents(found: QueryResult) -> list[Document]:
    """Return the documents found for the single query."""
    texts, facts = found["documents"] or [[]], found["metadatas"] or [[]]
    return _documents(found["ids"][0], texts[0], facts[0])


def _documents(
    ids: Sequence[str],
    texts: Sequence[str | None] | None,
    facts: Sequence[Mapping[str, object] | None] | None,
) -> list[Document]:
    rows = zip(ids, texts or [""] * len(ids), facts or [None] * len(ids), strict=True)
    return [
        Document.from_dict({"id": id, "content": text or "", "metadata": dict(known or {})})
        for id, text, known in rows
    ]


async def _in_thread(call: Callable[[], T]) -> T:
    return await asyncio.to_thread(translate_chroma_errors, call)
