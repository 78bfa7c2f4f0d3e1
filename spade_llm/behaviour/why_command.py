"""`/why`: what the last answer of a conversation was built from. Only who is in it can ask.

What was remembered is looked up when it is asked for: what memory has forgotten since is not said.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from spade_llm.conversation.why_text import MESSAGE, why_text
from spade_llm.errors import RequestError, ServiceError
from spade_llm.memory.one_line import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.behaviour.commands import Commands
    from spade_llm.behaviour.memory import MemoryBehaviour
    from spade_llm.behaviour.watching import Watching
    from spade_llm.conversation.turn_record import TurnRecord
    from spade_llm.services.chat import Utterance

logger = logging.getLogger(__name__)

PEEK_DEADLINE_S = 2.0
MAX_TEXT_CHARS = 120
"""Of one memory."""

ReactionLine = Callable[["Utterance"], str]
"""What the asker has said of the answer; empty: nothing."""

NOTHING = "I have answered nothing in this conversation since I was started."


class WhyCommand:
    def __init__(
        self, watching: Watching, memory: MemoryBehaviour, *, reaction: ReactionLine | None = None
    ) -> None:
        self._watching = watching
        self._memory = memory
        self._reaction = reaction or _no_reaction

    def add_to(self, commands: Commands) -> None:
        commands.add("why", self._why, "/why – what my last answer was built from")

    async def texts(self, record: TurnRecord) -> Mapping[str, str]:
        """Of the memories that are still there, by id; empty if memory cannot be asked."""
        ids = [one.id for one in record.memories if one.kind != MESSAGE]
        if not ids or self._memory.memory is None:
            return {}
        try:
            async with asyncio.timeout(PEEK_DEADLINE_S):
                entries = await self._memory.memory.peek(ids)
        except (RequestError, ServiceError, TimeoutError) as error:
            logger.info("memories of an answer cannot be shown: %s", error)
            return {}
        return {entry.id: one_line(entry.content, MAX_TEXT_CHARS) for entry in entries}

    async def _why(self, _argument: str, utterance: Utterance) -> str:
        record = self._watching.last(utterance.conversation)
        if record is None:
            return NOTHING
        text = why_text(record, await self.texts(record))
        return "\n".join(filter(None, [text, self._reaction(utterance)]))


def _no_reaction(_utterance: Utterance) -> str:
    return ""
