"""Retrieval-augmented generation: document library, hybrid search, answers with citations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.core.imports import lazy_exports

if TYPE_CHECKING:
    from spade_llm.compat.chroma import Chroma
    from spade_llm.compat.documents import (
        BaseDocumentLoader,
        CharacterTextSplitter,
        DirectoryLoader,
        Document,
        RecursiveCharacterTextSplitter,
        TextLoader,
        TextSplitter,
    )
    from spade_llm.compat.vector_store import BaseRetriever, VectorStore, VectorStoreRetriever
    from spade_llm.rag.cited_answers import Answerer, Citation, SourcedAnswer
    from spade_llm.rag.contract import (
        DEFAULT_NAMESPACE,
        Access,
        Catalogue,
        Chunk,
        DocumentPage,
        DocumentSummary,
        Ingested,
        Library,
        NamespaceGrant,
        NamespaceStats,
        NamespaceSummary,
        Progress,
        Retrieval,
        RetrievalOptions,
        Retriever,
        ScoredChunk,
        Sharing,
    )
    from spade_llm.rag.library import DocumentLibrary, OwnedLibrary
    from spade_llm.rag.loading.chunking import Passage, Splitting, split
    from spade_llm.rag.loading.loader import LoadLimits
else:
    __getattr__, __dir__ = lazy_exports(__name__, __file__)

__all__ = [
    "DEFAULT_NAMESPACE",
    "Access",
    "Answerer",
    "BaseDocumentLoader",
    "BaseRetriever",
    "Catalogue",
    "CharacterTextSplitter",
    "Chroma",
    "Chunk",
    "Citation",
    "DirectoryLoader",
    "Document",
    "DocumentLibrary",
    "DocumentPage",
    "DocumentSummary",
    "Ingested",
    "Library",
    "LoadLimits",
    "NamespaceGrant",
    "NamespaceStats",
    "NamespaceSummary",
    "OwnedLibrary",
    "Passage",
    "Progress",
    "RecursiveCharacterTextSplitter",
    "Retrieval",
    "RetrievalOptions",
    "Retriever",
    "ScoredChunk",
    "Sharing",
    "SourcedAnswer",
    "Splitting",
    "TextLoader",
    "TextSplitter",
    "VectorStore",
    "VectorStoreRetriever",
    "split",
]
