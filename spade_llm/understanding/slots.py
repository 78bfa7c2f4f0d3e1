"""Slots: the earlier statement of which a clause changes the value without naming that value, found
by its subject, the kind of its complement, or the class of the new value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words
from spade_llm.understanding.corrections import (
    DOES,
    INSTEAD,
    MAX_BACK,
    about,
    gives_name_beside,
    is_head,
    with_other_parts,
)
from spade_llm.understanding.features import Statement, features, is_changed, is_denial
from spade_llm.understanding.pronouns import antecedent, leading_noun, noun_phrases
from spade_llm.understanding.replacement import (
    ADDITION,
    BEARER,
    INTRODUCES,
    REASON,
    SECRETS,
    SPEAKER,
    bearer_of,
    have_different_bearers,
    have_other_predicates,
    is_of_another,
    is_of_other_home,
    lists_of,
    without_aside,
)
from spade_llm.understanding.substitution import (
    CLASSES,
    DOSE,
    outside,
    units_of,
    values_in_place_of,
    with_class,
    with_part,
    with_types,
    without_known,
)
from spade_llm.understanding.things import COPULA, names_other_of_kind
from spade_llm.understanding.vocabulary import (
    MONTHS,
    RANGE,
    TIME_BEHIND,
    WEEKDAYS,
    ValueType,
    concepts_of,
    general,
    is_concept,
    light,
    stems_of,
    swap_verbs,
    typed_values,
    value_key,
    values_of_part,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.understanding.substitution import Spans

_I = re.IGNORECASE

MIN_BRAND_CHARS = 3
"""A word of at most so many letters is no name of a company that is recognised in lower case."""
MIN_NAMED = 1 / 3
"""Minimum share of what a change names that an earlier statement names as well."""
_FROM_NOW = LazyPattern(
    r"\b(?:from (?:this|today|next|monday|now)|as of|starting|since|this (?:term|year|season"
    r"|semester)|starts?|desde|a partir de|este (?:curso|trimestre|a[ñn]o)|esta temporada"
    r"|empiezan?|ya)\b",
    _I,
)
"""Says since when something is so, which it was not before."""
_PART = LazyPattern(r"\s*[,;:–—]\s+(?:and |so |but |y |pero )?|\s+(?:and|so|but|y|pero)\s+", _I)
_SINCE_WHEN = "(?:from|as of|after|since|desde|a partir de)"
_WITHOUT_NOUN = LazyPattern(
    rf"^(?:(?:and|so|but|y|now|ahora|ya|al final),? |{_SINCE_WHEN} [^,]+, )*"
    rf"(?:{_SINCE_WHEN} [^,]+? )?"
    r"(?:(?P<being>s?he(?:['’]\w+)?(?= ))|(?:it|they)(?:['’]\w+)?(?= )"
    r"|(?:i|we)(?:['’]ve| have|['’]re|['’]m)? (?:had to )?\w+ (?:it|them)\b"
    r"|(?:la |el |mi |nos |me |se )?(?:[^\W\d_]+ )?(?:me |nos |se )?l[ao]s? (?:han?|he|hemos) "
    r"[^\W\d_]+"
    r"|(?:ya |ahora )(?:es|son|gast\w|us\w|pag\w|tom\w|est[aá]n?|sal\w+|empiez\w)\b)",
    _I,
)
"""The beginning of what is said of something that was spoken of before."""
_FIRST_PART = LazyPattern(r"\s*[,;:–—]\s+")
_SINCE = LazyPattern(r"(?<=\w)\s+(?:since|from|as of|starting)\s.*$", _I)
_PLACE = LazyPattern(
    r"\b(?:(?:mov|relocat|transferr|traslad)\w+ (?:to|al?)|in|at|en|where|donde)\s+(?=\w)"
    r"(?!(?:the )?(?:morning|evening|afternoon|night|\d))"
    r"|\b(?:on|under|behind|inside|next to|near|by|above|below|beside|over|debajo|detr[aá]s|dentro"
    r"|encima|sobre|al lado|junto al?|cerca|with|con) (?:del? |al? )?"
    r"(?:(?:the|my|our|an?|el|la|los|las|mi)\b|(?-i:[A-ZÀ-Þ]))",
    _I,
)
_AT_BEING = LazyPattern(
    r"\b(?:with|at|con|en casa de) (?:the|my|our|el|la|mi|nuestr[oa]) [\w-]+(?:['’]s)?$"
    r"|\b(?:with|at|con|en casa de) (?:the|my|our|el|la|mi|nuestr[oa]) [\w-]+(?:['’]s)?"
    r"(?= (?:now|ahora|instead)$)",
    _I,
)
"""Place of a thing, at the end: `the key is with the neighbour`."""
_IS_THERE = LazyPattern(
    r"(?:['’]s| is| are| lives?| hangs?| es| son| est[aá]n?| la \w+)(?: now| still)? "
    r"(?:in|at|on|under|behind|inside|next|by|above|below|en|debajo|detr[aá]s|dentro|encima"
    r"|junto|with|con)\b",
    _I,
)
"""Tells where a thing is: it is at one place at a time."""
_BROUGHT = LazyPattern(
    r"\b(?:it|them)\b(?! (?:is|was)\b),?(?: \w+){0,3}? "
    r"(?:to|till|until|into|in(?= (?-i:[a-z])\w* ?[a-z]*$)|for)\s"
    r"|^it(?:['’]s| has| was)(?: been)? (?:moved|put|pushed|brought|changed|switched|postponed"
    r"|rescheduled|shifted)(?: \w+)? (?:to|till|until|for) "
    r"|^(?:(?:ya|ahora|me|nos|se|[eé]l|ella|el \w+|la \w+) ){0,8}l[ao]s? (?:he |hemos |han |ha )?"
    r"[^\W\d_]+(?: \w+){0,2}? (?:hasta|al?|de|para|en)\s",
    _I,
)
"""Something is done to what a pronoun means, so that it has another value."""
_BEFORE_PLACE = LazyPattern(r"\b(?:at|in|to|from|en|al?|de) $", _I)
_FORMER = LazyPattern(r"\bused to\b|\bsol[ií]a\b|\bantes era\b", _I)
"""Tells what was so before what was told."""
_HOME = frozenset({"home"})
_CHOICE = LazyPattern(
    r"\b(?:use|using|bank|support|drive|with|on|watch|read|drink|order|uso|usamos|con|de|del"
    r"|conduzco|tengo|have|go|voy|is|es)\b",
    _I,
)
"""A relation to one of several that offer the same."""
_CHOICE_OF_FIRM = LazyPattern(r"\b(?:use|using|bank|with|uso|usamos|con)\b", _I)
_MOVED = LazyPattern(r"^[^,;]*\b(?:mov(?:ed|ing)|mud\w+|traslad\w+) ", _I)
"""Verbs of moving: they tell a new home, or, of what one has with a firm, a new firm."""
_PROVIDERS = frozenset({"bank", "employer", "insurance", "phone", "provider", "team", "wifi"})
_OF_SPEAKER = LazyPattern(
    r"^(?:i|we|i['’]m|we['’]re|(?-i:[A-Z])?[a-z]+(?:o|oy|amos|emos|imos))\b", _I
)


@cache
def _swapped_to() -> LazyPattern:
    return LazyPattern(
        rf"^{_MARKS}(?:(?:i|we|me|nos)(?:['’](?:ve|m|re)| have| he| hemos| was)?(?: been)? "
        r"|(?:my|our|mi|nuestr[oa]) [^,;]{2,30}?(?:['’]s| has| is| se)? "
        r"|(?-i:[A-ZÀ-Þ])\w+(?:['’]s| has| se)? (?=(?:ha )?(?:swap|switch|chang|cambi)))?"
        r"(?:he |hemos |ha )?"
        # "I went to the fair as a clown" tells of no change.
        r"(?!(?:went|gone|going|go) to (?:the|an?|my|our|see|bed)\b)"
        rf"(?:{swap_verbs()})(?! de\b)(?: my \w+| our \w+)?(?: over| back| across)? "
        r"(?:to|onto|on|al?|del?) (?:the |la |el |los |las )?(?P<new>[^,;]{2,30}?)"
        rf"(?:{TIME_BEHIND}|$|(?=,? (?:because|since|cos|porque|ya que) ))",
        _I,
    )


def in_same_slot(
    text: str, named: str, every: Sequence[str], known: Sequence[str]
) -> Statement | None:
    """The earlier statement with what a clause says instead; None if the clause fits none.

    `named`: the text with nouns for its personal pronouns. `every`: all earlier statements of the
    person, oldest first; `known`: those of this conversation.
    """
    if any(one.search(text) for one in (ADDITION, INTRODUCES, _FORMER)) or is_denial(text):
        return None
    part = _FIRST_PART.split(named)[-1]
    of_subject = _with_same_subject(named, every)
    if part != named:
        of_subject = of_subject or _with_same_subject(part, every)
    found = of_subject or _with_hour(named, known) or _with_place(text, known)
    found = found or value_of_pronoun(text, known) or swapped(named, known)
    meant = leading_noun(named) if named != text else None
    if meant:
        # "She starts in York" tells nothing of another woman.
        known = [one for one in known if value_key(meant.text) & value_key(one)]
    return found or _nearest(text, named, every, known) or _with_value_of_part(text, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relation:
    """A relation of a being that has one value at a time."""

    announced: LazyPattern
    """A new value (`new`), which no other relation has in these words."""
    told: LazyPattern
    """A statement of the relation, with its value (`value`)."""
    kind: str = ""
    """Concept of the new value; empty: any value."""
    told_kind: str = ""
    """The same of the former value."""
    not_told: frozenset[str] = frozenset()
    """Concepts that the former value has not: `I'm Spanish` tells no name."""


_NAME = r"(?-i:[A-ZÀ-Þ])[\w'’.-]*(?: (?:of |de |del )?(?-i:[A-ZÀ-Þ\d])[\w'’.-]*){0,3}"
_MARKS = (
    r"(?:(?:and|so|but|now|y|pero|ahora|ya|al final|por fin|in the end|actually|yesterday|ayer|hoy"
    r"|last \w+|(?:la semana|el mes|el a[ñn]o) pasad[oa]|(?:just|well)),? )*"
)
_I_HAVE = r"(?:i|we)(?:['’](?:ve|m|re)| have| am| are)?(?: now| just| recently| finally)*"
_OPEN = "open"
"""Kind of a value that is a name, or a word of no known concept, as brands are in lower case."""
_PHONE = r"(?:n[uú]mero|tel[eé]fono|m[oó]vil)"
_END = rf"(?: (?:from now on|a partir de ahora|desde ahora)|{TIME_BEHIND[:-1]})?$"


def _relation(
    announced: str,
    told: str,
    kind: str = "",
    told_kind: str = "",
    not_told: frozenset[str] = frozenset(),
) -> _Relation:
    return _Relation(
        announced=LazyPattern(rf"^{_MARKS}(?:{announced}){_END}", _I),
        told=LazyPattern(rf"^(?:now |ahora |ya )?(?:{told})", _I),
        kind=kind,
        told_kind=told_kind,
        not_told=not_told,
    )


_MARKS_FIRST = LazyPattern(rf"^{_MARKS}", _I)
_RELATIONS = (
    # Name.
    _relation(
        rf"(?:(?:i (?:now )?go by|(?:please )?call me|{_I_HAVE} changed my name to"
        r"|ll[aá]mame|me (?:he )?cambi\w+ (?:el|de) nombre (?:a|por)|me llamo) "
        rf"(?P<new>{_NAME}))",
        rf"(?:my name(?:['’]s| is)|i['’]m|call me|i go by|me llamo|mi nombre es|soy)"
        rf" (?P<value>{_NAME})$",
        not_told=frozenset({"origin", "speak", "zodiac", "diet", "religion"}),
    ),
    # Home.
    _relation(
        rf"(?:{_I_HAVE} (?:moved|relocated)(?: house| home| back| over)?(?: from {_NAME})? to"
        rf"|(?:me|nos) (?:he |hemos )?(?:mud|traslad)\w+(?: de {_NAME})? a"
        r"|(?:me|nos) (?:fui|fuimos|vine|vinimos|he ido|hemos ido) a vivir a)"
        rf" (?P<new>{_NAME})",
        r"(?:i|we|i['’]\w+|we['’]\w+) (?:now |currently )?(?:live|living|[a-z ]*based)"
        rf" in (?P<value>{_NAME})"
        rf"|(?:my|our) home(?:['’]s| is) in (?P<value2>{_NAME})"
        rf"|(?:viv(?:o|imos)|mi casa est[aá]) en (?P<value3>{_NAME})",
    ),
    # Profession.
    _relation(
        rf"{_I_HAVE} (?:become|became|(?:re)?trained as|(?:re)?qualified as|started work(?:ing)? as"
        r"|(?:got|landed) (?:a |the )?(?:new )?job as) (?P<new>an? [\w -]+)"
        r"|(?:me (?:he )?(?:hice|hecho|form[eé] como|recicl[eé] como|contrataron (?:de|como))"
        r"|(?:empec[eé]|he empezado) a trabajar (?:de|como)|(?:trabajo|curro|laburo) (?:de|como))"
        r" (?P<new2>[\w-]+)",
        r"(?:i work as|i['’]m(?: employed as)?|i am|my job is) (?P<value>an? [\w -]+?)"
        r"(?= (?:at|in|for|with)\b|$)"
        r"|(?:(?:yo )?soy|(?:trabajo|curro|laburo) (?:de|como)) (?P<value2>[\w-]+)",
        "profession",
        "profession",
    ),
    # Employer.
    _relation(
        rf"(?:{_I_HAVE} (?:started|begun|began) (?:work )?(?:at|with|for)|he empezado en"
        rf"|empec[eé] en) (?P<new>{_NAME})",
        rf"(?:i work (?:at|for)|trabajo (?:en|para)) (?P<value>{_NAME})",
    ),
    # Age.
    _relation(
        r"(?:i['’]m|i am|i['’]?(?:ve)? ?(?:just )?turned|i['’]m turning|(?:ya )?tengo"
        r"|(?:ya )?(?:cumpl[ií]|he cumplido)) (?P<new>\d{1,3})(?: years old| a[ñn]os)?"
        r"(?: now| ya)?",
        r"(?:i['’]m|i am|tengo) (?P<value>\d{1,3})(?: years old| a[ñn]os)?$",
    ),
    # Car.
    _relation(
        rf"(?:{_I_HAVE} )?(?:sold (?:it|my car|the car) and )?(?:i )?(?:got|bought) "
        rf"(?:myself )?an? (?P<new>{_NAME}) instead"
        rf"|(?:{_I_HAVE} )?(?:traded|swapped|exchanged|replaced) (?:in )?(?:the|my|our) (?:old )?"
        rf"car(?: in)? (?:for|with) an? (?P<new5>{_NAME})"
        rf"|(?:{_I_HAVE} )?sold (?:it|my car|the car) and (?:i )?(?:got|bought) an? "
        rf"(?P<new2>{_NAME})"
        rf"|(?:{_I_HAVE} (?:drive|driving)|conduzco) (?:an?|una?) (?P<new3>{_NAME})",
        rf"(?:i|we) (?:drive|own) an? (?P<value>{_NAME})|conduzco una? (?P<value2>{_NAME})"
        rf"|(?:my|our|mi|nuestro) (?:\w+ )?(?:car|coche|carro|auto)(?:['’]s| is| es) (?:an?|una?)"
        rf" (?P<value3>{_NAME})",
    ),
    _relation(
        rf"{_I_HAVE} (?:got|bought|have|chosen|chose) an? (?:new )?(?P<new>{_NAME})"
        rf"(?: instead| now)|(?:ahora (?:tengo|llevo)|(?:vend\w+ el coche|lo vend\w+) y (?:me )?"
        rf"(?:compr[eé]|tengo)) una? (?P<new2>{_NAME})",
        rf"(?:(?:i|we) (?:have|own|drive) an?|(?:tengo|llevo|conduzco) una?) (?P<value>{_NAME})"
        rf"|(?:my|our|mi|nuestro) (?:\w+ )?(?:car|coche|carro|auto)(?:['’]s| is| es) (?:an?|una?)"
        rf" (?P<value2>{_NAME})",
        "car",
        "car",
    ),
    # Subject of studies.
    _relation(
        rf"{_I_HAVE} (?:switched|changed|moved|transferred)(?: my (?:degree|course|major|subject))"
        r"(?: over)? to (?P<new>(?-i:[a-z])[\w -]+)"
        r"|(?:ahora )?estudio (?P<new2>(?-i:[a-záéíóú])[\w ]+)"
        r"|me (?:he )?cambi\w+ de (?:carrera|grado|estudios) a (?P<new3>[\w ]+)",
        r"(?:i (?:study|read)|i['’]m (?:studying|reading)|my (?:degree|major) is in"
        r"|i['’]m doing an? degree in) (?P<value>[\w -]+?)(?= (?:at|in)\b|$)"
        r"|estudio (?P<value2>[\w ]+?)(?= (?:en|por)\b|$)",
    ),
    _relation(
        rf"{_I_HAVE} (?:switched|changed|moved|transferred)(?: over)? to (?P<new>[\w -]+)"
        r"|me (?:he )?(?:cambi\w+|pas\w+) a (?P<new2>[\w ]+)",
        r"(?:i study|i['’]m studying|i['’]m doing an? degree in) "
        r"(?P<value>[\w -]+?)(?= (?:at|in)\b|$)|estudio (?P<value2>[\w ]+?)(?= (?:en|por)\b|$)",
        "subject",
    ),
    # Doctor.
    _relation(
        r"(?:(?:i see|i['’]m (?:seeing|with)|i go to|me (?:lleva|atiende|ve|trata)|voy (?:con|a))"
        rf" (?:el |la |al )?(?P<new>(?:dra?|doctora?)\.? {_NAME}))",
        r"(?:my|our|mi|nuestr[oa]) (?:doctor|gp|family doctor|m[eé]dic[oa]|doctora)"
        rf"(?: de cabecera)?(?:['’]s| is| es) (?:el |la )?(?P<value>(?:dra?|doctora?)\.? {_NAME})",
    ),
    # Medicine.
    _relation(
        r"(?:(?:.{2,20} )?(?:changed|switched|swapped) my (?:medication|medicine|meds|tablets"
        r"|pills) to (?P<new>[\w-]+)|.{0,20}\bme (?:ha |han )?(?:cambi|pas)\w+ (?:la medicaci[oó]n"
        r"|el tratamiento|las pastillas|la pastilla) (?:a|por) (?P<new2>[\w-]+))",
        r"(?:i take|i['’]m on|i am on|tomo) (?P<value>[\w-]+)$",
        "medicine",
        "medicine",
    ),
    # Bank, or another company.
    _relation(
        rf"(?:{_I_HAVE} )?(?:switched|changed|moved)(?: banks?)?(?: over)? to (?P<new>[\w'’]+)"
        r"|me (?:he )?(?:cambi\w+|pas\w+)(?: de banco)? a (?P<new2>[\w'’]+)",
        r"(?:i|we) bank with (?P<value>[\w'’]+)"
        r"|(?:my|our|mi|nuestro) (?:bank|banco)(?:['’]s| is| es) (?:el )?(?P<value2>[\w'’]+)"
        r"|(?:i|we)['’](?:m|re) with (?P<value3>(?!my\b|the\b|our\b)[\w'’]+)"
        r"(?= for (?:the |my )?(?:gas|elec|lecc|power|phone|broadband|internet|energy))"
        r"|tengo la cuenta en (?:el |la )?(?P<value4>[\w'’]+)",
        _OPEN,
    ),
    # The name of a child to be born.
    _relation(
        r"(?:(?:s?he|it|the baby)['’]s|we['’]re) (?:going )?(?:to )?(?:be (?:called|named)"
        rf"|(?:call|nam)(?:e|ing)? (?:him|her|it)|with) (?P<new>{_NAME})"
        rf"|(?:(?:la|el) (?:ni[ñn][oa]|beb[eé]) )?se va a llamar (?P<new2>{_NAME})",
        rf"we['’]re (?:going to )?(?:call|nam)(?:e|ing)? (?:him|her|it|the baby) (?P<value>{_NAME})"
        rf"|(?:a(?: la|l) (?:ni[ñn][oa]|beb[eé]) )?le (?:vamos a poner|pondremos|ponemos)"
        rf" (?P<value2>{_NAME})",
    ),
    # Telephone number.
    _relation(
        rf"(?:(?:i['’]ve got|i have|i got) a new (?:phone |mobile )?number"
        rf"|tengo (?:un )?(?:{_PHONE} nuevo|nuevo {_PHONE}))(?: de tel[eé]fono)?"
        r"(?:[,:;]| is|,? (?:y )?(?:it['’]s|es))* (?:el )?(?P<new>\+?\d[\d ]{5,}\d)",
        r"(?:my|mi) (?:(?:phone|mobile|cell)(?: number)?|number|n[uú]mero(?: de (?:tel[eé]fono"
        r"|m[oó]vil))?|tel[eé]fono|m[oó]vil)(?:['’]s| is| es) (?:el )?(?P<value>\+?\d[\d ]{5,}\d)",
    ),
)


_WHO = rf"(?P<who>{BEARER})(?:['’]s| has| is)?(?: just| now| recently| ahora| ya)*"
_RELATIONS_OF_OTHERS = (
    _relation(
        rf"{_WHO} (?:(?:left|quit),? (?:and |but )?(?:is )?(?:now )?)?(?:(?:got|has) an? (?:new )?"
        r"job (?:at|with|for)|started (?:work )?(?:at|for|with)|(?:works|working) (?:at|for)"
        rf"|(?:ha )?empez\w+ (?:a trabajar )?en|trabaja en|(?:ha )?encontr\w+ trabajo en)"
        rf" (?P<new>{_NAME})",
        rf"{BEARER} (?:now |ahora )?(?:works (?:at|for)|trabaja (?:en|para)) (?P<value>{_NAME})",
    ),
    _relation(
        rf"{_WHO} (?:(?:switched|changed|transferred)(?: (?:his|her|their) (?:degree|course"
        r"|major))? to|studies|studying|estudia|se (?:ha )?cambi\w+ (?:de carrera )?a)"
        r" (?P<new>[\w -]+)",
        rf"{BEARER}(?:['’]s| is)? (?:now |ahora )?(?:studies|studying|estudia) (?P<value>[\w -]+?)"
        r"(?= (?:at|in|en|por)\b|$)",
    ),
    _relation(
        rf"{_WHO} (?:on|takes|taking|toma) (?P<new>[\w-]+)(?: now)? (?:instead|en su lugar)",
        rf"{BEARER}(?:['’]s| is)? (?:on|takes|toma) (?P<value>[\w-]+)$",
        "medicine",
        "medicine",
    ),
)


def of_relation(text: str, every: Sequence[str]) -> Statement | None:
    """The latest statement of a relation with the value that a clause announces for the same being:
    `I've become a nurse` after `I'm a waiter`, `Ann switched to law`."""
    bearer = bearer_of(_MARKS_FIRST.sub("", text))
    of_others = bool(bearer) and bearer != SPEAKER
    if of_others:
        every = [one for one in every if bearer_of(one) == bearer]
    first, *behind = _FIRST_PART.split(text)
    # "I switched to Starling, much nicer app".
    bare = text if any(map(values_of_part, behind)) else first
    for relation in _RELATIONS_OF_OTHERS if of_others else _RELATIONS:
        if not (new := _group(relation.announced.match(bare), "new")):
            continue
        for one in reversed(every):
            told = relation.told.match(without_aside(one))
            old = None if is_denial(one) else _group(told, "value")
            if old and old[0].lower() != new[0].lower() and _are_of_kind(relation, new[0], old[0]):
                return with_part(one, *old[1], new[0])
    return None


def _are_of_kind(relation: _Relation, new: str, old: str) -> bool:
    """Check whether two values may be of the kinds of a relation. Of the old one it need not be
    known; the new one may be a name, as many cars have."""
    kinds, olds = concepts_of(new), concepts_of(old)
    if relation.kind == _OPEN:
        return new[0].isupper() or not any(map(is_concept, kinds))
    is_new = not relation.kind or relation.kind in kinds
    is_name = new[0].isupper() and old[0].isupper() and relation.kind in olds
    if olds & relation.not_told:
        return False
    is_old = not relation.told_kind or relation.told_kind in olds
    return (is_new or is_name) and (is_old or not any(map(is_concept, olds)))


def _group(found: re.Match[str] | None, name: str) -> tuple[str, tuple[int, int]] | None:
    """The text and place of the first group of a match with a name that begins so."""
    groups = found.groupdict() if found else {}
    named = next((one for one, text in groups.items() if text and one.startswith(name)), None)
    return (groups[named], found.span(named)) if found and named else None


def found_at_last(text: str, known: Sequence[str]) -> Statement | None:
    """`Found one, in Leith` after `we're looking for a flat`: what was looked for is found."""
    if not (said := _FOUND.match(text)):
        return _with_thing_found(text, known)
    for one in reversed(known[-MAX_BACK:]):
        if search := _LOOKED_FOR.search(one):
            verb = said["en"] or said["es"]
            rest = said["rest"].lstrip(" ,:;–—")
            return Statement(
                text=f"{verb[0].upper()}{verb[1:]} {search['thing']}{' ' if rest else ''}{rest}",
                is_change=True,
                replaced=one,
            )
    return None


def _with_thing_found(text: str, known: Sequence[str]) -> Statement | None:
    """`We've found a flat` in the place of the statement that it is looked for."""
    if not (found := _FOUND_THING.match(text)):
        return None
    thing = (found["thing"] or found["thing2"]).lower()
    for one in reversed(known[-MAX_BACK:]):
        if thing in one.lower() and _LOOKED_FOR.search(one):
            told = f"{text[:1].upper()}{text[1:]}"
            return Statement(text=told, is_change=True, replaced=one)
    return None


_FOUND = LazyPattern(
    r"^(?:(?P<en>(?:i|we)(?:['’]ve| have)?(?: finally| just| already)* found) (?:one|something)\b"
    r"|(?:por fin |ya |al final )*(?P<es>hemos encontrado|he encontrado|encontramos|encontré)"
    r"(?: un[oa]\b|(?=[,.:;]| en\b|$)))(?P<rest>.*)$",
    _I,
)
_FOUND_THING = LazyPattern(
    r"^(?:i|we)(?:['’]ve| have)?(?: finally| just| already)* found (?:an?|our|the)"
    r" (?P<thing>[\w-]+)"
    r"|^(?:por fin |ya |al final )*(?:hemos encontrado|he encontrado|encontramos|encontré)"
    r" (?:una? )?(?P<thing2>[^\W\d_]{3,})",
    _I,
)
"""`We've found a flat`: names what was looked for."""
_LOOKED_FOR = LazyPattern(
    r"\b(?:(?:looking|searching|hunting) for|busc(?:o|amos|ando)) "
    r"(?P<thing>(?:(?!(?:in|near|around|close|by|for|en|cerca|por|para)\b)[\w'’-]+ ?){1,4})"
    r"(?<! )",
    _I,
)
"""Says what the speaker looks for, without where."""


def _with_hour(text: str, known: Sequence[str]) -> Statement | None:
    """`We close at 5 now` after `the shop's open from 9 to 6`: the latest range of hours of the
    same thing, with another end or beginning."""
    said = _ENDS_OR_BEGINS.search(text) if is_changed(text) or _FROM_NOW.search(text) else None
    hours = values_of_part(text).get(ValueType.TIME, ())
    if not said or len(hours) != 1:
        return None
    hour = _AT_HOUR.sub("", text[slice(*hours[0])])
    topic = concepts_of(text) & _TOPICS_OF_HOURS
    for one in reversed(known[-MAX_BACK:]):
        spans = chain.from_iterable(typed_values(one).values())
        for start, end in spans if topic & features(one).concepts else ():
            if found := RANGE.search(one, start, end):
                place = (found.end(), end) if said["end"] else (start, found.start())
                return with_part(one, *place, hour)
    return None


def _with_place(text: str, known: Sequence[str]) -> Statement | None:
    """`Lo celebramos en casa` after `el cumple lo celebramos en el Faro`: the latest event with
    this verb, or that is held at all, at another place."""
    if moved := _MOVED_TO_PLACE.match(text):
        subject = concepts_of(moved["subject"] or moved["subject2"])
        place = moved["place"] or moved["place2"]
        for one in reversed(known):
            at = _LAST_PLACE.search(one)
            if at and subject and subject <= features(one).concepts and is_head(subject, one):
                return with_part(one, *at.span(), f"{at[0].split()[0]} {place}")
    found = _HELD_AT.match(text)
    verb, new = (one for one in found.groups() if one) if found else ("", "")
    for one in reversed(known[-MAX_BACK:]) if verb else ():
        place = _LAST_PLACE.search(one)
        is_held = _HOLD.match(verb) and features(one).concepts & _EVENTS
        if place and (is_held or verb.lower() in split_words(one)):
            return with_part(one, *place.span(), new)
    return None


_HELD_AT = LazyPattern(
    r"^(?:(?:al final|ahora|ya|mejor|finalmente),? )*l[ao]s? ([^\W\d_]+) (en .+)$"
    r"|^(?:now )?(?:i|we)(?:['’](?:re|m))? (?:now )?(\w+) (?:it|them) ((?:at|in) .+?)"
    r"(?: now| instead)?$",
    _I,
)
_MOVED_TO_PLACE = LazyPattern(
    r"^(?P<subject>[\w’-]+(?: [\w’-]+){0,2}?)(?:['’]s| has| is| are| have)?(?: been)? "
    r"(?:shifted|moved|moving|relocated|switched) to (?P<place>(?:the|my|our) [^,;\d]{3,30}?)"
    rf"(?: from now on|{TIME_BEHIND[:-1]})?(?:,.*)?$"
    r"|^(?:el|la|mi) (?P<subject2>[\w-]+(?: de [\w-]+)?) (?:se )?(?:ha )?(?:pasa(?:do)?|cambi\w+"
    r"|mud\w+|traslad\w+)(?: ahora)? (?:a|en|al) (?P<place2>(?:(?:el|la|mi) )?[^,;\d]{3,30}?)"
    r"(?: (?:a partir de|desde) ahora)?(?:,.*)?$",
    _I,
)
"""Something is held elsewhere: `choir has moved to the library`."""
_LAST_PLACE = LazyPattern(r"\b(?:en|at|in) (?!\d)[^,;]+$", _I)
_HOLD = LazyPattern(r"(?:hac|hag|celebr|organi|hav|hold)\w+", _I)
_EVENTS = frozenset({"party", "birthday", "wedding", "meeting", "dinner"})
_TOPICS_OF_HOURS = frozenset({"opening", "work"})
_AT_HOUR = LazyPattern(r"^(?:at|a las?) ", _I)
_ENDS_OR_BEGINS = LazyPattern(
    r"\b(?:(?P<end>clos(?:e[sd]?|ing)|shuts?|finish(?:es)?|cierra[ns]?|cerramos|cierro|acabo|termino"
    r"|salgo)|opens?|opening|start|abr(?:e[ns]?|imos|o)|empiezo|entro)\b",
    _I,
)
"""Verbs of the hour at which the opening or the work of a day ends or begins."""


def _with_same_subject(text: str, every: Sequence[str]) -> Statement | None:
    """`Choir's at mine from this month` after `the choir meets at Ann's`: both tell the same kind
    of thing of one subject, and the clause has a mark of change."""
    is_change = is_changed(text) or bool(_FROM_NOW.search(text) or INSTEAD.search(text))
    subject = leading_noun(text) if is_change or _IS_THERE.search(text) else None
    named = concepts_of(subject.text) - light() if subject else frozenset()
    if not subject or not named:
        return None
    said = _SINCE.sub("", _FIRST_PART.split(text[subject.start + len(subject.text) :])[0])
    for one in reversed(every):
        other = next((each for each in noun_phrases(one) if named <= concepts_of(each.text)), None)
        if not other or not _are_of_one_subject(text, one, named):
            continue
        before = one[other.start + len(other.text) :]
        is_apart = have_other_predicates(text, one)
        if found := _with_types_of(said, one) if is_change and not is_apart else None:
            return found
        if subject.is_being and (not is_change or _are_of_two_relations(said, before)):
            continue
        if not is_change and _names(said) != _names(before):
            continue
        if _complement(said) & _complement(before):
            text = one[: len(one) - len(before)] + said if other.start == 0 else text
            return Statement(text=text[:1].upper() + text[1:], is_change=True, replaced=one)
    return None


def _are_of_two_relations(said: str, before: str) -> bool:
    """Check whether one being has no relation of which two predicates tell: `is a dentist now`
    says nothing of `has a dentist on Monday`."""
    is_job = "profession" in concepts_of(said) and not _IS_OR_WORKS.match(before)
    return is_job or _have_nothing_in_common(said, before)


_IS_OR_WORKS = LazyPattern(r"(?:['’]s| is| was|(?: ya| ahora)* (?:es|era)| works?| trabaja)\b", _I)


def _are_of_one_subject(text: str, earlier: str, named: frozenset[str]) -> bool:
    """Check whether an earlier statement, which is no denial, is about the subject of a text."""
    beings = (features(_AT_BEING.sub(" ", one)).beings for one in (earlier, text))
    if is_denial(earlier) or len(set(beings)) > 1:
        return False
    if gives_name_beside(text, earlier) or "allergy" in concepts_of(earlier) - concepts_of(text):
        # "My sister eats fish now": an allergy to nuts stays.
        return False
    return is_head(named, earlier) and not is_of_another(text, earlier)


def _have_nothing_in_common(said: str, before: str) -> bool:
    """Check whether two complements are about known things, but different ones: `in the choir`, `in
    year 7`."""
    one, other = (set(filter(is_concept, concepts_of(text) - _HOME)) for text in (said, before))
    return bool(one and other) and not one & other


def _nearest(text: str, named: str, every: Sequence[str], known: Sequence[str]) -> Statement | None:
    """The earlier statement that shares most words with a clause that says that something has
    changed, if the clause has another value of a type of it, and the next one shares less."""
    if not (is_changed(text) or INSTEAD.search(text)):
        return None
    types = values_of_part(named)
    said = concepts_of(outside(named, types)) - light()
    beings = features(named).beings
    meant = antecedent(text, known)[1]
    spans = types.get(ValueType.NAME, ())
    names = value_key(" ".join(named[max(start, 0) : end] for start, end in spans))
    found = []
    for one in every:
        shared = said & features(one).concepts
        score = len(shared) - len(shared & general()) / 2 + (one == meant)
        if names & value_key(one) and units_of(named) & units_of(one):
            # "I've put Ann's pay up to 13 an hour": what was told of her has an amount.
            score += 1
        if MIN_NAMED * len(said - general()) > len(shared) and not names & value_key(one):
            # "My eye test is on Friday now" shares one word of several with "my shift on Tuesday".
            continue
        is_other = features(one).beings != beings or _is_of_other_thing(named, one, shared)
        if score < 1 or is_other or is_denial(one):
            continue
        new = without_known(named, types, one)
        if ValueType.NAME in new and not _have_same_word_before(named, new, one):
            new = {kind: spans for kind, spans in new.items() if kind != ValueType.NAME}
        if replacement := _with_types_of(named, one, new):
            found.append((score, replacement))
    found.sort(key=lambda one: one[0], reverse=True)
    is_apart = found and (len(found) == 1 or found[0][0] > found[1][0])
    return found[0][1] if is_apart else None


def _is_of_other_thing(text: str, earlier: str, shared: frozenset[str]) -> bool:
    """Check whether a text and an earlier statement with which it shares some concepts are about
    different things: another's home, a code and a dose, Ann's deadline and Acme's."""
    if shared <= _HOME and is_of_other_home(text, earlier):
        return True
    if bool(concepts_of(text) & SECRETS) != bool(features(earlier).concepts & SECRETS):
        return True
    if names_other_of_kind(text, earlier):
        return True
    subject = leading_noun(text)
    is_named = subject is not None and subject.is_named and subject.text not in earlier
    return is_named and _names(earlier)


