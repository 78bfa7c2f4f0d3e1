"""Tools memory_search, memory_explain, memory_similar and memory_deduplicate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field, StrictBool, StrictFloat

from spade_llm.core.errors import InvalidArguments, NotFound, RequestError
from spade_llm.memory.contract import MemoryEntry, ScoredMemory, SearchOutcome
from spade_llm.memory.summary import extract_facts
from spade_llm.memory.tools.arguments import Fraction, Text, ToolArguments, Whole
from spade_llm.memory.tools.entries import (
    ContentTypeFilter,
    MemoryIdArguments,
    TagsFilter,
    TierFilter,
)
from spade_llm.memory.tools.entry_tool import (
    NOT_FOUND_ERROR,
    EntryTool,
    SubjectScope,
    ToolAnswer,
    error_type,
    format_score,
    result_object,
    search_answer,
)
from spade_llm.memory.validation import MAX_ROWS
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, SearchMode, SortBy

DEGRADED_MESSAGE = "some memories have no vectors now: those were searched by words only"


NEGATIONS = """
no not never none nobody nothing without cannot n't nunca jamás nada nadie ninguno ninguna sin nicht
kein keine keinen nie niemals ohne ne pas jamais sans aucun não nunca non
"""
"""Negation words in English, Spanish, German, French, Portuguese and Italian; Chinese and Japanese
have characters."""
_NEGATIONS = frozenset(NEGATIONS.split())
_NEGATION_CHARS = frozenset("不没沒无無非ない")
_WORD = re.compile(r"n['’]t\b|[^\W\d_]+?(?=n['’]t\b)|[^\W\d_]+")

MAX_SIMILAR_PER_ENTRY = 50
"""Maximum number of similar memories compared with each memory."""


class SearchArguments(ToolArguments):
    query: Text = Field(description="What to look for, in words")
    top_k: Whole = Field(default=10, ge=1, le=MAX_ROWS, description="Maximum number of results")
    memory_tier: TierFilter = None
    tags: TagsFilter = None
    content_type: ContentTypeFilter = None
    min_similarity: Fraction = Field(default=0.0, description="Leave out what is less similar")
    search_mode: Literal[SearchMode.SEMANTIC, SearchMode.KEYWORD, SearchMode.HYBRID] = Field(
        default=SearchMode.SEMANTIC,
        description="semantic: by meaning. keyword: by words. hybrid: both.",
    )
    keyword_weight: Fraction = Field(
        default=0.3, description="Weight of keywords in a hybrid search; the rest is meaning's"
    )
    sort_by: SortBy = Field(
        default=SortBy.RELEVANCE,
        description="relevance: best first. importance: highest score first. created_at: newest"
        " first.",
    )
    importance_weight: Fraction = Field(
        default=0.0, description="How much a memory's importance counts in its relevance"
    )

    def wanted(self, subject: str | None, *, explain: bool = False) -> MemoryQuery:
        if not self.query.strip():
            raise InvalidArguments("query must not be empty")
        return MemoryQuery(
            text=self.query,
            mode=self.search_mode,
            limit=self.top_k,
            which=MemoryFilter(
                subject=subject,
                tier=self.memory_tier,
                tags=self.tags or (),
                content_type=self.content_type,
            ),
            min_score=self.min_similarity,
            keyword_weight=self.keyword_weight,
            importance_weight=self.importance_weight,
            sort_by=self.sort_by,
            explain=explain,
        )


class SearchTool:
    def __init__(self, scope: SubjectScope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_search",
            description="Search your memories by meaning, by keywords or by both.",
            arguments=SearchArguments,
            run=self.search,
        )

    async def search(self, arguments: SearchArguments) -> ToolAnswer:
        results = await self._scope.store.search(arguments.wanted(self._scope.subject))
        answer = search_answer(results)
        return (
            {**answer, "degraded": DEGRADED_MESSAGE}
            if results.outcome is SearchOutcome.DEGRADED
            else answer
        )


class ExplainTool:
    def __init__(self, scope: SubjectScope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_explain",
            description="Search as memory_search does, and say of each result why it was found: by"
            " which words or meaning, at which rank, and what else counted. The outcome is degraded"
            " if meaning could not be searched now, and only words were.",
            arguments=SearchArguments,
            run=self.explain,
        )

    async def explain(self, arguments: SearchArguments) -> ToolAnswer:
        query = arguments.wanted(self._scope.subject, explain=True)
        results = await self._scope.store.search(query)
        explained = [
            {**result_object(hit), "why": _explanation_object(hit)} for hit in results.hits
        ]
        return {"results": explained, "total": len(explained), "outcome": results.outcome.value}


def _explanation_object(hit: ScoredMemory) -> dict[str, object] | None:
    if (why := hit.why) is None:
        return None
    return {
        "keyword": {"score": format_score(why.keyword_score), "rank": why.keyword_rank},
        "vector": {"score": format_score(why.vector_score), "rank": why.vector_rank},
        "bonuses": {name: format_score(bonus) for name, bonus in why.bonuses.items()},
        "age_seconds": round(why.age_s),
        "grant": why.grant,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateGroup:
    """Memories with the same meaning."""

    kept: MemoryEntry
    """The oldest."""
    others: tuple[MemoryEntry, ...]


def group_duplicates(
    entries: Sequence[MemoryEntry], similar: Mapping[str, Sequence[MemoryEntry]]
) -> list[DuplicateGroup]:
    """Groups of at least two duplicates, each entry in one at most.

    `similar` has, by id, the entries that are similar enough. A group is one entry and its own
    duplicates: duplicates of duplicates are not drawn in.
    """
    taken: set[str] = set()
    groups: list[DuplicateGroup] = []
    by_text: dict[object, list[MemoryEntry]] = {}
    for entry in entries:
        by_text.setdefault(_text_key(entry), []).append(entry)
    for entry in sorted(entries, key=_creation_order):
        if entry.id in taken:
            continue
        others = [
            *by_text[_text_key(entry)],
            *(e for e in similar.get(entry.id, ()) if are_duplicates(entry, e)),
        ]
        members = {one.id: one for one in (entry, *others) if one.id not in taken}
        if len(members) > 1:
            taken |= members.keys()
            kept, *rest = sorted(members.values(), key=_creation_order)
            groups.append(DuplicateGroup(kept=kept, others=tuple(rest)))
    return groups


def are_duplicates(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Check whether one of two similar entries can replace the other."""
    return (
        one.subject == other.subject
        and one.content_type == other.content_type
        # Vectors of "due on 3 May" and "due on 4 May" are nearly equal.
        and extract_facts(one.content) == extract_facts(other.content)
        and _negations(one.content) == _negations(other.content)
    )


