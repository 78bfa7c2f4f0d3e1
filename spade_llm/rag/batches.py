"""Passages of many documents, embedded together in full batches. Knows no document and no store.

One embedder works best on many texts at once, and most documents are small. A document that is
large gets a part of each batch, so that others need not wait for all of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.errors import ModelUnavailable, StorageFailed
from spade_llm.rag.embedding import BATCH, embedded_batch
from spade_llm.rag.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from spade_llm.providers.embedder import Embedder

TURN = 64
"""Texts of one document, before the next one has its turn."""


class _Wanted:
    """Texts of one document, how many are in a batch already, and who waits for them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._taken = 0
        self._rows: list[NDArray[np.float32]] = []
        self.done: asyncio.Future[NDArray[np.float32]] = asyncio.get_running_loop().create_future()

    @property
    def has_more(self) -> bool:
        return self._taken < len(self._texts)

    def take(self, limit: int) -> Sequence[str]:
        some = self._texts[self._taken : self._taken + limit]
        self._taken += len(some)
        return some

    def give(self, rows: NDArray[np.float32]) -> None:
        self._rows.append(rows)
        if sum(map(len, self._rows)) == len(self._texts) and not self.done.done():
            self.done.set_result(np.concatenate(self._rows))

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class SharedBatches:
    """As many texts wait as there are in the documents under way; `close` it in the end."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._waiting: deque[_Wanted] = deque()
        self._worker = Worker(self._run, name="embedding")

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text.

        Raises:
            ModelUnavailable: the embedder is away.
        """
        if not texts:
            return np.empty((0, self._embedder.dimension or 0), np.float32)
        wanted = _Wanted(texts)
        self._waiting.append(wanted)
        self._worker.wake()
        return await wanted.done

    async def close(self) -> None:
        await self._worker.close()

    async def _run(self) -> None:
        batch: list[tuple[_Wanted, Sequence[str]]] = []
        try:
            while batch := self._next_batch():
                await self._embed(batch)
        finally:
            for wanted in (*(wanted for wanted, _ in batch), *self._waiting):
                wanted.fail(StorageFailed("the library was stopped"))

    def _next_batch(self) -> list[tuple[_Wanted, Sequence[str]]]:
        """By turns; what nobody waits for any more is left out."""
        batch: list[tuple[_Wanted, Sequence[str]]] = []
        room = BATCH
        while room and self._waiting:
            wanted = self._waiting.popleft()
            if wanted.done.done():
                continue
            texts = wanted.take(min(TURN, room))
            batch.append((wanted, texts))
            room -= len(texts)
            if wanted.has_more:
                self._waiting.append(wanted)
        return batch

    async def _embed(self, batch: Sequence[tuple[_Wanted, Sequence[str]]]) -> None:
        texts = [text for _, some in batch for text in some]
        try:
            rows = await embedded_batch(self._embedder, texts)
        except ModelUnavailable as error:
            self._give_up(error, (wanted for wanted, _ in batch))
            return
        start = 0
        for wanted, some in batch:
            wanted.give(rows[start : start + len(some)])
            start += len(some)

    def _give_up(self, error: ModelUnavailable, batch: Iterable[_Wanted]) -> None:
        """One batch after the other would wait for an embedder that hangs, each to its deadline:
        so what waits now does without, too."""
        is_silent = isinstance(error.__cause__, TimeoutError)
        for wanted in (*batch, *(self._waiting if is_silent else ())):
            wanted.fail(error)