def _with_value_of_part(text: str, known: Sequence[str]) -> Statement | None:
    """`They can only do Saturday now` after `the booster is on Thursday`: the latest statement with
    a value of the type of that in a part of the clause which has no noun for what it is about, or
    the name with which that statement begins."""
    if not (is_changed(text) or _FROM_NOW.search(text) or _BROUGHT.search(text)):
        return None
    parts = [part for part in _PART.split(text) if values_of_part(part)]
    pairs = (
        (part, one)
        for part in parts
        for one in reversed(_meant(text[: text.index(part)], part, known)[-MAX_BACK:])
    )
    return next(filter(None, (_with_value_of(part, one) for part, one in pairs)), None)


def _meant(said: str, part: str, known: Sequence[str]) -> Sequence[str]:
    """The statements that a part may be about: those with a noun that stands before it, if one
    does: `they put the rent up, now it's 750`."""
    return about(said, part, known) if noun_phrases(said) else known


def _with_value_of(part: str, earlier: str) -> Statement | None:
    """The earlier statement with the value of a part of a clause; see `_with_value_of_part`."""
    pronoun = _WITHOUT_NOUN.match(part)
    subject = leading_noun(earlier)
    if is_denial(earlier) or (pronoun and pronoun["being"] and not (subject and subject.is_being)):
        return None
    said = part[pronoun.end() :] if pronoun else part
    own = concepts_of(outside(said, values_of_part(said))) - general() - light()
    if any(map(is_concept, own - features(earlier).concepts)):
        return None
    types = without_known(part, values_of_part(part), earlier)
    if ValueType.NAME in types and not _are_places(part, types, earlier):
        types = {kind: spans for kind, spans in types.items() if kind != ValueType.NAME}
    is_named = bool(subject and subject.is_named and subject.text in part)
    is_of_name = is_named and types.keys() <= {ValueType.NAME}
    thing = leading_noun(part)
    if not pronoun and thing and not value_key(thing.text) & value_key(earlier):
        # "The new pump cost 860 euros": another thing with the same unit.
        return None
    if not (pronoun or is_of_name or units_of(part) & units_of(earlier)):
        return None
    return _with_types_of(part, earlier, types)


