"""Memory backends: base class for programs, and SQLite."""

from __future__ import annotations

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory import contract as records
from spade_llm.memory.agent_memory import AgentBaseMemory, local_time
from spade_llm.memory.contract import (
    MemoryDraft,
    MemoryPage,
    ScoredMemory,
    SearchOutcome,
    SearchResult,
)
from spade_llm.memory.database.backend import SQLiteMemoryBackend as SqliteBackend
from spade_llm.memory.database.sqlite_connection import IN_MEMORY
from spade_llm.memory.tools.category_tools import CategoryStore, parse_category
from spade_llm.memory.transfer.legacy_files import migrated_path
from spade_llm.search.memory_query import ANY_MEMORY, Category, MemoryFilter, MemoryQuery


class BackendStats(TypedDict, total=False):
    total_memories: int
    category_counts: dict[str, int]
    oldest_memory: str | None
    """ISO 8601, local time without a zone, like all times of spade_llm 0.3."""
    newest_memory: str | None


@dataclass
class MemoryEntry:
    """Memory entry of spade_llm 0.3. Every field has a value: a program's backend stores what it
    gets, and an entry without an id would overwrite the previous one."""

    agent_id: str
    category: str
    content: str
    context: str | None = None
    confidence: float = 1.0
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    created_at: datetime = field(default_factory=datetime.now)
    """Local time without a zone, as in spade_llm 0.3."""
    last_accessed: datetime = field(default_factory=datetime.now)
    access_count: int = 0


class MemoryBackend(ABC):
    """Interface of a program's own memory backend. AgentBaseMemory calls `initialize` first."""

    @abstractmethod
    async def initialize(self) -> None: ...

    @abstractmethod
    async def store_memory(self, entry: MemoryEntry) -> str: ...

    @abstractmethod
    async def get_memories_by_category(
        self, agent_id: str, category: str, limit: int = 50
    ) -> list[MemoryEntry]: ...

    @abstractmethod
    async def search_memories(
        self, agent_id: str, query: str, limit: int = 10
    ) -> list[MemoryEntry]: ...

    @abstractmethod
    async def get_recent_memories(self, agent_id: str, limit: int = 10) -> list[MemoryEntry]: ...

    @abstractmethod
    async def update_access(self, memory_id: str) -> None: ...

    @abstractmethod
    async def delete_memory(self, memory_id: str) -> bool: ...

    @abstractmethod
    async def get_memory_stats(self, agent_id: str) -> BackendStats: ...

    @abstractmethod
    async def cleanup(self) -> None: ...

    def for_owner(self, owner: str) -> CategoryStore:
        """Return the store of an owner, as AgentBaseMemory uses it."""
        return _ProgramStore(self, owner)


class SQLiteMemoryBackend(MemoryBackend):
    """Memory backend in an SQLite file. A file of spade_llm 0.2 or 0.3 is imported, and stays
    unchanged."""

    def __init__(self, db_path: str) -> None:
        self.db_path = db_path
        self._opening = asyncio.Lock()
        self._backend: SqliteBackend | None = None

    async def initialize(self) -> None:
        """Open the file; nothing if it is open. Raises ConfigurationError."""
        await self._opened()

    async def store_memory(self, entry: MemoryEntry) -> str:
        draft = MemoryDraft(
            content=entry.content,
            category=parse_category(entry.category),
            context=entry.context,
            confidence=entry.confidence,
        )
        entry.id = (await (await self._opened()).for_owner(entry.agent_id).add(draft)).id
        return entry.id

    async def get_memories_by_category(
        self, agent_id: str, category: str, limit: int = 50
    ) -> list[MemoryEntry]:
        memory = await self._memory(agent_id)
        return _to_program_entry(await memory.get_memories_by_category(category, limit))

    async def search_memories(
        self, agent_id: str, query: str, limit: int = 10
    ) -> list[MemoryEntry]:
        return _to_program_entry(await (await self._memory(agent_id)).search_memories(query, limit))

    async def get_recent_memories(self, agent_id: str, limit: int = 10) -> list[MemoryEntry]:
        return _to_program_entry(await (await self._memory(agent_id)).get_recent_memories(limit))

    async def update_access(self, memory_id: str) -> None:
        """Do nothing: a search already counts the access of its results."""

    async def delete_memory(self, memory_id: str) -> bool:
        backend = await self._opened()
        try:
            owner = await backend.owner_of(memory_id)
        except InvalidArguments:
            return False
        return owner is not None and await AgentBaseMemory(owner, backend).delete_memory(memory_id)

    async def get_memory_stats(self, agent_id: str) -> BackendStats:
        return await (await self._memory(agent_id)).get_memory_stats()

    async def cleanup(self) -> None:
        async with self._opening:
            if self._backend is not None:
                await self._backend.close()
                self._backend = None

    async def _memory(self, agent_id: str) -> AgentBaseMemory:
        return AgentBaseMemory(agent_id, await self._opened())

    async def _opened(self) -> SqliteBackend:
        async with self._opening:
            if self._backend is None:
                path = await asyncio.to_thread(_database_path, self.db_path)
                self._backend = await SqliteBackend(path).open()
            return self._backend


