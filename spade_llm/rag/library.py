"""The documents of all owners, in one directory. Knows no wire and no asker's identity.

`DocumentLibrary.for_owner(jid)` gives the view of one owner.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from spade_llm.core.extras import require_extra
from spade_llm.errors import InvalidArguments
from spade_llm.rag.chroma_client import check_url
from spade_llm.rag.chroma_index import ChromaIndex
from spade_llm.rag.database import Database
from spade_llm.rag.filters import Filters
from spade_llm.rag.loader import Loader
from spade_llm.rag.owned_library import OwnedLibrary
from spade_llm.rag.parts import put_together
from spade_llm.rag.registry import Registry
from spade_llm.rag.schema import MIGRATIONS
from spade_llm.rag.search import MIN_SCORE, HybridSearch
from spade_llm.rag.splitter import Splitting
from spade_llm.rag.sweeping import Sweeping
from spade_llm.rag.vector_copies import VectorCopies
from spade_llm.rag.warming import Warming
from spade_llm.rag.word_indexes import WordIndexes
from spade_llm.rag.word_store import WordStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from spade_llm.providers.embedder import Embedder
    from spade_llm.rag.loader import LoadLimits


class DocumentLibrary:
    """An async context manager. One process at a time may have the directory open."""

    def __init__(
        self,
        directory: Path,
        *,
        embedder: Embedder | None,
        roots: Sequence[Path] = (),
        splitting: Splitting | None = None,
        limits: LoadLimits | None = None,
        min_score: float = MIN_SCORE,
        chroma_url: str | None = None,
    ) -> None:
        """`embedder=None`: keywords only. `roots`: where files may be read; none, no files.
        `chroma_url`: a Chroma server that keeps the vectors; without, they are in the directory.

        Raises:
            ConfigurationError: `chroma_url` is no server's URL; the extra `documents` is missing.
        """
        require_extra("documents")
        if chroma_url is not None:
            check_url(chroma_url)
        self._directory = directory
        self._database = Database(directory / "documents.sqlite3", migrations=MIGRATIONS)
        copies = VectorCopies(self._database)
        index = ChromaIndex(directory / "chroma", url=chroma_url, copies=copies)
        registry = Registry(self._database)
        sweeping = Sweeping(registry, index)
        words = WordIndexes(WordStore(self._database))
        model = embedder.name if embedder is not None else None
        self._warming = Warming(registry, words, index, model=model)
        search = HybridSearch(
            registry,
            words,
            Filters(self._database),
            index,
            embedder=embedder,
            min_score=min_score,
            changes=sweeping.alone,
            on_asked=self._warming.asked,
        )
        self._parts = put_together(
            self._database,
            index,
            search,
            registry=registry,
            sweeping=sweeping,
            embedder=embedder,
            splitting=splitting or Splitting(),
            loader=Loader(roots, limits=limits),
        )
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._database)
            stack.push_async_callback(self._parts.index.close)
            stack.push_async_callback(asyncio.to_thread, self._parts.loader.close)
            self._parts.index.belong_to(await self._parts.registry.library_id())
            await self._tidy()
            stack.push_async_callback(self._parts.storing.close)
            stack.push_async_callback(self._warming.close)
            self._warming.start()
            if self._parts.batches is not None:
                stack.push_async_callback(self._parts.batches.close)
            self._opened = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._opened.aclose()

    def for_owner(self, owner: str) -> OwnedLibrary:
        if not owner:
            raise InvalidArguments("owner must not be empty")
        return OwnedLibrary(owner, self._parts)

    async def _tidy(self) -> None:
        """What an interrupted change left behind goes; without the vectors' store, later."""
        async with self._parts.sweeping.alone:
            await self._parts.sweeping.try_to_sweep()
            await self._parts.registry.empty_log()
