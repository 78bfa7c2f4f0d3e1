"""Exclusive facts: valid values, and contradiction between facts about the same thing."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from spade_llm.memory.learning.fact_rules import (
    LIKE_TEMPLATES,
    RULES,
    ExclusiveFact,
    FactRule,
    ValueForm,
)
from spade_llm.memory.learning.novelty import topic_stems

MAX_WORDS = {
    ValueForm.NAME: 4,
    ValueForm.PLACE: 6,
    ValueForm.DATE: 6,
    ValueForm.THING: 12,
    ValueForm.LANGUAGE: 4,
    ValueForm.HABIT: 16,
    ValueForm.WORK: 12,
}

_ANAPHORA = re.compile(
    r"(?:it|this|that|these|those|them|him|her|you|your|yours|how|what|the way|when|where|one|both"
    r"|all|everything|nothing|something|here|there|not|no|never|lo|eso|esto|est[ae]s?|es[ae]s?|aquí"
    r"|ahí|all[íá]|tus?|t[uú]|usted|cuando|cómo|como|que|qué|todo|nada|algo|ell[oa]s?|él)\b",
    re.IGNORECASE,
)
"""Words that refer to something outside the sentence."""
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
_WORK_CIRCUMSTANCE = re.compile(
    r"(?:free|peanuts|nothing|fun|a living|a while|nights?|home|weekends?|money|hours|years?"
    r"|the moment|equipo|pijama|casa|remoto|ello|silencio|vano|exceso|noches?|d[ií]a|tarde|mañana"
    r"|lunes|pie|gratis|mí|lo|un[oa]? (?:burr|loc|negr|esclav|animal|mul|condenad)[a-z]*"
    r"|\w+[aei]r)\b",
    re.IGNORECASE,
)
"""Words about the manner, time or reason of a person's work, rather than the workplace or role."""
_LANGUAGE_NAME = re.compile(
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
_TEMPORARY = re.compile(
    r"\bit\b|\b(?:opci[oó]n|option|idea|propuesta|proposal|versi[oó]n|primer[oa]?|segund[oa]|tercer[oa]?"
    r"|otr[oa]s?|[uú]ltim[oa]s?|in this|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b"
    r"|^(?:to (?:wait|see|stay|leave|skip|pass)|esperar|ver|dejar|\w+[aei]rl[oa]s?)\b",
    re.I,
)
"""Words for temporary preferences or possessions, and for jokes."""
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


def is_valid_value(x: str, rule: FactRule, has_capitals: bool) -> bool:
    if not x or len(x.split()) > MAX_WORDS[rule.form]:
        return False
    if _ANAPHORA.match(x) or _DENIED.search(x) or not topic_stems(x):
        return False
    return has_form(x, rule, has_capitals)


def has_form(x: str, rule: FactRule, has_capitals: bool) -> bool:
    match rule.form:
        case ValueForm.NAME:
            is_name = _has_capital(x, has_capitals) and not _INDEFINITE.match(x)
            return is_name and not _NOT_A_NAME.search(x)
        case ValueForm.PLACE:
            is_place = _has_capital(x, has_capitals) and not _INDEFINITE.match(x)
            return is_place and not _NOT_A_PLACE.search(x) and not x[0].isdigit()
        case ValueForm.DATE:
            return bool(_DATE.search(x)) and not _NOT_A_DATE.search(x)
        case ValueForm.HABIT:
            return bool(_HABIT.search(x)) and not _PAST.match(x)
        case ValueForm.THING:
            is_one_thing = rule.slot is ExclusiveFact.TASTE and _DEFINITE.match(x)
            return not is_one_thing and not _TEMPORARY.search(x)
        case ValueForm.WORK:
            return not _WORK_CIRCUMSTANCE.match(x) and not _TEMPORARY.search(x)
        case ValueForm.LANGUAGE:
            return bool(_LANGUAGE_NAME.match(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusiveValue:
    """Value that a fact gives to an exclusive slot."""

    slot: ExclusiveFact
    key: frozenset[int]
    """Key of the value in slots with several values, for instance a name or a thing; empty in other
    slots."""
    value: frozenset[int]

    def contradicts(self, other: ExclusiveValue) -> bool:
        """`Lisbon` and `Lisbon, Portugal` do not."""
        if (self.slot, self.key) != (other.slot, other.key):
            return False
        return not (self.value <= other.value or other.value <= self.value)


def exclusive_value(rule: FactRule, x: str, y: str) -> ExclusiveValue | None:
    """Value of the rule's slot; None: any number of such facts may hold."""
    match rule.slot:
        case None:
            return None
        case ExclusiveFact.TASTE:
            value = frozenset({int(rule.template in LIKE_TEMPLATES)})
            return ExclusiveValue(slot=rule.slot, key=topic_stems(x), value=value)
        case ExclusiveFact.CHOICE:
            return ExclusiveValue(
                slot=rule.slot, key=topic_stems(x) | topic_stems(y), value=topic_stems(x)
            )
        case _:
            return ExclusiveValue(slot=rule.slot, key=topic_stems(y), value=topic_stems(x))


def parse_exclusive_fact(content: str, names: Collection[str]) -> ExclusiveValue | None:
    """Parse a fact about one of `names` into the exclusive slot that it fills.

    Returns None if it is about another person, if its value does not fit the slot, or if there may
    be any number of such facts.
    """
    text = content.strip().rstrip(".")
    for rule in RULES:
        if (
            rule.slot
            and (found := _template_pattern(rule).fullmatch(text))
            and _is_named(found["who"], names)
        ):
            groups = found.groupdict()
            if _is_value(groups["x"], rule):
                return exclusive_value(rule, groups["x"], groups.get("y") or "")
    return None


def exclusive_search_words(slot: ExclusiveFact) -> str:
    """The words of the slot's templates and values in all languages: a fact that contradicts
    another may share no word with it (`is single`, `está casada`)."""
    rules = [rule for rule in RULES if rule.slot is slot]
    templates = (re.sub(r"\{\w+\}(?:'s)?", " ", rule.template) for rule in rules)
    return " ".join([*templates, *(value for rule in rules for value in rule.values)])


def _has_capital(x: str, has_capitals: bool) -> bool:
    """Names begin with one, unless the whole message was written without."""
    return (
        not has_capitals
        or any(word[0].isupper() and word != "I" for word in x.split())
        or not x.isascii()
    )


def _is_value(x: str, rule: FactRule) -> bool:
    """Check whether `x` is an allowed value of the rule: a template such as `… is {x}` is a diet
    only if `x` is one."""
    if rule.values:
        return topic_stems(x) in map(topic_stems, rule.values)
    return has_form(x, rule, has_capitals=x != x.lower())


def _is_named(who: str, names: Collection[str]) -> bool:
    return who.casefold() in {name.casefold() for name in names}


@cache
def _template_pattern(rule: FactRule) -> re.Pattern[str]:
    pattern = re.escape(rule.template)
    for group, inside in (("who", ".{1,60}?"), ("x", ".+"), ("y", ".+?")):
        pattern = pattern.replace(re.escape(f"{{{group}}}"), f"(?P<{group}>{inside})")
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
