"""The documents of all owners, in one directory. Knows no wire and no asker's identity.

`DocumentLibrary.for_owner(jid)` gives the view of one owner: it satisfies Library.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.rag.chroma_index import ChromaIndex
from spade_llm.rag.database import Database
from spade_llm.rag.documents import Document, Ingested, Progress
from spade_llm.rag.ingestion import Ingestion
from spade_llm.rag.keywords import KeywordSearch
from spade_llm.rag.loader import LeftOut, Loader
from spade_llm.rag.names import check_namespace, check_source
from spade_llm.rag.registry import Registry
from spade_llm.rag.retriever import DEFAULT_NAMESPACE, RetrievalOptions
from spade_llm.rag.schema import MIGRATIONS
from spade_llm.rag.search import MIN_SCORE, HybridSearch
from spade_llm.rag.splitter import Splitting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from spade_llm.providers.embedder import Embedder
    from spade_llm.rag.documents import NamespaceSummary, OnProgress
    from spade_llm.rag.loader import FoundFile, LoadLimits
    from spade_llm.rag.retriever import Retrieval

MAX_K = 20
MAX_QUERY_CHARS = 10_000
FILES_AT_A_TIME = 4
"""Of one folder."""


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
    ) -> None:
        """`embedder=None`: keywords only. `roots`: where files may be read; none, no files."""
        self._directory = directory
        self._loader = Loader(roots, limits=limits)
        self._database = Database(directory / "documents.sqlite3", migrations=MIGRATIONS)
        self._index = ChromaIndex(directory / "chroma")
        self._registry = Registry(self._database)
        self._ingestion = Ingestion(
            self._registry, self._index, embedder=embedder, splitting=splitting or Splitting()
        )
        self._search = HybridSearch(
            self._registry,
            KeywordSearch(self._database),
            self._index,
            embedder=embedder,
            min_score=min_score,
        )
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._database)
            stack.push_async_callback(self._index.close)
            await self._ingestion.sweep()
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
        return OwnedLibrary(
            owner,
            registry=self._registry,
            ingestion=self._ingestion,
            search=self._search,
            loader=self._loader,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Where the files of a folder go, and how they are split."""

    namespace: str
    splitting: Splitting | None


class _Told:
    """Counts what is done, and tells whoever wants to know."""

    def __init__(self, total: int, on_progress: OnProgress | None) -> None:
        self._total = total
        self._on_progress = on_progress
        self._done = self._chunks = 0

    async def tell(self, done: Ingested) -> Ingested:
        self._done += 1
        self._chunks += done.chunks
        if self._on_progress is not None:
            await self._on_progress(
                Progress(
                    done=self._done, total=self._total, chunks=self._chunks, source=done.source
                )
            )
        return done


class OwnedLibrary:
    """What one owner has stored; satisfies Library. Nothing of another owner is reachable."""

    def __init__(
        self,
        owner: str,
        *,
        registry: Registry,
        ingestion: Ingestion,
        search: HybridSearch,
        loader: Loader,
    ) -> None:
        self._owner = owner
        self._registry = registry
        self._ingestion = ingestion
        self._search = search
        self._loader = loader

    async def retrieve(
        self, query: str, *, k: int = 5, options: RetrievalOptions | None = None
    ) -> Retrieval:
        if not 1 <= k <= MAX_K:
            raise InvalidArguments(f"k is {k}; it must be 1 to {MAX_K}")
        if len(query) > MAX_QUERY_CHARS:
            raise InvalidArguments(f"query is longer than {MAX_QUERY_CHARS} characters")
        wanted = [check_namespace(name) for name in (options or RetrievalOptions()).namespaces]
        namespaces = [
            one
            for one in await self._registry.namespaces(self._owner)
            if not wanted or one.name in wanted
        ]
        return await self._search.search(namespaces, query, k)

    async def ingest(self, document: Document, *, splitting: Splitting | None = None) -> Ingested:
        return await self._ingestion.ingest(self._owner, document, splitting)

    async def ingest_path(
        self,
        path: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        is_recursive: bool = True,
        splitting: Splitting | None = None,
        on_progress: OnProgress | None = None,
    ) -> Sequence[Ingested]:
        check_namespace(namespace)
        found = await asyncio.to_thread(self._loader.find, path, is_recursive=is_recursive)
        wanted = _Wanted(namespace=namespace, splitting=splitting)
        progress = _Told(len(found), on_progress)
        if len(found) == 1 and not isinstance(found[0], LeftOut):
            return [await progress.tell(await self._ingest_file(found[0], wanted))]
        results = await self._ingest_all(found, wanted, progress)
        if all(result.left_out for result in results):
            raise InvalidArguments(f"{path!r} holds nothing that can be read{_why(results)}")
        return results

    async def namespaces(self) -> Sequence[NamespaceSummary]:
        """By name."""
        return [row.summary() for row in await self._registry.namespaces(self._owner)]

    async def delete(self, *, namespace: str, source: str | None = None) -> int:
        """One document, or the namespace with all of them; returns how many there were."""
        check_namespace(namespace)
        if source is not None:
            check_source(source)
        return await self._ingestion.delete(self._owner, namespace, source)

    async def _ingest_all(
        self, found: Sequence[FoundFile | LeftOut], wanted: _Wanted, progress: _Told
    ) -> list[Ingested]:
        """A few at a time, so that one is embedded while another is stored."""
        results: dict[int, Ingested] = {}
        entries = iter(enumerate(found))

        async def work() -> None:
            for number, entry in entries:
                results[number] = await progress.tell(await self._tried(entry, wanted))

        workers = [asyncio.create_task(work()) for _ in range(FILES_AT_A_TIME)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [results[number] for number in sorted(results)]

    async def _tried(self, entry: FoundFile | LeftOut, wanted: _Wanted) -> Ingested:
        if isinstance(entry, LeftOut):
            return _left_out(entry.source, wanted.namespace, entry.reason)
        try:
            return await self._ingest_file(entry, wanted)
        except InvalidArguments as error:
            return _left_out(entry.source, wanted.namespace, str(error))

    async def _ingest_file(self, file: FoundFile, wanted: _Wanted) -> Ingested:
        text = await asyncio.to_thread(self._loader.read, file)
        document = Document(text=text, source=file.source, namespace=wanted.namespace)
        return await self.ingest(document, splitting=wanted.splitting)


def _left_out(source: str, namespace: str, reason: str) -> Ingested:
    return Ingested(source=source, namespace=namespace, chunks=0, left_out=reason)


def _why(results: Sequence[Ingested]) -> str:
    return f" (first: {results[0].source!r}: {results[0].left_out})" if results else ""
