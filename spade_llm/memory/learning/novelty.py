"""Novelty, importance and surprise of messages; removes quoted and recalled text; topic overlap.

The surprise of a memory is how novel and important it is, ranked within the person's own history.
Novelty, 1 − the highest cosine to what was known, has a scale of its own for each person and each
kind of text, so that a fixed threshold finds everything or nothing. Importance is read from
words for events of a life, changes in it, and dates. docs/design/learning.md has the
reasons and figures.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from spade_llm.providers.quoted_context import (
    DOCUMENTS,
    FIRST_LINE,
    MEMORIES,
    TODAY,
    UNAVAILABLE,
    VOICE,
)
from spade_llm.search.language import split_sentences
from spade_llm.search.memory_query import MemoryQuery, SearchMode
from spade_llm.search.terms import ENGLISH, STOP_WORDS, split_words, stem_hash, strip_accents
from spade_llm.understanding.clause_kinds import is_question
from spade_llm.understanding.features import ends, features, is_changed
from spade_llm.understanding.vocabulary import ValueType

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryEntry, ObservedMessage, SearchResult

    ResolveRecent = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
    """Content of messages that were found lately, by id."""

MAX_TOPIC_CHARS = 4000
"""Maximum number of characters of a text that are examined."""

ACCENTED_EXCEPTIONS = frozenset({"té", "sé"})
"""Words that would be pronouns without their accents."""

REPETITION_OVERLAP = 0.8
"""A sentence with so much of its words in what was recalled says nothing new."""

_NO_TOPIC: frozenset[int] = frozenset()
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
"""Quoted line, as in chat clients and mail."""

Topics = Mapping[str, frozenset[int]]
"""Topic stems of memories, by id."""

MAX_IDS = 1000
"""Looked up at once: what `peek` gives."""
MAX_SEARCHES = 100
"""Maximum number of searches for recalled messages, which cannot be looked up by id."""
MAX_HITS = 50
MAX_QUERY_CHARS = 1000


def topic_stems(text: str) -> frozenset[int]:
    """The stems of the words that mean something; for `ok, and you?` there may be none.

    English stems for every language: what is compared is of one language, and was cut alike.
    """
    return _topic_stems(text[:MAX_TOPIC_CHARS])


# The messages of an open episode are compared after each new one, and the same memories are
# recalled again and again.
@lru_cache(maxsize=1000)
def _topic_stems(text: str) -> frozenset[int]:
    return frozenset(
        stem_hash(word, ENGLISH)
        for word in set(split_words(text))
        if word in ACCENTED_EXCEPTIONS or strip_accents(word) not in STOP_WORDS
    )


def topic_overlap(one: Set[int], other: Set[int]) -> float:
    """0…1: how much of the smaller one is in the other; 0 if one is empty."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def novel_messages(
    messages: Sequence[ObservedMessage], recalled: Mapping[str, str]
) -> tuple[ObservedMessage, ...]:
    """Reduce messages to their new text. `recalled`: content by id of the memories that the
    messages were written with."""
    topics = topics_by_text(recalled)
    return tuple(replace(one, content=novel_text(one, topics)) for one in messages)


def topics_by_text(recalled: Mapping[str, str]) -> Topics:
    """Once for all messages: the same memory is recalled again and again."""
    return {id: topic_stems(text) for id, text in recalled.items()}


def novel_text(message: ObservedMessage, recalled: Topics) -> str:
    """The message's own words; may be empty. Only an assistant repeats what it recalled: what a
    person says is said by them.

    `recalled`: of these, the memories that the message was written with are looked at.
    """
    text = strip_quotes(message.content)
    if message.role == "user" or not message.recalled:
        return text
    known = _NO_TOPIC.union(*(recalled.get(id, _NO_TOPIC) for id in message.recalled))
    return (
        "\n".join(one for one in split_sentences(text) if not _repeats_known(one, known))
        if known
        else text
    )


def strip_quotes(text: str) -> str:
    """Remove quoted lines and the prompt's context sections."""
    if FIRST_LINE in text:
        text = text.replace(FIRST_LINE, "").replace(VOICE, "")
        for name in (TODAY, MEMORIES, DOCUMENTS, UNAVAILABLE):
            text = _without_section(text, name)
    return _QUOTED_LINE.sub("", text).strip()


class RecallLookup(Protocol):
    """Subset of an owner's memory that the lookup of recalled memories needs."""

    async def peek(self, ids: Sequence[str]) -> Sequence[MemoryEntry]: ...

    async def search(self, query: MemoryQuery) -> SearchResult: ...


async def recalled_texts(
    memory: RecallLookup, messages: Sequence[ObservedMessage], *, resolve_recent: ResolveRecent
) -> Mapping[str, str]:
    """Content of recalled memories by id; deleted ones are missing.

    An id may be that of a message in a search result; `resolve_recent` resolves recent ones. Older
    ones cannot be looked up by id, but an answer that repeats a message shares its words: a search
    for the answer finds the message, and its id confirms it.
    """
    ids = list(dict.fromkeys(id for message in messages for id in message.recalled))[:MAX_IDS]
    entries = await memory.peek(ids) if ids else ()
    texts = {entry.id: entry.content for entry in entries}
    if other := [id for id in ids if id not in texts]:
        texts |= await resolve_recent(other)
    searched = [one for one in messages if any(id not in texts for id in one.recalled)]
    for message in searched[:MAX_SEARCHES]:
        texts |= await _search_recalled(memory, message)
    return texts


def _without_section(text: str, name: str) -> str:
    """Remove a section by string search: a backtracking pattern takes seconds if sections are left
    open."""
    kept: list[str] = []
    while True:
        before, opened, rest = text.partition(f"<{name}>")
        _, closed, after = rest.partition(f"</{name}>")
        if not (opened and closed):
            return "".join([*kept, text])
        kept.append(before)
        text = after


