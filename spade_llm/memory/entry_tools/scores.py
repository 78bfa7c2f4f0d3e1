"""memory_get_score and memory_set_score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from spade_llm.memory.entry_tools.answers import optional_date, score
from spade_llm.memory.entry_tools.arguments import Fraction, Text
from spade_llm.memory.entry_tools.fields import OfOne
from spade_llm.memory.entry_tools.tool import EntryTool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer


class SetScore(OfOne):
    score: Fraction = Field(description="New importance, 0.0 (none) to 1.0 (highest)")
    reason: Text = Field(default="Manual override", description="Why it is set so; kept with it")


class ScoreTools:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_get_score",
            description="Get how important a memory is: 0.0 to 1.0, from how often and how lately"
            " it was used, unless it was set.",
            arguments=OfOne,
            run=self.get_score,
        )
        yield EntryTool(
            name="memory_set_score",
            description="Set how important a memory is. It stays so, however it is used.",
            arguments=SetScore,
            run=self.set_score,
        )

    async def get_score(self, arguments: OfOne) -> Answer:
        (entry,) = await self._scope.all_of([arguments.id])
        return {
            "success": True,
            "memory_id": entry.id,
            "importance_score": score(entry.importance),
            "access_count": entry.access_count,
            "last_accessed_at": optional_date(entry.last_accessed_at),
        }

    async def set_score(self, arguments: SetScore) -> Answer:
        id, new = arguments.id, arguments.score
        await self._scope.check(id)
        before = await self._scope.store.set_importance(id, new, reason=arguments.reason)
        return {
            "success": True,
            "memory_id": id,
            "previous_score": score(before),
            "new_score": score(new),
        }
