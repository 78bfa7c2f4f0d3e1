"""The local embedder of a benchmark, while it is used. Knows no benchmark."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from spade_llm.providers import MiniLmEmbedder, find_weights

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def local_embedder(cache: Path) -> AsyncIterator[MiniLmEmbedder | None]:
    """None: its weights are not installed."""
    weights = find_weights(cache)
    if weights is None:
        yield None
        return
    async with await MiniLmEmbedder.load(weights, cache=cache) as embedder:
        yield embedder
