"""Vectors of single texts, kept: several services are asked the same question. Knows no model."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from spade_llm.latest import keep_latest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import numpy as np
    from numpy.typing import NDArray

CACHED_QUERIES = 1024
"""1.5 KB each at 384 dimensions."""


class QueryVectors:
    """Each text is embedded once, also for those who ask at the same time; the latest are kept."""

    def __init__(self, embed: Callable[[str], Awaitable[NDArray[np.float32]]]) -> None:
        """What `embed` raises reaches those who wait, and is not kept."""
        self._embed = embed
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._asked: dict[str, asyncio.Task[NDArray[np.float32]]] = {}
        """Bounded by those who wait."""

    def __len__(self) -> int:
        return len(self._known)

    async def get(self, text: str) -> NDArray[np.float32]:
        """A copy, in the shape that `embed` gives."""
        known = self._known.get(text)
        if known is None:
            known = await asyncio.shield(self._asked.get(text) or self._ask(text))
        else:
            self._known.move_to_end(text)
        return known.copy()

    async def aclose(self) -> None:
        """Wait for what is being embedded."""
        if self._asked:
            await asyncio.wait(list(self._asked.values()))

    def _ask(self, text: str) -> asyncio.Task[NDArray[np.float32]]:
        """A task: who asked first may leave while others wait."""
        self._asked[text] = asyncio.create_task(self._embed_and_keep(text))
        return self._asked[text]

    async def _embed_and_keep(self, text: str) -> NDArray[np.float32]:
        try:
            vector = await self._embed(text)
        finally:
            del self._asked[text]
        keep_latest(self._known, text, vector, most=CACHED_QUERIES)
        return vector
