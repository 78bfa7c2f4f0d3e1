"""Who is reading the library at the moment. Knows nothing of what is read."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 15.0
"""A query has answered by then, or its embedder's deadline has passed."""


class Readers:
    """What a query was shown the place of must not go while it looks there."""

    def __init__(self) -> None:
        self._reading: set[asyncio.Future[None]] = set()

    @contextmanager
    def reading(self) -> Iterator[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading.add(done)
        try:
            yield
        finally:
            self._reading.discard(done)
            done.set_result(None)

    async def leave(self) -> None:
        """Return when all that read now have ended."""
        if self._reading:
            await asyncio.wait(set(self._reading), timeout=PATIENCE_S)
