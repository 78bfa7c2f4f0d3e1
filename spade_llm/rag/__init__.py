"""Documents: split, stored and found again by meaning and by words.

Names are loaded at first use, so that importing this package costs nothing. `Document` here takes
both forms, ours and that of spade_llm 0.3 (programs/document.py); ours alone is in documents.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.lazy import lazy_exports

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
