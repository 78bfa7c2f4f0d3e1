"""Memory backends: memories of many owners in one SQLite file, or in PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar, Unpack

from spade_llm.core.database import check_unused_file
from spade_llm.core.errors import ConfigurationError, StorageFailed
from spade_llm.memory import validation
from spade_llm.memory.database import embedding, maintenance, queries
from spade_llm.memory.database.access_counter import AccessCounter, MessageAliases
from spade_llm.memory.database.connection import InlineReader, ReaderPool
from spade_llm.memory.database.embedding import EmbeddingWorker
from spade_llm.memory.database.group_commit import GroupCommit
from spade_llm.memory.database.index_cache import IndexRanker
from spade_llm.memory.database.learning_store import SQLiteLearningStore
from spade_llm.memory.database.rows import to_microseconds
from spade_llm.memory.database.sqlite_connection import MemoryFile, has_memories
from spade_llm.memory.database.store import SQLiteMemoryStore
from spade_llm.memory.database.subject_store import SQLiteSubjectStore
from spade_llm.memory.validation import check_name, normalize_subject

if TYPE_CHECKING:
    from spade_llm.core.postgres import PostgresServer
    from spade_llm.memory.database.connection import MemoryDatabase, Transaction
    from spade_llm.memory.database.embedding import Progress
    from spade_llm.providers.model import Embedder

logger = logging.getLogger(__name__)

T = TypeVar("T")

SHORT_TERM_TTL_S = 86_400.0

KEEP_DELETED_DAYS = 30.0


class BackendOptions(TypedDict, total=False):
    """Keywords of DatabaseMemoryBackend."""

    embedder: Embedder | None
    now: Callable[[], datetime]
    short_term_ttl_s: float
    keep_deleted_days: float
    is_learned_from: bool
    is_reindexing: bool
    is_replica: bool


class DatabaseMemoryBackend:
    """MemoryBackend in a database; use it with `async with`, or with `open` and `close`.

    Args:
        place: its tables.
        embedder: computes vectors; it is not closed. None: keywords only.
        now: the clock, UTC.
        short_term_ttl_s: default time to live of a `short_term` memory, in seconds.
        keep_deleted_days: days that a deleted memory stays in the database, hidden.
        is_learned_from: a Learner uses the backend: cleared messages stay, hidden, until it has
            read them. Otherwise they are removed at once.
        is_reindexing: open it although another model made its vectors, only to `reindex`.
        is_replica: several processes use it as one agent: it is not purged when it is opened, and
            of missing vectors only those of this process's rows are computed (`replica_jobs`).
    """

    def __init__(
        self,
        place: MemoryDatabase,
        *,
        embedder: Embedder | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        short_term_ttl_s: float = SHORT_TERM_TTL_S,
        keep_deleted_days: float = KEEP_DELETED_DAYS,
        is_learned_from: bool = False,
        is_reindexing: bool = False,
        is_replica: bool = False,
    ) -> None:
        self._place = place
        self.now = now
        self.short_term_ttl_s = short_term_ttl_s
        self.is_learned_from = is_learned_from
        self.ranker = IndexRanker(
            self,
            embedder,
            is_behind=self._is_behind,
            wait_idle=self.wait_idle,
            want_vectors=self.want_vectors,
        )
        self._embedder, self._is_reindexing = embedder, is_reindexing
        self._is_replica = is_replica
        self._worker: EmbeddingWorker | None = None
        self._keep_deleted_days = keep_deleted_days
        self._opening = asyncio.Lock()
        self._resources = AsyncExitStack()
        self._writer: GroupCommit | None = None
        self._readers: ReaderPool | None = None
        self._inline: InlineReader | None = None
        self.access_counter = AccessCounter(self)
        self.message_aliases = MessageAliases()

    def for_owner(self, owner: str) -> SQLiteMemoryStore:
        """The memory of one owner, a bare JID.

        Raises:
            InvalidArguments: it is empty or too long.
        """
        check_name("owner", owner)
        return SQLiteMemoryStore(self, owner)

    def about(self, subject: str) -> SQLiteSubjectStore:
        """Memories of all owners about one subject, for the subject itself.

        Raises:
            InvalidArguments: it is empty or too long.
        """
        check_name("subject", subject)
        return SQLiteSubjectStore(self, str(normalize_subject(subject)))

    def learning(self) -> SQLiteLearningStore:
        """Learning queue of all owners' conversations."""
        return SQLiteLearningStore(self)

    async def owner_of(self, id: str) -> str | None:
        """Owner of an entry (no access check, for tools with the file); None: no such entry."""
        parsed, now = validation.parse_id(id), to_microseconds(self.now())
        return await self.read(lambda tx: queries.entry_owner(tx, parsed, now=now))

    async def purge(self) -> int:
        """Run the owners' decay policies, and remove what expired or was deleted long enough ago.

        Run it daily; `open` does it too. Returns the number of removed memories.
        """
        return await maintenance.purge_memory(self, keep_deleted_days=self._keep_deleted_days)

    async def wait_idle(self) -> None:
        """Return once every row has its vector; at once without an embedder."""
        if self._worker is not None:
            await self._worker.wait_idle()

    def want_vectors(self, keys: Set[int]) -> None:
        """Have the missing vectors of these rows computed, which another process has written."""
        if self._worker is not None and keys:
            self._worker.enqueue(keys)

    async def reindex(self, progress: Progress = lambda done, total: None) -> None:
        """Rebuild the index: the terms, and all vectors by this embedder.

        Raises:
            ModelUnavailable: no vectors now; the next run of the agent goes on with them.
            StorageFailed: the file is closed or could not be written.
        """
        await embedding.rebuild_terms(self)
        self.ranker.clear()
        if self._worker is not None:
            await self.write(embedding.request_all_vectors)
            await self._worker.catch_up(progress)

    @property
    def has_other_writers(self) -> bool:
        """True if other processes may write to the database."""
        return self._place.has_other_writers

    async def open(self) -> Self:
        """Open the file, migrate its schema and, unless it is a replica's, purge it; no effect if
        it is open.

        Raises:
            ConfigurationError: it cannot be opened, is newer than this version, or no memory.
        """
        async with self._opening:
            if self._writer is not None:
                return self
            async with AsyncExitStack() as stack:
                await self._open(stack)
                self._resources = stack.pop_all()
            if self._is_replica:
                return self
            try:
                await self.purge()
            except StorageFailed as error:
                # A file that cannot be written can still be read.
                logger.warning("%s could not be purged: %s", self._place.name, error)
        return self

    async def close(self) -> None:
        """Commit queued writes, let running reads finish, and close the file."""
        async with self._opening:
            self.access_counter.write()
            # At once: whatever is asked while the rest ends is refused.
            self._writer = self._readers = self._inline = self._worker = None
            await self._resources.aclose()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def read(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation that only reads, on a snapshot of the file.

        Raises:
            StorageFailed: the file is closed or could not be read.
            ServiceError: the operation refuses.
        """
        # Lists and counts must show every use so far.
        await self.access_counter.flush()
        return await self._read(operation)

    async def read_inline(self, operation: Callable[[Transaction], T]) -> T:
        """Read a few rows by key in the event loop's thread, without waiting for a sync.

        Pending access counts are missing; `access_counter.with_pending` adds them.

        Raises:
            StorageFailed: the file is closed or could not be read.
            ServiceError: the operation refuses.
        """
        if self._inline is not None:
            # A locked file must not stop the loop: a reader's thread waits for the lock instead.
            with suppress(BlockingIOError):
                return self._inline.read(operation)
        return await self._read(operation, is_short=True)

    async def write(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation in the next group commit; return when it is synced.

        Raises:
            Busy: too many writes are queued.
            StorageFailed: the file is closed or could not be written.
            ServiceError: the operation refuses.
        """
        if self._writer is None:
            raise StorageFailed("the memory store is closed")
        # Into the queue ahead of this write, which sees the counts then.
        self.access_counter.write()
        return await self._writer.write(operation)

    def write_later(
        self, operation: Callable[[Transaction], object]
    ) -> asyncio.Future[object] | None:
        """Queue a write that may be lost, without waiting; None: it is dropped."""
        return None if self._writer is None else self._writer.write_later(operation)

    async def _read(self, operation: Callable[[Transaction], T], *, is_short: bool = False) -> T:
        if self._readers is None:
            raise StorageFailed("the memory store is closed")
        return await self._readers.read(operation, is_short=is_short)

    async def _open(self, stack: AsyncExitStack) -> None:
        opened = await self._place.open(stack)
        readers = ReaderPool(opened.readers, max_wait_s=opened.max_wait_s)
        writer = GroupCommit(opened.writer, on_commit=self._committed)
        # Undone in reverse: reads end, queued writes are committed, then the connections close.
        stack.push_async_callback(writer.close)
        stack.push_async_callback(readers.drain)
        # Before what follows, which reads through them.
        self._readers, self._writer, self._inline = readers, writer, opened.inline
        await stack.enter_async_context(self.ranker)
        if self._embedder is not None:
            await self._refuse_other_models(self._embedder.name)
            self._worker = EmbeddingWorker(
                self, self._embedder, self.ranker, is_alone=not self._is_replica
            )
            if not self._is_reindexing:
                await stack.enter_async_context(self._worker)

    async def _refuse_other_models(self, model: str) -> None:
        """Check that the file has no vectors of another model: they are not comparable."""
        others = await self.read(lambda tx: embedding.other_vector_models(tx, model))
        if others and not self._is_reindexing:
            raise ConfigurationError(
                f"{self._place.name} has vectors of {others[0]!r}, and this agent uses {model!r}:"
                " run `spade-llm memory reindex`, or set `embeddings` back"
            )

    def _committed(self, transactions: Sequence[Transaction], versions: Mapping[str, int]) -> None:
        for transaction in transactions:
            for owner, keys in transaction.accessed.items():
                self.ranker.accessed(owner, keys)
            for owner, keys in transaction.changed.items():
                self.ranker.changed(owner, keys)
                if self._worker is not None and (unembedded := keys - transaction.embedded):
                    self._worker.enqueue(unembedded)
        for owner, version in versions.items():
            self.ranker.committed(owner, version)

    def _is_behind(self) -> bool:
        return self._worker is not None and self._worker.is_behind


def memory_backend(
    place: Path | PostgresServer, **options: Unpack[BackendOptions]
) -> DatabaseMemoryBackend:
    """Backend of the memory at this place, for its agent and for commands; not opened yet."""
    if isinstance(place, Path):
        return SQLiteMemoryBackend(place, **options)
    return PostgresMemoryBackend(place, **options)


class SQLiteMemoryBackend(DatabaseMemoryBackend):
    """Memory in one SQLite file. The file is created if it is missing, its folder is not;
    `:memory:` is a temporary file that is removed when the backend is closed."""

    def __init__(self, path: Path | str, **options: Unpack[BackendOptions]) -> None:
        self.path = Path(path)
        super().__init__(MemoryFile(self.path), **options)


class PostgresMemoryBackend(DatabaseMemoryBackend):
    """Memory in PostgreSQL, in the schema of its agent. Several processes may use it: each sees the
    writes of the others in its next search. `server` is opened before, and closed after it."""

    def __init__(self, server: PostgresServer, **options: Unpack[BackendOptions]) -> None:
        # Here: psycopg is an extra.
        from spade_llm.memory.database.postgres_connection import MemorySchema

        super().__init__(MemorySchema(server), **options)

    async def check_unused_file(self, path: Path) -> None:
        """Check that no memories are lost from sight because they are in a file that is not used.
        A file with memories that were copied here is only named in the log.

        Raises:
            ConfigurationError: the file has memories, and this memory has none; or the file cannot
                be read.
            StorageFailed: the database cannot be read.
        """
        if not await asyncio.to_thread(has_memories, path):
            return
        has_copy = await self.read(lambda tx: bool(tx.all(queries.HAS_CONTENT)[0][0]))
        check_unused_file(path, what="memories", place=self._place.name, has_copy=has_copy)
