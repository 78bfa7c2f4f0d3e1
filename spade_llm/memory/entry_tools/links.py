"""memory_link, memory_unlink and memory_get_links: which memories belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from spade_llm.errors import InvalidArguments
from spade_llm.memory.entry_tools.answers import date
from spade_llm.memory.entry_tools.arguments import Id, Text, ToolArguments
from spade_llm.memory.entry_tools.fields import OfOne
from spade_llm.memory.entry_tools.tool import EntryTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import Link, LinkStore


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
    def __init__(self, scope: Scope, links: LinkStore) -> None:
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
            arguments=OfOne,
            run=self.get_links,
        )

    async def link(self, arguments: NewLink) -> Answer:
        source, target = arguments.source_id, arguments.target_id
        if source == target:
            raise InvalidArguments("source_id and target_id must be different memories")
        await self._scope.check(source, target)
        return _shown(await self._links.link(source, target, relation=arguments.relation))

    async def unlink(self, arguments: Unlink) -> Answer:
        source, target = arguments.source_id, arguments.target_id
        await self._scope.check(source, target)
        removed = await self._links.unlink(source, target, relation=arguments.relation)
        return {"source_id": source, "target_id": target, "removed_count": removed}

    async def get_links(self, arguments: OfOne) -> Answer:
        id = arguments.id
        await self._scope.check(id)
        links = [_shown(link) for link in await self._visible(await self._links.links(id))]
        return {"id": id, "links": links, "total": len(links)}

    async def _visible(self, links: Sequence[Link]) -> Sequence[Link]:
        """An owner may link memories about two people; neither sees the other's."""
        if self._scope.subject is None or not links:
            return links
        ends = dict.fromkeys(end for link in links for end in (link.source, link.target))
        ours = {entry.id for entry in await self._scope.there(list(ends))}
        return [link for link in links if {link.source, link.target} <= ours]


def _shown(link: Link) -> dict[str, object]:
    return {
        "source_id": link.source,
        "target_id": link.target,
        "relation": link.relation,
        "created_at": date(link.created_at),
    }
