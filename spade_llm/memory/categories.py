"""Memory in four categories (fact, pattern, preference, capability) over any store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.contract import MemoryDraft
from spade_llm.search.memory_query import ANY_MEMORY, Category, MemoryFilter, MemoryQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.contract import MemoryEntry, MemoryPage, SearchResult

STORE_NAME = "store_memory"
SEARCH_NAME = "search_memories"
LIST_NAME = "list_memories"

STORE_DESCRIPTION = """\
Store important information in my long-term memory for future use.
Use this tool to remember:
- Facts: Concrete information about APIs, data formats, configurations, etc.
- Patterns: Recurring behaviors or trends I've observed
- Preferences: User preferences or system settings I've learned
- Capabilities: My own abilities or limitations I've discovered

This memory persists across conversations and helps me improve over time."""

SEARCH_DESCRIPTION = """\
Search my long-term memory for information relevant to the current conversation.
Use this tool when you need to recall:
- Previous facts you've learned
- Patterns you've observed
- User preferences you've discovered
- Your own capabilities or limitations

The search looks through all your stored memories to find relevant information."""

LIST_DESCRIPTION = """\
List my memories organized by category.
Use this tool to browse what you've learned in different areas:
- Facts: Concrete information you've stored
- Patterns: Behavioral patterns you've observed
- Preferences: User or system preferences you've learned
- Capabilities: Your own abilities or limitations you've discovered

This helps you understand what knowledge you have available."""

CATEGORY_NAMES = ["fact", "pattern", "preference", "capability"]

STORE_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "category": {
            "type": "string",
            "enum": CATEGORY_NAMES,
            "description": (
                "Type of memory: fact (concrete info), pattern (observed behavior),"
                " preference (learned preference), capability (my ability/limitation)"
            ),
        },
        "content": {
            "type": "string",
            "description": "The information to remember. Be specific and concise.",
        },
        "context": {
            "type": "string",
            "description": "Optional context about when/why this is important",
        },
        "confidence": {
            "type": "number",
            "minimum": 0.0,
            "maximum": 1.0,
            "default": 1.0,
            "description": "Confidence level in this memory (0.0 to 1.0)",
        },
    },
    "required": ["category", "content"],
}

SEARCH_MAX = 20
SEARCH_DEFAULT = 10

SEARCH_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": (
                "Search query to find relevant memories."
                " Use keywords related to what you're looking for."
            ),
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": SEARCH_MAX,
            "default": SEARCH_DEFAULT,
            "description": "Maximum number of memories to retrieve",
        },
    },
    "required": ["query"],
}

LIST_MAX = 50
LIST_DEFAULT = 20

LIST_PARAMETERS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "category": {
            "type": "string",
            "enum": CATEGORY_NAMES,
            "description": "Category of memories to list",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": LIST_MAX,
            "default": LIST_DEFAULT,
            "description": "Maximum number of memories to retrieve",
        },
    },
    "required": ["category"],
}


class CategoryStore(Protocol):
    """Subset of MemoryStore that categorised memory needs; raises the same errors."""

    async def add(self, draft: MemoryDraft) -> MemoryEntry: ...

    async def search(self, query: MemoryQuery) -> SearchResult: ...

    async def list(
        self, which: MemoryFilter = ANY_MEMORY, *, limit: int = 20, offset: int = 0
    ) -> MemoryPage: ...

    async def delete(
        self, which: MemoryFilter, *, ids: Sequence[str] | None = None
    ) -> Sequence[str]: ...


class CategoryBackend(Protocol):
    """A MemoryBackend, as far as knowledge goes."""

    def for_owner(self, owner: str) -> CategoryStore: ...


class CategorisedMemory(Protocol):
    """Memory interface of the memory tools. Raises as MemoryStore, and InvalidArguments."""

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
        self, store: CategoryStore, *, subject: str | None = None, session: str | None = None
    ) -> None:
        self._store = store
        self._subject = subject
        self._session = session

    async def store_memory(
        self, category: str, content: str, context: str | None = None, confidence: float = 1.0
    ) -> str:
        draft = MemoryDraft(
            content=content,
            category=parse_category(category),
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
        which = MemoryFilter(category=parse_category(category), subject=self._subject)
        return await self._store.list(which, limit=limit)


def parse_category(text: str) -> Category:
    """Raises InvalidArguments, in the words of specs/1."""
    try:
        return Category(text)
    except ValueError:
        raise InvalidArguments(f"Invalid category {text[:64]!r}") from None
