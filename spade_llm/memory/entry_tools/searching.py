"""memory_search; and memory_explain, which says why each result was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.errors import InvalidArguments
from spade_llm.memory.entry_tools.answers import found, found_answer, score
from spade_llm.memory.entry_tools.fields import WITH_CONTENT_TYPE, WITH_TAGS, WITH_TIER, tags_of
from spade_llm.memory.entry_tools.kinds import FRACTION, TEXT, choice, whole
from spade_llm.memory.entry_tools.parameters import defaulted, required
from spade_llm.memory.entry_tools.tool import EntryTool
from spade_llm.memory.limits import MAX_ROWS
from spade_llm.memory.store import MemoryFilter, MemoryQuery, Outcome, SearchMode, SortBy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spade_llm.memory.entry_tools.parameters import Arguments
    from spade_llm.memory.entry_tools.scope import Scope
    from spade_llm.memory.entry_tools.tool import Answer
    from spade_llm.memory.store import ScoredMemory

MODES = (SearchMode.SEMANTIC, SearchMode.KEYWORD, SearchMode.HYBRID)

BY_WORDS = "some memories have no vectors now: those were searched by words only"

QUERY = required("query", TEXT, "What to look for, in words")
TOP_K = defaulted("top_k", whole(1, MAX_ROWS), "Maximum number of results", 10)
MIN_SIMILARITY = defaulted("min_similarity", FRACTION, "Leave out what is less similar", 0.0)
MODE = defaulted(
    "search_mode",
    choice(MODES),
    "semantic: by meaning. keyword: by words. hybrid: both.",
    SearchMode.SEMANTIC,
    shown="semantic",
)
KEYWORD_WEIGHT = defaulted(
    "keyword_weight", FRACTION, "Weight of keywords in a hybrid search; the rest is meaning's", 0.3
)
SORT_BY = defaulted(
    "sort_by",
    choice(tuple(SortBy)),
    "relevance: best first. importance: highest score first. created_at: newest first.",
    SortBy.RELEVANCE,
    shown="relevance",
)
IMPORTANCE_WEIGHT = defaulted(
    "importance_weight", FRACTION, "How much a memory's importance counts in its relevance", 0.0
)
SEARCH = (
    QUERY,
    TOP_K,
    WITH_TIER,
    WITH_TAGS,
    WITH_CONTENT_TYPE,
    MIN_SIMILARITY,
    MODE,
    KEYWORD_WEIGHT,
    SORT_BY,
    IMPORTANCE_WEIGHT,
)


class SearchTool:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_search",
            description="Search your memories by meaning, by keywords or by both.",
            parameters=SEARCH,
            run=self.search,
        )

    async def search(self, arguments: Arguments) -> Answer:
        results = await self._scope.store.search(_query(arguments, self._scope.subject))
        answer = found_answer(results)
        return {**answer, "degraded": BY_WORDS} if results.outcome is Outcome.DEGRADED else answer


class ExplainTool:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __iter__(self) -> Iterator[EntryTool]:
        yield EntryTool(
            name="memory_explain",
            description="Search as memory_search does, and say of each result why it was found: by"
            " which words or meaning, at which rank, and what else counted. The outcome is degraded"
            " if meaning could not be searched now, and only words were.",
            parameters=SEARCH,
            run=self.explain,
        )

    async def explain(self, arguments: Arguments) -> Answer:
        query = _query(arguments, self._scope.subject, explain=True)
        results = await self._scope.store.search(query)
        explained = [{**found(hit), "why": _why(hit)} for hit in results.hits]
        return {"results": explained, "total": len(explained), "outcome": results.outcome.value}


def _query(arguments: Arguments, subject: str | None, *, explain: bool = False) -> MemoryQuery:
    if not (text := arguments[QUERY]).strip():
        raise InvalidArguments("query must not be empty")
    return MemoryQuery(
        text=text,
        mode=arguments[MODE],
        limit=arguments[TOP_K],
        which=MemoryFilter(
            subject=subject,
            tier=arguments[WITH_TIER],
            tags=tags_of(arguments),
            content_type=arguments[WITH_CONTENT_TYPE],
        ),
        min_score=arguments[MIN_SIMILARITY],
        keyword_weight=arguments[KEYWORD_WEIGHT],
        importance_weight=arguments[IMPORTANCE_WEIGHT],
        sort_by=arguments[SORT_BY],
        explain=explain,
    )


def _why(hit: ScoredMemory) -> dict[str, object] | None:
    if (why := hit.why) is None:
        return None
    return {
        "keyword": {"score": score(why.keyword_score), "rank": why.keyword_rank},
        "vector": {"score": score(why.vector_score), "rank": why.vector_rank},
        "bonuses": {name: score(bonus) for name, bonus in why.bonuses.items()},
        "age_seconds": round(why.age_s),
        "grant": why.grant,
    }
