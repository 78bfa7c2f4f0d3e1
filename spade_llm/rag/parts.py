"""The parts of a document library, put together. Knows no owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.rag.batches import SharedBatches
from spade_llm.rag.folder import Files
from spade_llm.rag.grants import Grants
from spade_llm.rag.ingestion import Ingestion
from spade_llm.rag.reindexing import Reindexing
from spade_llm.rag.removal import Removal
from spade_llm.rag.storing import Storing

if TYPE_CHECKING:
    from spade_llm.providers.embedder import Embedder
    from spade_llm.rag.chroma_index import ChromaIndex
    from spade_llm.rag.database import Database
    from spade_llm.rag.loader import Loader
    from spade_llm.rag.readers import Readers
    from spade_llm.rag.registry import Registry
    from spade_llm.rag.search import HybridSearch
    from spade_llm.rag.splitter import Splitting
    from spade_llm.rag.sweeping import Sweeping


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryParts:
    embedder: Embedder | None
    registry: Registry
    grants: Grants
    index: ChromaIndex
    readers: Readers
    sweeping: Sweeping
    batches: SharedBatches | None
    storing: Storing
    ingestion: Ingestion
    removal: Removal
    reindexing: Reindexing
    loader: Loader
    files: Files
    search: HybridSearch


def put_together(
    database: Database,
    index: ChromaIndex,
    search: HybridSearch,
    *,
    registry: Registry,
    sweeping: Sweeping,
    embedder: Embedder | None,
    splitting: Splitting,
    loader: Loader,
) -> LibraryParts:
    grants = Grants(database, registry)
    batches = None if embedder is None else SharedBatches(embedder)
    storing = Storing(registry, index, grants, sweeping, embedder=embedder)
    return LibraryParts(
        embedder=embedder,
        registry=registry,
        grants=grants,
        index=index,
        readers=sweeping.readers,
        sweeping=sweeping,
        batches=batches,
        storing=storing,
        ingestion=Ingestion(
            registry, grants, storing, embedder=embedder, batches=batches, splitting=splitting
        ),
        removal=Removal(registry, grants, sweeping),
        reindexing=Reindexing(registry, index, sweeping, embedder=embedder, batches=batches),
        loader=loader,
        files=Files(loader),
        search=search,
    )
