"""Selection of recalled memories: relevance floor, repetitions, token budget, use in answers."""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from spade_llm.assistant.turn.prompt import is_message
from spade_llm.core.text import estimate_tokens
from spade_llm.memory.learning.novelty import REPETITION_OVERLAP, topic_stems
from spade_llm.memory.validity import spoken_lines
from spade_llm.search.language import key_words, language_of
from spade_llm.search.memory_query import Origin
from spade_llm.understanding.clauses import ClauseKind, split_clauses
from spade_llm.understanding.features import is_denial
from spade_llm.understanding.vocabulary import concepts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from spade_llm.memory.contract import MemoryEntry, ScoredMemory

DEFAULT_TOKENS = 800
QUOTING_TOKENS = 12
"""Tokens of the text around one quoted memory: kind, speaker, date."""
LOW_CONFIDENCE_BELOW = 0.5
MIN_COMMON_WORDS = 3
MIN_SCORE = 0.45
"""Minimum score of a message of another conversation, found by meaning and words. On LoCoMo, 99 of
100 messages that answer a question score higher; of those found for an unrelated question, 1 in 5
do."""
MIN_FACT_SCORE = 0.05
"""The same for facts. It and MIN_FACT_SHARE leave out 3 of 10 facts beside the point, and none of
those that bear on the question (docs/design/built-context.md)."""
MIN_FACT_SHARE = 0.35
"""Minimum ratio to the best fact's score."""
MIN_SHARE_OF_BEST = 0.75
"""Minimum ratio to the best message's score. It works better than a fixed minimum if all scores are
high (languages other than the embedder's) or low (search by words alone)."""
MIN_UNRELATED_FACT_SCORE = 0.3
"""Minimum score of a fact that has no word or concept in common with the question."""
MIN_ABOVE_MEDIAN = 0.05
"""Minimum distance of such a message from the median of their scores (Spanish)."""
ANSWER_DELAY = timedelta(minutes=5)
"""Longest time between a question and the message that answers it."""
TIME_CONCEPTS = frozenset({"afternoon", "duration", "evening", "frequency", "morning", "weekend"})
"""Concepts that questions about different things have in common."""
_BEARING_ON = {
    "doctor": frozenset({"cardiologist", "dermatologist", "gynaecologist"}),
    "exercise": frozenset({"injury"}),
    "flight": frozenset({"fear"}),
    "food": frozenset({"allergy", "diet"}),
    "medicine": frozenset({"allergy", "medicine"}),
    "pain": frozenset({"allergy", "medicine"}),
    "sport": frozenset({"injury"}),
    "trip": frozenset({"fear"}),
}
"""Concepts of facts that bear on advice about something else, by the concept of the advice."""
SHORT_WORDS = 8
"""Words of content of a short text: each of them may be what it is about."""
_ASKS = (ClauseKind.QUESTION, ClauseKind.REQUEST, ClauseKind.SMALL_TALK)
MIN_WORD_CHARS = 3
"""Minimum length of a word that indicates the use of a memory, in characters; numbers may be
shorter."""


def above_relevance_floor(
    memories: Sequence[ScoredMemory], *, question: str = "", has_vectors: bool = True
) -> tuple[ScoredMemory, ...]:
    """Filter memories by the relevance floors, in their order. That of facts is low: a diet bears
    on any recipe, though it shares no words with it. Patterns of behaviour always pass; messages
    that only ask never do. What has no word or concept in common with the question needs more:
    see `_UnrelatedFloor`.

    `has_vectors=False`: the scores are of words alone, and so have no fixed minimum.
    """
    # A question that was asked before is nearer to the same question than what answers it, and so
    # is the answer that it got.
    telling = [one for one in memories if _tells(one)]
    said = [one.score for one in telling if _form(one) in _SAID_BY_PEOPLE]
    known = [one.score for one in telling if not is_verbatim(one)]
    # A message that a question about the past finds as outdated stands for the fact that ended.
    of_said = max(MIN_SCORE * has_vectors, MIN_SHARE_OF_BEST * max(said, default=0.0))
    of_facts = max(MIN_FACT_SCORE * has_vectors, MIN_FACT_SHARE * max(known, default=0.0))
    unrelated = _UnrelatedFloor(question, memories) if has_vectors and question else None
    return tuple(
        one
        for one in telling
        if one.entry.origin is Origin.PATTERN
        or (
            one.score >= (of_said if is_verbatim(one) and not one.entry.invalid_at else of_facts)
            and (unrelated is None or unrelated.is_passed_by(one))
        )
    )


