"""Facts from an episode without a model: RuleExtractor. Only what people say of themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.memory.learning.episode_text import name_of
from spade_llm.memory.learning.fact_rules import RULES, UNNAMED, Form, Slot
from spade_llm.memory.learning.fact_values import fits
from spade_llm.memory.learning.learned import Learned, about
from spade_llm.memory.learning.plain_statements import statements
from spade_llm.memory.learning.slots import filled_by, read_fact, search_words
from spade_llm.memory.store import (
    MemoryDraft,
    MemoryFilter,
    MemoryQuery,
    MemoryType,
    Origin,
    SearchMode,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from spade_llm.memory.learning.fact_rules import FactRule
    from spade_llm.memory.learning.learned import KnownMemories, Reading
    from spade_llm.memory.learning.slots import Filled
    from spade_llm.memory.store import MemoryEntry, ObservedMessage

CONFIDENCE = 0.8
MAX_FACTS = 20
"""From one episode; the first ones."""
MAX_CANDIDATES = 10
"""Known memories that one new fact is compared with."""
TYPES = (MemoryType.SEMANTIC, MemoryType.PROFILE, MemoryType.PROCEDURAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that a person said of themselves."""

    content: str
    rule: FactRule
    fills: Filled | None
    speaker: str
    at: datetime


class RuleExtractor:
    """Needs nothing; never raises ModelError."""

    async def extract(self, reading: Reading, known: KnownMemories) -> Learned:
        kept: list[Fact] = []
        invalid: list[str] = []
        for fact in facts_of(reading.messages):
            old = await _contradicted(fact, reading, known)
            if all(_since(one) < fact.at for one in old):
                kept.append(fact)
                invalid.extend(one.id for one in old)
        return Learned(
            drafts=tuple(_draft(fact, reading) for fact in kept),
            invalid=tuple(dict.fromkeys(invalid)),
        )


def facts_of(messages: Sequence[ObservedMessage]) -> list[Fact]:
    """What people (not assistants) plainly say of themselves; of two that exclude each other, the
    later."""
    facts: list[Fact] = []
    for message in messages:
        if message.role == "user":
            for fact in _facts_of_message(message):
                facts = [one for one in facts if not _is_replaced(one, fact)]
                facts.append(fact)
    return facts[:MAX_FACTS]


def _is_replaced(old: Fact, new: Fact) -> bool:
    if old.speaker != new.speaker:
        return False
    if old.content == new.content:
        return True
    return bool(old.fills and new.fills and new.fills.contradicts(old.fills))


def _facts_of_message(message: ObservedMessage) -> Iterable[Fact]:
    has_capitals = message.content != message.content.lower()
    for clause in statements(message.content):
        for rule in RULES:
            if (found := rule.said.fullmatch(clause)) and (
                fact := _fact(rule, found, message, has_capitals)
            ):
                yield fact
                break


def _fact(
    rule: FactRule, found: re.Match[str], message: ObservedMessage, has_capitals: bool
) -> Fact | None:
    groups = found.groupdict()
    x = _trimmed(groups["x"], rule)
    y = _trimmed(groups.get("y") or "", rule)
    if not fits(x, rule, has_capitals) or (groups.get("y") and not y):
        return None
    if rule.slot is Slot.NAME and x.casefold() == (message.speaker or "").casefold():
        return None
    who = name_of(message) if message.speaker else UNNAMED[rule.language]
    x, y = _of_another(x), _of_another(y)
    if rule.form is Form.HABIT:
        x = _third_person(x)
    return Fact(
        content=rule.template.format(who=who, x=x, y=y),
        rule=rule,
        fills=filled_by(rule, x, y),
        speaker=who,
        at=message.at,
    )


