"""Embedding of passages: shared batches with a deadline, check of the model."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from spade_llm.core.concurrency import BackgroundTask
from spade_llm.core.errors import InvalidArguments, ModelError, ModelUnavailable, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spade_llm.providers.model import Embedder
    from spade_llm.rag.store.registry import Namespace
    from spade_llm.search.query_vector import QueryVector

REINDEX_COMMAND = "spade-llm rag reindex"
BATCH = 256
"""Texts per call: many texts of similar length need little padding, and a query in between does not
wait long."""
QUERY_TIMEOUT_S = 5.0
"""Timeout of the query embedding in seconds. A caller waits 10 s in all (messaging/rpc.py) and
must still be told what was missing."""
BATCH_TIMEOUT_S = 120.0


async def embed_batch(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed at most BATCH texts, one row each.

    Raises:
        ModelUnavailable: any failure of the embedder, and a timeout after BATCH_TIMEOUT_S.
    """
    return await _embed_within(embedder, texts, BATCH_TIMEOUT_S)


async def embed_query(
    embedder: Embedder, query: str, given: QueryVector | None = None
) -> NDArray[np.float32]:
    """The vector that came with the query, if it is of this embedder's model, otherwise a new one.

    Raises:
        InvalidArguments: the given vector is none of this model.
        ModelUnavailable: after QUERY_TIMEOUT_S at the latest.
    """
    vector = given.unpack(embedder.name, embedder.dimension) if given else None
    if vector is not None:
        return vector
    vectors = await _embed_within(embedder, [query], QUERY_TIMEOUT_S)
    return vectors.reshape(-1)


def text_to_embed(heading: str, text: str) -> str:
    """Text of a passage for the embedder, with its headings, which often name its topic."""
    return f"{heading}\n{text}" if heading else text


def is_model_of(embedder: Embedder, namespace: Namespace) -> bool:
    """True if the namespace has no vectors, or they were made by this embedder."""
    # An embedder on a server may know its dimension only after its first answer.
    dimension = embedder.dimension or namespace.dimension
    its = (namespace.model, namespace.dimension)
    return namespace.model is None or its == (embedder.name, dimension)


def check_model(namespace: Namespace, embedder: Embedder) -> None:
    """Check that the embedder fits the namespace, since vectors of different models are not
    comparable.

    Raises:
        InvalidArguments: the namespace was embedded with another model.
    """
    if not is_model_of(embedder, namespace):
        raise InvalidArguments(
            f"namespace {namespace.name!r} was embedded with {namespace.model!r}, but this agent "
            f"uses {embedder.name!r}; run `{REINDEX_COMMAND}`,"
            " or delete the namespace and add its documents again"
        )


async def _embed_within(
    embedder: Embedder, texts: Sequence[str], timeout_s: float
) -> NDArray[np.float32]:
    try:
        async with asyncio.timeout(timeout_s):
            rows = await embedder.embed(texts)
    except TimeoutError as error:
        raise ModelUnavailable(f"no vectors from {embedder.name!r} in {timeout_s:g} s") from error
    except ModelError as error:
        raise ModelUnavailable(f"no vectors from {embedder.name!r}: {error}") from error
    if rows.ndim != 2 or len(rows) != len(texts):
        raise ModelUnavailable(f"{embedder.name!r} gave {rows.shape} for {len(texts)} texts")
    return rows


FAIR_SHARE = 64
"""Maximum number of texts of one document before the next document gets its turn."""


class _PendingTexts:
    """Texts of one document, the number already in a batch, and the future for their rows."""

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
    """Batches of texts from concurrent documents (fair queue). The queue is bounded by the texts of
    the documents being ingested. Call `close` at the end."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._waiting: deque[_PendingTexts] = deque()
        self._worker = BackgroundTask(self._run, name="embedding")

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed the texts, one row each.

        Raises:
            ModelUnavailable: the embedder is unavailable.
        """
        if not texts:
            return np.empty((0, self._embedder.dimension or 0), np.float32)
        wanted = _PendingTexts(texts)
        self._waiting.append(wanted)
        self._worker.wake()
        return await wanted.done

    async def close(self) -> None:
        await self._worker.close()

    async def _run(self) -> None:
        batch: list[tuple[_PendingTexts, Sequence[str]]] = []
        try:
            while batch := self._next_batch():
                await self._embed(batch)
        finally:
            # Otherwise the callers that await these futures would wait for ever.
            for wanted in (*(wanted for wanted, _ in batch), *self._waiting):
                wanted.fail(StorageFailed("the library was stopped"))

    def _next_batch(self) -> list[tuple[_PendingTexts, Sequence[str]]]:
        """Fill the next batch round-robin; texts with a cancelled future are left out."""
        batch: list[tuple[_PendingTexts, Sequence[str]]] = []
        room = BATCH
        while room and self._waiting:
            wanted = self._waiting.popleft()
            if wanted.done.done():
                continue
            texts = wanted.take(min(FAIR_SHARE, room))
            batch.append((wanted, texts))
            room -= len(texts)
            if wanted.has_more:
                self._waiting.append(wanted)
        return batch

    async def _embed(self, batch: Sequence[tuple[_PendingTexts, Sequence[str]]]) -> None:
        texts = [text for _, some in batch for text in some]
        try:
            rows = await embed_batch(self._embedder, texts)
        except ModelUnavailable as error:
            # After a timeout, all waiting texts fail: otherwise each following batch would wait for
            # the hanging embedder until its deadline.
            is_silent = isinstance(error.__cause__, TimeoutError)
            failed = [wanted for wanted, _ in batch] + (list(self._waiting) if is_silent else [])
            for wanted in failed:
                wanted.fail(error)
            return
        start = 0
        for wanted, some in batch:
            wanted.give(rows[start : start + len(some)])
            start += len(some)