class Similar(MemoryIdArguments):
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
    memory_tier: TierFilter = None
    tags: TagsFilter = None
    limit: Whole = Field(
        default=200, ge=1, le=MAX_ROWS, description="How many memories to examine, newest first"
    )
    dry_run: StrictBool = Field(default=True, description="true only says what would be merged")


class SimilarTool:
    def __init__(self, scope: SubjectScope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_similar",
            description="Find memories that say nearly the same as one.",
            arguments=Similar,
            run=self.similar,
        )

    async def similar(self, arguments: Similar) -> ToolAnswer:
        id, limit, least = arguments.id, arguments.limit, arguments.min_similarity
        await self._scope.check(id)
        which = MemoryFilter(subject=self._scope.subject)
        results = await self._scope.store.similar(id, limit=limit, min_score=least, which=which)
        return {**search_answer(results), "outcome": results.outcome.value}


class DeduplicateTool:
    def __init__(self, scope: SubjectScope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_deduplicate",
            description="Find memories that say the same and make one of each such group: the"
            " oldest stays, with all tags, metadata and uses. By default only say which.",
            arguments=Deduplicate,
            run=self.deduplicate,
        )

    async def deduplicate(self, arguments: Deduplicate) -> ToolAnswer:
        least, dry_run, limit = arguments.min_similarity, arguments.dry_run, arguments.limit
        which = MemoryFilter(
            subject=self._scope.subject,
            tier=arguments.memory_tier,
            tags=arguments.tags or (),
        )
        page = await self._scope.store.list(which, limit=limit)
        # In sequence, not in parallel: the memory serves other callers too.
        similar = {entry.id: await self._similar(entry, least, which) for entry in page.entries}
        groups = group_duplicates(page.entries, similar)
        if not dry_run:
            groups = [one for one in groups if await self._merged(one)]
        return {
            "dry_run": dry_run,
            "examined_count": len(page.entries),
            "merged_count": sum(len(one.others) for one in groups),
            "groups": [
                {
                    "kept_id": one.kept.id,
                    "content": one.kept.content,
                    "duplicate_ids": [other.id for other in one.others],
                }
                for one in groups
            ],
        }

    async def _similar(
        self, entry: MemoryEntry, least: float, which: MemoryFilter
    ) -> list[MemoryEntry]:
        """Similar entries; none if it was deleted meanwhile, or if only keywords could be compared:
        merged entries cannot be told apart again."""
        store = self._scope.store
        try:
            found = await store.similar(
                entry.id, limit=MAX_SIMILAR_PER_ENTRY, min_score=least, which=which
            )
        except (NotFound, RequestError) as error:
            if is_missing(error):
                return []
            raise
        return [] if found.outcome is SearchOutcome.DEGRADED else [hit.entry for hit in found.hits]

    async def _merged(self, one: DuplicateGroup) -> bool:
        """Merge a group; False if one of them was deleted meanwhile: then nothing is merged."""
        try:
            await self._scope.store.merge(one.kept.id, [other.id for other in one.others])
        except (NotFound, RequestError) as error:
            if is_missing(error):
                return False
            raise
        return True


def is_missing(error: NotFound | RequestError) -> bool:
    code = error.wire_code if isinstance(error, RequestError) else error.code
    return error_type(code) == NOT_FOUND_ERROR


def _text_key(entry: MemoryEntry) -> object:
    """Comparison key of an entry's text, without case and spacing."""
    return entry.subject, entry.content_type, " ".join(entry.content.casefold().split())


def _creation_order(entry: MemoryEntry) -> tuple[datetime, str]:
    return entry.created_at, entry.id


def _negations(text: str) -> int:
    words = sum(word.replace("’", "'") in _NEGATIONS for word in _WORD.findall(text.lower()))
    return words + sum(char in _NEGATION_CHARS for char in text)
