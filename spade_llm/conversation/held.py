"""Conversations in which no turn begins while something is removed from them. Knows no turn."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection


class HeldConversations:
    """By any name: a conversation's key, or a peer for all of theirs."""

    def __init__(self) -> None:
        self._held: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def hold(self, names: Collection[str]) -> AsyncIterator[None]:
        """Within its block whoever waits for one of them does; all are taken at once."""
        await self.are_free(names)
        is_over = asyncio.Event()
        self._held.update(dict.fromkeys(names, is_over))
        try:
            yield
        finally:
            for name in set(names):
                del self._held[name]
            is_over.set()

    async def are_free(self, names: Collection[str]) -> None:
        """Return once none of them is held."""
        while held := [self._held[name] for name in names if name in self._held]:
            await held[0].wait()