def _are_places(text: str, types: Spans, earlier: str) -> bool:
    """Check whether names stand where a place does, in a text and in an earlier statement."""
    pairs = (
        (text, types[ValueType.NAME]),
        (earlier, typed_values(earlier).get(ValueType.NAME, ())),
    )
    return all(
        any(_BEFORE_PLACE.search(one[: max(start, 0)]) for start, _ in spans)
        for one, spans in pairs
    )


def _have_same_word_before(text: str, types: Spans, earlier: str) -> bool:
    """Check whether a name of two texts stands behind the same word: `with Ann`, `with Eve`."""
    names = typed_values(earlier).get(ValueType.NAME, ())
    one = _words_before(text, types[ValueType.NAME])
    return bool(one & _words_before(earlier, names))


def _words_before(text: str, spans: Sequence[tuple[int, int]]) -> frozenset[str]:
    return frozenset(word for start, _ in spans for word in text[: max(start, 0)].split()[-1:])


def _names(text: str) -> bool:
    return ValueType.NAME in typed_values(text)


def _complement(text: str) -> frozenset[str]:
    """Kinds of the complement of a statement: a place, or the classes of its words."""
    dated = {ValueType.DAY, ValueType.TIME}
    bare = outside(text, {one: spans for one, spans in typed_values(text).items() if one in dated})
    place = frozenset({"a place"} if _PLACE.search(bare) else ())
    return place | (concepts_of(bare) & CLASSES)


