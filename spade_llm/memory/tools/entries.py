"""Tools on single memories: store, get, update, delete, list, importance, links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field, StrictInt

from spade_llm.core.errors import InvalidArguments, NotFound
from spade_llm.memory.contract import LinkStore, MemoryChange, MemoryDraft, MemoryLink
from spade_llm.memory.tools.arguments import (
    FLOAT_AS_INT,
    Date,
    Fraction,
    Id,
    Ids,
    JsonObject,
    Text,
    Texts,
    ToolArguments,
    Whole,
)
from spade_llm.memory.tools.entry_tool import (
    EntryTool,
    SubjectScope,
    ToolAnswer,
    entry_object,
    format_date,
    format_optional_date,
    format_score,
    listed_object,
    memory_not_found,
    stored_object,
)
from spade_llm.memory.validation import MAX_OFFSET, MAX_ROWS
from spade_llm.search.memory_query import ContentType, MemoryFilter, Tier

TierFilter = Annotated[Tier | None, Field(description="Only memories of this tier")]
TagsFilter = Annotated[Texts | None, Field(description="Only memories that have all of these tags")]
ContentTypeFilter = Annotated[
    ContentType | None, Field(description="Only memories of this content type")
]

MAX_TTL_S = 100 * 365 * 86_400


class MemoryIdArguments(ToolArguments):
    id: Id = Field(description="Memory ID (UUID), as another memory tool gave it")


class DraftArguments(ToolArguments):
    content: Text = Field(description="The text to remember. One self-contained statement is best.")
    content_type: ContentType = Field(default=ContentType.TEXT, description="What the content is")
    memory_tier: Tier = Field(
        default=Tier.LONG_TERM,
        description="short_term: expires by itself (after ttl_seconds, else a default). long_term:"
        " kept. working: for the task at hand.",
    )
    tags: Texts = Field(default=(), description="Labels to find it by later")
    metadata: JsonObject = Field(default={}, description="Anything else to keep with it, as JSON")

    def draft(self, scope: SubjectScope, ttl_s: int | None = None) -> MemoryDraft:
        """Raises InvalidArguments."""
        return MemoryDraft(
            content=check_not_blank(self.content),
            content_type=self.content_type,
            tier=self.memory_tier,
            tags=self.tags,
            metadata=self.metadata,
            ttl_s=ttl_s,
            subject=scope.subject,
            session=scope.session,
            valid_at=scope.said_at,
        )


def check_not_blank(content: str) -> str:
    """Return the content. Raises InvalidArguments if it is blank."""
    if not content.strip():
        raise InvalidArguments("Content cannot be empty")
    return content


class StoreArguments(DraftArguments):
    agent_id: Text | None = Field(
        default=None, description="Leave it out: memories always belong to this agent"
    )
    ttl_seconds: Annotated[StrictInt, Field(ge=0, le=MAX_TTL_S), FLOAT_AS_INT] | None = Field(
        default=None, description="Seconds until it expires by itself; 0: at once"
    )


class ChangeArguments(ToolArguments):
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
            content=None if self.content is None else check_not_blank(self.content),
            tags=self.tags,
            metadata=self.metadata,
            tier=self.memory_tier,
        )
        if self.model_fields_set <= {"id"}:
            raise InvalidArguments(
                "give something to change: content, tags, metadata or memory_tier"
            )
        return change


class DeleteArguments(ToolArguments):
    id: Id | None = Field(default=None, description="ID of one memory to delete (UUID)")
    ids: Ids | None = Field(default=None, description="IDs of memories to delete (UUIDs)")
    memory_tier: Tier | None = Field(default=None, description="Delete the memories of this tier")
    older_than: Date | None = Field(
        default=None,
        description="Delete memories stored before this date (ISO 8601; without offset UTC)",
    )

    def named(self) -> list[str] | None:
        """Join `id` and `ids`; None: neither was given."""
        if self.id is None and self.ids is None:
            return None
        ids = list(dict.fromkeys([*([self.id] if self.id else []), *(self.ids or ())]))
        if not ids:
            raise InvalidArguments("ids must not be empty")
        return ids


class ListArguments(ToolArguments):
    memory_tier: TierFilter = None
    tags: TagsFilter = None
    content_type: ContentTypeFilter = None
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


class EntryTools:
    """Tools that store, get, change, delete and list memories."""

    def __init__(self, scope: SubjectScope) -> None:
        self._scope = scope
        self._store = scope.store

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_store",
            description="Store a memory that lasts beyond this conversation. It can be searched by"
            " meaning and by keywords.",
            arguments=StoreArguments,
            run=self.store,
        )
        yield EntryTool(
            name="memory_get",
            description="Get one memory with all its fields by its ID.",
            arguments=MemoryIdArguments,
            run=self.get,
        )
        yield EntryTool(
            name="memory_update",
            description="Change a memory: its text, tags, metadata or tier. What is not given"
            " stays as it is.",
            arguments=ChangeArguments,
            run=self.update,
        )
        yield EntryTool(
            name="memory_delete",
            description="Delete memories: by ID or IDs, by tier, by age. Tier and age narrow what"
            " is deleted; at least one condition is needed.",
            arguments=DeleteArguments,
            run=self.delete,
        )
        yield EntryTool(
            name="memory_list",
            description="List memories, newest first, by tier, tags, content type and date, page by"
            " page.",
            arguments=ListArguments,
            run=self.list,
        )

    async def store(self, arguments: StoreArguments) -> ToolAnswer:
        self._scope.check_agent(arguments.agent_id)
        draft = arguments.draft(self._scope, arguments.ttl_seconds)
        return stored_object(await self._store.add(draft, merge=False))

    async def get(self, arguments: MemoryIdArguments) -> ToolAnswer:
        await self._scope.check(arguments.id)
        return entry_object(await self._store.get(arguments.id))

    async def update(self, arguments: ChangeArguments) -> ToolAnswer:
        change = arguments.change()
        await self._scope.check(change.id)
        entry = await self._store.update(change)
        return {"id": entry.id, "updated": True, "updated_at": format_date(entry.updated_at)}

    async def delete(self, arguments: DeleteArguments) -> ToolAnswer:
        ids = arguments.named()
        which = MemoryFilter(
            subject=self._scope.subject,
            tier=arguments.memory_tier,
            created_before=arguments.older_than,
        )
        if ids is None and which.tier is None and which.created_before is None:
            raise InvalidArguments("give at least one of id, ids, memory_tier, older_than")
        if ids and not await self._scope.there(ids):
            raise NotFound(memory_not_found(ids[0]))
        deleted = await self._store.delete(which, ids=ids)
        return {"deleted_count": len(deleted), "deleted_ids": list(deleted)}

    async def list(self, arguments: ListArguments) -> ToolAnswer:
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
        memories = [listed_object(entry) for entry in page.entries]
        return {"memories": memories, "total": page.total, "limit": limit, "offset": offset}


class SetScore(MemoryIdArguments):
    score: Fraction = Field(description="New importance, 0.0 (none) to 1.0 (highest)")
    reason: Text = Field(default="Manual override", description="Why it is set so; kept with it")


class ScoreTools:
    """Tools that get and set the importance of a memory."""

    def __init__(self, scope: SubjectScope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_get_score",
            description="Get how important a memory is: 0.0 to 1.0, from how often and how lately"
            " it was used, unless it was set.",
            arguments=MemoryIdArguments,
            run=self.get_score,
        )
        yield EntryTool(
            name="memory_set_score",
            description="Set how important a memory is. It stays so, however it is used.",
            arguments=SetScore,
            run=self.set_score,
        )

    async def get_score(self, arguments: MemoryIdArguments) -> ToolAnswer:
        (entry,) = await self._scope.all_of([arguments.id])
        return {
            "success": True,
            "memory_id": entry.id,
            "importance_score": format_score(entry.importance),
            "access_count": entry.access_count,
            "last_accessed_at": format_optional_date(entry.last_accessed_at),
        }

    async def set_score(self, arguments: SetScore) -> ToolAnswer:
        id, new = arguments.id, arguments.score
        await self._scope.check(id)
        before = await self._scope.store.set_importance(id, new, reason=arguments.reason)
        return {
            "success": True,
            "memory_id": id,
            "previous_score": format_score(before),
            "new_score": format_score(new),
        }


class Ends(ToolArguments):
    source_id: Id = Field(description="ID of the memory that the link comes from (UUID)")
    target_id: Id = Field(description="ID of the memory that it points to (UUID)")


class NewLink(Ends):
    relation: Text = Field(
        default="related", description="What they have to do with each other, in a word"
    )


class Unlink(Ends):
    relation: Text | None = Field(
        default=None, description="Only links of this relation; without: all between the two"
    )


class LinkTools:
    """Tools for links between memories."""

    def __init__(self, scope: SubjectScope, links: LinkStore) -> None:
        self._scope = scope
        self._links = links

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_link",
            description="Note that two memories belong together, and how.",
            arguments=NewLink,
            run=self.link,
        )
        yield EntryTool(
            name="memory_unlink",
            description="Remove the links between two memories, in either direction.",
            arguments=Unlink,
            run=self.unlink,
        )
        yield EntryTool(
            name="memory_get_links",
            description="List the links from and to a memory, oldest first.",
            arguments=MemoryIdArguments,
            run=self.get_links,
        )

    async def link(self, arguments: NewLink) -> ToolAnswer:
        source, target = arguments.source_id, arguments.target_id
        if source == target:
            raise InvalidArguments("source_id and target_id must be different memories")
        await self._scope.check(source, target)
        return _link_object(await self._links.link(source, target, relation=arguments.relation))

    async def unlink(self, arguments: Unlink) -> ToolAnswer:
        source, target = arguments.source_id, arguments.target_id
        await self._scope.check(source, target)
        removed = await self._links.unlink(source, target, relation=arguments.relation)
        return {"source_id": source, "target_id": target, "removed_count": removed}

    async def get_links(self, arguments: MemoryIdArguments) -> ToolAnswer:
        id = arguments.id
        await self._scope.check(id)
        links = [_link_object(link) for link in await self._visible(await self._links.links(id))]
        return {"id": id, "links": links, "total": len(links)}

    async def _visible(self, links: Sequence[MemoryLink]) -> Sequence[MemoryLink]:
        """Leave out links to entries about other subjects, since an owner may link memories about
        two people."""
        if self._scope.subject is None or not links:
            return links
        ends = dict.fromkeys(end for link in links for end in (link.source, link.target))
        ours = {entry.id for entry in await self._scope.there(list(ends))}
        return [link for link in links if {link.source, link.target} <= ours]


def _link_object(link: MemoryLink) -> dict[str, object]:
    return {
        "source_id": link.source,
        "target_id": link.target,
        "relation": link.relation,
        "created_at": format_date(link.created_at),
    }
