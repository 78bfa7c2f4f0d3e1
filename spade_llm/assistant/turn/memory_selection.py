"""Selection of recalled memories: relevance floor, repetitions, token budget, use in answers."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from enum import IntEnum
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from spade_llm.assistant.turn.prompt import is_message
from spade_llm.core.text import estimate_tokens
from spade_llm.memory.learning.novelty import REPETITION_OVERLAP, topic_stems
from spade_llm.memory.validity import spoken_lines
from spade_llm.search.language import key_words, language_of, split_sentences
from spade_llm.search.memory_query import Origin
from spade_llm.understanding.clause_kinds import ClauseKind
from spade_llm.understanding.clauses import split_clauses
from spade_llm.understanding.features import is_denial
from spade_llm.understanding.questions import is_about_speaker
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
"""Minimum distance of such a message from the median of their scores, and maximum distance from the
best memory that has something in common with the question (Spanish)."""
MIN_FOR_MEDIAN = 5
"""Number of scores that have a meaningful median."""
MIN_UNRELATED_SCORE = 0.6
"""Minimum score of such a message if there is nothing to compare it with (Spanish)."""
ANSWER_DELAY = timedelta(minutes=5)
"""Longest time between a question and the message that answers it."""
TIME_CONCEPTS = frozenset({"afternoon", "duration", "evening", "frequency", "morning", "weekend"})
"""Concepts that questions about different things have in common."""
_BEARING_ON = {
    "doctor": frozenset({"cardiologist", "dermatologist", "gynaecologist"}),
    "exercise": frozenset({"injury"}),
    "flight": frozenset({"fear"}),
    "food": frozenset({"allergy", "diabetes", "diet"}),
    "medicine": frozenset({"allergy", "medicine"}),
    "pain": frozenset({"allergy", "medicine"}),
    "restaurant": frozenset({"allergy", "diabetes", "diet"}),
    "sport": frozenset({"injury"}),
    "trip": frozenset({"fear"}),
}
"""Concepts of facts that bear on advice about something else, by the concept of the advice."""
_PRONOUN = re.compile(r"(?:(?:and|but|y|pero) )?(?:s?he|they|it|[eé]l|ell[ao]s?)\b", re.IGNORECASE)
SHORT_WORDS = 8
"""Words of content of a short text: each of them may be what it is about."""
LONG_MESSAGE_CHARS = 300
"""Length of a message, in characters, of which only the sentences that bear on the question are
quoted."""
_TALK = topic_stems(
    "talk talked chat chatted conversation discuss discussed tell told say said mention mentioned"
    " summarize summary hablar hablamos hablado conversación charla charlar contar conté contado"
    " decir dije dicho resume resumir"
)
"""Words of questions about what was said."""
_TALK_AT_A_TIME = _TALK | topic_stems(
    "remember last time news lately yesterday today tomorrow morning afternoon evening day days"
    " week weekend month year monday tuesday wednesday thursday friday saturday sunday plan plans"
    " planned happen happened recordar recuerdas última vez últimamente ayer hoy mañana tarde noche"
    " día días semana mes año lunes martes miércoles jueves viernes sábado domingo planes pasó"
    " pasado tengo hacer"
)
"""Words of questions about what was said or planned at a time, whatever it was about."""
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
    bearing = bearing_concepts(question)
    unrelated = _UnrelatedFloor(question, memories) if has_vectors and question else None
    return tuple(
        one
        for one in telling
        if one.entry.origin is Origin.PATTERN
        or (_form(one) is _Form.FACT and bearing & concepts_of(one.entry.content))
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


class _AskedTopic:
    """Words and concepts of a question, by which related texts are told from others."""

    def __init__(self, question: str) -> None:
        self._stems = topic_stems(question)
        self._concepts = concepts_of(question) - TIME_CONCEPTS
        self.bearing = bearing_concepts(question)
        self.is_any = self._stems <= _TALK_AT_A_TIME
        """It asks for no topic: anything that was said may answer it."""
        self.is_of_talk = bool(self._stems & _TALK)

    def is_of(self, text: str) -> bool:
        """Check whether a text has a word or a concept in common with the question."""
        return bool(self._stems & _read(text).stems or self._concepts & concepts_of(text))

    def bears(self, text: str) -> bool:
        """Check whether a text bears on the advice that is asked for: a diet on a recipe."""
        return bool(self.bearing & concepts_of(text))


class _UnrelatedFloor:
    """Relevance floor of memories that have no word or concept in common with a question.

    The local embedder, an English model, finds Spanish texts near to each other, whatever they are
    about: for a Spanish question, only what stands out from the median of the scores is relevant.
    """

    def __init__(self, question: str, memories: Sequence[ScoredMemory]) -> None:
        self._topic = topic = _AskedTopic(question)
        unrelated = [one for one in memories if not (topic.is_any or topic.is_of(_text_of(one)))]
        self._unrelated = {one.entry.id for one in unrelated}
        self._of_said = 0.0
        if language_of(question) == "es":
            related = [one for one in memories if one.entry.id not in self._unrelated]
            self._of_said = _above_others(
                [one.score for one in unrelated], [one.score for one in related if _tells(one)]
            )
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
            case _Form.FACT if self._topic.bears(memory.entry.content):
                return True
            case _Form.FACT | _Form.SUMMARY:
                return memory.score >= max(MIN_UNRELATED_FACT_SCORE, self._of_said)
            case _:
                return memory.score >= self._of_said

    def _answers_related(self, answer: MemoryEntry) -> bool:
        """Check whether an assistant's message follows a related question of the same
        conversation."""
        return any(
            timedelta() < answer.holds_since - one.holds_since <= ANSWER_DELAY
            for one in self._asking
            if one.session == answer.session
        )


def _above_others(unrelated: Sequence[float], related: Sequence[float]) -> float:
    """Score from which a memory stands out from the others that are found."""
    floor = max(related, default=MIN_UNRELATED_SCORE) - MIN_ABOVE_MEDIAN * bool(related)
    if len(unrelated) >= MIN_FOR_MEDIAN:
        above = median(unrelated) + MIN_ABOVE_MEDIAN
        floor = max(floor, above) if related else above
    return floor


def without_repeated(
    memories: Sequence[ScoredMemory], *, question: str = ""
) -> tuple[ScoredMemory, ...]:
    """Memories that say something that no better one says, in their order. Facts are better than
    messages, and messages than episodes, since they say the same in fewer words.

    A fact repeats a single other memory, a message one for each of its clauses, and a summary all
    others together, if these have REPETITION_OVERLAP of its words (a short text: all), and both or
    neither deny something. With a `question`, only the clauses of a message count that bear on it,
    and of episodes and long messages only such sentences are quoted: what else was said in the same
    breath is found as messages and facts of its own.
    """
    topic = _AskedTopic(question) if question else None
    kept: dict[str, tuple[ScoredMemory, _Words]] = {}
    for memory in sorted(memories, key=_form):
        others = [known for one, known in kept.values() if _may_stand_for(one, memory)]
        said = _on_topic(memory, topic, others)
        if said is not None and not _is_repeated(said, topic, others):
            kept[memory.entry.id] = (said, _read(_text_of(said)))
    return tuple(kept[one.entry.id][0] for one in memories if one.entry.id in kept)


def _on_topic(
    memory: ScoredMemory, topic: _AskedTopic | None, others: Sequence[_Words]
) -> ScoredMemory | None:
    """An episode or a long message with nothing but the sentences that bear on the question and
    that no better memory says; None: there are none. Other memories as they are."""
    is_episode = _form(memory) is _Form.EPISODE
    is_long = is_message(memory) and len(memory.entry.content) > LONG_MESSAGE_CHARS
    if topic is None or topic.is_any or not (is_episode or is_long):
        return memory
    lines = [
        (begin, _sentences_on(topic, split_sentences(text), others))
        for begin, text in spoken_lines(memory.entry)
    ]
    content = "\n".join(begin + " ".join(texts) for begin, texts in lines if texts)
    if content:
        return replace(memory, entry=replace(memory.entry, content=content))
    # A message that was found by its meaning alone is quoted whole.
    return None if is_episode or topic.is_of(memory.entry.content) else memory


def _sentences_on(
    topic: _AskedTopic, sentences: Sequence[str], others: Sequence[_Words]
) -> list[str]:
    """Sentences that tell something on the topic; none that other memories say. The one behind may
    go on about it without its words: `My twins visit. They are five`."""
    found, goes_on = [], False
    for sentence in sentences:
        clauses = [one.text for one in split_clauses(sentence) if one.kind not in _ASKS]
        on_topic = [one for one in clauses if topic.is_of(one) or topic.bears(one)]
        goes_on = goes_on and (topic.is_of_talk or not is_about_speaker(sentence))
        meant = on_topic or (clauses if goes_on else [])
        if not all(_is_covered(_read(one), others) for one in meant):
            found.append(sentence)
        goes_on = topic.is_of(sentence) or (goes_on and topic.is_of_talk)
    return found


def _is_repeated(memory: ScoredMemory, topic: _AskedTopic | None, others: Sequence[_Words]) -> bool:
    """Check whether other memories say what a memory says, as far as it bears on the question."""
    words = _read(_text_of(memory))
    if memory.entry.origin in (Origin.EPISODE, Origin.REFLECTION):
        every = frozenset[int]().union(*(known.stems for known in others))
        others = [_Words(every, words.is_denial)]
    texts = _clauses(_text_of(memory)) if is_message(memory) else ()
    on_topic = [one for one in texts if topic is None or topic.is_of(one)]
    # A pronoun needs the clauses before it: `Her name is Ana, and she likes figs`.
    if any(map(_PRONOUN.match, on_topic)):
        on_topic = []
    clauses = [read for one in on_topic or texts if (read := _read(one)).stems]
    return _is_covered(words, others) or (
        bool(clauses) and all(_is_covered(one, others) for one in clauses)
    )


def _text_of(memory: ScoredMemory) -> str:
    """The text of a memory without dates and names of speakers."""
    return " ".join(text for _, text in spoken_lines(memory.entry))


class _Words(NamedTuple):
    """Features by which two texts are compared."""

    stems: frozenset[int]
    is_denial: bool


# Cached: the same memories are recalled turn by turn.
@lru_cache(maxsize=5000)
def _read(text: str) -> _Words:
    return _Words(topic_stems(text), is_denial(text))


@lru_cache(maxsize=2000)
def _clauses(text: str) -> tuple[str, ...]:
    """The clauses of a message."""
    return tuple(one.text for one in split_clauses(text))


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
    every, own_words = "\n".join(said), "\n".join(told).casefold()

    def is_read(memory: ScoredMemory) -> bool:
        if is_verbatim(memory):
            # By sentences: some of them may have been left out.
            sentences = split_sentences(_text_of(memory))
            return all(one.rstrip(".") in every for one in sentences)
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
