"""memory_grant, memory_revoke and memory_grants: whom this agent lets into its memory.

They open memories about everybody, so they are not for conversations with one person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import NotFound
from spade_llm.memory.entry_tools.answers import date
from spade_llm.memory.entry_tools.kinds import ID, TEXT, choice
from spade_llm.memory.entry_tools.parameters import defaulted, optional, required
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.store import Access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.entry_tools.parameters import Arguments
    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import Grant, GrantStore

TO = required("to", TEXT, "Who is let in: a JID (ada@example.org) or a whole domain (example.org)")
ACCESS = defaulted(
    "access",
    choice(tuple(Access)),
    "read: search and list. write: also correct and delete.",
    Access.READ,
    shown="read",
)
TAG = optional("tag", TEXT, "Only memories with this tag")
SESSION = optional("session", TEXT, "Only memories of this session")
GRANT_ID = required("id", ID, "ID of the grant (UUID), from memory_grants")


class GrantTools:
    def __init__(self, grants: GrantStore) -> None:
        self._grants = grants

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_grant",
            description="Let another agent or domain see memories: those with a tag, of a session,"
            " or all.",
            parameters=(TO, ACCESS, TAG, SESSION),
            run=self.grant,
        )
        yield EntryTool(
            name="memory_revoke",
            description="Take a grant back.",
            parameters=(GRANT_ID,),
            run=self.revoke,
        )
        yield EntryTool(
            name="memory_grants",
            description="List the grants that are given, oldest first.",
            parameters=(),
            run=self.list,
        )

    async def grant(self, arguments: Arguments) -> Answer:
        to, access = arguments[TO], arguments[ACCESS]
        tag, session = arguments[TAG], arguments[SESSION]
        return _shown(await self._grants.grant(to, access=access, tag=tag, session=session))

    async def revoke(self, arguments: Arguments) -> Answer:
        id = arguments[GRANT_ID]
        if not await self._grants.revoke(id):
            raise NotFound(f"there is no grant {id}")
        return {"id": id, "revoked": True}

    async def list(self, arguments: Arguments) -> Answer:
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