def value_of_pronoun(text: str, known: Sequence[str]) -> Statement | None:
    """`I renewed it until 2036` after `my passport expires in 2027`: the statement with the noun of
    the pronoun has a value of the same type."""
    is_now = _BROUGHT.search(text) and not _FORMER.search(text)
    noun, earlier = antecedent(text, known) if is_now else ("", "")
    if not noun or features(text).beings - features(earlier).beings:
        return None
    # A name after a preposition may be anybody's.
    types: Spans = {
        one: spans for one, spans in values_of_part(text).items() if one != ValueType.NAME
    }
    return _with_types_of(text, earlier, types)


def puts_elsewhere(text: str) -> bool:
    """Check whether a clause tells where a thing was put: `I've moved the keys to the drawer`."""
    return bool(_PUT.match(text))


def moved_thing(
    text: str, before: str, known: Sequence[str], every: Sequence[str]
) -> Statement | None:
    """`I've moved them, they're in a biscuit tin` after `I keep the keys in the drawer`: the latest
    statement that tells where a thing is, with its new place. `before`: the clause before it.
    `every`: those of other conversations, too, in which a thing that the clause names is found."""
    if put := _PUT.match(text):
        return _put_elsewhere(put, every)
    moved = _NEW_PLACE.match(text)
    if moved is None or not (moved["now"] or moved["behind"] or _HAS_MOVED.search(before)):
        return None
    is_plural = moved["many"] is not None
    for one in reversed(known[-MAX_BACK:]):
        kept = _KEPT.match(one)
        if kept and is_plural == bool(_PLURAL.match(kept["thing"] or kept["thing2"])):
            return with_part(one, *kept.span("place"), moved["place"])
    return None