def bearing_concepts(question: str) -> frozenset[str]:
    """Concepts of facts that bear on the answer to a question about something else: a diet on a
    recipe."""
    concepts = concepts_of(question)
    return frozenset[str]().union(*(_BEARING_ON[one] for one in _BEARING_ON if one in concepts))


class _UnrelatedFloor:
    """Relevance floor of memories that have no word or concept in common with a question.

    The local embedder, an English model, finds Spanish texts near to each other, whatever they are
    about: for a Spanish question, only what stands out from the median of the scores is relevant.
    """

    def __init__(self, question: str, memories: Sequence[ScoredMemory]) -> None:
        self._stems = topic_stems(question)
        self._concepts = concepts_of(question) - TIME_CONCEPTS
        self._bearing = bearing_concepts(question)
        unrelated = [one for one in memories if not self._is_related(one)]
        middle = median(one.score for one in unrelated) if unrelated else 0.0
        self._of_said = middle + MIN_ABOVE_MEDIAN if language_of(question) == "es" else 0.0
        self._unrelated = {one.entry.id for one in unrelated}
        self._asking = [
            one.entry
            for one in memories
            if one.entry.id not in self._unrelated and is_message(one) and not _tells(one)
        ]

    def is_passed_by(self, memory: ScoredMemory) -> bool:
        """True for what is related to the question, bears on an advice, or scores high enough;
        false for an unrelated answer of an assistant (`Good luck!`)."""
        if memory.entry.id not in self._unrelated:
            return True
        match _form(memory):
            case _Form.ANSWER:
                return self._answers_related(memory.entry)
            case _Form.FACT if self._bearing & concepts_of(memory.entry.content):
                return True
            case _Form.FACT | _Form.SUMMARY:
                return memory.score >= max(MIN_UNRELATED_FACT_SCORE, self._of_said)
            case _:
                return memory.score >= self._of_said

    def _is_related(self, memory: ScoredMemory) -> bool:
        text = memory.entry.content
        return bool(self._stems & topic_stems(text) or self._concepts & concepts_of(text))

    def _answers_related(self, answer: MemoryEntry) -> bool:
        """Check whether an assistant's message follows a related question of the same
        conversation."""
        return any(
            timedelta() < answer.holds_since - one.holds_since <= ANSWER_DELAY
            for one in self._asking
            if one.session == answer.session
        )


def without_repeated(memories: Sequence[ScoredMemory]) -> tuple[ScoredMemory, ...]:
    """Memories that say something that no better one says, in their order. Facts are better than
    messages, and messages than episodes, since they say the same in fewer words.

    A fact repeats a single other memory, a message one for each of its clauses, and a summary all
    others together, if these have REPETITION_OVERLAP of its words (a short text: all), and both or
    neither deny something.
    """
    kept: list[tuple[ScoredMemory, _Words]] = []
    for memory in sorted(memories, key=_form):
        text = " ".join(text for _, text in spoken_lines(memory.entry))
        words = _read(text)
        others = [known for one, known in kept if _may_stand_for(one, memory)]
        if memory.entry.origin in (Origin.EPISODE, Origin.REFLECTION):
            every = frozenset[int]().union(*(known.stems for known in others))
            others = [_Words(every, words.is_denial)]
        clauses = _clauses(text) if is_message(memory) else ()
        is_repeated = _is_covered(words, others) or (
            bool(clauses) and all(_is_covered(one, others) for one in clauses)
        )
        if not is_repeated:
            kept.append((memory, words))
    ids = {one.entry.id for one, _ in kept}
    return tuple(one for one in memories if one.entry.id in ids)


class _Words(NamedTuple):
    """Features by which two texts are compared."""

    stems: frozenset[int]
    is_denial: bool


# Cached: the same memories are recalled turn by turn.
@lru_cache(maxsize=2000)
def _read(text: str) -> _Words:
    return _Words(topic_stems(text), is_denial(text))


