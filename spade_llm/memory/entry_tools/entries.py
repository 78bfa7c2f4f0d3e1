"""memory_store, memory_get, memory_update, memory_delete and memory_list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments, NotFound
from spade_llm.memory.entry_tools.answers import date, listed, no_memory, stored, whole
from spade_llm.memory.entry_tools.fields import (
    DRAFT,
    ID_OF_ONE,
    TIER,
    WITH_CONTENT_TYPE,
    WITH_TAGS,
    WITH_TIER,
    draft_of,
    tags_of,
    with_words,
)
from spade_llm.memory.entry_tools.kinds import DATE, ID, IDS, OBJECT, TEXT, TEXTS
from spade_llm.memory.entry_tools.kinds import whole as whole_number
from spade_llm.memory.entry_tools.parameters import defaulted, optional, required
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.limits import MAX_OFFSET, MAX_ROWS
from spade_llm.memory.store import MemoryChange, MemoryFilter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.entry_tools.parameters import Arguments
    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer

MAX_TTL_S = 100 * 365 * 86_400

AGENT_ID = optional("agent_id", TEXT, "Leave it out: memories always belong to this agent")
TTL = optional(
    "ttl_seconds", whole_number(0, MAX_TTL_S), "Seconds until it expires by itself; 0: at once"
)

CHANGED_ID = required("id", ID, "ID of the memory to update (UUID)")
NEW_CONTENT = optional("content", TEXT, "New text, instead of the old one")
OTHER_TAGS = optional("tags", TEXTS, "New tags, instead of all old ones")
MORE_METADATA = optional("metadata", OBJECT, "Merged into the metadata that is there, key by key")
OTHER_TIER = optional("memory_tier", TIER, "New tier; long_term and working take an expiry away")
CHANGE = (CHANGED_ID, NEW_CONTENT, OTHER_TAGS, MORE_METADATA, OTHER_TIER)

DELETED_ID = optional("id", ID, "ID of one memory to delete (UUID)")
DELETED_IDS = optional("ids", IDS, "IDs of memories to delete (UUIDs)")
DELETED_TIER = optional("memory_tier", TIER, "Delete the memories of this tier")
OLDER_THAN = optional(
    "older_than", DATE, "Delete memories stored before this date (ISO 8601; without offset UTC)"
)

CREATED_AFTER = optional("created_after", DATE, "Only memories stored after this date (ISO 8601)")
CREATED_BEFORE = optional("created_before", DATE, "Only those stored before this date (ISO 8601)")
LIMIT = defaulted("limit", whole_number(1, MAX_ROWS), "Maximum number of results", 50)
OFFSET = defaulted("offset", whole_number(0, MAX_OFFSET), "How many to skip, for further pages", 0)


def change_of(arguments: Arguments) -> MemoryChange:
    """Raises InvalidArguments."""
    content = arguments[NEW_CONTENT]
    change = MemoryChange(
        id=arguments[CHANGED_ID],
        content=None if content is None else with_words(content),
        tags=arguments[OTHER_TAGS],
        metadata=arguments[MORE_METADATA],
        tier=arguments[OTHER_TIER],
    )
    if not any(map(arguments.has, CHANGE[1:])):
        raise InvalidArguments("give something to change: content, tags, metadata or memory_tier")
    return change


class SingleTools:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._store = scope.store

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_store",
            description="Store a memory that lasts beyond this conversation. It can be searched by"
            " meaning and by keywords.",
            parameters=(*DRAFT, AGENT_ID, TTL),
            run=self.store,
        )
        yield EntryTool(
            name="memory_get",
            description="Get one memory with all its fields by its ID.",
            parameters=(ID_OF_ONE,),
            run=self.get,
        )
        yield EntryTool(
            name="memory_update",
            description="Change a memory: its text, tags, metadata or tier. What is not given"
            " stays as it is.",
            parameters=CHANGE,
            run=self.update,
        )
        yield EntryTool(
            name="memory_delete",
            description="Delete memories: by ID or IDs, by tier, by age. Tier and age narrow what"
            " is deleted; at least one condition is needed.",
            parameters=(DELETED_ID, DELETED_IDS, DELETED_TIER, OLDER_THAN),
            run=self.delete,
        )
        yield EntryTool(
            name="memory_list",
            description="List memories, newest first, by tier, tags, content type and date, page by"
            " page.",
            parameters=(
                WITH_TIER,
                WITH_TAGS,
                WITH_CONTENT_TYPE,
                CREATED_AFTER,
                CREATED_BEFORE,
                LIMIT,
                OFFSET,
            ),
            run=self.list,
        )

    async def store(self, arguments: Arguments) -> Answer:
        self._scope.check_agent(arguments[AGENT_ID])
        draft = draft_of(arguments, self._scope, arguments[TTL])
        return stored(await self._store.add(draft, merge=False))

    async def get(self, arguments: Arguments) -> Answer:
        id = arguments[ID_OF_ONE]
        await self._scope.check(id)
        return whole(await self._store.get(id))

    async def update(self, arguments: Arguments) -> Answer:
        change = change_of(arguments)
        await self._scope.check(change.id)
        entry = await self._store.update(change)
        return {"id": entry.id, "updated": True, "updated_at": date(entry.updated_at)}

    async def delete(self, arguments: Arguments) -> Answer:
        ids = _named(arguments)
        which = MemoryFilter(
            subject=self._scope.subject,
            tier=arguments[DELETED_TIER],
            created_before=arguments[OLDER_THAN],
        )
        if ids is None and which.tier is None and which.created_before is None:
            raise InvalidArguments("give at least one of id, ids, memory_tier, older_than")
        if ids and not await self._scope.there(ids):
            raise NotFound(no_memory(ids[0]))
        deleted = await self._store.delete(which, ids=ids)
        return {"deleted_count": len(deleted), "deleted_ids": list(deleted)}

    async def list(self, arguments: Arguments) -> Answer:
        which = MemoryFilter(
            subject=self._scope.subject,
            tier=arguments[WITH_TIER],
            tags=tags_of(arguments),
            content_type=arguments[WITH_CONTENT_TYPE],
            created_after=arguments[CREATED_AFTER],
            created_before=arguments[CREATED_BEFORE],
        )
        limit, offset = arguments[LIMIT], arguments[OFFSET]
        page = await self._store.list(which, limit=limit, offset=offset)
        memories = [listed(entry) for entry in page.entries]
        return {"memories": memories, "total": page.total, "limit": limit, "offset": offset}


def _named(arguments: Arguments) -> list[str] | None:
    """`id` and `ids` join. None: neither was given."""
    one, several = arguments[DELETED_ID], arguments[DELETED_IDS]
    if one is None and several is None:
        return None
    if not (ids := list(dict.fromkeys([*([one] if one else []), *(several or ())]))):
        raise InvalidArguments("ids must not be empty")
    return ids
