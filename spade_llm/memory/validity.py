"""Validity of recalled messages: sentences that no longer hold are left out, or dated.

A fact that was replaced is closed in the store. The message that said it stays in the conversation
as it was said, and so do the episodes that quote it; recalled without a mark, it reads as if it
held.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.memory.learning.episodes import EPISODE_DATES
from spade_llm.memory.learning.novelty import topic_stems
from spade_llm.search.language import split_sentences
from spade_llm.search.memory_query import FACT_TYPES, Origin
from spade_llm.understanding.clause_kinds import ClauseKind
from spade_llm.understanding.clauses import split_clauses
from spade_llm.understanding.features import Statement, ends, is_changed
from spade_llm.understanding.replacement import in_first_person, replaces, restates
from spade_llm.understanding.vocabulary import concepts_of, general

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryEntry, ScoredMemory

MAX_MESSAGE_CHARS = 1500
"""Maximum length in characters of a message that is read: longer ones are mostly pasted."""
MAX_SENTENCE_CHARS = 300
"""Maximum length of a sentence, and of a fact that it may state, in characters."""
MIN_SHARED = 0.34
"""Minimum share of the smaller set of concepts in common if one statement replaces another."""
EVENT_CONCEPTS = frozenset({"partner", "work", "study"})
"""Concepts of facts that an event ends: `we broke up`, `I got fired`."""
MAX_RELATED = 20
_NUMBER = re.compile(r"\d+")
_SPEAKER = re.compile(r"[^:\n]{1,60}: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """A statement that may end the validity of earlier ones."""

    statement: Statement
    since: datetime
    concepts: frozenset[str]
    is_event: bool
    """It tells an event that ends facts of other concepts."""
    is_fact: bool
    """It is a memory, and no message."""

    def is_later_than(self, at: datetime) -> bool:
        """Check whether it was said later. A fact that a message gave holds at its end, and is
        later than the sentences of that message: `I dropped out, I'm doing nursing now`."""
        return self.since > at or (self.is_fact and self.since == at)

    def ends(self, sentence: str, concepts: frozenset[str]) -> bool:
        """Check whether it replaces an earlier sentence with these concepts."""
        # What shares less is never replaced: the rules would say so, but take longer.
        shared = len(self.concepts & concepts)
        is_near = shared and shared >= MIN_SHARED * min(len(self.concepts), len(concepts))
        return bool(is_near or self.is_event) and replaces(self.statement, sentence)


def related_facts(facts: Sequence[MemoryEntry], texts: Sequence[str]) -> tuple[MemoryEntry, ...]:
    """The facts that have half of their words in one of the texts, at most MAX_RELATED."""
    stems = [topic_stems(text) for text in texts]
    found = []
    for fact in facts:
        if len(fact.content) > MAX_SENTENCE_CHARS:
            continue
        words = topic_stems(in_first_person(fact.content))
        if words and any(2 * len(words & one) >= len(words) for one in stems):
            found.append(fact)
    return tuple(found[:MAX_RELATED])


def apply_validity(
    hits: Sequence[ScoredMemory],
    *,
    former: Sequence[MemoryEntry] = (),
    said: str = "",
    now: datetime,
    keeps_former: bool = False,
) -> tuple[ScoredMemory, ...]:
    """Hits without the sentences of messages and episodes that no longer hold, in their order; one
    that has no other sentences is left out.

    A sentence no longer holds if it states a fact of `former` (facts that were closed), or if a
    later fact or message among the hits, or the message `said` now, replaces it. `keeps_former`,
    for questions about the past: such sentences stay, with the date until which they held
    (`invalid_at`, if it is all that was said).
    """
    facts, messages = _evidence_of_facts(hits), _evidence_of_messages(hits)
    messages += _evidence(_statements_of(said[:MAX_MESSAGE_CHARS]), now)
    if not (facts or messages or former):
        return tuple(hits)
    ended = [one for one in former if not _holds_again(one, facts, messages)]
    found = (_checked(one, [*facts, *messages], ended, keeps_former=keeps_former) for one in hits)
    return tuple(one for one in found if one is not None)


def successors(
    candidates: Sequence[ScoredMemory], outdated: Sequence[ScoredMemory]
) -> tuple[ScoredMemory, ...]:
    """Candidates that replace a sentence of an outdated message or episode: what holds instead."""
    said = [
        (text, _concepts_of(text), one.entry.holds_since)
        for one in outdated
        for _, line in spoken_lines(one.entry)
        for text in map(in_first_person, split_sentences(line))
        if len(text) <= MAX_SENTENCE_CHARS
    ]
    return tuple(
        one
        for one in candidates
        if any(
            evidence.is_later_than(at) and evidence.ends(text, concepts)
            for evidence in (*_evidence_of_facts([one]), *_evidence_of_messages([one]))
            for text, concepts, at in said
        )
    )


def _holds_again(
    former: MemoryEntry, facts: Sequence[_Evidence], messages: Sequence[_Evidence]
) -> bool:
    """Check whether another fact says the same as a closed one, or the person said it again."""
    end = former.invalid_at
    later = [one for one in messages if end is not None and one.since > end]
    # The fact that replaced it is about the same, with another value.
    words = _words_of(in_first_person(former.content))
    return any(
        restates(one.statement.text, former.content) and words <= _words_of(one.statement.text)
        for one in (*facts, *later)
    )


def _words_of(text: str) -> frozenset[int | str]:
    """The words by which two values are told apart, short numbers among them."""
    return topic_stems(text) | frozenset(_NUMBER.findall(text))


def _evidence_of_facts(hits: Sequence[ScoredMemory]) -> list[_Evidence]:
    facts = (one.entry for one in hits if one.entry.type in FACT_TYPES)
    return [
        one
        for entry in facts
        if entry.invalid_at is None and entry.origin not in (Origin.PATTERN, Origin.REFLECTION)
        for text in [in_first_person(entry.content)]
        for one in _evidence(
            [Statement(text=text, is_change=is_changed(text))], entry.holds_since, is_fact=True
        )
    ]


def _evidence_of_messages(hits: Sequence[ScoredMemory]) -> list[_Evidence]:
    said = (one.entry for one in hits if one.entry.origin is Origin.MESSAGE)
    return [
        one
        for entry in said
        if entry.metadata.get("role") == "user" and len(entry.content) <= MAX_MESSAGE_CHARS
        for one in _evidence(_statements_of(entry.content), entry.holds_since)
    ]


def _evidence(
    statements: Sequence[Statement], since: datetime, *, is_fact: bool = False
) -> list[_Evidence]:
    return [
        _Evidence(
            statement=one,
            since=since,
            concepts=_concepts_of(one.text),
            is_event=ends(one.text, EVENT_CONCEPTS),
            is_fact=is_fact,
        )
        for one in statements
    ]


@lru_cache(maxsize=5000)
def _concepts_of(text: str) -> frozenset[str]:
    return concepts_of(text) - general()


@lru_cache(maxsize=2000)
def _statements_of(message: str) -> tuple[Statement, ...]:
    """Statements of a message alone: corrections that need what was said before them (`no, green`)
    are left out, since to resolve them takes most of the time of `read_message`. Cached: the same
    messages are recalled turn by turn."""
    return tuple(
        Statement(text=one.text, is_change=one.is_change or is_changed(one.text))
        for one in split_clauses(message)
        if one.kind is ClauseKind.STATEMENT
    )


@lru_cache(maxsize=5000)
def _clauses_of(sentence: str) -> tuple[str, ...]:
    """Clauses of a sentence that has several."""
    clauses = tuple(one.text for one in split_clauses(sentence))
    return clauses if len(clauses) > 1 else ()


def _checked(
    hit: ScoredMemory,
    evidence: Sequence[_Evidence],
    former: Sequence[MemoryEntry],
    *,
    keeps_former: bool,
) -> ScoredMemory | None:
    """Remove from a hit what no longer holds; None if nothing is left."""
    entry = hit.entry
    if entry.origin not in (Origin.MESSAGE, Origin.EPISODE):
        return hit
    if len(entry.content) > MAX_MESSAGE_CHARS and entry.origin is Origin.MESSAGE:
        return hit
    at = entry.holds_since
    later = [one for one in evidence if one.is_later_than(at)]
    closed = [one for one in former if one.invalid_at is not None and one.invalid_at >= at]
    if not (later or closed):
        return hit
    read = [
        (begin, [(one, _end_of(one, later, closed)) for one in split_sentences(text)])
        for begin, text in spoken_lines(entry)
    ]
    sentences = [one for _, line in read for one in line]
    ended = [end for _, end in sentences if end is not None]
    if not ended:
        return hit
    if not any(end is None and any(map(str.isalnum, text)) for text, end in sentences):
        # Nothing but what no longer holds: the date stands with the memory, not in its text.
        return replace(hit, entry=replace(entry, invalid_at=max(ended))) if keeps_former else None
    lines = (
        (
            begin,
            [
                text if end is None else _dated(text, end)
                for text, end in line
                if end is None or keeps_former
            ],
        )
        for begin, line in read
    )
    content = "\n".join(begin + " ".join(texts) for begin, texts in lines if texts)
    return replace(hit, entry=replace(entry, content=content))


def _dated(sentence: str, end: datetime) -> str:
    """A sentence with the date until which it held, in front of its full stop: it stays one."""
    bare = sentence.rstrip(" .!…")
    date = end.astimezone().date().isoformat()
    return f"{bare} (until {date}){sentence[len(bare) :]}"


def spoken_lines(entry: MemoryEntry) -> list[tuple[str, str]]:
    """Lines of a message or an episode, each as its beginning (dates, speaker) and its text."""
    if entry.origin is not Origin.EPISODE:
        return [("", line) for line in entry.content.splitlines()]
    lines = []
    head = found[0] if (found := EPISODE_DATES.match(entry.content)) else ""
    for line in entry.content[len(head) :].splitlines():
        name = found[0] if (found := _SPEAKER.match(line)) else ""
        lines.append((head + name, line[len(name) :]))
        head = ""
    return lines


def _end_of(
    sentence: str, later: Sequence[_Evidence], closed: Sequence[MemoryEntry]
) -> datetime | None:
    """Time from which a sentence no longer held; None: it holds, or says nothing that could end.
    `later`: statements after it; `closed`: facts that held until after it."""
    if len(sentence) > MAX_SENTENCE_CHARS or sentence.endswith("?"):
        return None
    text = in_first_person(sentence)
    concepts = _concepts_of(text)
    found = [one.since for one in later if one.ends(text, concepts)]
    # `Hi! I'm Ana, I live in Rome`: a part of a sentence may be what no longer holds.
    parts = [text, *(in_first_person(one) for one in _clauses_of(sentence))]
    found += [
        one.invalid_at
        for one in closed
        if one.invalid_at and any(restates(part, one.content) for part in parts)
    ]
    return min(found, default=None)