@lru_cache(maxsize=2000)
def _clauses(text: str) -> tuple[_Words, ...]:
    """The clauses of a message that say something."""
    read = (_read(clause.text) for clause in split_clauses(text))
    return tuple(one for one in read if one.stems)


class _Form(IntEnum):
    """Forms of memories; of two that say the same, the first one is quoted."""

    FACT = 0
    SUMMARY = 1
    MESSAGE = 2
    ANSWER = 3
    """Message of an assistant."""
    EPISODE = 4


_SAID_BY_PEOPLE = (_Form.MESSAGE, _Form.EPISODE)


def _form(memory: ScoredMemory) -> _Form:
    match memory.entry.origin:
        case Origin.EPISODE:
            return _Form.EPISODE
        case Origin.MESSAGE:
            return _Form.MESSAGE if memory.entry.metadata.get("role") == "user" else _Form.ANSWER
        case Origin.REFLECTION:
            return _Form.SUMMARY
        case _:
            return _Form.FACT


def _may_stand_for(one: ScoredMemory, other: ScoredMemory) -> bool:
    """Check whether a memory is of the same validity as another one."""
    return (one.entry.invalid_at is None) == (other.entry.invalid_at is None)


def _is_covered(words: _Words, others: Sequence[_Words]) -> bool:
    """Check whether one of the others says the same."""
    if not words.stems:
        return False
    share = REPETITION_OVERLAP if len(words.stems) > SHORT_WORDS else 1.0
    least = share * len(words.stems)
    return any(
        len(words.stems & one.stems) >= least and one.is_denial == words.is_denial for one in others
    )


def _tells(memory: ScoredMemory) -> bool:
    """False for a message that only asks: it says nothing that could answer another question."""
    return _form(memory) not in _SAID_BY_PEOPLE or any(
        clause.kind not in _ASKS
        for _, text in spoken_lines(memory.entry)
        for clause in split_clauses(text)
    )


def is_verbatim(memory: ScoredMemory) -> bool:
    """True for messages and episodes, which quote what was said."""
    return memory.entry.origin in (Origin.MESSAGE, Origin.EPISODE)


def select_memories(
    memories: Iterable[ScoredMemory],
    *,
    said: Collection[str],
    told: Collection[str] = (),
    tokens: int = DEFAULT_TOKENS,
) -> tuple[ScoredMemory, ...]:
    """The best ones that fit; not what the model reads anyway: messages that are in `said` (texts
    of its context), valid facts in the words of `told` (the person's messages among them).

    One that does not fit is left out, and a shorter one behind it may still fit. Those that are
    doubted come last.
    """
    chosen: list[ScoredMemory] = []
    own_words = "\n".join(told).casefold()

    def is_read(memory: ScoredMemory) -> bool:
        if is_message(memory):
            return memory.entry.content in said
        return memory.entry.invalid_at is None and memory.entry.content.casefold() in own_words

    for memory in sorted(memories, key=is_low_confidence):
        cost = estimate_tokens(memory.entry.content) + QUOTING_TOKENS
        if cost <= tokens and not is_read(memory):
            tokens -= cost
            chosen.append(memory)
    return tuple(chosen)


def used_memories(
    memories: Sequence[ScoredMemory], *, question: str, answer: str
) -> tuple[str, ...]:
    """Ids of the entries that the answer says something of which the question did not.

    A third of an entry's own words, or three of them, must come back. Messages are no entries.
    """
    asked, answered = _words(question), _words(answer)
    own = {
        one.entry.id: _words(one.entry.content) - asked for one in memories if not is_message(one)
    }
    return tuple(
        id
        for id, words in own.items()
        # -(-n // 3): a third, rounded up.
        if words and len(words & answered) >= min(MIN_COMMON_WORDS, -(-len(words) // 3))
    )


def is_low_confidence(memory: ScoredMemory) -> bool:
    """True if a memory has low confidence, set by the agent that stored it or reduced by reactions
    to answers (assistant/feedback.py)."""
    return memory.entry.confidence < LOW_CONFIDENCE_BELOW


def _words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in key_words(text) if len(word) >= MIN_WORD_CHARS or word.isdigit()
    )
