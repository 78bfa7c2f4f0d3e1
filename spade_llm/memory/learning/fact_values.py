"""Which words can be the value of a fact: a name, a place, a date, a habit. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spade_llm.memory.learning.fact_rules import Form, Slot
from spade_llm.memory.learning.topic import topic_of

if TYPE_CHECKING:
    from spade_llm.memory.learning.fact_rules import FactRule

MAX_WORDS = {
    Form.NAME: 4,
    Form.PLACE: 6,
    Form.DATE: 6,
    Form.THING: 12,
    Form.TONGUE: 4,
    Form.HABIT: 16,
    Form.WORK: 12,
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
_MANNER = re.compile(
    r"(?:free|peanuts|nothing|fun|a living|a while|nights?|home|weekends?|money|hours|years?"
    r"|the moment|equipo|pijama|casa|remoto|ello|silencio|vano|exceso|noches?|d[ií]a|tarde|mañana"
    r"|lunes|pie|gratis|mí|lo|un[oa]? (?:burr|loc|negr|esclav|animal|mul|condenad)[a-z]*"
    r"|\w+[aei]r)\b",
    re.IGNORECASE,
)
"""How, when or why somebody works is not where or as what."""
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


def fits(x: str, rule: FactRule, has_capitals: bool) -> bool:
    if not x or len(x.split()) > MAX_WORDS[rule.form]:
        return False
    if _POINTING.match(x) or _DENIED.search(x) or not topic_of(x):
        return False
    return has_form(x, rule, has_capitals)


def has_form(x: str, rule: FactRule, has_capitals: bool) -> bool:
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
        case Form.WORK:
            return not _MANNER.match(x) and not _OF_THE_MOMENT.search(x)
        case Form.TONGUE:
            return bool(_TONGUE.match(x))


def _has_capital(x: str, has_capitals: bool) -> bool:
    """Names begin with one, unless the whole message was written without."""
    return (
        not has_capitals
        or any(word[0].isupper() and word != "I" for word in x.split())
        or not x.isascii()
    )
