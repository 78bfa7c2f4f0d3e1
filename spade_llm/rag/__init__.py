"""Documents: split, stored and found again by meaning and by words.

Names are loaded at first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.rag.answering import Answerer, Citation, SourcedAnswer
    from spade_llm.rag.documents import (
        Access,
        Catalogue,
        Document,
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
    "Catalogue",
    "Chunk",
    "Citation",
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
    "Retrieval",
    "RetrievalOptions",
    "Retriever",
    "ScoredChunk",
    "Sharing",
    "SourcedAnswer",
    "Splitting",
    "split",
]

_HOME = {
    "Access": "documents",
    "Answerer": "answering",
    "Catalogue": "documents",
    "Citation": "answering",
    "Document": "documents",
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


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'retriever')}"), name)
