"""memory_similar and memory_deduplicate: what says nearly the same, and making one of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import NotFound, RequestError
from spade_llm.memory.entry_tools.answers import NOT_FOUND, error_type, found_answer
from spade_llm.memory.entry_tools.duplicates import Group, group
from spade_llm.memory.entry_tools.fields import ID_OF_ONE, WITH_TAGS, WITH_TIER, tags_of
from spade_llm.memory.entry_tools.kinds import FLAG, FRACTION, number, whole
from spade_llm.memory.entry_tools.parameters import defaulted
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.limits import MAX_ROWS
from spade_llm.memory.store import MemoryFilter, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.memory.entry_tools.parameters import Arguments
    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import MemoryEntry

LIKE_EACH = 50
"""Similar ones looked at for each memory."""

LIMIT = defaulted("limit", whole(1, MAX_ROWS), "Maximum number of results", 10)
MIN_SIMILARITY = defaulted("min_similarity", FRACTION, "Leave out what is less similar", 0.5)
EXAMINED = defaulted("limit", whole(1, MAX_ROWS), "How many memories to examine, newest first", 200)
SAME = defaulted(
    "min_similarity",
    number(0.8, 1.0),
    "How similar two must be to be the same; those that differ in a name, a number or a date are"
    " never the same",
    0.95,
)
DRY_RUN = defaulted("dry_run", FLAG, "true only says what would be merged", True)


class SimilarTool:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_similar",
            description="Find memories that say nearly the same as one.",
            parameters=(ID_OF_ONE, LIMIT, MIN_SIMILARITY),
            run=self.similar,
        )

    async def similar(self, arguments: Arguments) -> Answer:
        id, limit = arguments[ID_OF_ONE], arguments[LIMIT]
        least = arguments[MIN_SIMILARITY]
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
            parameters=(SAME, WITH_TIER, WITH_TAGS, EXAMINED, DRY_RUN),
            run=self.deduplicate,
        )

    async def deduplicate(self, arguments: Arguments) -> Answer:
        least, dry_run, limit = arguments[SAME], arguments[DRY_RUN], arguments[EXAMINED]
        which = MemoryFilter(
            subject=self._scope.subject,
            tier=arguments[WITH_TIER],
            tags=tags_of(arguments),
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
