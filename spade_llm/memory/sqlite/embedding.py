"""EmbeddingWorker: gives rows their vectors after they are acknowledged. Knows no SQL, no ranking.

What is wanted is in the file, so that a crash loses nothing; a new write is taken first. Until a
row has its vector, words find it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from spade_llm.errors import Busy, ModelUnavailable, StorageFailed
from spade_llm.memory.sqlite.vectors import Embedded, count_wanted, keep_vectors, wanted
from spade_llm.memory.store import MemoryFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.memory.sqlite.transaction import Transaction
    from spade_llm.memory.sqlite.vectors import Wanted
    from spade_llm.providers.embedder import Embedder

    Progress = Callable[[int, int], None]
    """Told how many are done, and of how many."""

T = TypeVar("T")

logger = logging.getLogger(__name__)

BATCH = 32
"""Rows per transaction. How many texts go at once is the embedder's to know."""
QUIET_S = 0.25
"""Vectors are made when nobody has searched or written for so long: who waits for an answer needs
the cores, and what follows shares a batch …"""
LATEST_S = 2.0
"""… or so long after the first row that wants one, however busy it is; at once for who waits."""
MAX_FRESH = 4096
"""Keys of new rows that are remembered; the file knows all."""
BATCH_TIMEOUT_S = 120.0
FIRST_PAUSE_S = 1.0
MAX_PAUSE_S = 60.0
BEHIND_AFTER_S = 10.0
"""A backlog that is older makes a search say that it is degraded."""
KNOWN = 8
"""Entries looked at for the one that a new entry resembles most: some are its own sources."""


class Storage(Protocol):
    async def read(self, operation: Callable[[Transaction], T]) -> T: ...

    async def write(self, operation: Callable[[Transaction], T]) -> T: ...


class Nearest(Protocol):
    @property
    def searched_at(self) -> float:
        """When somebody searched last, by the loop's clock."""
        ...

    async def nearest(
        self, owner: str, vector: NDArray[np.float32], *, which: MemoryFilter, limit: int
    ) -> Sequence[tuple[int, float]]:
        """Keys of entries with their cosine, the nearest first."""
        ...


class EmbeddingWorker:
    """Open it with `async with`, inside the running loop."""

    def __init__(self, storage: Storage, embedder: Embedder, known: Nearest) -> None:
        self._storage, self._embedder, self._known = storage, embedder, known
        self._fresh: dict[int, None] = {}
        self._is_woken = asyncio.Event()
        self._is_waited_for = asyncio.Event()
        self._written_at = float("-inf")
        self._idle = asyncio.Event()
        self._alone = asyncio.Lock()
        self._behind_since: float | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._is_woken.set()
        self._task = asyncio.create_task(self._run(), name="memory-embedding")
        self._task.add_done_callback(self._note_end)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    @property
    def is_behind(self) -> bool:
        """Rows have been without their vectors for long."""
        now = asyncio.get_running_loop().time()
        return self._behind_since is not None and now - self._behind_since > BEHIND_AFTER_S

    def wake(self, keys: Set[int]) -> None:
        """These were written. Cheap."""
        self._idle.clear()
        self._is_woken.set()
        self._written_at = asyncio.get_running_loop().time()
        if len(self._fresh) + len(keys) <= MAX_FRESH:
            self._fresh.update(dict.fromkeys(keys))

    async def settled(self) -> None:
        """Return once every row has its vector; they are made now. The caller cancels the wait."""
        if not self._idle.is_set():
            self._is_waited_for.set()
        await self._idle.wait()

    def _note_end(self, task: asyncio.Task[None]) -> None:
        """Nobody waits for what has ended; that it failed is a mistake of ours."""
        self._idle.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("no vectors are made any more", exc_info=error)

    async def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            await self._is_woken.wait()
            self._behind_since = self._behind_since or asyncio.get_running_loop().time()
            try:
                await self._quiet()
                await self.catch_up()
                pause_s = FIRST_PAUSE_S
            except (ModelUnavailable, StorageFailed, Busy) as error:
                logger.warning("memories wait for their vectors (%.0f s): %s", pause_s, error)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, MAX_PAUSE_S)

    async def _quiet(self) -> None:
        """Until nobody needs the cores, it has been long enough, or somebody waits for vectors."""
        clock = asyncio.get_running_loop().time
        latest = clock() + LATEST_S
        while (until := min(self._busy_until(), latest)) > clock():
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._is_waited_for.wait()
                    return

    def _busy_until(self) -> float:
        return max(self._written_at, self._known.searched_at) + QUIET_S

    async def catch_up(self, progress: Progress | None = None) -> None:
        """Until none is wanted; `progress` is told how many of how many are done.

        Raises:
            ModelUnavailable, StorageFailed, Busy: some are still wanted.
        """
        async with self._alone:
            self._is_woken.clear()
            try:
                await self._embed_all(progress)
            except BaseException:
                self._is_woken.set()
                raise
            self._behind_since = None
            if not self._is_woken.is_set():
                self._is_waited_for.clear()
                self._idle.set()

    async def _embed_all(self, progress: Progress | None) -> None:
        total = done = 0
        if progress is not None:
            total = await self._storage.read(count_wanted)
        while count := await self._embed_some():
            done += count
            if progress is not None:
                progress(done, max(total, done))

    async def _embed_some(self) -> int:
        """How many."""
        fresh, self._fresh = list(self._fresh), {}
        rows = await self._storage.read(partial(wanted, fresh=fresh, limit=BATCH))
        if not rows:
            return 0
        vectors = await self._vectors([row.content for row in rows])
        embedded = await self._embedded(rows, vectors)
        await self._storage.write(
            partial(
                keep_vectors,
                embedded=embedded,
                model=self._embedder.name,
                dimension=vectors.shape[1],
            )
        )
        return len(rows)

    async def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            async with asyncio.timeout(BATCH_TIMEOUT_S):
                return await self._embedder.embed(texts)
        except TimeoutError:
            raise ModelUnavailable(f"no vectors from {self._embedder.name!r} in time") from None

    async def _embedded(
        self, rows: Sequence[Wanted], vectors: NDArray[np.float32]
    ) -> list[Embedded]:
        from spade_llm.text.packed import pack

        surprises = [await self._surprise(rows, vectors, at) for at in range(len(rows))]
        return [
            Embedded(wanted=row, data=data, surprise=surprise)
            for row, data, surprise in zip(rows, pack(vectors), surprises, strict=True)
        ]

    async def _surprise(
        self, rows: Sequence[Wanted], vectors: NDArray[np.float32], at: int
    ) -> float | None:
        """1 − the highest similarity to what the owner knew about this subject before."""
        row = rows[at]
        if row.has_surprise:
            return None
        which = MemoryFilter(subject=row.subject)
        found = await self._known.nearest(row.owner, vectors[at], which=which, limit=KNOWN)
        before = [cosine for key, cosine in found if key < row.key and key not in row.sources]
        beside = [
            float(vectors[at] @ vectors[other])
            for other, twin in enumerate(rows)
            if _is_known_before(twin, row)
        ]
        return 1.0 - min(max([0.0, *before, *beside]), 1.0)


def _is_known_before(other: Wanted, row: Wanted) -> bool:
    """An entry of the same batch, which no index knows yet."""
    is_same = (other.owner, other.subject) == (row.owner, row.subject)
    is_entry = other.key & 1 == 0
    return is_same and is_entry and other.key < row.key and other.key not in row.sources
