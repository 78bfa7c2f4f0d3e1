"""Importance of a statement by its words: events of a life, changes in it, and dates."""

from __future__ import annotations

import re

from spade_llm.search.language import split_sentences
from spade_llm.understanding.clauses import is_question
from spade_llm.understanding.features import ends, features, is_changed
from spade_llm.understanding.vocabulary import ValueType

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
