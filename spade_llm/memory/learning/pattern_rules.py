"""What several conversations of a person have in common, without a model. Pure; cautious.

Three things are looked for: names and phrases that come up, requests that are made, and ways in
which answers are wanted. Each must have been said by the person in at least three conversations,
and in a fifth of all.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from spade_llm.memory.learning.occasions import began_at
from spade_llm.memory.learning.pattern_words import (
    ANSWER_IN,
    BEGINNING,
    DATES,
    DENIED,
    EVERYDAY,
    LANGUAGES,
    REQUESTS,
    STYLES,
    TRANSLATE_INTO,
)
from spade_llm.memory.limits import MAX_SOURCES
from spade_llm.memory.store import TOPIC, Category, MemoryDraft, Origin
from spade_llm.text.stems import ENGLISH, term_of
from spade_llm.text.stop_words import STOP_WORDS
from spade_llm.text.words import without_accents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.memory.learning.occasions import Occasion

MIN_OCCASIONS = 3
MIN_SHARE = 0.2
MAX_OF_A_KIND = 5
"""The most frequent ones."""
MAX_MESSAGE_CHARS = 1500
"""A longer message is more likely pasted than said: only its begin is looked at, for requests."""
MAX_REQUEST_CHARS = 300
MIN_WORD_CHARS = 4

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAMES = re.compile(r"(?<![.!?¿¡:\n\"“(])[ ]((?:[A-ZÀ-Ý][\w'’-]+)(?: [A-ZÀ-Ý][\w'’-]+){0,2})")
"""Capitalised inside a sentence."""

_GREETING = re.compile(
    r"\b(?:hi|hello|hey|hola|thanks|thank you|gracias|dear)[ ,]*$", re.IGNORECASE
)
"""Who is greeted is talked to, not about."""

_APOSTROPHE = re.compile("['’]")

Feature = tuple[str, str]
"""Its kind, and what it is, the same however it was written."""


@dataclass(slots=True)
class _Seen:
    """Where a feature was found."""

    occasions: dict[int, str] = field(default_factory=dict)
    """By the occasion's place, the first episode."""
    spellings: Counter[str] = field(default_factory=Counter)


def find_patterns(occasions: Sequence[Occasion]) -> dict[str, MemoryDraft]:
    """By a name that stays the same as long as the pattern does."""
    seen = _features(occasions)
    needed = max(MIN_OCCASIONS, MIN_SHARE * len(occasions))
    often = {one: where for one, where in seen.items() if len(where.occasions) >= needed}
    chosen: dict[str, MemoryDraft] = {}
    for kind in SENTENCES:
        ranked = sorted(_distinct(kind, often), key=lambda one: (-len(often[one].occasions), one))
        for one in ranked[:MAX_OF_A_KIND]:
            chosen["\0".join(one)] = _draft(one, often[one], occasions)
    return chosen


def pattern_draft(
    content: str, episodes: dict[int, str], occasions: Sequence[Occasion], *, kind: str
) -> MemoryDraft:
    """`episodes`: one of each occasion (by its place) that shows it. `kind`: any word."""
    first, last = min(episodes), max(episodes)
    return MemoryDraft(
        content=content,
        category=Category.PATTERN,
        confidence=round(len(episodes) / (len(episodes) + 1), 2),
        origin=Origin.PATTERN,
        sources=tuple(episodes[at] for at in sorted(episodes)[-MAX_SOURCES:]),
        metadata={
            "kind": kind,
            "conversations": len(episodes),
            "of": len(occasions),
            "first": f"{began_at(occasions[first].told[0].episode):%Y-%m-%d}",
            "last": f"{began_at(occasions[last].told[0].episode):%Y-%m-%d}",
        },
    )


SENTENCES = {
    "style": "The user often asks for {}.",
    "request": "The user often asks to {}.",
    TOPIC: "The user often talks about {}.",
}


def _features(occasions: Sequence[Occasion]) -> dict[Feature, _Seen]:
    seen: dict[Feature, _Seen] = {}
    for at, occasion in enumerate(occasions):
        for episode, text in occasion.said():
            for feature, spelling in _features_of(_CODE.sub(" ", text)):
                where = seen.setdefault(feature, _Seen())
                where.occasions.setdefault(at, episode)
                where.spellings[spelling] += 1
    return seen


def _features_of(text: str) -> Iterator[tuple[Feature, str]]:
    begin = text[:MAX_REQUEST_CHARS]
    for style in _styles(begin):
        yield ("style", style), style
    for request in _requests(begin):
        yield ("request", request), request
    if len(text) <= MAX_MESSAGE_CHARS:
        for spelling in (*_names(text), *_phrases(text)):
            yield (TOPIC, _folded(spelling)), spelling


def _styles(text: str) -> Iterator[str]:
    for name, pattern in STYLES.items():
        if any(_is_meant(text, found) for found in pattern.finditer(text)):
            yield name
    for found in ANSWER_IN.finditer(text):
        if _is_meant(text, found):
            yield f"answers in {LANGUAGES[found[1].lower()]}"


def _requests(text: str) -> Iterator[str]:
    for begin in BEGINNING.finditer(text):
        if _is_meant(text, begin):
            yield from (name for name, words in REQUESTS.items() if words.match(text, begin.end()))
    for found in TRANSLATE_INTO.finditer(text):
        if _is_meant(text, found):
            yield f"translate into {LANGUAGES[found[1].lower()]}"


def _is_meant(text: str, found: re.Match[str]) -> bool:
    return DENIED.search(text[: found.start()]) is None


def _names(text: str) -> Iterator[str]:
    """None in a text that is all capitals."""
    if sum(map(str.isupper, text)) <= sum(map(str.islower, text)):
        for found in _NAMES.finditer(text):
            is_name = not all(map(_is_everyday, found[1].split()))
            if is_name and not _GREETING.search(text[: found.start()]):
                yield found[1]


def _phrases(text: str) -> Iterator[str]:
    """Two words side by side that both mean something."""
    for clause in re.split(r"[.,;:!?¿¡()\n\"“”]", text.lower()):
        for one, other in pairwise(_WORD.findall(clause)):
            if not (_is_everyday(one) or _is_everyday(other)):
                yield f"{one} {other}"


def _is_everyday(word: str) -> bool:
    folded = _APOSTROPHE.split(word.lower())[0]
    return (
        len(folded) < MIN_WORD_CHARS - word[:1].isupper()
        or folded in EVERYDAY
        or folded in DATES
        or folded in LANGUAGES
        or without_accents(folded) in STOP_WORDS
    )


def _folded(spelling: str) -> str:
    """The same for `train ticket` and `Train tickets`."""
    return " ".join(f"{term_of(word.lower(), ENGLISH):x}" for word in spelling.split())


def _distinct(kind: str, often: dict[Feature, _Seen]) -> list[Feature]:
    """Without what a longer one says as well: `translate` beside `translate into French`."""
    own = [one for one in often if one[0] == kind]
    return [one for one in own if not any(_is_part(one, other, often) for other in own)]


def _is_part(one: Feature, other: Feature, often: dict[Feature, _Seen]) -> bool:
    words, others = one[1].split(), other[1].split()
    is_within = len(words) < len(others) and set(words) <= set(others)
    return is_within and len(often[other].occasions) * 2 > len(often[one].occasions)


def _draft(feature: Feature, where: _Seen, occasions: Sequence[Occasion]) -> MemoryDraft:
    (spelling, _), *_ = sorted(where.spellings.items(), key=lambda one: (-one[1], one[0]))
    content = SENTENCES[feature[0]].format(spelling)
    return pattern_draft(content, where.occasions, occasions, kind=feature[0])
