"""IndexRanker: LRU cache of the search indexes of all owners in RAM, kept current."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from spade_llm.core.errors import ModelUnavailable, StorageFailed
from spade_llm.core.limits import LruDict
from spade_llm.memory.contract import SearchOutcome
from spade_llm.memory.database.index_rows import (
    all_index_rows,
    changes_since,
    index_rows_by_key,
    owner_version,
    owner_versions,
)
from spade_llm.memory.database.rows import to_microseconds
from spade_llm.search.memory_index import OwnerIndex
from spade_llm.search.memory_query import ANY_MEMORY, MemoryQuery, SearchMode, SortBy
from spade_llm.search.terms import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.memory.database.connection import Transaction
    from spade_llm.memory.database.index_rows import IndexRows
    from spade_llm.providers.model import Embedder
    from spade_llm.search.memory_query import GrantScope, IndexHit, MemoryFilter

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_BYTES = 512 * 1024 * 1024
"""Maximum size of all indexes together in bytes; a single larger one is kept alone."""
EMPTY_BYTES = 4096
"""Accounted size of an owner without memories, in bytes."""
INLINE_ROWS = 100_000
"""Maximum number of rows searched in the event loop's thread: up to 4 ms. Another thread costs
0.3 ms, on busy cores 1 ms."""
THREADS = 2
QUERY_TIMEOUT_S = 2.0
"""Timeout in seconds for the query's vector; after it the search uses keywords only and is reported
as degraded."""
MAX_AWAITED_ROWS = 64
"""Maximum number of new rows with vectors that a semantic search waits for; an import has more."""
MAX_AWAIT_S = 0.5
"""Maximum wait in seconds for these vectors."""
MAX_GIVEN_VECTORS = 256
"""Maximum number of vectors that are kept of those that came with queries: 1.5 KB each."""
MAX_INLINE_READ_ROWS = 32
"""Maximum number of changed rows that are read in the event loop's thread."""
MERGE_DELAY_S = 0.5
"""Maximum delay in seconds until changed rows are read again and deleted rows are removed from RAM.
A search reads them at once. Longer than vectors take after a message, so that a row and its vector
are read together."""


FOLLOW_EVERY_S = 5.0
"""Interval in which changes by other processes are looked for: so long, at most, what they have
deleted stays in RAM, with MERGE_DELAY_S."""


class IndexSource(Protocol):
    """Database access that the cache needs."""

    @property
    def now(self) -> Callable[[], datetime]: ...

    @property
    def has_other_writers(self) -> bool:
        """True if other processes may write: their changes have to be asked for."""

    async def read(self, operation: Callable[[Transaction], T]) -> T: ...

    async def read_inline(self, operation: Callable[[Transaction], T]) -> T: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRows:
    """Rows that were found, best first."""

    outcome: SearchOutcome
    hits: tuple[IndexHit, ...] = ()


def ranks_by_importance(query: MemoryQuery) -> bool:
    """Check whether the ranking depends on access counts, which are written with a delay."""
    return query.importance_weight > 0 or query.sort_by is SortBy.IMPORTANCE


@dataclass(slots=True)
class _LoadedIndex:
    """Index of one owner, with its pending changes."""

    owner: str
    index: OwnerIndex = field(default_factory=OwnerIndex)
    is_loaded: bool = False
    version: int = 0
    """Version of the owner's rows up to which changes are noted, if there are other writers."""
    stale: set[int] = field(default_factory=set)
    """Keys that have changed since they were read; bounded by the writes within MERGE_DELAY_S."""
    accessed: set[int] = field(default_factory=set)
    """Keys with accesses counted since the last load; each counts once."""
    needs_merge: bool = False
    """Rows were removed since the last one."""
    size_bytes: int = 0
    """Size in bytes at the last measurement."""
    users: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """An index is read and written by one at a time."""


