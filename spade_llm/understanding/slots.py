"""Slots: the earlier statement whose value a clause changes without naming that value, found by its
subject, the kind of its complement, and the class of the verb."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.understanding.corrections import outside, values_in_place_of, with_types
from spade_llm.understanding.features import features, is_changed, is_denial
from spade_llm.understanding.pronouns import leading_noun, noun_phrases
from spade_llm.understanding.replacement import ADDITION, Statement
from spade_llm.understanding.vocabulary import (
    ValueType,
    concepts_of,
    general,
    light,
    typed_values,
    values_of_part,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_I = re.IGNORECASE

_FROM_NOW = LazyPattern(
    r"\b(?:from (?:this|today|next|monday|now)|as of|starting|since|this (?:term|year|season"
    r"|semester)|starts?|desde|a partir de|este (?:curso|trimestre|a[ñn]o)|esta temporada"
    r"|empiezan?|ya)\b",
    _I,
)
"""Says since when something is so, which it was not before."""


_FIRST_PART = LazyPattern(r"\s*[,;:–—]\s+|(?<=\w)\s+(?:since|from|as of|starting)\s", _I)
_PLACE = LazyPattern(
    r"\b(?:in|at|en|where|donde)\s+(?=\w)(?!(?:the )?(?:morning|evening|afternoon|night|\d))"
    r"|\b(?:on|under|behind|inside|next to|near|by|above|below|beside|over|debajo|detr[aá]s|dentro"
    r"|encima|sobre|al lado|junto al?|cerca) (?:del? |al? )?(?:the|my|our|an?|el|la|los|las|mi)\b",
    _I,
)


def with_same_subject(text: str, every: Sequence[str]) -> Statement | None:
    """What a clause with a mark of change says of the subject of an earlier statement, if both tell
    the same kind of thing about it: `the book club meets at Ann's`, `book club's at mine from this
    month`. None if there is no such statement."""
    if not (is_changed(text) or _FROM_NOW.search(text)):
        return None
    if is_denial(text) or ADDITION.search(text):
        return None
    subject = leading_noun(text)
    named = concepts_of(subject.text) - light() if subject else frozenset()
    if not subject or not named:
        return None
    said = _FIRST_PART.split(text[subject.start + len(subject.text) :])[0]
    for one in reversed(every):
        other = next((one for one in noun_phrases(one) if named <= concepts_of(one.text)), None)
        if not other or is_denial(one) or features(one).beings != features(text).beings:
            continue
        if found := with_types_of(said, one):
            return found
        before = one[other.start + len(other.text) :]
        if _complement(said) & _complement(before):
            text = one[: len(one) - len(before)] + said if other.start == 0 else text
            return Statement(text=text[:1].upper() + text[1:], is_change=True, replaced=one)
    return None


def with_types_of(text: str, earlier: str) -> Statement | None:
    types = values_of_part(text)
    types = {kind: spans for kind, spans in types.items() if kind in values_in_place_of(text, types, earlier)}
    return with_types(earlier, text, types) if types else None


def _complement(text: str) -> frozenset[str]:
    """Kinds of the complement of a statement: a place, or the classes of its words."""
    bare = outside(text, {kind: spans for kind, spans in typed_values(text).items() if kind in (ValueType.DAY, ValueType.TIME)})
    place = {"a place"} if _PLACE.search(bare) else set()
    return frozenset(place) | (concepts_of(bare) & _CLASSES)


_CLASSES = frozenset({"profession", "subject", "drink", "sport", "transport", "instrument", "religion", "pet", "school"})