def _repeats_known(sentence: str, known: frozenset[int]) -> bool:
    words = topic_stems(sentence)
    return bool(words) and len(words & known) >= REPETITION_OVERLAP * len(words)


async def _search_recalled(memory: RecallLookup, message: ObservedMessage) -> Mapping[str, str]:
    query = MemoryQuery(
        text=message.content[:MAX_QUERY_CHARS],
        mode=SearchMode.KEYWORD,
        limit=MAX_HITS,
        with_messages=True,
    )
    hits = (await memory.search(query)).hits
    wanted = frozenset(message.recalled)
    return {hit.entry.id: hit.entry.content for hit in hits if hit.entry.id in wanted}


KEY_MOMENT_SCORE = 0.7
"""Minimum surprise of a key moment, as retrieve_memory marks it."""
KEY_MOMENT_RANK = 0.85
"""Rank within the history that gives this surprise: about one memory of seven, at most."""
MIN_SALIENCE = 0.45
"""Minimum salience of a key moment, whatever its rank: the best of a routine is routine."""
IMPORTANCE_WEIGHT = 0.35
"""Gain of salience by an event of a life; novelty itself is 0 to 1."""
PRIOR_NOVELTY = 0.3
PRIOR_COUNT = 2
"""Novelty counts as PRIOR_NOVELTY while nothing is known, since at first everything is new. What is
known, and the prior, weigh the same once it is so many memories."""
PRIOR_SALIENCES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)
"""Saliences that every history begins with: those of a month of mostly routine conversations
(bench/surprise.py), in tenths. They count less the more is known."""
MAX_HISTORY = 200
"""Maximum number of earlier memories of the same kind and person that are compared, the latest."""


def salience(novelty: float, text: str, *, known: int) -> float:
    """Novelty and importance of a text together, about 0 to 1.35. `known`: number of earlier
    memories of this kind and person."""
    weighted = min(max(novelty, 0.0), 1.0) * known + PRIOR_NOVELTY * PRIOR_COUNT
    return weighted / (known + PRIOR_COUNT) + IMPORTANCE_WEIGHT * importance(text)


def surprise(salient: float, history: Sequence[float]) -> float:
    """Surprise of a memory, 0 to 1, by the rank of its salience in the person's history of
    saliences (the latest MAX_HISTORY, in any order)."""
    known = history[:MAX_HISTORY]
    prior_weight = PRIOR_COUNT / (PRIOR_COUNT + len(known))
    below = _count_below(salient, known) + prior_weight * _count_below(salient, PRIOR_SALIENCES)
    rank = below / (len(known) + prior_weight * len(PRIOR_SALIENCES))
    if rank < KEY_MOMENT_RANK:
        by_rank = KEY_MOMENT_SCORE * rank / KEY_MOMENT_RANK
    else:
        above = (rank - KEY_MOMENT_RANK) / (1 - KEY_MOMENT_RANK)
        by_rank = KEY_MOMENT_SCORE + (1 - KEY_MOMENT_SCORE) * above
    return max(0.0, min(by_rank, KEY_MOMENT_SCORE * salient / MIN_SALIENCE, 1.0))


def _count_below(salient: float, saliences: Sequence[float]) -> float:
    """Number of smaller values; equal ones count half."""
    return sum((one < salient) + 0.5 * (one == salient) for one in saliences)


MAX_CHARS = 2000
"""Maximum length of a text in characters that is read: about four milliseconds."""

LIFE_EVENTS = frozenset({
    "accident", "asthma", "baby", "birth", "diabetes", "die", "hire", "hospital", "illness",
    "injury", "marriage", "pregnant", "promote", "retire", "scholarship", "steal", "surgery",
    "twins", "wedding", "win",
})  # fmt: skip
"""Concepts of events after which much is different, of the speaker or people around."""
CIRCUMSTANCES = frozenset({
    "boyfriend", "employer", "girlfriend", "home", "husband", "marital", "partner", "study",
    "wife", "work",
})  # fmt: skip
"""Concepts of circumstances of life: a change of one of them is such an event, too."""
DATE_IMPORTANCE = 0.5
"""Importance of a sentence with a date in figures, which matters until then."""
_HAPPENED = re.compile(
    r"\b(?:(?:got|found|landed) (?:the|a new) job|adopted|broke (?:my|his|her|an) \w+"
    r"|passed (?:my|the|his|her) (?:[\w'’]+ )?(?:exam|test)|got (?:engaged|accepted|pregnant)"
    r"|(?:me han dado|he conseguido) (?:el|un) (?:trabajo|puesto)|adopt(?:é|ad[oa]|amos)"
    r"|(?:me he|se ha) roto|(?:he|ha) aprobado|aprobé)\b",
    re.IGNORECASE,
)
"""Further events, which are told by their verb."""
_FIGURE = re.compile(r"\d")


def importance(text: str) -> float:
    """Importance of the most important sentence, 0 to 1: 1 for an event of a life. Questions, and
    what another person says of themselves, have none. Takes about two milliseconds for 1000
    characters."""
    return max(map(_importance, split_sentences(text[:MAX_CHARS])), default=0.0)


def _importance(sentence: str) -> float:
    said = features(sentence)
    if is_question(sentence) or said.is_reported:
        return 0.0
    is_change = is_changed(sentence) or said.is_ended
    if said.concepts & LIFE_EVENTS or _HAPPENED.search(sentence) or ends(sentence, CIRCUMSTANCES):
        return 1.0
    if is_change and said.concepts & CIRCUMSTANCES:
        return 1.0
    has_date = said.values_of(ValueType.DAY) and _FIGURE.search(sentence)
    return DATE_IMPORTANCE if has_date else 0.0
