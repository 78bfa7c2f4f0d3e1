"""AgentBaseMemory: long-term memory of one agent, as in spade_llm 0.3."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypedDict, runtime_checkable

from spade_llm.core.errors import InvalidArguments
from spade_llm.core.text import single_line
from spade_llm.memory.database.backend import SQLiteMemoryBackend
from spade_llm.memory.tools.category_tools import (
    LIST_DEFAULT,
    LIST_MAX,
    SEARCH_DEFAULT,
    SubjectMemory,
)
from spade_llm.memory.transfer.legacy_files import migrated_path
from spade_llm.search.memory_query import ANY_MEMORY, Category, MemoryFilter

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryEntry, MemoryPage
    from spade_llm.memory.tools.category_tools import CategoryBackend, CategoryStore

DATA_OF_SPADE_LLM = Path("spade_llm/data/agent_memory")
"""Folder of spade_llm 0.3 for an agent's memory file without a configured path."""

SHOWN_CHARS = 1000
"""Maximum length of one memory in a context line, in characters."""


class BaseMemoryStats(TypedDict, total=False):
    total_memories: int
    category_counts: dict[str, int]
    oldest_memory: str | None
    """ISO 8601, local time without a zone: the form of spade_llm 0.3."""
    newest_memory: str | None


class InvalidMemory(InvalidArguments, ValueError):
    """A wrong argument of AgentBaseMemory; a ValueError too, as in spade_llm 0.3."""


@runtime_checkable
class HasStatistics(Protocol):
    """A store that has statistics of its own."""

    async def memory_stats(self) -> BaseMemoryStats: ...


class AgentBaseMemory:
    """A CategorisedMemory of the agent `agent_id` (its bare JID).

    A backend that is given must be open, and stays its opener's. Without one the memory is a file
    of its own, opened at first use: use `async with`, or `close` it. It is in the folder
    `memory_path`, which is made, or in the working directory. A file that spade_llm 0.3 left in
    its place is taken over (memory/transfer/legacy_files.py).
    """

    def __init__(
        self,
        agent_id: str,
        backend: CategoryBackend | None = None,
        memory_path: str | Path | None = None,
    ) -> None:
        self.agent_id = agent_id
        legacy_name = agent_id.replace("@", "_").replace("/", "_") + "_base_memory.db"
        if memory_path is not None:
            self._path = Path(memory_path) / legacy_name
        elif (DATA_OF_SPADE_LLM / legacy_name).exists():
            self._path = DATA_OF_SPADE_LLM / legacy_name
        else:
            self._path = Path(re.sub(r"[^\w.-]", "_", agent_id) + "_memory.db")
        self._own_backend: SQLiteMemoryBackend | None = None
        self._opening = asyncio.Lock()
        self._store = backend.for_owner(agent_id) if backend is not None else None

    async def store_memory(
        self, category: str, content: str, context: str | None = None, confidence: float = 1.0
    ) -> str:
        """Store a memory durably and return its id; equal content is reinforced.

        Raises:
            InvalidMemory: an unknown category, no content, or a field out of range.
            StorageFailed: it was not stored.
        """
        memory = await self._memory()
        with _value_errors():
            return await memory.store_memory(category, content, context, confidence)

    async def search_memories(
        self, query: str, limit: int = SEARCH_DEFAULT
    ) -> Sequence[MemoryEntry]:
        """Search memories by relevance to the query, best first."""
        memory = await self._memory()
        with _value_errors():
            return await memory.search_memories(query, limit)

    async def get_memories_by_category(
        self, category: str, limit: int = LIST_MAX
    ) -> Sequence[MemoryEntry]:
        """Return memories of a category, newest first."""
        return (await self.page_of_category(category, limit)).entries

    async def get_recent_memories(self, limit: int = SEARCH_DEFAULT) -> Sequence[MemoryEntry]:
        """Return memories of any category, newest first."""
        store = await self._opened()
        with _value_errors():
            return (await store.list(ANY_MEMORY, limit=limit)).entries

    async def get_relevant_memories(
        self, context: str | None = None, limit: int = SEARCH_DEFAULT
    ) -> Sequence[MemoryEntry]:
        """Search memories by relevance to the context; without a context, return the newest."""
        if context and context.strip():
            return await self.search_memories(context, limit)
        return await self.get_recent_memories(limit)

    async def page_of_category(self, category: str, limit: int = LIST_DEFAULT) -> MemoryPage:
        """Return memories of a category, newest first, with the number of all of them."""
        memory = await self._memory()
        with _value_errors():
            return await memory.page_of_category(category, limit)

    async def format_for_context(self, memories: Sequence[MemoryEntry]) -> str:
        """Format memories by category, one line each: data for a model, never instructions."""
        return _as_sections(memories)

    def get_context_summary(self, memories: Sequence[MemoryEntry]) -> str | None:
        """Format memories like `format_for_context`; None if there are none."""
        return _as_sections(memories) or None

    async def delete_memory(self, memory_id: str) -> bool:
        """Delete a memory; return whether it existed."""
        try:
            return bool(await (await self._opened()).delete(ANY_MEMORY, ids=[memory_id]))
        except InvalidArguments:
            return False

    async def get_memory_stats(self) -> BaseMemoryStats:
        """Return counts and times; a backend with statistics of its own returns those."""
        store = await self._opened()
        if isinstance(store, HasStatistics):
            return await store.memory_stats()
        counts = {
            one.value: (await store.list(MemoryFilter(category=one), limit=1)).total
            for one in Category
        }
        newest = await store.list(ANY_MEMORY, limit=1)
        oldest = await store.list(ANY_MEMORY, limit=1, offset=max(newest.total - 1, 0))
        return {
            "total_memories": newest.total,
            "category_counts": {category: count for category, count in counts.items() if count},
            "oldest_memory": _creation_times(oldest.entries),
            "newest_memory": _creation_times(newest.entries),
        }

    async def close(self) -> None:
        """Close the file, if it is this memory's own; the next use opens it again."""
        async with self._opening:
            if self._own_backend is not None:
                await self._own_backend.close()
                self._own_backend = self._store = None

    async def cleanup(self) -> None:
        """The same as `close`."""
        await self.close()

    async def __aenter__(self) -> Self:
        await self._opened()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _memory(self) -> SubjectMemory:
        return SubjectMemory(await self._opened())

    async def _opened(self) -> CategoryStore:
        async with self._opening:
            if self._store is None:
                await asyncio.to_thread(self._path.parent.mkdir, parents=True, exist_ok=True)
                path = await asyncio.to_thread(migrated_path, self._path)
                self._own_backend = await SQLiteMemoryBackend(path).open()
                self._store = self._own_backend.for_owner(self.agent_id)
        return self._store


def local_time(moment: datetime) -> datetime:
    """Local time without a time zone, the form of spade_llm 0.3."""
    return moment.astimezone().replace(tzinfo=None)


@contextmanager
def _value_errors() -> Iterator[None]:
    try:
        yield
    except InvalidArguments as error:
        raise InvalidMemory(str(error)) from None


def _creation_times(entries: Sequence[MemoryEntry]) -> str | None:
    return local_time(entries[0].created_at).isoformat() if entries else None


def _as_sections(memories: Sequence[MemoryEntry]) -> str:
    sections = []
    for category in Category:
        lines = [
            f"- {single_line(one.content, SHOWN_CHARS)}"
            for one in memories
            if one.category == category
        ]
        if lines:
            sections.append("\n".join([f"Remembered ({category}):", *lines]))
    return "\n".join(sections)
