"""Facts from an episode without a model: RuleExtractor. Only what people say of themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.memory.learning.episode_text import name_of
from spade_llm.memory.learning.fact_rules import RULES, UNNAMED, Form, Slot
from spade_llm.memory.learning.learned import Learned, about
from spade_llm.memory.learning.plain_statements import statements
from spade_llm.memory.learning.slots import filled_by, read_fact
from spade_llm.memory.learning.topic import topic_of
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
            old = await _contradicted(fact, reading, known) if fact.fills else []
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
    if not _fits(x, rule, has_capitals) or (groups.get("y") and not y):
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


MAX_WORDS = {
    Form.NAME: 4,
    Form.PLACE: 6,
    Form.DATE: 6,
    Form.THING: 12,
    Form.TONGUE: 4,
    Form.HABIT: 16,
}

_POINTING = re.compile(
    r"(?:it|this|that|these|those|them|him|her|you|your|yours|how|what|the way|when|where|one|both"
    r"|all|everything|nothing|something|here|there|not|no|never|lo|eso|esto|est[ae]s?|es[ae]s?|aquí"
    r"|ahí|all[íá]|tus?|t[uú]|usted|cuando|cómo|como|que|qué|todo|nada|algo|ell[oa]s?|él)\b",
    re.IGNORECASE,
)
"""What it means is said elsewhere."""
_DENIED = re.compile(
    r"\b(?:not|never|nobody|nothing|no longer|anymore|\w+n['’]t|nunca|jam[aá]s|tampoco)\b"
    r"|\b(?:you|your|yours|t[uú]|tus?|te|ti|usted)\b",
    re.IGNORECASE,
)
_INDEFINITE = re.compile(
    r"(?:an?|my|his|her|their|our|some|the|un|una|mi|su|el|la|los|las)\s+(?![A-ZÁÉÍÓÚÑ])"
)
_DEFINITE = re.compile(r"the (?![A-Z])")
"""`I love the red one` means something that was just spoken of."""
_NOT_A_NAME = re.compile(
    r"\b(?:later|back|soon|again|now|today|tonight|tomorrow|at|on|if|after|before|maybe|crazy|old|by"
    r"|every|each|time|whenever|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|stupid|idiot"
    r"|luego|después|mañana|hoy|ahora|cuando|pronto|a las?|por|cada|al?|loc[oa]|tont[oa]"
    r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b|\d",
    re.IGNORECASE,
)
_NOT_A_PLACE = re.compile(
    r"(?:fear|hope|peace|poverty|denial|harmony|hell|paz|miedo|pecado)\b|\w+['’]s\b"
    r"|\b(?:plan|step|phase|stage|version|level|page|slide|chapter|task|topic|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|python|java\w*|typescript|rust|golang|kotlin|swift|linux|ubuntu"
    r"|debian|windows|mac(?:os)?|android|ios|docker|kubernetes|git\w*|slack|teams|zoom|gmail|outlook"
    r"|chrome|firefox|postgres\w*|mysql|sqlite|aws|azure|cloud|nube)\b",
    re.I,
)
"""A mood, a meeting, or what people move to without moving house."""
_TONGUE = re.compile(
    r"(?:arabic|basque|bengali|bulgarian|catalan|chinese|croatian|czech|danish|dutch|english|finnish"
    r"|french|galician|german|greek|hebrew|hindi|hungarian|indonesian|irish|italian|japanese|korean"
    r"|latin|mandarin|norwegian|persian|polish|portuguese|punjabi|romanian|russian|serbian|slovak"
    r"|spanish|swahili|swedish|tamil|thai|turkish|ukrainian|urdu|vietnamese|welsh"
    r"|[aá]rabe|alem[aá]n|bengal[ií]|b[uú]lgaro|castellano|catal[aá]n|checo|chino|coreano|croata"
    r"|dan[eé]s|espa[ñn]ol|euskera|fin[eé]s|franc[eé]s|gallego|griego|hebreo|h[uú]ngaro|indonesio"
    r"|ingl[eé]s|irland[eé]s|italiano|japon[eé]s|lat[ií]n|neerland[eé]s|noruego|persa|polaco"
    r"|portugu[eé]s|rumano|ruso|serbio|sueco|tailand[eé]s|turco|ucraniano|valenciano|vasco"
    r"|vietnamita)\b",
    re.I,
)
_OF_THE_MOMENT = re.compile(
    r"\bit\b|\b(?:opci[oó]n|option|idea|propuesta|proposal|versi[oó]n|primer[oa]?|segund[oa]|tercer[oa]?"
    r"|otr[oa]s?|[uú]ltim[oa]s?|in this|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b"
    r"|^(?:to (?:wait|see|stay|leave|skip|pass)|esperar|ver|dejar|\w+[aei]rl[oa]s?)\b",
    re.I,
)
"""What is preferred, liked or had just now, or meant as a joke."""
_DATE = re.compile(
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b",
    re.IGNORECASE,
)
_NOT_A_DATE = re.compile(
    r"\b(?:today|tomorrow|yesterday|soon|next|last|this|hoy|ma[ñn]ana|ayer)\b|^\d{4}$", re.I
)
_HABIT = re.compile(
    r"\b(?:every|each|daily|weekly|weekends?|mornings?|afternoons?|evenings?|nights?|before|after"
    r"|at \d|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"(?:\w+ed|was|were|had|did|went|been|thought|felt|knew|the|a|an|my|i)\b", re.I)


def _fits(x: str, rule: FactRule, has_capitals: bool) -> bool:
    if not x or len(x.split()) > MAX_WORDS[rule.form]:
        return False
    if _POINTING.match(x) or _DENIED.search(x) or not topic_of(x):
        return False
    return _has_form(x, rule, has_capitals)


def _has_form(x: str, rule: FactRule, has_capitals: bool) -> bool:
    match rule.form:
        case Form.NAME:
            is_name = _has_capital(x, has_capitals) and not _INDEFINITE.match(x)
            return is_name and not _NOT_A_NAME.search(x)
        case Form.PLACE:
            is_place = _has_capital(x, has_capitals) and not _INDEFINITE.match(x)
            return is_place and not _NOT_A_PLACE.search(x) and not x[0].isdigit()
        case Form.DATE:
            return bool(_DATE.search(x)) and not _NOT_A_DATE.search(x)
        case Form.HABIT:
            return bool(_HABIT.search(x)) and not _PAST.match(x)
        case Form.THING:
            is_one_thing = rule.slot is Slot.TASTE and _DEFINITE.match(x)
            return not is_one_thing and not _OF_THE_MOMENT.search(x)
        case Form.TONGUE:
            return bool(_TONGUE.match(x))


def _has_capital(x: str, has_capitals: bool) -> bool:
    """Names begin with one, unless the whole message was written without."""
    return (
        not has_capitals
        or any(word[0].isupper() and word != "I" for word in x.split())
        or not x.isascii()
    )


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
    names = _names(fact, reading)
    which = MemoryFilter(subject=reading.episode.subject, types=TYPES)
    query = MemoryQuery(
        text=fact.content, mode=SearchMode.KEYWORD, limit=MAX_CANDIDATES, which=which
    )
    found = await known.search(query)
    return [
        entry
        for entry in about(reading, [hit.entry for hit in found.hits])
        if (other := read_fact(entry.content, names))
        and fact.fills
        and fact.fills.contradicts(other)
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