def _put_elsewhere(put: re.Match[str], known: Sequence[str]) -> Statement | None:
    """`She's put the spare key in the shed` after `the spare key is under the pot`."""
    thing = stems_of(put["thing"] or put["thing2"]) - light()
    to, _, rest = (put["place"] or put["place2"]).partition(" ")
    place = f"{_AT_PLACE.get(to.lower(), to)} {rest}"
    for one in reversed(known):
        kept = _KEPT.match(one)
        if kept and thing and thing <= stems_of(kept["thing"] or kept["thing2"]):
            return with_part(one, *kept.span("place"), place)
    return None


_AT_PLACE = {"to": "in", "a": "en", "al": "en el"}
"""Where a thing is that was put somewhere."""
_IN = (
    r"(?:in|on|under|behind|inside|next to|at|by|en|debajo|encima|dentro|detr[aá]s|al lado|sobre"
    rf"|junto)(?! (?:the |el |la |las )?(?:\d|{MONTHS}|{WEEKDAYS}))"
)
_PUT = LazyPattern(
    r"^(?:(?:and|so) )?(?:i|we|she|he|they|my \w+)(?:['’](?:ve|s)| have| has)?(?: now)?"
    r" (?:moved|put|hung|stored|hidden|hid|shifted) (?P<thing>(?:the|my|our) [^,;]{2,30}?)"
    rf" (?P<place>(?:to (?:the|my|our)\b|{_IN}) [^,;]{{2,40}})$"
    r"|^(?:y )?(?:(?:ya|me|las|los) )*(?:(?:he|hemos|ha) (?:llevado|pasado|colgado|guardado|metido"
    r"|cambiado|movido|puesto|escondido)|(?:llev|pas|colgu|guard|cambi)(?:[eé]|amos)"
    r"|met[ií]|mov[ií]|puse|escond[ií]) (?P<thing2>(?:el|la|los|las|mis?) [^,;]{2,30}?)"
    rf" (?P<place2>(?:al?|{_IN}) [^,;]{{2,40}})$",
    _I,
)
_NEW_PLACE = LazyPattern(
    r"(?:(?:and|so|y) )?(?P<now>(?:now|ahora|ya) )?"
    r"(?:(?P<many>they['’]re|they are|est[aá]n)|it['’]s|it is|est[aá])(?: now)?"
    rf" (?P<place>{_IN} [^,;]{{3,60}}?)(?P<behind> (?:now|ahora))?$",
    _I,
)
_HAS_MOVED = LazyPattern(
    r"\b(?:moved|changed|put|shifted|hidden|hid) (?:it|them)\b"
    r"|\bl[ao]s? (?:he|hemos|ha|han) (?:cambiado|movido|puesto|pasado|guardado|escondido)\b"
    r"|\bl[ao]s? (?:cambi[eé]|mov[ií]|puse|pas[eé]|escond[ií])\b",
    _I,
)
_KEPT = LazyPattern(
    r"^(?:(?:(?:i|we) (?:(?:always|usually) )?(?:keep|store|put|leave|left|hide)"
    r"|guard(?:o|amos)|dej(?:o|é|amos)|pon(?:go|emos)|escond(?:o|emos)|ten(?:go|emos)) "
    r"(?P<thing>(?:the|my|our|el|la|los|las|mis?) [^,;]{2,30}?)"
    r"|(?P<thing2>(?:the|my|our|el|la|los|las|mis?) [^,;]{2,30}?)"
    r"(?: (?:is|are|est[aá]n?|l[ao]s? (?:tengo|guardo|dejo|tenemos|guardamos))|['’]s))"
    rf" (?P<place>{_IN} [^,;]+)$",
    _I,
)
"""A thing and where it is kept."""
_PLURAL = LazyPattern(r"(?:the|my|our|los|las|mis) (?:[\w-]+ )?\w+s\b", _I)


