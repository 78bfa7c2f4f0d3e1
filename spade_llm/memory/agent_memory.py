"""AgentBaseMemory: one agent's long-term memory, as specs/1 names it. Knows no model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

from spade_llm.memory.categorised import SubjectMemory
from spade_llm.memory.sqlite.backend import SQLiteMemoryBackend
from spade_llm.memory.tool_texts import LIST_DEFAULT, SEARCH_DEFAULT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from spade_llm.memory.backend import MemoryBackend
    from spade_llm.memory.store import MemoryEntry, MemoryPage


class AgentBaseMemory:
    """A CategorisedMemory of the agent `agent_id` (its bare JID).

    A backend that is given must be open, and stays its opener's. Without one the memory is a file
    of its own in the working directory, opened at first use: use `async with`, or `close` it.
    """

    def __init__(self, agent_id: str, backend: MemoryBackend | None = None) -> None:
        self.agent_id = agent_id
        self._own_backend: SQLiteMemoryBackend | None = None
        if backend is None:
            backend = self._own_backend = _backend_of(agent_id)
        self._memory = SubjectMemory(backend.for_owner(agent_id))

    async def store_memory(
        self, category: str, content: str, context: str | None = None, confidence: float = 1.0
    ) -> str:
        """Remember it, durably; the same again strengthens what is there. Returns its id.

        Raises:
            InvalidArguments: an unknown category, no content, or a field out of range.
            StorageFailed: it was not stored.
        """
        await self._open()
        return await self._memory.store_memory(category, content, context, confidence)

    async def search_memories(
        self, query: str, limit: int = SEARCH_DEFAULT
    ) -> Sequence[MemoryEntry]:
        """What speaks of the query, best first."""
        await self._open()
        return await self._memory.search_memories(query, limit)

    async def get_memories_by_category(
        self, category: str, limit: int = LIST_DEFAULT
    ) -> Sequence[MemoryEntry]:
        """Newest first."""
        return (await self.page_of_category(category, limit)).entries

    async def page_of_category(self, category: str, limit: int = LIST_DEFAULT) -> MemoryPage:
        """The same, with the number of all of this category."""
        await self._open()
        return await self._memory.page_of_category(category, limit)

    async def close(self) -> None:
        """Close the file, if it is this memory's own."""
        if self._own_backend is not None:
            await self._own_backend.close()

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _open(self) -> None:
        if self._own_backend is not None:
            await self._own_backend.open()


def _backend_of(agent_id: str) -> SQLiteMemoryBackend:
    return SQLiteMemoryBackend(re.sub(r"[^\w.-]", "_", agent_id) + "_memory.db")
