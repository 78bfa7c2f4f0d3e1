"""Restatement: whether a sentence says what a fact says, in other words or as another person."""

from __future__ import annotations

import re

from spade_llm.understanding.features import features

MIN_SHARE = 0.8
"""Minimum share of a fact's concepts that a sentence has that states the same."""
_SPEAKER = re.compile(
    r"^(?:the user|user|el usuario|la usuaria|you|t[uú]|usted)(?=['’:\s])", re.IGNORECASE
)
_LEAD_IN = re.compile(
    r"^[^,:;.!?]{1,30}[,:;] (?=(?:you|your|t[uú]|tus?|usted|vives|trabajas|tienes|eres)\b)",
    re.IGNORECASE,
)
"""`Noted: you live in Rome`."""
_POSSESSIVE = re.compile(r"\b(?:your|tus?)\b", re.IGNORECASE)


def in_first_person(text: str) -> str:
    """The statement with the speaker as its subject: `The user lives in Rome`, `You live in Rome`
    give `I …`, as far as rules compare it (verbs keep their form)."""
    return _POSSESSIVE.sub("my", _SPEAKER.sub("I", _LEAD_IN.sub("", text.strip())))


def restates(sentence: str, fact: str) -> bool:
    """Check whether a sentence states what a fact says, whoever says it and with whatever beside
    it: `I have lived in Madrid for years` restates `The user lives in Madrid`. Questions, plans and
    reports state nothing."""
    if sentence.rstrip().endswith("?"):
        return False
    one, other = features(in_first_person(sentence)), features(in_first_person(fact))
    if one.beings != other.beings or one.is_denial != other.is_denial:
        return False
    if one.is_plan != other.is_plan or one.is_reported or not other.concepts:
        return False
    return len(one.concepts & other.concepts) >= MIN_SHARE * len(other.concepts)
