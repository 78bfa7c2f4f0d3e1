"""memory_store, memory_get, memory_update, memory_delete and memory_list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, StrictInt

from spade_llm.errors import InvalidArguments, NotFound
from spade_llm.memory.entry_tools.answers import date, listed, no_memory, stored, whole
from spade_llm.memory.entry_tools.arguments import (
    FLOAT_AS_INT,
    Date,
    Id,
    Ids,
    JsonObject,
    Text,
    Texts,
    ToolArguments,
    Whole,
)
from spade_llm.memory.entry_tools.fields import (
    Draft,
    OfOne,
    WithContentType,
    WithTags,
    WithTier,
    with_words,
)
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.limits import MAX_OFFSET, MAX_ROWS
from spade_llm.memory.store import MemoryChange, MemoryFilter, Tier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer

MAX_TTL_S = 100 * 365 * 86_400


class Store(Draft):
    agent_id: Text | None = Field(
        default=None, description="Leave it out: memories always belong to this agent"
    )
    ttl_seconds: Annotated[StrictInt, Field(ge=0, le=MAX_TTL_S), FLOAT_AS_INT] | None = Field(
        default=None, description="Seconds until it expires by itself; 0: at once"
    )


class Change(ToolArguments):
    id: Id = Field(description="ID of the memory to update (UUID)")
    content: Text | None = Field(default=None, description="New text, instead of the old one")
    tags: Texts | None = Field(default=None, description="New tags, instead of all old ones")
    metadata: JsonObject | None = Field(
        default=None, description="Merged into the metadata that is there, key by key"
    )
    memory_tier: Tier | None = Field(
        default=None, description="New tier; long_term and working take an expiry away"
    )

    def change(self) -> MemoryChange:
        """Raises InvalidArguments."""
        change = MemoryChange(
            id=self.id,
            content=None if self.content is None else with_words(self.content),
            tags=self.tags,
            metadata=self.metadata,
            tier=self.memory_tier,
        )
        if self.model_fields_set <= {"id"}:
            raise InvalidArguments(
                "give something to change: content, tags, metadata or memory_tier"
            )
        return change


class Delete(ToolArguments):
    id: Id | None = Field(default=None, description="ID of one memory to delete (UUID)")
    ids: Ids | None = Field(default=None, description="IDs of memories to delete (UUIDs)")
    memory_tier: Tier | None = Field(default=None, description="Delete the memories of this tier")
    older_than: Date | None = Field(
        default=None,
        description="Delete memories stored before this date (ISO 8601; without offset UTC)",
    )

    def named(self) -> list[str] | None:
        """`id` and `ids` joined; None: neither was given."""
        if self.id is None and self.ids is None:
            return None
        ids = list(dict.fromkeys([*([self.id] if self.id else []), *(self.ids or ())]))
        if not ids:
            raise InvalidArguments("ids must not be empty")
        return ids


class List(ToolArguments):
    memory_tier: WithTier = None
    tags: WithTags = None
    content_type: WithContentType = None
    created_after: Date | None = Field(
        default=None, description="Only memories stored after this date (ISO 8601)"
    )
    created_before: Date | None = Field(
        default=None, description="Only those stored before this date (ISO 8601)"
    )
    limit: Whole = Field(default=50, ge=1, le=MAX_ROWS, description="Maximum number of results")
    offset: Whole = Field(
        default=0, ge=0, le=MAX_OFFSET, description="How many to skip, for further pages"
    )


class SingleTools:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._store = scope.store

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_store",
            description="Store a memory that lasts beyond this conversation. It can be searched by"
            " meaning and by keywords.",
            arguments=Store,
            run=self.store,
        )
        yield EntryTool(
            name="memory_get",
            description="Get one memory with all its fields by its ID.",
            arguments=OfOne,
            run=self.get,
        )
        yield EntryTool(
            name="memory_update",
            description="Change a memory: its text, tags, metadata or tier. What is not given"
            " stays as it is.",
            arguments=Change,
            run=self.update,
        )
        yield EntryTool(
            name="memory_delete",
            description="Delete memories: by ID or IDs, by tier, by age. Tier and age narrow what"
            " is deleted; at least one condition is needed.",
            arguments=Delete,
            run=self.delete,
        )
        yield EntryTool(
            name="memory_list",
            description="List memories, newest first, by tier, tags, content type and date, page by"
            " page.",
            arguments=List,
            run=self.list,
        )

    async def store(self, arguments: Store) -> Answer:
        self._scope.check_agent(arguments.agent_id)
        draft = arguments.draft(self._scope, arguments.ttl_seconds)
        return stored(await self._store.add(draft, merge=False))

    async def get(self, arguments: OfOne) -> Answer:
        await self._scope.check(arguments.id)
        return whole(await self._store.get(arguments.id))

    async def update(self, arguments: Change) -> Answer:
        change = arguments.change()
        await self._scope.check(change.id)
        entry = await self._store.update(change)
        return {"id": entry.id, "updated": True, "updated_at": date(entry.updated_at)}

    async def delete(self, arguments: Delete) -> Answer:
        ids = arguments.named()
        which = MemoryFilter(
            subject=self._scope.subject,
            tier=arguments.memory_tier,
            created_before=arguments.older_than,
        )
        if ids is None and which.tier is None and which.created_before is None:
            raise InvalidArguments("give at least one of id, ids, memory_tier, older_than")
        if ids and not await self._scope.there(ids):
            raise NotFound(no_memory(ids[0]))
        deleted = await self._store.delete(which, ids=ids)
        return {"deleted_count": len(deleted), "deleted_ids": list(deleted)}

    async def list(self, arguments: List) -> Answer:
        which = MemoryFilter(
            subject=self._scope.subject,
            tier=arguments.memory_tier,
            tags=arguments.tags or (),
            content_type=arguments.content_type,
            created_after=arguments.created_after,
            created_before=arguments.created_before,
        )
        limit, offset = arguments.limit, arguments.offset
        page = await self._store.list(which, limit=limit, offset=offset)
        memories = [listed(entry) for entry in page.entries]
        return {"memories": memories, "total": page.total, "limit": limit, "offset": offset}
