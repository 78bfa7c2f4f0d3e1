"""Folder ingestion: files in parallel within a limit of files and bytes, with progress."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.core.errors import InvalidArguments
from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.rag.contract import Ingested, Progress
from spade_llm.rag.loading.loader import SkippedFile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spade_llm.rag.contract import OnProgress, SourceDocument
    from spade_llm.rag.loading.loader import FoundFile, Loader

MAX_CONCURRENT_FILES = 512
"""Maximum number of concurrent files of one folder: two batches of the embedder, if each file is a
single passage."""
MAX_BYTES = 16_000_000
"""Maximum total size in bytes of the files of a library that are read at a time; a larger file is
read alone."""


class ProgressReporter:
    """Progress counter that reports each document to `on_progress`."""

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


class FolderIngestion:
    """Ingestion of the files of all folders, within one limit in bytes."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._bytes = ConcurrencyLimiter(MAX_BYTES, name="files", max_waiting=None)

    async def ingest(
        self,
        found: Sequence[FoundFile | SkippedFile],
        take: Callable[[SourceDocument], Awaitable[Ingested]],
        *,
        namespace: str,
        told: ProgressReporter,
    ) -> list[Ingested]:
        """Ingest the files concurrently and return the results in the order of `found`. A cancelled
        call leaves no partial document and no task."""
        results: dict[int, Ingested] = {}
        # Shared by all workers: each takes the next file.
        entries = iter(enumerate(found))

        async def work() -> None:
            for number, entry in entries:
                results[number] = await told.tell(await self._tried(entry, take, namespace))

        workers = [
            asyncio.create_task(work()) for _ in range(min(MAX_CONCURRENT_FILES, len(found)))
        ]
        try:
            await asyncio.gather(*workers)
        finally:
            # If one task fails, gather lets the others run on.
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [results[number] for number in sorted(results)]

    async def ingest_one(
        self, file: FoundFile, take: Callable[[SourceDocument], Awaitable[Ingested]], namespace: str
    ) -> Ingested:
        """Raises InvalidArguments: it cannot be read."""
        async with self._bytes.slot(await asyncio.to_thread(_file_size, file)):
            loaded = await self._loader.load(file)
            return await take(loaded.document(file.source, namespace))

    async def _tried(
        self,
        entry: FoundFile | SkippedFile,
        take: Callable[[SourceDocument], Awaitable[Ingested]],
        namespace: str,
    ) -> Ingested:
        if isinstance(entry, SkippedFile):
            return skipped_result(entry.source, namespace, entry.reason)
        try:
            return await self.ingest_one(entry, take, namespace)
        except InvalidArguments as error:
            return skipped_result(entry.source, namespace, str(error))


def skipped_result(source: str, namespace: str, reason: str) -> Ingested:
    return Ingested(source=source, namespace=namespace, chunks=0, left_out=reason)


def _file_size(file: FoundFile) -> int:
    """0: it went away meanwhile, as reading it will say."""
    try:
        return file.path.stat().st_size
    except OSError:
        return 0