class IndexRanker:
    """LRU cache of search indexes. Open it with `async with`, inside the running loop.

    Args:
        embedder: None is keywords only.
        is_behind: checks whether rows have waited long for their vectors.
        wait_idle: returns once no row waits for its vector.
        want_vectors: has the vectors of these rows computed, which another process has written.
    """

    def __init__(
        self,
        source: IndexSource,
        embedder: Embedder | None,
        *,
        is_behind: Callable[[], bool] = lambda: False,
        wait_idle: Callable[[], Awaitable[None]] | None = None,
        want_vectors: Callable[[Set[int]], None] = lambda keys: None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._source, self._embedder = source, embedder
        self._is_behind, self._wait_idle, self._max_bytes = is_behind, wait_idle, max_bytes
        self._want_vectors = want_vectors
        self._cached: OrderedDict[str, _LoadedIndex] = OrderedDict()
        """The one used last is at the end."""
        self._size_bytes = 0
        self.searched_at = float("-inf")
        """Time of the last search, by the event loop's clock."""
        self._given_vectors: LruDict[tuple[str, int], NDArray[np.float32]] = LruDict(
            MAX_GIVEN_VECTORS
        )
        """Vectors that came with queries, by owner and hash of the text."""
        self._threads: ThreadPoolExecutor | None = None
        self._refresh_task: asyncio.Task[None] | None = None
        self._follow_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="memory-index")
        if self._source.has_other_writers:
            self._follow_task = asyncio.create_task(self._follow_others(), name="memory-follow")
        return self

    async def __aexit__(self, *_: object) -> None:
        threads, self._threads = self._threads, None
        self._cached.clear()
        self._size_bytes = 0
        for task in (self._follow_task, self._refresh_task):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if threads is not None:
            # shutdown() blocks until running searches have ended.
            await asyncio.to_thread(threads.shutdown)

    def clear(self) -> None:
        """Invalidate all indexes: they are loaded again at their next use."""
        for cached in self._cached.values():
            cached.is_loaded = False

    def __len__(self) -> int:
        """Number of owners with a cached index."""
        return len(self._cached)

    def cached_rows(self, owner: str) -> int:
        cached = self._cached.get(owner)
        return 0 if cached is None else len(cached.index)

    async def wait_refreshed(self) -> None:
        """Return once no index is stale. The caller cancels."""
        if self._refresh_task is not None:
            await asyncio.wait([self._refresh_task])

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def changed(self, owner: str, keys: Set[int]) -> None:
        cached = self._cached.get(owner)
        # Not in RAM: it is read whole when it is asked for.
        if cached is None:
            return
        cached.stale |= keys
        self._refresh_soon()

    def _refresh_soon(self) -> None:
        if self._refresh_task is None or self._refresh_task.done():
            self._refresh_task = asyncio.create_task(
                self._refresh_stale(), name="memory-index-tidy"
            )

    def accessed(self, owner: str, keys: Set[int]) -> None:
        """Mark rows as accessed: only their importance has changed."""
        cached = self._cached.get(owner)
        if cached is not None:
            cached.accessed |= keys

    def committed(self, owner: str, version: int) -> None:
        """Note the version of a commit of this process, after its changes."""
        cached = self._cached.get(owner)
        # Otherwise another process has written in between: both changes are read from its log.
        if cached is not None and cached.version == version - 1:
            cached.version = version

    async def search(
        self, owner: str, query: MemoryQuery, *, scopes: Sequence[GrantScope] | None = None
    ) -> RankedRows:
        self.searched_at = asyncio.get_running_loop().time()
        async with self._using(owner) as cached:
            if query.mode is SearchMode.SEMANTIC:
                # Not under the lock: the embedding worker takes it too, to compute the surprise.
                await self._await_new_vectors(cached)
            vector = self._given_vector(cached.index, query)
            if vector is None:
                vector = await self._query_vector(cached.index, query)
            elif scopes is None:
                self._given_vectors[owner, content_hash(query.text)] = vector
            async with cached.lock:
                if ranks_by_importance(query):
                    # Every search counts uses; only queries like this one depend on them.
                    cached.stale |= cached.accessed
                await self._refresh(cached)
                effective = query
                if vector is None and query.mode is SearchMode.SEMANTIC:
                    effective = replace(query, mode=SearchMode.KEYWORD)
                search = partial(
                    cached.index.search,
                    effective,
                    vector,
                    now=self._now_s(),
                    scopes=scopes,
                )
                hits = await self._run(cached, search)
                outcome = self._outcome(cached, query, vector, scopes, hits)
            return RankedRows(outcome=outcome, hits=tuple(hits))

    async def similar(
        self,
        owner: str,
        key: int,
        *,
        limit: int,
        min_score: float,
        which: MemoryFilter = ANY_MEMORY,
        scopes: Sequence[GrantScope] | None = None,
    ) -> RankedRows:
        async with self._using(owner) as cached, cached.lock:
            await self._refresh(cached)
            search = partial(
                cached.index.similar,
                key,
                now=self._now_s(),
                which=which,
                limit=limit,
                min_score=min_score,
                scopes=scopes,
            )
            hits = await self._run(cached, search)
            index, now = cached.index, self._now_s()
            if not index.has_vector(key) or index.lacks_vectors(which, now=now, scopes=scopes):
                return RankedRows(outcome=SearchOutcome.DEGRADED, hits=tuple(hits))
            return RankedRows(
                outcome=SearchOutcome.OK if hits else SearchOutcome.EMPTY, hits=tuple(hits)
            )

    async def nearest(
        self,
        owner: str,
        vector: NDArray[np.float32],
        *,
        which: MemoryFilter,
        limit: int,
        with_messages: bool = False,
    ) -> Sequence[tuple[int, float]]:
        """Return keys of entries with their cosine, the nearest first."""
        query = MemoryQuery(
            text="",
            mode=SearchMode.SEMANTIC,
            which=which,
            limit=limit,
            with_messages=with_messages,
        )
        async with self._using(owner) as cached, cached.lock:
            await self._refresh(cached)
            search = partial(cached.index.search, query, vector, now=self._now_s())
            return [(hit.key, hit.score) for hit in await self._run(cached, search)]

    @asynccontextmanager
    async def _using(self, owner: str) -> AsyncIterator[_LoadedIndex]:
        """Load the owner's index if necessary, and protect it from eviction within the block."""
        # Not setdefault: it would create an index for each search.
        if owner not in self._cached:
            self._cached[owner] = _LoadedIndex(owner)
        cached = self._cached[owner]
        self._cached.move_to_end(owner)
        # Before the first await, so that no other task evicts it meanwhile.
        cached.users += 1
        try:
            async with cached.lock:
                if not cached.is_loaded or cached.index.needs_rebuild:
                    await self._load(cached)
            yield cached
        finally:
            cached.users -= 1
            self._evict()

    async def _load(self, cached: _LoadedIndex) -> None:
        """Load the index. Rows committed meanwhile are also in `stale` and are read again."""
        now = to_microseconds(self._source.now())
        read = partial(
            _load_index,
            owner=cached.owner,
            model=self._model,
            now=now,
            is_shared=self._source.has_other_writers,
        )
        cached.index, cached.version = await self._source.read(read)
        cached.is_loaded = True
        self._measure(cached)

    async def _refresh(self, cached: _LoadedIndex) -> None:
        """Read changed rows again, so that the index has all that is committed."""
        if cached.is_loaded and self._source.has_other_writers:
            await self._note_other_changes(cached)
        if not (cached.is_loaded and cached.stale):
            return
        # Taken before the read: what is committed during it goes into the new set.
        keys, cached.stale = cached.stale, set()
        cached.accessed -= keys
        now = to_microseconds(self._source.now())
        read = partial(
            index_rows_by_key, owner=cached.owner, keys=sorted(keys), model=self._model, now=now
        )
        is_few = len(keys) <= MAX_INLINE_READ_ROWS
        try:
            found = await (self._source.read_inline(read) if is_few else self._source.read(read))
        except BaseException:
            # These rows were not read: the next search tries again.
            cached.stale |= keys
            raise
        gone = keys.difference(found.columns.key)
        cached.index.remove(list(gone))
        cached.needs_merge |= bool(gone)
        put_rows(cached.index, found)
        self._measure(cached)

    async def _note_other_changes(self, cached: _LoadedIndex) -> None:
        """Note what other processes have changed."""
        read = partial(changes_since, owner=cached.owner, known=cached.version)
        changes = await self._source.read_inline(read)
        if changes is None:
            return
        if changes.keys is None:
            cached.is_loaded = False
            await self._load(cached)
            return
        cached.stale |= changes.keys
        cached.accessed |= changes.accessed
        # A commit of this process may have been noted meanwhile.
        cached.version = max(cached.version, changes.version)

    async def _follow_others(self) -> None:
        """Remove from RAM what other processes have deleted, although nothing is searched here."""
        while True:
            await asyncio.sleep(FOLLOW_EVERY_S)
            try:
                await self._follow_once()
            except StorageFailed as error:
                logger.warning("changes of other processes are read later: %s", error)

    async def _follow_once(self) -> None:
        loaded = [cached.owner for cached in self._cached.values() if cached.is_loaded]
        if not loaded:
            return
        versions = await self._source.read(lambda tx: owner_versions(tx, loaded))
        for owner, version in versions.items():
            cached = self._cached.get(owner)
            if cached is None or cached.version >= version:
                continue
            async with cached.lock:
                if cached.is_loaded:
                    await self._note_other_changes(cached)
            if cached.stale:
                self._refresh_soon()

    def _measure(self, cached: _LoadedIndex) -> None:
        # Evicted meanwhile: its size is no longer in the sum.
        if self._cached.get(cached.owner) is not cached:
            return
        size = EMPTY_BYTES + cached.index.size_bytes
        self._size_bytes += size - cached.size_bytes
        cached.size_bytes = size

    async def _refresh_stale(self) -> None:
        """Refresh stale indexes: deleted rows leave RAM even if the owner does not search."""
        is_stale = True
        while is_stale:
            await asyncio.sleep(MERGE_DELAY_S)
            for cached in self._stale_indexes():
                async with cached.lock:
                    try:
                        await self._refresh(cached)
                    except StorageFailed as error:
                        logger.warning("an index could not be brought up to date: %s", error)
                        return
            is_stale = bool(self._stale_indexes())
        for cached in list(self._cached.values()):
            await self._merge(cached)
        self._evict()

    def _stale_indexes(self) -> list[_LoadedIndex]:
        return [one for one in self._cached.values() if one.is_loaded and one.stale]

    async def _merge(self, cached: _LoadedIndex) -> None:
        """Merge the index without dead rows; searches continue meanwhile."""
        if not (cached.needs_merge or cached.index.needs_merge):
            return
        cached.needs_merge = False
        async with cached.lock:
            # Only this needs the lock: the job works on immutable segments and a copy of the mask.
            job = cached.index.merge_job()
        finish = await asyncio.get_running_loop().run_in_executor(self._threads, job)
        async with cached.lock:
            finish()
            self._measure(cached)

    def _evict(self) -> None:
        """Evict the least recently used indexes until the rest fits."""
        if self._size_bytes <= self._max_bytes:
            return
        # The most recently used index stays, even if it alone exceeds the limit.
        for cached in [one for one in self._cached.values() if not one.users][:-1]:
            del self._cached[cached.owner]
            self._size_bytes -= cached.size_bytes
            if self._size_bytes <= self._max_bytes:
                return

    async def _await_new_vectors(self, cached: _LoadedIndex) -> None:
        """Wait for the vectors of new rows: a semantic search finds a row only by its vector."""
        async with cached.lock:
            await self._refresh(cached)
        is_few = 0 < cached.index.without_vector <= MAX_AWAITED_ROWS
        if self._wait_idle is None or not is_few or self._is_behind():
            return
        if self._source.has_other_writers:
            self._want_vectors(set(cached.index.keys_without_vector()))
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_AWAIT_S):
                await self._wait_idle()

    def given_vector(self, owner: str, content_hash: int) -> NDArray[np.float32] | None:
        """Vector of a text that came with a query of the same owner: an assistant searches with a
        message before it stores it. Never for another owner, since nothing proves it right."""
        return self._given_vectors.get((owner, content_hash))

    def _given_vector(self, index: OwnerIndex, query: MemoryQuery) -> NDArray[np.float32] | None:
        """Vector that came with the query, if it is of this model and of the text to embed. Raises
        InvalidArguments."""
        given, embedder = query.vector, self._embedder
        if given is None or embedder is None or query.mode is SearchMode.KEYWORD:
            return None
        if query.mode is SearchMode.RECALL and index.without_names(query.text) != query.text:
            return None
        return given.unpack(embedder.name, embedder.dimension)

    async def _query_vector(
        self, index: OwnerIndex, query: MemoryQuery
    ) -> NDArray[np.float32] | None:
        """Vector of the query; None: search by keywords only."""
        if self._embedder is None or query.mode is SearchMode.KEYWORD:
            return None
        is_recall = query.mode is SearchMode.RECALL
        text = index.without_names(query.text) if is_recall else query.text
        try:
            async with asyncio.timeout(QUERY_TIMEOUT_S):
                vectors = await self._embedder.embed([text])
        except (ModelUnavailable, TimeoutError) as error:
            logger.info("no vector for a query, searching by keywords: %s", error or "timeout")
            return None
        return vectors.reshape(-1)

    async def _run(self, cached: _LoadedIndex, search: Callable[[], T]) -> T:
        if len(cached.index) <= INLINE_ROWS:
            return search()
        running = asyncio.get_running_loop().run_in_executor(self._threads, search)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # Who asked has left; the thread still reads the index, which must not change yet.
            await asyncio.wait([running])
            raise

    def _outcome(
        self,
        cached: _LoadedIndex,
        query: MemoryQuery,
        vector: NDArray[np.float32] | None,
        scopes: Sequence[GrantScope] | None,
        hits: Sequence[IndexHit],
    ) -> SearchOutcome:
        if vector is None:
            is_degraded = query.mode is not SearchMode.KEYWORD
        elif query.mode is SearchMode.RECALL:
            # Only an old backlog counts: the newest messages never have their vectors yet.
            is_degraded = self._is_behind() and cached.index.without_vector > 0
        else:
            is_degraded = cached.index.lacks_vectors(query.which, now=self._now_s(), scopes=scopes)
        if is_degraded:
            return SearchOutcome.DEGRADED
        return SearchOutcome.OK if hits else SearchOutcome.EMPTY

    @property
    def _model(self) -> str:
        return self._embedder.name if self._embedder is not None else ""

    def _now_s(self) -> float:
        return self._source.now().timestamp()


def put_rows(index: OwnerIndex, rows: IndexRows) -> None:
    """Add or replace these rows."""
    index.put(rows.columns)
    if rows.vectors:
        index.set_packed(list(rows.vectors), list(rows.vectors.values()))


def _load_index(
    transaction: Transaction, *, owner: str, model: str, now: int, is_shared: bool
) -> tuple[OwnerIndex, int]:
    """Index of an owner, and the version of its rows (0 if only one process writes)."""
    version = owner_version(transaction, owner) if is_shared else 0
    index = OwnerIndex()
    for rows in all_index_rows(transaction, owner, model=model, now=now):
        put_rows(index, rows)
    # A few segments, one for each page, are searched as fast as a single one.
    if index.needs_merge:
        # Made, run and put in place at once: the index is not shared yet.
        index.merge_job()()()
    return index, version
