"""Tools memory_search and memory_explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from spade_llm.core.errors import InvalidArguments
from spade_llm.memory.contract import SearchOutcome
from spade_llm.memory.tools.arguments import Fraction, Text, ToolArguments, Whole
from spade_llm.memory.tools.entries import ContentTypeFilter, TagsFilter, TierFilter
from spade_llm.memory.tools.entry_tool import EntryTool, format_score, result_object, search_answer
from spade_llm.memory.validation import MAX_ROWS
from spade_llm.search.memory_query import MemoryFilter, MemoryQuery, SearchMode, SortBy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.contract import ScoredMemory
    from spade_llm.memory.tools.entry_tool import SubjectScope, ToolAnswer

DEGRADED_MESSAGE = "some memories have no vectors now: those were searched by words only"


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
