"""Documents: split, stored and found again by meaning and by words.

Names are loaded at first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.rag.library import DocumentLibrary, OwnedLibrary
    from spade_llm.rag.loader import LoadLimits
    from spade_llm.rag.retriever import (
        DEFAULT_NAMESPACE,
        Chunk,
        Document,
        Ingested,
        Library,
        NamespaceSummary,
        Retrieval,
        Retriever,
        ScoredChunk,
    )
    from spade_llm.rag.splitter import Passage, Splitting, split

__all__ = [
    "DEFAULT_NAMESPACE",
    "Chunk",
    "Document",
    "DocumentLibrary",
    "Ingested",
    "Library",
    "LoadLimits",
    "NamespaceSummary",
    "OwnedLibrary",
    "Passage",
    "Retrieval",
    "Retriever",
    "ScoredChunk",
    "Splitting",
    "split",
]

_HOME = {
    "DocumentLibrary": "library",
    "LoadLimits": "loader",
    "OwnedLibrary": "library",
    "Passage": "splitter",
    "Splitting": "splitter",
    "split": "splitter",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME.get(name, 'retriever')}"), name)
