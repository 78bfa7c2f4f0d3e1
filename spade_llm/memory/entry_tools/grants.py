"""memory_grant, memory_revoke and memory_grants: whom this agent lets into its memory.

They open memories about everybody, so they are not for conversations with one person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from spade_llm.errors import NotFound
from spade_llm.memory.entry_tools.answers import date
from spade_llm.memory.entry_tools.arguments import Id, Text, ToolArguments
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.store import Access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import Grant, GrantStore


class NewGrant(ToolArguments):
    to: Text = Field(
        description="Who is let in: a JID (ada@example.org) or a whole domain (example.org)"
    )
    access: Access = Field(
        default=Access.READ, description="read: search and list. write: also correct and delete."
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

    async def grant(self, arguments: NewGrant) -> Answer:
        granted = await self._grants.grant(
            arguments.to, access=arguments.access, tag=arguments.tag, session=arguments.session
        )
        return _shown(granted)

    async def revoke(self, arguments: Revoke) -> Answer:
        id = arguments.id
        if not await self._grants.revoke(id):
            raise NotFound(f"there is no grant {id}")
        return {"id": id, "revoked": True}

    async def list(self, _arguments: ToolArguments) -> Answer:
        grants = [_shown(grant) for grant in await self._grants.grants()]
        return {"grants": grants, "total": len(grants)}


def _shown(grant: Grant) -> dict[str, object]:
    return {
        "id": grant.id,
        "to": grant.to,
        "access": grant.access.value,
        "tag": grant.tag,
        "session": grant.session,
        "created_at": date(grant.created_at),
    }
