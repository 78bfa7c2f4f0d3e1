"""memory_link, memory_unlink and memory_get_links: which memories belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.memory.entry_tools.answers import date
from spade_llm.memory.entry_tools.fields import ID_OF_ONE
from spade_llm.memory.entry_tools.kinds import ID, TEXT
from spade_llm.memory.entry_tools.parameters import defaulted, optional, required
from spade_llm.memory.entry_tools.tool import EntryTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.memory.entry_tools.parameters import Arguments
    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import Link, LinkStore

SOURCE = required("source_id", ID, "ID of the memory that the link comes from (UUID)")
TARGET = required("target_id", ID, "ID of the memory that it points to (UUID)")
RELATION = defaulted("relation", TEXT, "What they have to do with each other, in a word", "related")
SUCH = optional("relation", TEXT, "Only links of this relation; without: all between the two")


class LinkTools:
    def __init__(self, scope: Scope, links: LinkStore) -> None:
        self._scope = scope
        self._links = links

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_link",
            description="Note that two memories belong together, and how.",
            parameters=(SOURCE, TARGET, RELATION),
            run=self.link,
        )
        yield EntryTool(
            name="memory_unlink",
            description="Remove the links between two memories, in either direction.",
            parameters=(SOURCE, TARGET, SUCH),
            run=self.unlink,
        )
        yield EntryTool(
            name="memory_get_links",
            description="List the links from and to a memory, oldest first.",
            parameters=(ID_OF_ONE,),
            run=self.get_links,
        )

    async def link(self, arguments: Arguments) -> Answer:
        source, target = arguments[SOURCE], arguments[TARGET]
        relation = arguments[RELATION]
        if source == target:
            raise InvalidArguments("source_id and target_id must be different memories")
        await self._scope.check(source, target)
        return _shown(await self._links.link(source, target, relation=relation))

    async def unlink(self, arguments: Arguments) -> Answer:
        source, target = arguments[SOURCE], arguments[TARGET]
        relation = arguments[SUCH]
        await self._scope.check(source, target)
        removed = await self._links.unlink(source, target, relation=relation)
        return {"source_id": source, "target_id": target, "removed_count": removed}

    async def get_links(self, arguments: Arguments) -> Answer:
        id = arguments[ID_OF_ONE]
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