_END = re.compile(
    r"\s+(?:because|since|although|though|but|so|which|who|whom|when|while|until|till|unless|btw"
    r"|porque|aunque|pero|cuando|mientras|hasta|as[ií] que|ya que)\b.*$"
    r"|\s*[,;:()–—].*$|\s+-\s.*$|\.\.+.*$",
    re.IGNORECASE | re.DOTALL,
)
_PLACE_END = re.compile(
    r"\s+(?:with|near|from|de toda|for|since|now|and|right|these|at|by|con|desde|cerca|hace|ahora"
    r"|y|por|last|this|next|in \d{4}|en \d{4}|el|hoy|ayer|today|yesterday|a)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_REGION = re.compile(r"^[^,]+, [A-ZÁÉÍÓÚÑ][^\s,]*(?: [A-ZÁÉÍÓÚÑ][^\s,]*)?(?=$|[,.])")
_EDGES = " \t\n\"'.,;:!-–—…*_~()"


def _trimmed(found: str, rule: FactRule) -> str:
    """Up to where something else begins."""
    is_place = rule.form is Form.PLACE
    region = _REGION.match(found) if is_place else None
    date = rule.form is Form.DATE
    text = region[0] if region else found if date else _END.sub("", found)
    return (_PLACE_END.sub("", text) if is_place else text).strip(_EDGES)


_OF_ANOTHER = {
    "my": "their", "mine": "theirs", "me": "them", "myself": "themselves", "i": "they",
    "i'm": "they're", "i’m": "they're", "i've": "they've", "i’ve": "they've", "am": "are",
    "our": "their", "us": "them", "mi": "su", "mis": "sus", "conmigo": "consigo",
}  # fmt: skip
_OWN = re.compile(
    r"\b(?:i['’](?:m|ve)|" + "|".join(k for k in _OF_ANOTHER if k.isalpha()) + r")\b", re.I
)


def _of_another(text: str) -> str:
    """`walks with my dog` is `walks with their dog` when another tells it."""
    return _OWN.sub(lambda found: _OF_ANOTHER[found[0].lower()], text)


_IRREGULAR = {"have": "has", "go": "goes", "do": "does", "are": "is", "be": "is"}


def _third_person(text: str) -> str:
    verb, space, rest = text.partition(" ")
    return _conjugated(verb.lower()) + space + rest


def _conjugated(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|sh|ch|x|z|o)$", verb) else "s")


async def _contradicted(
    fact: Fact, reading: Reading, known: KnownMemories
) -> Sequence[MemoryEntry]:
    """What is known of the same person and cannot be true beside the fact."""
    if fact.fills is None:
        return []
    names = _names(fact, reading)
    which = MemoryFilter(subject=reading.episode.subject, types=TYPES)
    query = MemoryQuery(
        text=f"{fact.content} {search_words(fact.fills.slot)}",
        mode=SearchMode.KEYWORD,
        limit=MAX_CANDIDATES,
        which=which,
    )
    found = await known.search(query)
    return [
        entry
        for entry in about(reading, [hit.entry for hit in found.hits])
        if (other := read_fact(entry.content, names)) and fact.fills.contradicts(other)
    ]


def _names(fact: Fact, reading: Reading) -> frozenset[str]:
    """What the person is called in facts. `the user` may be any of several people."""
    speakers = {name_of(one) for one in reading.messages if one.role == "user"}
    return frozenset({fact.speaker}) if len(speakers) > 1 else frozenset({fact.speaker, *_USER})


_USER = ("user", "the user", "usuario", "el usuario", "la usuaria")


def _since(entry: MemoryEntry) -> datetime:
    return entry.valid_at or entry.created_at


def _draft(fact: Fact, reading: Reading) -> MemoryDraft:
    episode = reading.episode
    return MemoryDraft(
        content=f"{fact.content}.",
        category=fact.rule.category,
        confidence=CONFIDENCE,
        subject=episode.subject,
        session=episode.session,
        valid_at=fact.at,
        origin=Origin.EXTRACTED,
        sources=(episode.id,),
    )
