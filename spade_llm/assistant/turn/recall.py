"""Recall before a turn: searches memory and documents."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from spade_llm.assistant.turn import turn_recorder
from spade_llm.assistant.turn.document_tools import PersonDocumentRetriever
from spade_llm.assistant.turn.memory_selection import (
    MIN_UNRELATED_FACT_SCORE,
    TIME_CONCEPTS,
    above_relevance_floor,
    bearing_concepts,
    without_repeated,
)
from spade_llm.core.errors import InvalidArguments, ModelUnavailable, RequestError, ServiceError
from spade_llm.core.limits import ConcurrencyLimiter
from spade_llm.memory.contract import ScoredMemory, SearchOutcome
from spade_llm.memory.validity import apply_validity, successors
from spade_llm.rag.contract import RetrievalOptions
from spade_llm.search.language import key_words, language_of
from spade_llm.search.memory_query import (
    FACT_TYPES,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
    SearchMode,
)
from spade_llm.search.query_vector import QueryVector
from spade_llm.understanding.answer_updates import names_besides
from spade_llm.understanding.clause_kinds import ClauseKind
from spade_llm.understanding.clauses import split_clauses
from spade_llm.understanding.features import related_words
from spade_llm.understanding.questions import asks_about_past, is_about_speaker
from spade_llm.understanding.vocabulary import concepts_of, words_of

if TYPE_CHECKING:
    from spade_llm.assistant.turn.turn_options import ContextOptions
    from spade_llm.memory.contract import MemoryEntry, MemoryStore
    from spade_llm.memory.learning.learning_contract import KnownMemories
    from spade_llm.providers.model import Embedder
    from spade_llm.rag.contract import Retriever, ScoredChunk

logger = logging.getLogger(__name__)

T = TypeVar("T")
RecallQuery = Callable[[], Awaitable["tuple[T, ...]"]]
ALL_TYPES = tuple(MemoryType)

DEADLINE_S = 2.0
"""Deadline for recall and retrieval together before a turn, in seconds."""
MAX_QUESTION_CHARS = 2000
"""Maximum length of the search text, in characters: the end of a long message, since the question
is there."""
MAX_REQUESTED_MEMORIES = 32
"""Asked for where the asker decides the budget: some stand in the history, and are left out."""
MAX_BY_CONCEPT = 6
"""Facts that are found by a concept of the question alone."""
MAX_SUCCESSORS = 16
"""Memories that are read for what replaced an outdated message."""
MAX_LATER = 6
"""Later facts that are read because they name what the best fact names."""
MAX_CLOSED = 3
"""Closed facts of which what took their place is looked for."""
STORING_TIME = timedelta(minutes=5)
"""Longest time between a message and the storing of what it tells."""
CIRCUIT_BREAKER_S = 10.0
"""Time in seconds for which the circuit breaker skips a service that did not respond."""
# A service that a thousand turns ask at once answers each of them too late: all deadlines run while
# each waits for all others. With a limit, the deadline begins when the service has time for it.
MAX_CONCURRENT = 16
"""Turns that ask one service at once: a service that takes 0.1 s for each answers in time."""
SLOT_TIMEOUT_S = 10.0
"""Longest wait for one of these slots; a turn goes on without the service then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """Memories and passages recalled for a message, and the services that were missing."""

    memories: tuple[ScoredMemory, ...] = ()
    passages: tuple[ScoredChunk, ...] = ()
    missing: tuple[str, ...] = ()
    """Services (`memory`, `documents`) that were unavailable."""
    heard: tuple[str, ...] = ()
    """Messages around the question, not addressed to us, each with its sender's name."""
    replied_to: str = ""
    """The message that the question answers."""
    is_dated: bool = False
    """True if the prompt has today's date even without quotations: plans are stored with dates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallBudget:
    """Limits on the amount of recalled data."""

    memories: int = 16
    """Asked for, messages of conversations among them; `recall_tokens` bounds what is quoted."""
    passages: int = 4
    passage_tokens: int = 2000
    """Maximum number of estimated tokens of all passages: neighbouring chunks are merged, up to
    four."""


class Recall:
    """Recall before a turn: asks the memory and the retriever that an agent has; either may be
    None.

    `embedder`: computes the vector of a question once for both, if their model is the same. None:
    each computes its own.
    """

    def __init__(
        self,
        *,
        memory: MemoryStore | None,
        retriever: Retriever | None,
        embedder: Embedder | None = None,
        budget: RecallBudget | None = None,
        deadline_s: float = DEADLINE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory = memory
        self._retriever = retriever
        self._embedder = embedder
        self._budget = budget or RecallBudget()
        self._deadline_s = deadline_s
        self._clock = clock
        self._away_until: dict[str, float] = {}
        self._limiters = {
            # No bound of its own: the wait ends after SLOT_TIMEOUT_S.
            name: ConcurrencyLimiter(MAX_CONCURRENT, name=name, max_waiting=None)
            for name in _PHASES
        }

    def is_away(self, name: str) -> bool:
        """True while the circuit breaker skips the service, since it did not answer in time."""
        return self._clock() < self._away_until.get(name, 0.0)

    async def about(
        self, question: str, *, subject: str, with_former: bool = False
    ) -> RecallResult:
        """Recall memories and passages on the question; a service's failure never raises.

        `with_former`: include what is no longer true, and what took its place, whatever the
        question is: rules need both to answer. Otherwise only questions about the past get it.
        """
        question = question[-MAX_QUESTION_CHARS:]
        vector = await self._vector(question)
        options = RetrievalOptions(max_tokens=self._budget.passage_tokens, vector=vector)
        passages = partial(self._passages, question, subject, self._budget.passages, options)
        memories = self._memories_about(
            question,
            subject,
            limit=self._budget.memories,
            vector=vector,
            with_former=with_former,
        )
        return await self._found(memories, passages)

    async def wished(
        self, question: str, *, subject: str, context_options: ContextOptions
    ) -> RecallResult:
        """Recall what the context options select. Unlike in `about`, neighbouring chunks stay
        separate passages."""
        question = question[-MAX_QUESTION_CHARS:]
        use_memory = context_options.use_memory and bool(context_options.memory_types)
        vector = None
        if use_memory and context_options.use_documents:
            vector = await self._vector(question)
        memories: RecallQuery[ScoredMemory] = _nothing
        if use_memory:
            types = context_options.memory_types
            memories = self._memories_about(
                question, subject, types, limit=MAX_REQUESTED_MEMORIES, vector=vector
            )
        passages: RecallQuery[ScoredChunk] = _nothing
        if context_options.use_documents:
            options = RetrievalOptions(
                namespaces=context_options.namespaces, merge_neighbours=False, vector=vector
            )
            passages = partial(self._passages, question, subject, context_options.top_k, options)
        return await self._found(memories, passages)

    async def _vector(self, question: str) -> QueryVector | None:
        """Vector of a question that memory and documents are asked; None: each computes its own."""
        embedder, asked = self._embedder, (self._memory, self._retriever)
        if embedder is None or None in asked or any(map(self.is_away, _PHASES)):
            return None
        try:
            async with asyncio.timeout(self._deadline_s):
                (vector,) = await embedder.embed([question])
        except (ModelUnavailable, TimeoutError) as error:
            logger.warning("no vector of a question: %s", error or "timeout")
            return None
        return QueryVector.of(embedder.name, vector)

    async def _found(
        self, ask_memory: RecallQuery[ScoredMemory], ask_rag: RecallQuery[ScoredChunk]
    ) -> RecallResult:
        # Memory first: its answer takes longer.
        memories, passages = await asyncio.gather(
            self._guarded("memory", ask_memory), self._guarded("documents", ask_rag)
        )
        return RecallResult(
            memories=memories or (),
            passages=passages or (),
            missing=tuple(
                name
                for name, found in (("memory", memories), ("documents", passages))
                if found is None
            ),
        )

    def _memories_about(
        self,
        question: str,
        subject: str,
        types: tuple[MemoryType, ...] = ALL_TYPES,
        *,
        limit: int,
        vector: QueryVector | None = None,
        with_former: bool = False,
    ) -> RecallQuery[ScoredMemory]:
        """Messages of conversations count as episodes. A question without a word of content
        asks for none of them: only others like it are near to it. Small talk (`thanks!`) gets
        patterns of behaviour only. A question about the past (`before`) gets what is no longer
        true, too."""
        if _is_small_talk(question):
            types = tuple(one for one in types if one is MemoryType.PROCEDURAL)
        if self._memory is None or not types:
            return _nothing
        is_all = set(types) == set(ALL_TYPES)
        query = MemoryQuery(
            text=question,
            mode=SearchMode.RECALL,
            limit=limit,
            which=MemoryFilter(
                subject=subject,
                types=() if is_all else types,
                with_invalid=with_former or asks_about_past(question),
            ),
            with_messages=MemoryType.EPISODIC in types and bool(key_words(question)),
            with_patterns=MemoryType.PROCEDURAL in types,
            vector=vector,
        )
        return partial(self._memories, self._memory, query)

    @staticmethod
    async def _memories(memory: MemoryStore, query: MemoryQuery) -> tuple[ScoredMemory, ...]:
        """Search memory; what is outdated, beside the point or said twice is left out. A search
        without vectors (`degraded`) has lower scores, and so no fixed minimum; denied searches
        return nothing."""
        found, more = await asyncio.gather(memory.search(query), _facts_by_concept(memory, query))
        hits = _merged(found.hits, more)
        is_degraded = found.outcome is SearchOutcome.DEGRADED
        if is_degraded:
            _note_degraded("memory: by words only")
        # Before the floor: a newer message, even if it is left out, outdates an older one.
        current = apply_validity(
            hits,
            former=found.former,
            said=query.text,
            now=datetime.now(UTC),
            keeps_former=query.which.with_invalid,
        )
        kept = {one.entry.id for one in current}
        if outdated := [one for one in hits if one.entry.id not in kept]:
            current = _merged(await _successors(memory, current, outdated, query), current)
        current = _merged(current, await _later_about(memory, current, query))
        relevant = above_relevance_floor(current, question=query.text, has_vectors=not is_degraded)
        if query.which.with_invalid:
            # After the floor: what took the place of a relevant fact may share no word with it.
            relevant = _merged(relevant, await _since_the_end(memory, relevant, query))
        return without_repeated(relevant, question=query.text)

    async def _passages(
        self, question: str, subject: str, k: int, options: RetrievalOptions
    ) -> tuple[ScoredChunk, ...]:
        if self._retriever is None:
            return ()
        seen = PersonDocumentRetriever(self._retriever, person=subject)
        found = await seen.retrieve(question, k=k, options=options)
        if found.degraded:
            _note_degraded(f"documents: {found.degraded}")
        return found.chunks

    async def _guarded(self, name: str, ask: RecallQuery[T]) -> tuple[T, ...] | None:
        """Answer of a service; None if it is unavailable. An error that concerns one question
        counts as an empty result, and does not open the circuit breaker."""
        if ask is _nothing:
            return ()
        if self.is_away(name):
            return None
        with turn_recorder.record_phase(_PHASES[name]):
            async with self._limiters[name].slot_within(SLOT_TIMEOUT_S) as has_place:
                # Others may have found it away meanwhile.
                return (
                    await self._asked(name, ask) if has_place and not self.is_away(name) else None
                )

    async def _asked(self, name: str, ask: RecallQuery[T]) -> tuple[T, ...] | None:
        try:
            async with asyncio.timeout(self._deadline_s):
                return await ask()
        except (RequestError, ServiceError, TimeoutError) as error:
            # The query is at fault, for example because of an invalid namespace.
            code = error.wire_code if isinstance(error, RequestError) else ""
            if isinstance(error, InvalidArguments) or code == InvalidArguments.code:
                logger.info("%s rejected the recall query: %s", name, error)
                return ()
            reason = str(error) or f"no answer within {self._deadline_s:g} s"
            logger.warning(
                "circuit breaker: %s is skipped for %.0f s: %s", name, CIRCUIT_BREAKER_S, reason
            )
            self._away_until[name] = self._clock() + CIRCUIT_BREAKER_S
            return None


async def find_related(
    memory: KnownMemories,
    text: str,
    *,
    which: MemoryFilter,
    limit: int,
    with_messages: bool = False,
) -> list[MemoryEntry]:
    """Memories that share a word or a concept with a text (`moved` finds `live`), for a comparison
    by rules. Raises RequestError, ServiceError."""
    query = MemoryQuery(
        text=f"{text} {related_words(text)}",
        mode=SearchMode.KEYWORD,
        limit=limit,
        which=which,
        with_messages=with_messages,
    )
    return [hit.entry for hit in (await memory.search(query)).hits]


async def _facts_by_concept(memory: MemoryStore, query: MemoryQuery) -> tuple[ScoredMemory, ...]:
    """Facts that share a concept with a question but no word: `I've got coeliac disease` for `What
    can I cook?`. Searched for where the ranking is weak: for facts that bear on advice, for
    questions in Spanish, for which the local embedder was not trained, and for questions about the
    person, which were often asked before: the answers to them leave no place for the fact."""
    concepts = bearing_concepts(query.text)
    if language_of(query.text) == "es" or is_about_speaker(query.text):
        concepts |= concepts_of(query.text) - TIME_CONCEPTS
    types = tuple(one for one in FACT_TYPES if one in (query.which.types or FACT_TYPES))
    if not (types and (words := " ".join(dict.fromkeys(words_of(concepts))))):
        return ()
    by_words = replace(
        query,
        text=words[:MAX_QUESTION_CHARS],
        mode=SearchMode.KEYWORD,
        limit=MAX_BY_CONCEPT,
        which=replace(query.which, types=types),
        with_messages=False,
        vector=None,
    )
    found = (await memory.search(by_words)).hits
    # The scores of another kind of search cannot be compared: these come last.
    return tuple(
        replace(one, score=MIN_UNRELATED_FACT_SCORE)
        for one in found
        if concepts & concepts_of(one.entry.content)
    )


async def _successors(
    memory: MemoryStore,
    current: Sequence[ScoredMemory],
    outdated: Sequence[ScoredMemory],
    query: MemoryQuery,
) -> tuple[ScoredMemory, ...]:
    """What holds instead of outdated messages, if none of the `current` memories says it: `I moved
    to Valencia` has no word of `Where do I live?`. Scored as the best of the outdated ones."""
    if successors(current, outdated):
        return ()
    text = " ".join(one.entry.content for one in outdated)[:MAX_QUESTION_CHARS]
    entries = await find_related(
        memory, text, which=query.which, limit=MAX_SUCCESSORS, with_messages=query.with_messages
    )
    score = max(one.score for one in outdated)
    return successors([ScoredMemory(entry=one, score=score) for one in entries], outdated)


async def _later_about(
    memory: MemoryStore, current: Sequence[ScoredMemory], query: MemoryQuery
) -> tuple[ScoredMemory, ...]:
    """Find facts that were told later of what the best one names: `Shaun hurt his back, so Eve
    shoes them` has no word of `who is our farrier?`. Only for questions about the person."""
    facts = (one for one in current if one.entry.type in FACT_TYPES)
    best = max(facts, key=lambda one: one.score, default=None)
    if best is None or not is_about_speaker(query.text):
        return ()
    names = names_besides(query.text, best.entry.content)
    if not names:
        return ()
    by_names = replace(
        query,
        text=" ".join(sorted(names))[:MAX_QUESTION_CHARS],
        mode=SearchMode.KEYWORD,
        limit=MAX_LATER,
        which=replace(query.which, types=(best.entry.type,)),
        with_messages=False,
        vector=None,
    )
    return tuple(
        replace(one, score=best.score)
        for one in (await memory.search(by_names)).hits
        if one.entry.created_at > best.entry.created_at
    )


async def _since_the_end(
    memory: MemoryStore, current: Sequence[ScoredMemory], query: MemoryQuery
) -> tuple[ScoredMemory, ...]:
    """Find facts that hold since the moment at which one of the best closed facts ended: the same
    message told them, so they took its place, in whatever words."""
    ends = {
        end: one.score
        for one in sorted(current, key=lambda one: one.score)
        if one.entry.type in FACT_TYPES and (end := one.entry.invalid_at)
    }

    async def begun_at(end: datetime) -> list[ScoredMemory]:
        which = MemoryFilter(
            subject=query.which.subject,
            types=FACT_TYPES,
            created_after=end,
            created_before=end + STORING_TIME,
        )
        page = await memory.list(which, limit=MAX_SUCCESSORS)
        since = [one for one in page.entries if one.holds_since == end]
        return [ScoredMemory(entry=one, score=ends[end]) for one in since]

    found = await asyncio.gather(*map(begun_at, [*ends][-MAX_CLOSED:]))
    return tuple(one for begun in found for one in begun)


def _merged(
    first: Sequence[ScoredMemory], more: Sequence[ScoredMemory]
) -> tuple[ScoredMemory, ...]:
    """The memories of both searches. One that both found has its higher score: that it was found in
    one more way must not put it below the relevance floor."""
    scores = {one.entry.id: one.score for one in more}
    known = {one.entry.id for one in first}
    return (
        *(replace(one, score=max(one.score, scores.get(one.entry.id, 0.0))) for one in first),
        *(one for one in more if one.entry.id not in known),
    )


def _is_small_talk(text: str) -> bool:
    """Check whether a message is nothing but a greeting, thanks or the like."""
    clauses = split_clauses(text)
    return bool(clauses) and all(one.kind is ClauseKind.SMALL_TALK for one in clauses)


async def _nothing() -> tuple[()]:
    """Empty query for a source that was not requested; it does not count as missing."""
    return ()


_PHASES = {"memory": "recall", "documents": "retrieve"}


def _note_degraded(what: str) -> None:
    if of_turn := turn_recorder.current_recorder():
        of_turn.degraded(what)
