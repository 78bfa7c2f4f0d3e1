"""Documents: split, stored and found again by meaning and by words.

Names are loaded at first use, so that importing this package costs nothing. `Document` here takes
both forms, ours and that of spade_llm 0.3 (programs/document.py); ours alone is in documents.py.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.programs.chroma import Chroma
    from spade_llm.programs.document import Document
    from spade_llm.programs.document_loaders import (
        BaseDocumentLoader,
        DirectoryLoader,
        TextLoader,
    )
    from spade_llm.programs.text_splitters import (
        CharacterTextSplitter,
        RecursiveCharacterTextSplitter,
        TextSplitter,
    )
    from spade_llm.programs.vector_store import (
        BaseRetriever,
        VectorStore,
        VectorStoreRetriever,
    )
    from spade_llm.rag.answering import Answerer, Citation, SourcedAnswer
    from spade_llm.rag.documents import (
        Access,
        Catalogue,
        DocumentPage,
        DocumentSummary,
        Ingested,
        Library,
        NamespaceGrant,
        NamespaceStats,
        NamespaceSummary,
        Progress,
        Sharing,
    )
    from spade_llm.rag.library import DocumentLibrary
    from spade_llm.rag.loader import LoadLimits
    from spade_llm.rag.owned_library import OwnedLibrary
    from spade_llm.rag.retriever import (
        DEFAULT_NAMESPACE,
        Chunk,
        Retrieval,
        RetrievalOptions,
        Retriever,
        ScoredChunk,
    )
    from spade_llm.rag.splitter import Passage, Splitting, split

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

_HOME = {
    "Access": "documents",
    "Answerer": "answering",
    "Catalogue": "documents",
    "Citation": "answering",
    "DocumentLibrary": "library",
    "DocumentPage": "documents",
    "DocumentSummary": "documents",
    "Ingested": "documents",
    "Library": "documents",
    "LoadLimits": "loader",
    "NamespaceGrant": "documents",
    "NamespaceStats": "documents",
    "NamespaceSummary": "documents",
    "OwnedLibrary": "owned_library",
    "Passage": "splitter",
    "Progress": "documents",
    "Sharing": "documents",
    "SourcedAnswer": "answering",
    "Splitting": "splitter",
    "split": "splitter",
}

_PROGRAMS = {
    "BaseDocumentLoader": "document_loaders",
    "BaseRetriever": "vector_store",
    "CharacterTextSplitter": "text_splitters",
    "Chroma": "chroma",
    "DirectoryLoader": "document_loaders",
    "Document": "document",
    "RecursiveCharacterTextSplitter": "text_splitters",
    "TextLoader": "document_loaders",
    "TextSplitter": "text_splitters",
    "VectorStore": "vector_store",
    "VectorStoreRetriever": "vector_store",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _PROGRAMS:
        return getattr(import_module(f"spade_llm.programs.{_PROGRAMS[name]}"), name)
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'retriever')}"), name)
