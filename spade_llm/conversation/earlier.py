"""What was said in a conversation before this process began: from memory, and from the outbox.

Read in pages, newest first, so that a deadline costs the oldest part only. Knows no wire.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from spade_llm.conversation.history import MAX_MESSAGES
from spade_llm.conversation.outbox import RETRACTED
from spade_llm.errors import RequestError, StorageFailed

if TYPE_CHECKING:
    from spade_llm.conversation.outbox import Outbox
    from spade_llm.memory.store import HistoryStore, ObservedMessage

logger = logging.getLogger(__name__)

DEADLINE_S = 2.0
"""For all pages together: as recall, beside which they are read."""
PAGE = 200
"""Messages of one request; most of them fit into one answer."""


class Earlier:
    """What memory and outbox have of one conversation, bounded by MAX_MESSAGES."""

    def __init__(
        self, memory: HistoryStore, outbox: Outbox, *, deadline_s: float | None = None
    ) -> None:
        """`deadline_s`: DEADLINE_S, unless it is said."""
        self._memory = memory
        self._outbox = outbox
        self._deadline_s = deadline_s

    async def of(self, conversation: str) -> list[ObservedMessage]:
        """Oldest first; as much as there was time for.

        Raises:
            RequestError, StorageFailed, TimeoutError: not even the newest part could be read.
        """
        # The outbox first: what it hands over meanwhile is found in memory, and known by its id.
        waiting = await self._outbox.of_conversation(conversation, limit=MAX_MESSAGES)
        kept: list[ObservedMessage] = []
        try:
            async with asyncio.timeout(
                DEADLINE_S if self._deadline_s is None else self._deadline_s
            ):
                while page := await self._page(conversation, kept):
                    kept[:0] = page
        except (RequestError, StorageFailed, TimeoutError) as error:
            if not kept:
                raise
            logger.warning("conversation %s: the oldest part is away: %s", conversation, error)
        known = {message.id for message in kept}
        said = [*kept, *(message for message in waiting if message.id not in known)]
        retracted = {message.id for message in waiting if message.role == RETRACTED}
        return [message for message in said if message.id not in retracted]

    async def _page(self, conversation: str, kept: list[ObservedMessage]) -> list[ObservedMessage]:
        """What comes before what is there already; nothing at the beginning, or at the bound."""
        room = MAX_MESSAGES - len(kept)
        if room <= 0:
            return []
        before = kept[0].id if kept else None
        page = await self._memory.history(conversation, limit=min(PAGE, room), before=before)
        # A memory agent of version 0.1.0 does not know `before`, and gives the latest again.
        known = {message.id for message in kept}
        return [message for message in page if message.id not in known]