class _ProgramStore:
    """A CategoryStore over a program's backend."""

    def __init__(self, backend: MemoryBackend, owner: str) -> None:
        self._backend = backend
        self._owner = owner
        self._is_ready = False

    async def add(self, draft: MemoryDraft) -> records.MemoryEntry:
        await self._ensure_initialized()
        entry = MemoryEntry(
            agent_id=self._owner,
            category=str(draft.category or Category.FACT),
            content=draft.content,
            context=draft.context,
            confidence=draft.confidence,
        )
        entry.id = await self._backend.store_memory(entry)
        return _from_program_entry(entry)

    async def search(self, query: MemoryQuery) -> SearchResult:
        await self._ensure_initialized()
        found = await self._backend.search_memories(self._owner, query.text, query.limit)
        # A program's backend returns an order without scores.
        hits = [ScoredMemory(entry=await self._count_access(one), score=1.0) for one in found]
        return SearchResult(
            outcome=SearchOutcome.OK if hits else SearchOutcome.EMPTY, hits=tuple(hits)
        )

    async def list(
        self, which: MemoryFilter = ANY_MEMORY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage:
        stats = await self.memory_stats()
        if which.category is None:
            total = stats.get("total_memories", 0)
            found = await self._backend.get_recent_memories(self._owner, limit + offset)
        else:
            total = stats.get("category_counts", {}).get(which.category, 0)
            found = await self._backend.get_memories_by_category(
                self._owner, which.category, limit + offset
            )
        entries = [await self._count_access(one) for one in found[offset : offset + limit]]
        return MemoryPage(entries=tuple(entries), total=total)

    async def delete(
        self, _which: MemoryFilter, *, ids: Sequence[str] | None = None
    ) -> Sequence[str]:
        await self._ensure_initialized()
        return [id for id in ids or () if await self._backend.delete_memory(id)]

    async def memory_stats(self) -> BackendStats:
        """Return the backend's own statistics: it may count without reading every entry."""
        await self._ensure_initialized()
        return await self._backend.get_memory_stats(self._owner)

    async def _ensure_initialized(self) -> None:
        if not self._is_ready:
            await self._backend.initialize()
            self._is_ready = True

    async def _count_access(self, entry: MemoryEntry) -> records.MemoryEntry:
        await self._backend.update_access(entry.id)
        return _from_program_entry(entry)


def _database_path(path: str) -> Path | str:
    """Create the folder, migrate old data, and return the path. Raises ConfigurationError."""
    if path == IN_MEMORY:
        return path
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return migrated_path(Path(path))


def _to_program_entry(entries: Sequence[records.MemoryEntry]) -> list[MemoryEntry]:
    return [
        MemoryEntry(
            agent_id=one.owner,
            category=one.category or Category.FACT,
            content=one.content,
            context=one.context,
            confidence=one.confidence,
            id=one.id,
            created_at=local_time(one.created_at),
            last_accessed=local_time(one.last_accessed_at or one.created_at),
            access_count=one.access_count,
        )
        for one in entries
    ]


def _from_program_entry(entry: MemoryEntry) -> records.MemoryEntry:
    """Convert an entry of a program's backend; its times without a zone are local."""
    return records.MemoryEntry(
        id=entry.id,
        owner=entry.agent_id,
        content=entry.content,
        category=parse_category(entry.category),
        context=entry.context,
        confidence=entry.confidence,
        created_at=entry.created_at.astimezone(UTC),
        updated_at=entry.created_at.astimezone(UTC),
        access_count=entry.access_count,
        last_accessed_at=entry.last_accessed.astimezone(UTC),
    )
