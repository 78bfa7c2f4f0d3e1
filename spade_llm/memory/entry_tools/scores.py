"""memory_get_score and memory_set_score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.entry_tools.answers import optional_date, score
from spade_llm.memory.entry_tools.fields import ID_OF_ONE
from spade_llm.memory.entry_tools.kinds import FRACTION, TEXT
from spade_llm.memory.entry_tools.parameters import defaulted, required
from spade_llm.memory.entry_tools.tool import EntryTool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.entry_tools.parameters import Arguments
    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer

SCORE = required("score", FRACTION, "New importance, 0.0 (none) to 1.0 (highest)")
REASON = defaulted("reason", TEXT, "Why it is set so; kept with it", "Manual override")


class ScoreTools:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_get_score",
            description="Get how important a memory is: 0.0 to 1.0, from how often and how lately"
            " it was used, unless it was set.",
            parameters=(ID_OF_ONE,),
            run=self.get_score,
        )
        yield EntryTool(
            name="memory_set_score",
            description="Set how important a memory is. It stays so, however it is used.",
            parameters=(ID_OF_ONE, SCORE, REASON),
            run=self.set_score,
        )

    async def get_score(self, arguments: Arguments) -> Answer:
        (entry,) = await self._scope.all_of([arguments[ID_OF_ONE]])
        return {
            "success": True,
            "memory_id": entry.id,
            "importance_score": score(entry.importance),
            "access_count": entry.access_count,
            "last_accessed_at": optional_date(entry.last_accessed_at),
        }

    async def set_score(self, arguments: Arguments) -> Answer:
        id, new = arguments[ID_OF_ONE], arguments[SCORE]
        reason = arguments[REASON]
        await self._scope.check(id)
        before = await self._scope.store.set_importance(id, new, reason=reason)
        return {
            "success": True,
            "memory_id": id,
            "previous_score": score(before),
            "new_score": score(new),
        }
