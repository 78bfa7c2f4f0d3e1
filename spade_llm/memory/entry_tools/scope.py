"""Whose memories the entry tools see: all of an owner's, or those about one subject only.

An id of an entry about somebody else is as unknown as one that never was.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments, NotFound
from spade_llm.memory.entry_tools.answers import no_memory
from spade_llm.memory.subject import known_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.memory.store import MemoryEntry, MemoryStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    store: MemoryStore
    owner: str
    """The bare JID whose memory it is."""
    subject: str | None = None
    """Whom the memories are about; None: anybody, or nobody in particular."""
    session: str | None = None
    """The conversation that new ones belong to; what is found may be of any."""

    def check_agent(self, agent_id: str | None) -> None:
        """Raises InvalidArguments: the owner is whom the server says, never an argument."""
        if agent_id is not None and agent_id != self.owner:
            logger.warning("%s: a memory was to be stored for %.128r", self.owner, agent_id)
            raise InvalidArguments(f"agent_id must be {self.owner!r} or null")

    async def there(self, ids: Sequence[str]) -> list[MemoryEntry]:
        """Those of these that we may see, in order; counts as no access."""
        found = await self.store.peek(ids)
        ours = [entry for entry in found if self._is_ours(entry)]
        if len(ours) < len(found):
            which = ", ".join(entry.id for entry in found if not self._is_ours(entry))
            logger.warning("%s, for %s: about somebody else: %s", self.owner, self.subject, which)
        return ours

    async def all_of(self, ids: Sequence[str]) -> list[MemoryEntry]:
        """Raises NotFound, naming the first that is missing."""
        found = await self.there(ids)
        seen = {entry.id for entry in found}
        for id in ids:
            if id not in seen:
                raise NotFound(no_memory(id))
        return found

    async def check(self, *ids: str) -> None:
        """Raises NotFound. Without a subject the store itself knows."""
        if self.subject is not None:
            await self.all_of(ids)

    def _is_ours(self, entry: MemoryEntry) -> bool:
        return self.subject is None or entry.subject == known_as(self.subject)
