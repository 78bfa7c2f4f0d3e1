"""Tools for links between memories and for access grants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from spade_llm.core.errors import InvalidArguments, NotFound
from spade_llm.memory.contract import MemoryAccess
from spade_llm.memory.tools.arguments import Id, Text, ToolArguments
from spade_llm.memory.tools.entries import MemoryIdArguments
from spade_llm.memory.tools.entry_tool import EntryTool, format_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.memory.contract import GrantStore, LinkStore, MemoryGrant, MemoryLink
    from spade_llm.memory.tools.entry_tool import SubjectScope, ToolAnswer


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
        """An owner may link memories about two people; neither sees the other's."""
        if self._scope.subject is None or not links:
            return links
        ends = dict.fromkeys(end for link in links for end in (link.source, link.target))
        ours = {entry.id for entry in await self._scope.there(list(ends))}
        return [link for link in links if {link.source, link.target} <= ours]


class NewGrant(ToolArguments):
    to: Text = Field(
        description="Who is let in: a JID (ada@example.org) or a whole domain (example.org)"
    )
    access: MemoryAccess = Field(
        default=MemoryAccess.READ,
        description="read: search and list. write: also correct and delete.",
    )
    tag: Text | None = Field(default=None, description="Only memories with this tag")
    session: Text | None = Field(default=None, description="Only memories of this session")


class Revoke(ToolArguments):
    id: Id = Field(description="ID of the grant (UUID), from memory_grants")


class GrantTools:
    def __init__(self, grants: GrantStore) -> None:
        self._grants = grants

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_grant",
            description="Let another agent or domain see memories: those with a tag, of a session,"
            " or all.",
            arguments=NewGrant,
            run=self.grant,
        )
        yield EntryTool(
            name="memory_revoke",
            description="Take a grant back.",
            arguments=Revoke,
            run=self.revoke,
        )
        yield EntryTool(
            name="memory_grants",
            description="List the grants that are given, oldest first.",
            arguments=ToolArguments,
            run=self.list,
        )

    async def grant(self, arguments: NewGrant) -> ToolAnswer:
        granted = await self._grants.grant(
            arguments.to, access=arguments.access, tag=arguments.tag, session=arguments.session
        )
        return _grant_object(granted)

    async def revoke(self, arguments: Revoke) -> ToolAnswer:
        id = arguments.id
        if not await self._grants.revoke(id):
            raise NotFound(f"there is no grant {id}")
        return {"id": id, "revoked": True}

    async def list(self, _arguments: ToolArguments) -> ToolAnswer:
        grants = [_grant_object(grant) for grant in await self._grants.grants()]
        return {"grants": grants, "total": len(grants)}


def _link_object(link: MemoryLink) -> dict[str, object]:
    return {
        "source_id": link.source,
        "target_id": link.target,
        "relation": link.relation,
        "created_at": format_date(link.created_at),
    }


def _grant_object(grant: MemoryGrant) -> dict[str, object]:
    return {
        "id": grant.id,
        "to": grant.to,
        "access": grant.access.value,
        "tag": grant.tag,
        "session": grant.session,
        "created_at": format_date(grant.created_at),
    }
