"""A memory in the model's four categories: specs/1's vocabulary over any MemoryStore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spade_llm.errors import InvalidArguments
from spade_llm.memory.store import ANY, Category, MemoryDraft, MemoryFilter, MemoryQuery
from spade_llm.memory.tool_texts import LIST_DEFAULT, SEARCH_DEFAULT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.store import Found, MemoryEntry, MemoryPage


class KnowledgeStore(Protocol):
    """As much of a MemoryStore as knowledge in categories needs; raises as it does."""

    async def add(self, draft: MemoryDraft) -> MemoryEntry: ...

    async def search(self, query: MemoryQuery) -> Found: ...

    async def list(
        self, which: MemoryFilter = ANY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage: ...

    async def delete(
        self, which: MemoryFilter, *, ids: Sequence[str] | None = None
    ) -> Sequence[str]: ...


class KnowledgeBackend(Protocol):
    """A MemoryBackend, as far as knowledge goes."""

    def for_owner(self, owner: str) -> KnowledgeStore: ...


class CategorisedMemory(Protocol):
    """What the memory tools need. Raises as MemoryStore, and InvalidArguments."""

    async def store_memory(
        self, category: str, content: str, context: str | None = None, confidence: float = 1.0
    ) -> str:
        """Returns the entry's id."""
        ...

    async def search_memories(
        self, query: str, limit: int = SEARCH_DEFAULT
    ) -> Sequence[MemoryEntry]:
        """Best first."""
        ...

    async def page_of_category(self, category: str, limit: int = LIST_DEFAULT) -> MemoryPage:
        """Newest first, with the number of all of this category."""
        ...


class SubjectMemory:
    """A CategorisedMemory over a store, about one subject or (None) about any.

    What is stored belongs to `session`; what is found may be of any.
    """

    def __init__(
        self, store: KnowledgeStore, *, subject: str | None = None, session: str | None = None
    ) -> None:
        self._store = store
        self._subject = subject
        self._session = session

    async def store_memory(
        self, category: str, content: str, context: str | None = None, confidence: float = 1.0
    ) -> str:
        draft = MemoryDraft(
            content=content,
            category=parsed_category(category),
            context=context,
            confidence=confidence,
            subject=self._subject,
            session=self._session,
        )
        return (await self._store.add(draft)).id

    async def search_memories(
        self, query: str, limit: int = SEARCH_DEFAULT
    ) -> Sequence[MemoryEntry]:
        if not query.strip():
            raise InvalidArguments("query must not be empty")
        which = MemoryFilter(subject=self._subject)
        found = await self._store.search(MemoryQuery(text=query, which=which, limit=limit))
        return [hit.entry for hit in found.hits]

    async def page_of_category(self, category: str, limit: int = LIST_DEFAULT) -> MemoryPage:
        which = MemoryFilter(category=parsed_category(category), subject=self._subject)
        return await self._store.list(which, limit=limit)


def parsed_category(text: str) -> Category:
    """Raises InvalidArguments, in the words of specs/1."""
    try:
        return Category(text)
    except ValueError:
        raise InvalidArguments(f"Invalid category {text[:64]!r}") from None
