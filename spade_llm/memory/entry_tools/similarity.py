"""memory_similar and memory_deduplicate: what says nearly the same, and making one of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, StrictBool, StrictFloat

from spade_llm.errors import NotFound, RequestError
from spade_llm.memory.entry_tools.answers import NOT_FOUND, error_type, found_answer
from spade_llm.memory.entry_tools.arguments import Fraction, ToolArguments, Whole
from spade_llm.memory.entry_tools.duplicates import Group, group
from spade_llm.memory.entry_tools.fields import OfOne, WithTags, WithTier
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.limits import MAX_ROWS
from spade_llm.memory.store import MemoryFilter, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import MemoryEntry

LIKE_EACH = 50
"""Similar ones looked at for each memory."""


class Similar(OfOne):
    limit: Whole = Field(default=10, ge=1, le=MAX_ROWS, description="Maximum number of results")
    min_similarity: Fraction = Field(default=0.5, description="Leave out what is less similar")


class Deduplicate(ToolArguments):
    min_similarity: StrictFloat = Field(
        default=0.95,
        ge=0.8,
        le=1.0,
        description="How similar two must be to be the same; those that differ in a name, a number"
        " or a date are never the same",
    )
    memory_tier: WithTier = None
    tags: WithTags = None
    limit: Whole = Field(
        default=200, ge=1, le=MAX_ROWS, description="How many memories to examine, newest first"
    )
    dry_run: StrictBool = Field(default=True, description="true only says what would be merged")


class SimilarTool:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_similar",
            description="Find memories that say nearly the same as one.",
            arguments=Similar,
            run=self.similar,
        )

    async def similar(self, arguments: Similar) -> Answer:
        id, limit, least = arguments.id, arguments.limit, arguments.min_similarity
        await self._scope.check(id)
        which = MemoryFilter(subject=self._scope.subject)
        results = await self._scope.store.similar(id, limit=limit, min_score=least, which=which)
        return {**found_answer(results), "outcome": results.outcome.value}


class DeduplicateTool:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_deduplicate",
            description="Find memories that say the same and make one of each such group: the"
            " oldest stays, with all tags, metadata and uses. By default only say which.",
            arguments=Deduplicate,
            run=self.deduplicate,
        )

    async def deduplicate(self, arguments: Deduplicate) -> Answer:
        least, dry_run, limit = arguments.min_similarity, arguments.dry_run, arguments.limit
        which = MemoryFilter(
            subject=self._scope.subject,
            tier=arguments.memory_tier,
            tags=arguments.tags or (),
        )
        page = await self._scope.store.list(which, limit=limit)
        similar = await self._similar(page.entries, least, which)
        groups = group(page.entries, similar)
        if not dry_run:
            groups = [one for one in groups if await self._merged(one)]
        return {
            "dry_run": dry_run,
            "examined_count": len(page.entries),
            "merged_count": sum(len(one.others) for one in groups),
            "groups": [_shown(one) for one in groups],
        }

    async def _similar(
        self, entries: Sequence[MemoryEntry], least: float, which: MemoryFilter
    ) -> dict[str, list[MemoryEntry]]:
        """One after the other: a memory serves others too."""
        return {entry.id: await self._like(entry, least, which) for entry in entries}

    async def _like(
        self, entry: MemoryEntry, least: float, which: MemoryFilter
    ) -> list[MemoryEntry]:
        """Nothing, if it was deleted meanwhile, or if words alone say how similar it is: what is
        merged cannot be told apart again."""
        store = self._scope.store
        try:
            found = await store.similar(entry.id, limit=LIKE_EACH, min_score=least, which=which)
        except (NotFound, RequestError) as error:
            if is_missing(error):
                return []
            raise
        return [] if found.outcome is Outcome.DEGRADED else [hit.entry for hit in found.hits]

    async def _merged(self, one: Group) -> bool:
        """False if one of them was deleted meanwhile: then nothing is merged."""
        try:
            await self._scope.store.merge(one.kept.id, [other.id for other in one.others])
        except (NotFound, RequestError) as error:
            if is_missing(error):
                return False
            raise
        return True


def is_missing(error: NotFound | RequestError) -> bool:
    code = error.wire_code if isinstance(error, RequestError) else error.code
    return error_type(code) == NOT_FOUND


def _shown(one: Group) -> dict[str, object]:
    return {
        "kept_id": one.kept.id,
        "content": one.kept.content,
        "duplicate_ids": [other.id for other in one.others],
    }