def swapped(text: str, known: Sequence[str], *, is_said: bool = False) -> Statement | None:
    """`I went over to Vivaldi` after `I use Firefox`: the one recent statement of the speaker, or
    of the same other being, that has a value of this kind. `is_said`: only with a verb of changing,
    and not for `I use Vivaldi now`."""
    whole = text
    # "Got fed up and went over to Lebara, 8 a month".
    parts = (text, *_PART.split(text))
    found = next((one for part in parts if (one := _swapped_to().match(part))), None)
    text = found[0] if found else text
    does = found or (None if is_said else DOES.match(text))
    if not does or not (found or does["now"] or does["behind"]):
        return None
    new = does["new"]
    if _NO_THING.search(new):
        return None
    # "I have a cat now" says nothing of the dog.
    of_kind = CLASSES | {"medicine"} if found else CLASSES - {"animal", "pet"}
    reason = REASON.search(whole) if found else None
    if reason and (of_former := _instead_of_named(new, reason[0], known)):
        return of_former
    classes = concepts_of(new) & of_kind
    types = values_of_part(new)
    if found and not types and len(new.split()) == 1 and not any(map(is_concept, concepts_of(new))):
        # A brand in lower case.
        types = {ValueType.NAME: ((0, len(new)),)}
    names = types.get(ValueType.NAME, ())
    is_name = (
        any(not start for start, _ in names) and not concepts_of(outside(new, types)) - light()
    )
    beings = features(text).beings
    recent = (
        one
        # The new value shows its kind, so that the former one may be older than MAX_BACK.
        for one in (known if found else known[-MAX_BACK:])
        if features(one).beings == beings
        and not have_different_bearers(text, one)
        and (beings or _OF_SPEAKER.match(one) or (found and _is_of_provider(one)))
        and not is_denial(one)
    )
    if "medicine" in classes:
        recent = (one for one in recent if _has_one_medicine(one))
    if classes:
        fitting = [with_class(one, new, classes) for one in recent]
    else:
        choice = _CHOICE_OF_FIRM if _MOVED.search(text) else _CHOICE
        fitting = [
            _with_types_of(new, one, types) for one in recent if is_name and choice.search(one)
        ]
    changed = [one for one in fitting if one]
    homes = (
        one
        for one in known
        if "home" in features(one).topic and not have_different_bearers(text, one)
    )
    if beings and _MOVED.search(text) and any(homes):
        # "Ann moved to Hull": where Ann lives, not where Ann works.
        changed = [one for one in changed if "home" in features(one.replaced).topic]
    return with_other_parts(changed[0], whole) if len(changed) == 1 else None


