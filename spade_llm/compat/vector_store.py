"""Vector store and retriever base classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

if TYPE_CHECKING:
    from spade_llm.compat.documents import Document

DEFAULT_K = 4
EmbeddingFunction = Callable[[list[str]], Awaitable[list[list[float]]]]
"""Embeds texts, for instance `provider.get_embeddings`."""
SearchType = Literal["similarity", "mmr"]
Where = Mapping[str, object]
"""Filter in Chroma's syntax: `{"topic": "sea"}`, `{"year": {"$gt": 2000}}`."""


class SearchKeywords(TypedDict, total=False):
    filters: Where | None
    where: Where | None
    """Alias of `filters`."""
    where_document: Where | None


class VectorStore(ABC):
    """Base class of vector stores."""

    def __init__(self, embedding_fn: EmbeddingFunction | None = None) -> None:
        self.embedding_fn = embedding_fn

    @abstractmethod
    async def initialize(self) -> None:
        """Open the store; a second call does nothing."""

    @abstractmethod
    async def add_documents(self, documents: Sequence[Document]) -> list[str]:
        """Add documents and return their ids; a document with a known id is replaced."""

    @abstractmethod
    async def similarity_search(
        self, query: str, k: int = DEFAULT_K, **keywords: Unpack[SearchKeywords]
    ) -> list[Document]:
        """Return the nearest documents, best first."""

    @abstractmethod
    async def similarity_search_with_score(
        self, query: str, k: int = DEFAULT_K, **keywords: Unpack[SearchKeywords]
    ) -> list[tuple[Document, float]]:
        """Return the nearest documents with scores; a larger score is nearer."""

    @abstractmethod
    async def max_marginal_relevance_search(
        self,
        query: str,
        k: int = DEFAULT_K,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **keywords: Unpack[SearchKeywords],
    ) -> list[Document]:
        """Select diverse documents among the `fetch_k` nearest (maximal marginal relevance).
        `lambda_mult`: 1 nearest only, 0 most different."""

    @abstractmethod
    async def delete(self, ids: Sequence[str]) -> bool:
        """Delete documents by id."""

    @abstractmethod
    async def get_document_count(self) -> int:
        """Return the number of documents."""

    @abstractmethod
    async def cleanup(self) -> None:
        """Close the store; files of a directory stay."""


class RetrieveKeywords(SearchKeywords, total=False):
    search_type: SearchType
    fetch_k: int
    lambda_mult: float
    sim_threshold: float
    """Minimum score of a returned document."""


class BaseRetriever(ABC):
    """Base class of retrievers."""

    @abstractmethod
    async def retrieve(
        self, query: str, k: int = DEFAULT_K, **keywords: Unpack[RetrieveKeywords]
    ) -> list[Document]:
        """Return the k best documents."""


class VectorStoreRetriever(BaseRetriever):
    """Retriever of the documents of a vector store."""

    def __init__(
        self, vector_store: VectorStore, search_type: SearchType = "similarity", k: int = DEFAULT_K
    ) -> None:
        """`search_type` and `k` are defaults of `retrieve`."""
        self.vector_store = vector_store
        self.search_type = search_type
        self.k = k

    async def retrieve(
        self, query: str, k: int | None = None, **keywords: Unpack[RetrieveKeywords]
    ) -> list[Document]:
        """Raises ValueError for an unknown `search_type`."""
        wanted, count = keywords.get("search_type", self.search_type), k or self.k
        match wanted:
            case "similarity":
                return await self.retrieve_similarity(query, count, **keywords)
            case "mmr":
                return await self.retrieve_mmr(query, count, **keywords)
        raise ValueError(f"search_type is {wanted!r}: use similarity or mmr")

    async def retrieve_similarity(
        self, query: str, k: int = DEFAULT_K, **keywords: Unpack[RetrieveKeywords]
    ) -> list[Document]:
        """Return the k nearest documents, with `sim_threshold` those above it."""
        search, threshold = _search(keywords), keywords.get("sim_threshold")
        if threshold is None:
            return await self.vector_store.similarity_search(query, k, **search)
        scored = await self.vector_store.similarity_search_with_score(query, k, **search)
        return [document for document, score in scored if score >= threshold]

    async def retrieve_mmr(
        self, query: str, k: int = DEFAULT_K, **keywords: Unpack[RetrieveKeywords]
    ) -> list[Document]:
        """Return k diverse documents among the `fetch_k` nearest."""
        return await self.vector_store.max_marginal_relevance_search(
            query,
            k,
            keywords.get("fetch_k", 20),
            keywords.get("lambda_mult", 0.5),
            **_search(keywords),
        )


def _search(keywords: RetrieveKeywords) -> SearchKeywords:
    """Search keywords that are set: a program's own store need not support the others."""
    found = SearchKeywords()
    if where := keywords.get("filters") or keywords.get("where"):
        found["filters"] = where
    if where_document := keywords.get("where_document"):
        found["where_document"] = where_document
    return found
