"""Embedder protocol, and the LRU cache of query vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from spade_llm.core.limits import LruDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CACHED_QUERIES = 1024
"""Maximum number of cached vectors: 1.5 KB each at 384 dimensions."""


class Embedder(Protocol):
    """Embedding model (protocol). `embed` raises ModelUnavailable if it cannot embed now."""

    @property
    def name(self) -> str:
        """Identifies model and version; stored beside every vector it made."""

    @property
    def dimension(self) -> int | None:
        """Dimension of the vectors; None before the first answer if it is not known."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed off the event loop: an L2-normalised row each, shape (len(texts), dimension)."""


class QueryVectorCache:
    """LRU cache of query vectors. Concurrent requests for the same text share one embedding."""

    def __init__(self, embed: Callable[[str], Awaitable[NDArray[np.float32]]]) -> None:
        """An exception raised by `embed` reaches all waiting callers and is not cached."""
        self._embed = embed
        self._vectors: LruDict[str, NDArray[np.float32]] = LruDict(CACHED_QUERIES)
        self._running: dict[str, asyncio.Task[NDArray[np.float32]]] = {}
        """Running embeddings by text, bounded by the waiting callers."""

    def __len__(self) -> int:
        return len(self._vectors)

    async def get(self, text: str) -> NDArray[np.float32]:
        """Return a copy of the cached vector of the text, or embed it."""
        known = self._vectors.get(text)
        if known is None:
            # A cancelled caller must not cancel the embedding that others wait for.
            known = await asyncio.shield(self._running.get(text) or self._start(text))
        else:
            self._vectors.move_to_end(text)
        # A caller may change its row; the cached one must stay as it is.
        return known.copy()

    async def embed_missing(
        self,
        texts: Sequence[str],
        embed_all: Callable[[Sequence[str]], Awaitable[NDArray[np.float32]]],
    ) -> NDArray[np.float32]:
        """Return a row per text; `embed_all` embeds those that are not cached, each once."""
        known = {text: self._vectors[text].reshape(-1) for text in texts if text in self._vectors}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        vectors = await embed_all(new)
        if len(new) == len(texts):
            return vectors
        known |= zip(new, vectors, strict=True)
        # Imported here: importing it takes a tenth of a second.
        import numpy as np

        return np.stack([known[text] for text in texts])

    async def aclose(self) -> None:
        """Wait for running embeddings."""
        if self._running:
            await asyncio.wait(list(self._running.values()))

    def _start(self, text: str) -> asyncio.Task[NDArray[np.float32]]:
        """Start the embedding as a task: the first caller may be cancelled, others wait."""
        self._running[text] = asyncio.create_task(self._embed_and_keep(text))
        return self._running[text]

    async def _embed_and_keep(self, text: str) -> NDArray[np.float32]:
        try:
            vector = await self._embed(text)
        finally:
            del self._running[text]
        self._vectors[text] = vector
        return vector