_NO_THING = LazyPattern(r"^[a-z]+ing (?:the|my|our|an?)\b| (?:for|as) (?:my|our)\b", _I)
"""An activity, or a thing that names its purpose: `switched to a latte for my coffee`."""


def _instead_of_named(new: str, reason: str, known: Sequence[str]) -> Statement | None:
    """The one statement of the speaker with a word that the reason of a change names, and that the
    vocabulary does not know, with the new value in its place: `I went over to Orange because
    Movistar got dear`."""
    rare = {one for one in split_words(reason) if not any(map(is_concept, concepts_of(one)))}
    rare = {one for one in rare if len(one) > MIN_BRAND_CHARS}
    named = [
        (one, place)
        for one in known
        if _OF_SPEAKER.match(one)
        for place in re.finditer(r"\w+", one)
        if place[0].lower() in rare
    ]
    return with_part(named[0][0], *named[0][1].span(), new) if len(named) == 1 else None


def _has_one_medicine(statement: str) -> bool:
    """Check whether a statement names one medicine: of several, it is not known which one another
    replaces."""
    bare = DOSE.sub("", statement)
    words = [word for word in split_words(bare) if "medicine" in concepts_of(word)]
    return len(words) == 1 and not lists_of(bare)


def _is_of_provider(statement: str) -> bool:
    """Check whether a statement tells the name of a company: `my phone company is Three`."""
    noun = COPULA.match(statement)
    return noun is not None and bool(concepts_of(noun["noun"]) & _PROVIDERS)


def _with_types_of(text: str, earlier: str, types: Spans | None = None) -> Statement | None:
    """The statement with those typed values of a text that fit into it."""
    types = values_of_part(text) if types is None else types
    places = values_in_place_of(text, types, earlier)
    types = {kind: spans for kind, spans in types.items() if kind in places}
    return with_types(earlier, text, types) if types else None
