"""Repeated facts: told and learned forms of one fact are recognised, and stored once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.memory.contract import MemoryDraft, MemoryEntry, ObservedMessage
from spade_llm.memory.learning.rule_extractor import extract_stated_facts
from spade_llm.search.memory_query import (
    FACT_TYPES,
    MemoryFilter,
    MemoryQuery,
    SearchMode,
)
from spade_llm.understanding.features import Features, Statement, features, related_words
from spade_llm.understanding.forgetting import are_same
from spade_llm.understanding.replacement import replaces

if TYPE_CHECKING:
    from spade_llm.memory.learning.learning_contract import (
        EpisodeReading,
        ExtractedFacts,
        KnownMemories,
    )
    from spade_llm.understanding.vocabulary import ValueType

MAX_CANDIDATES = 20
"""Known memories that one new fact is compared with."""
MAX_CHARS = 300
"""Maximum length of a fact in characters; a longer text tells several, and is left as it is."""

MAX_QUERY_CHARS = 2000

_USER = re.compile(r"^(?:the )?user\b|^(?:el |la )?usuari[oa]\b", re.IGNORECASE)
_THIRD_PERSON_PLAN = re.compile(r"^I (want|plan|hope)s\b")
"""Verbs that make a plan of a statement (features.py), as they follow the name of a person."""
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wording:
    """A fact in the forms that are compared."""

    sentences: frozenset[str]
    """In the third person, as the learner's rules would write it; several if it tells several."""
    text: str
    """In the first person, without the speaker's name."""


def says_same(one: str, other: str, *, name: str = "") -> bool:
    """Check whether two facts about a person are one: the same clause after rewording (`I live in
    Rome`, `The user lives in Rome.`), or the same concepts and values in other words. A text that
    tells several facts says each of them.

    `name`: how others call the person; a fact may begin with it instead of `The user`.
    """
    if max(len(one), len(other)) > MAX_CHARS:
        return one == other
    a, b = _wording(one, name), _wording(other, name)
    if a.sentences <= b.sentences or b.sentences <= a.sentences:
        return True
    first, second = features(a.text), features(b.text)
    return (
        _kind(first) == _kind(second)
        and _have_same_values(first, second)
        and are_same(a.text, b.text)
        # "Vegan" and "vegetarian" are one concept, and two facts.
        and not replaces(Statement(text=a.text), b.text)
    )


async def without_known(
    facts: ExtractedFacts, reading: EpisodeReading, known: KnownMemories
) -> ExtractedFacts:
    """The facts without those that the memory has already: an entry that says the same gets the
    episode as a further source (`confirmed`). One that ceased to hold, or was corrected, after the
    episode's messages is not learned again from them."""
    drafts: list[MemoryDraft] = []
    confirmed: list[str] = []
    for draft in facts.drafts:
        same = await _same_facts(draft, reading, known)
        current = [one for one in same if one.invalid_at is None]
        since = draft.valid_at or reading.episode.valid_at or reading.episode.created_at
        if any(one.invalid_at and one.invalid_at > since for one in same) and not current:
            continue
        # Equal texts are left to the store, which strengthens them.
        if not current or any(
            (one.content, one.category) == (draft.content, draft.category) for one in current
        ):
            drafts.append(draft)
        else:
            confirmed.append(current[0].id)
    return replace(facts, drafts=tuple(drafts), confirmed=tuple(dict.fromkeys(confirmed)))


async def _same_facts(
    draft: MemoryDraft, reading: EpisodeReading, known: KnownMemories
) -> list[MemoryEntry]:
    """Memories about the same person that say what the draft says, also former ones."""
    which = MemoryFilter(subject=reading.episode.subject, types=FACT_TYPES, with_invalid=True)
    query = MemoryQuery(
        text=f"{draft.content} {related_words(draft.content)}"[:MAX_QUERY_CHARS],
        mode=SearchMode.KEYWORD,
        limit=MAX_CANDIDATES,
        which=which,
    )
    found = await known.search(query)
    names = {message.speaker or "" for message in reading.messages if message.role == "user"}
    name = names.pop() if len(names) == 1 else ""
    return [
        hit.entry
        for hit in found.hits
        if hit.entry.subject == reading.episode.subject
        and says_same(hit.entry.content, draft.content, name=name)
    ]


@lru_cache(maxsize=2000)
def _wording(text: str, name: str) -> _Wording:
    """Cached, since candidates are compared again and again."""
    text = text.strip(" .")
    if name and re.match(rf"{re.escape(name)}\b", text, re.IGNORECASE):
        text = f"The user{text[len(name) :]}"
    said = ObservedMessage(id="", role="user", content=text, at=_EPOCH)
    sentences = {_folded(one.content) for one in extract_stated_facts([said])}
    own = _THIRD_PERSON_PLAN.sub(r"I \1", _USER.sub("I", text))
    return _Wording(sentences=frozenset(sentences or {_folded(text)}), text=own)


def _folded(sentence: str) -> str:
    return _USER.sub("user", " ".join(sentence.casefold().split()).strip(" ."))


def _kind(of: Features) -> tuple[object, ...]:
    return of.beings, of.is_denial, of.is_plan, of.is_reported


def _have_same_values(one: Features, other: Features) -> bool:
    """Check that no value of one has another one in its place: `on Monday`, `on Tuesday`."""
    values: Mapping[ValueType, frozenset[str]] = dict(other.values)
    return all(
        kind not in values or words <= values[kind] or values[kind] <= words
        for kind, words in one.values
    )
