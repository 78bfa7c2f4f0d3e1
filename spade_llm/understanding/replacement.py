"""Replacement: which earlier statements a new one makes outdated, and which it only restates."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words
from spade_llm.understanding.clause_kinds import FINITE, THIRD_SPANISH
from spade_llm.understanding.features import (
    NOTE,
    Features,
    Statement,
    ended_part,
    ended_parts,
    ended_thing,
    ends,
    features,
    given_thing,
    is_changed,
    is_denial,
    is_event,
    is_negated,
    is_sought,
)
from spade_llm.understanding.pronouns import leading_noun, subject_name
from spade_llm.understanding.reminders import says_done, says_other_done
from spade_llm.understanding.things import (
    AT_WORK,
    COPULA,
    ONE_MATTER,
    names_other_of_kind,
    tell_of_two_things,
    thing_of,
    things_named,
)
from spade_llm.understanding.vocabulary import (
    WEEKDAY_CONCEPTS,
    WEEKDAYS,
    ValueType,
    classes,
    concepts_of,
    general,
    is_concept,
    kin,
    light,
    phrase_concepts,
    sex_of,
    stems_of,
    tells_difference,
    things,
    typed_values,
    value_key,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


_I = re.IGNORECASE

TOPIC_SHARE = 0.6
"""Minimum share of the smaller topic that two statements about the same thing have in common."""
CHANGED_SHARE = 0.5
"""The same for a statement that says that something has changed."""
YEAR_DIGITS = 4
YEAR = LazyPattern(r"\b(?:19|20)\d\d\b")
NEGATION_SHARE = 0.6
"""Minimum share of a negation's concepts that the denied statement has."""
MIN_PHONE_DIGITS = 7
"""A number of so many digits is one of a telephone, an account or the like."""
STEM_CHARS = 5
"""Characters by which two words of a class are told apart."""
REASON = LazyPattern(
    r",? (?:because|porque|ya que|puesto que) .*$"
    r"|,? for (?:his|her|their|my) (?:[\w]+['’]s )?(?:job|work|studies)\b.*$",
    re.IGNORECASE,
)
"""Reasons: no part of what changed."""
WHEN = (
    r"(?:(?:,? \d[\d.,]* ?(?:mg|mcg|µg|g|ml)\b)?(?: (?:in the|at|with|(?:after|before)(?: my)?"
    r"|por las?|(?:antes|después) de(?: la)?) \w+"
    # "Tennis on Mondays and football on Fridays", but not "I work on Mondays and Fridays".
    r"| (?:on|los) \w+(?=$| (?:and|y|e) [^,;]{2,30} (?:on|los) ))?)"
)
"""Dose and time of one of several things."""
BEFORE_ITEM = (
    r"(?:(?:to|at|on|in|with|half|medi[oa]|an?|the|my|our|some|al?|el|la|los|las|una?|en|con|mis?"
    r"|nuestr[oa]s?) "
    r"){0,3}"
)
"""Preposition and article of one of several things."""
_WORD = r"(?!(?:it|we|he|me|us|so|is|am|do|go|yo|se|lo|le|no|ya|es|va|my|mi|en)\b)[\w-]{2,}"
_ITEM = rf"{BEFORE_ITEM}{_WORD}{WHEN}?"
_LIST = re.compile(
    rf"\b(?P<first>{_WORD}){WHEN}?(?P<more>(?:, {_ITEM})*),? (?:and|y|e) {BEFORE_ITEM}"
    rf"(?P<last>{_WORD})\b",
    re.IGNORECASE,
)
"""Several things of one statement: `warfarin at night and ramipril in the morning`."""
_MORE_ITEM = re.compile(rf", {BEFORE_ITEM}(?P<item>{_WORD})", re.IGNORECASE)
ADDITION = LazyPattern(
    r"\b(?:another|also|too(?= *(?:$|[,;.!]))|as well|other|second|otr[oa]s?|tambi[eé]n"
    r"|adem[aá]s)\b",
    _I,
)
"""The statement adds something, and replaces nothing."""
FORMER = LazyPattern(
    r"\b(?:my|our|his|her) (?:first|former|previous|late|ex-?) ?(?:wife|husband|partner|boss"
    r"|dog|cat"
    r"|job|car|house|school|teacher)\b|\b(?:my|our) old \w+(?: \w+)? (?:was|were)\b"
    r"|\b(?:mi|nuestr[oa]|su) (?:primer[ao]?|anterior|difunt[oa]|ex)[ -](?:mujer|marido|espos[oa]"
    r"|pareja|jef[ea]|perr[oa]|gat[oa]|trabajo|coche|casa|piso)\b"
    r"|\bmi antigu[oa] \w+ era\b|\b(?:mi|nuestr[oa]|el|la) [\w-]+ (?:anterior|de antes|previ[oa])\b"
    r"|\bmy (?:previous|last) [\w-]+ (?:was|were)\b",
    _I,
)
"""A former person or thing: a statement about it does not replace one about the present one."""
_NOT_IN_PLACE = (
    r"(?!(?:new|nuev[oa]) (?!client|customer|student|pupil|patient|project|friend|contact|member))"
)
"""A new client comes beside the others, a new dentist instead of the one before."""
_OF_SPEAKER = LazyPattern(r"\b(?:i|me|us|we|yo|nos)\b", _I)
INTRODUCES = LazyPattern(
    r"^(?:(?:i|we|they|he|she|(?:my|our) [\w-]+)(?:['’]ve| have| has|['’]s)? )?(?:also |just )?"
    r"(?:have|got|has|met|adopted|bought|hired|know|signed) an? "
    rf"{_NOT_IN_PLACE}"
    r"[\w-]+(?: [\w-]+){0,2}?"
    r"(?: called| named| [—–-]|:|,) (?-i:[A-Z])"
    r"|^(?:(?:i|we) have an? )?new (?:client|customer|student|pupil|patient|friend|contact|member)"
    r"(?: called| named| [—–-]|:|,|$)"
    r"|^(?:(?:he|hemos|nos han|ha) \w+[dt]o|ten(?:go|emos)|conoc\w+|adopt\w+) un[oa]? "
    rf"{_NOT_IN_PLACE}(?!\w+ nuev[oa]\b)"
    r"[\w-]+(?: [\w-]+){0,2}?(?: llamad[oa]| que se llama|:|,) (?-i:[A-ZÀ-Þ])",
    _I,
)
"""Tells of a being or thing with a name for the first time: `we got a collie called Fay`."""
_FIRST_NOUN = LazyPattern(r"^(?:my|our|the|mi|mis|la|el|los|las|nuestr[oa]s?) [\w-]+", _I)
_NOUN_PHRASE = LazyPattern(
    rf"^(?:my|our|the|mis?|nuestr[oa]s?|el|la|los|las) (?P<noun>(?:[\w-]+ ){{0,3}}?[\w-]+?)"
    rf"(?:['’]s\b|(?= {FINITE}\b))",
    _I,
)
"""The subject of a statement: `my red bag`, `mi tía Pilar`."""
OWNER_FIRST = LazyPattern(
    r"^(?P<name>(?-i:[A-ZÀ-Þ])[\w-]+)['’]s\b(?: (?P<thing>[\w-]+))?"
    r"|^(?:el|la|los|las) (?P<thing2>[\w-]+) (?:[\w-]+ )?de (?P<name2>(?-i:[A-ZÀ-Þ])[\w-]+)",
    _I,
)
"""`Maya's lesson is …`, `Maya's has moved …`, `la clase de Maya`: the name of the owner, or of the
subject."""
_RELATIVE_OF_OWN = LazyPattern(
    r"^(?:my|our) [\w-]+['’]s (?P<noun>[\w-]+)"
    r"|^(?:el|la) (?P<noun2>[\w-]+) de (?:mi|nuestr[oa]) ",
    _I,
)
_STATE_OF_ROLE = LazyPattern(
    r"^(?:my|our|mi|nuestr[oa]) (?:\w+ )?(?P<role>boss|doctor|dentist|teacher|tutor|coach|therapist"
    r"|landlord|jef[ea]|m[eé]dic[oa]|doctora?|dentista|profe(?:sor|sora)?|entrenador[a]?|caser[oa])"
    r"(?: (?-i:[A-ZÀ-Þ])\w+)? (?:has(?! (?:put|given|told|changed|moved|made|taken))|lives|works"
    r"|likes|loves|hates|drives|plays|speaks|comes|tiene|est[aá]|vive|trabaja|conduce|juega|habla"
    r"|viene|(?:is|es)(?! (?:called|named|now|ahora|the|el|la|do[cñ]\w*|dra?\b|mrs?\b|ms\b"
    r"|(?-i:[A-ZÀ-Þ]))))\b",
    _I,
)
"""Something about a person whom statements about the speaker often name, and nothing that they did:
`my boss has five children`, but not `my boss is Ann`."""
_A_BEING = LazyPattern(r"^(?:an?|una?) [\w-]+ (?:called|named|llamad[oa]|que se llama)\b", _I)
_OWN_FIRST = LazyPattern(r"^(?:my|our|mis?|nuestr[oa]s?) ", _I)
_AND_I = LazyPattern(r"^[\w-]+ (?:and (?:i|me)|y yo)\b", _I)
_BY_OTHER = LazyPattern(r"^(?:they|he|she|ell[ao]s?|[eé]l)\b|^se (?:ha|han|va|van|mud|fue)", _I)
_HOUSEHOLD = frozenset({
    "boyfriend", "cat", "child", "daughter", "dog", "girlfriend", "hamster", "husband", "parrot",
    "partner", "pet", "rabbit", "son", "stepchild", "tortoise", "wife",
})  # fmt: skip
_MOVES_HOME = LazyPattern(
    r"\b(?:moved|moving) (?:back|out|in|into|to|home|away|on)\b"
    r"|\bha(?:n)? vuelto a (?:su|la) (?:casa|piso)\b|\b(?:se|me|nos) (?:\w+ )?(?:mud|traslad)\w+"
    r"|\b(?:se|me|nos) (?:fu[ei]\w*|vin\w+|(?:he|ha|hemos|han) (?:ido|venido)) a vivir\b",
    _I,
)
_LIVES = LazyPattern(r"\b(?:liv(?:e|es|ing)|stay(?:s|ing)?|viv(?:e|en|o|imos|iendo))\b", _I)
_NEWEST = LazyPattern(r"\b(?:new|old|current|latest|nuev[oa]s?|actual|viej[oa])\b ?", _I)
_PLACE_TAIL = LazyPattern(
    r"\b(?:in|on|under|behind|at|inside|next to|above|below|beside|en|debajo|detr[aá]s|dentro"
    r"|encima|sobre|junto a)\b (?!(?:the )?(?:morning|evening|\d))",
    _I,
)
_ROLE = LazyPattern(
    r"^(?:i(?:['’]m| am)(?: now)? an? |i work as|i (?:got|was|['’]ve been) promoted|i became an? "
    r"|(?:ahora )?soy \w+[oare]\b|(?:trabajo|curro|laburo) (?:de|como)|me han (?:ascendido|hecho)"
    r"|i['’]ve been made|they made me|me (?:ascend|hic)ieron)",
    _I,
)
"""The speaker's profession: a later one ends the earlier one only if it says that it changed."""
_PREFER = LazyPattern(r"\b(?:prefer|prefiero)\b", _I)
"""A preference; the same holds for it."""
_STATES = frozenset({"allergy", "diet", "marital", "illness", "religion", "origin"})
"""Words behind `I'm a …` that are no profession."""
EXCLUSIVE = frozenset({
    "home", "name", "age", "birthday", "origin", "address", "phone", "email", "password",
    "code", "wifi", "size", "height", "weight", "team", "marital", "diet", "blood",
    "appointment", "meeting", "exam", "surgery", "wedding",
})  # fmt: skip
"""Relations that hold a single value at a time."""
_LASTING = frozenset({"appointment", "medicine"})
"""Concepts of what goes on after a recovery."""
_OF_SUBJECT = frozenset({
    "partner", "girlfriend", "boyfriend", "wife", "husband", "work", "study", "pregnant", "due",
    "hospital", "illness", "injury", "pain", "symptom", "medicine", "separation",
})  # fmt: skip
"""Concepts of facts that an event ends for its subject, without naming a thing."""
_HELD_BY_TURNS = frozenset({"shift", "team", "diet", "schoolyear"})
"""Relations of which another one begins when the former one ends, whatever names it."""
SECRETS = frozenset({"code", "password", "pin"})
"""Concepts of values that people tell without these words: `the wifi is sunflower42`."""
_OF_THINGS = frozenset({
    "phone", "email", "owe", "password", "code", "wifi", "size", "height", "weight",
})  # fmt: skip
"""Exclusive relations that many things and people have: the codes of a gate and of an alarm."""
_DATED = frozenset({"appointment", "meeting", "exam", "surgery", "wedding"})
"""The same of events: a change may leave out which (`it was moved to Friday`)."""
HABIT = LazyPattern(
    r"\b(?:every|each|cada|los) \w+|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b", _I
)
"""Days that come again and again."""
FOR_A_TIME = LazyPattern(
    r"\bfor (?:an?|the next|\w+) (?:days?|weeks?|months?)\b|\b(?:this (?:morning|afternoon|evening"
    r"|week|weekend|month|\w+day)|next (?:week(?:end)?|\w+day)|today|tonight|tomorrow|hoy|mañana"
    r"|la semana que viene|est[ae] (?:tarde|noche|semana|finde|fin de semana|mes|lunes|martes"
    r"|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo)"
    r"|(?:durante|por) (?:un|una|unos|unas|\w+) (?:d[ií]as?|semanas?|mes(?:es)?))\b",
    _I,
)
"""`No football for six weeks`: what is not so for a time is not over."""
_LIGHT_WORDS = (
    "start starts number número empiezo empieza nuevo nueva month months mes meses year years año"
    " años due"
)
"""Words that many facts share which are not about the same."""
_JOB = frozenset({"work", "profession", "role"})
_OWN_TEAM = LazyPattern(
    r"^(?:it['’]?s\b|it is|es\b"
    r"|(?:i|we|yo)(?:['’]?m| am)? (?:support|follow|play (?:for|in)|on\b|in\b|an? \w+ (?:fan"
    r"|supporter))"
    r"|(?:my|our|mi|nuestro) (?:\w+ )?(?:team|club|equipo)\b"
    r"|(?:yo )?(?:soy|sigo|juego en|voy con|le voy|apoyo)\b)",
    _I,
)
"""The team or club of the speaker."""
_OWN_JOB = LazyPattern(
    r"^(?:(?:i|we|yo|ahora) (?:\w+ ){0,2}?(?:works?|working|teach|(?:have|got) an? (?:\w+ )?job"
    r"|(?:run|own|manage) (?:an?|my|our|the))"
    r"|(?:llevo|regento|dirijo) (?:una?|mi)"
    r"|i['’]?m (?:now )?(?:an? |working|employed)|my (?:\w+ )?(?:job|work|employer|company)"
    r"|mi (?:trabajo|empresa)"
    r"|(?:yo |ahora )?(?:soy|trabajo|curro(?! (?:ha|es|tiene|se|va|viene|est[aá])\b)"
    r"|laburo|chambeo|tengo (?:un )?trabajo))\b",
    _I,
)
"""Job of the speaker, as opposed to a colleague, or to a run before work."""
_WORKS_AT = LazyPattern(
    r"^(?:now |ahora |ya )?(?:(?:i|we|yo) (?:now )?)?(?:work|trabajo|curro|laburo) (?:now |ahora )?"
    r"(?:at|for|in|as|en|para|de|como) (?!(?:the (?:morning|evening|afternoon)|home|house"
    r"|casa|\d|remot\w+|shifts?|turnos?|noches?|nights?|d[ií]as?|days?|tardes?|ma[ñn]anas?)\b)",
    _I,
)
"""Place or role of a new job, not its hours."""
_OWN_ORIGIN = LazyPattern(
    r"^(?:i|we|i['’]\w+|we['’]\w+)\b|^(?:yo |nosotros )?(?:soy|somos|nac\w+|me cri\w+|vengo)\b",
    _I,
)
"""Origin of the speaker, as opposed to a thing that they buy."""
TITLES = frozenset({"dr", "dra", "mr", "mrs", "ms", "doctor", "doctora", "don"})
_SPEAKER_NAMED = LazyPattern(
    r"^(?:i['’]?m|i am|my (?:\w+ )?(?:sur)?name|call me|me llamo|ll[aá]ma(?:me|rme)"
    r"|mi (?:nombre|apellido)|(?:yo )?soy)\b",
    _I,
)
_OWN_ADDRESS = LazyPattern(
    r"^(?:my|our|mi|nuestr[oa]) (?:(?:new|home|nuev[oa]) )?(?:address|home|house|flat|apartment"
    r"|place|direcci[oó]n|domicilio|casa|piso)\b",
    _I,
)
_STREET = LazyPattern(
    r"\b(?:street|road|avenue|lane|floor|flat|calle|avenida|plaza|piso|planta|portal)\b|\d", _I
)
"""Position of a home within a place: it does not contradict the place."""
_FAVOURITE = LazyPattern(r"\b(?:favou?rite|favorit[oa]s?|preferid[oa]s?)\b", _I)
"""A noun with it holds one value, whatever it is."""
_OWN_HOME = LazyPattern(
    r"^(?:since (?:\w+ ){1,3}?)?(?:i|we|i['’]\w+|we['’]\w+) (?:\w+ ){0,2}?"
    r"(?:lives?|living|vive|moved|based)\b"
    r"|^(?:i['’]m|i am|we['’]re) [^.;]{1,40}\bbased in\b"
    r"|^(?:desde (?:\w+ ){1,3}?)?(?:(?:yo|ahora|ya|me|nos|he|hemos|acabo de) )*"
    r"(?:vivo|vivimos|mud\w+)\b",
    _I,
)
"""Home of the speaker, whoever lives there, too."""
_SELF = LazyPattern(r"^(?:the user|el usuario|la usuaria)(?=['’:\s])", _I)
"""Names of the speaker in memories that a model or the learner wrote."""
_MARITAL = LazyPattern(
    r"\b(?:single\b|hitched|tied the knot|me cas|nos casamos"
    r"|seeing someone|dating|in a relationship|married|engaged|separated|divorced"
    r"|widowed|solter|casad|prometid|separad"
    r"|divorciad|viud)",
    _I,
)
_DIET = LazyPattern(
    r"\b(?:vegan[oa]?|vegetarian[oa]?|pescatarian|pescetarian[oa]|meat"
    r"|carne(?! de (?:conducir|identidad|socio)))\b",
    _I,
)
_WORKLESS = LazyPattern(
    r"\b(?:unemployed|(?<!get )(?<!gets )(?<!got )out of work|jobless|between jobs|en (?:el )?paro"
    r"|desemplead[oa]|sin trabajo)\b",
    _I,
)
"""A person has no work."""
_WORKS = LazyPattern(
    r"^(?:i|i['’]ve)(?: now| just)? (?:work|started|start) (?:at|for|as|working|work)\b"
    r"|\b(?:got|landed|found|start(?:s|ed)) (?:(?:an?|the|some|her|his) )?(?:new )?(?:\w+ )?"
    r"(?:job|work)\b"
    r"|^(?:ahora )?(?:trabajo (?:de|en|para|como)|empec[eé] a trabajar)\b"
    r"|\b(?:ha|han|he)? ?(?:encontr(?:ado|é|ó)|consegu(?:ido|í|i[óo])|empezado)"
    r" (?:(?:un|otro|de nuevo) )?(?:trabajo|curro|empleo|chamba|laburo)\b"
    r"|\bl[aeo] (?:(?:han |ha )?(?:contratad[oa]|cogid[oa])|contrataron|contrató|cogieron)"
    r" (?:en|de|como)\b",
    _I,
)
"""A person has work."""
COUPLE = frozenset({"girlfriend", "boyfriend", "wife", "husband"})
"""Beings that the end of a relationship is about: `my girlfriend and I split up`."""
RESTATED_SHARE = 0.8
"""Minimum share of a fact's concepts that a sentence has that states the same."""
_SPEAKER = LazyPattern(r"^(?:the user|user|el usuario|la usuaria|you|t[uú]|usted)(?=['’:\s])", _I)
_LEAD_IN = LazyPattern(
    r"^[^,:;.!?]{1,30}[,:;] (?=(?:you|your|t[uú]|tus?|usted|vives|trabajas|tienes|eres)\b)",
    _I,
)
"""`Noted: you live in Rome`."""
_POSSESSIVE = LazyPattern(r"\b(?:your|tus?)\b", _I)


@lru_cache(maxsize=20_000)
def replaces(new: Statement, old: str) -> bool:
    """Check whether a new statement ends the validity of an older one. Cached: the statements of a
    conversation are compared again in each of its turns.

    The first rule that applies decides: it names the one that it corrects; it says the same, or
    adds something; one of them is reported, or the new one a plan; an event ends the other (`we
    broke up`); one denies what the other says; a correction has the same noun; they are about
    different beings. Then the older one is replaced by an opposite taste, by another word of an
    exclusive class, or by another value about the same topic. In doubt both stay: a second fact is
    less harm than a lost one.
    """
    if new.replaced:
        is_meant = old == new.replaced or _has_departed(new.text, old)
        return is_meant or _is_other_home(new.text, old)
    if _are_current_and_best(new.text, old) or tell_of_two_things(new.text, old):
        return False
    is_of_one = _LISTS_BEINGS.match(old) and subject_name(new.text)
    if (is_of_one and not features(new.text).is_denial) or _are_on_other_days(new, old):
        # "My son Gus is 9" changes nothing of "we've got two sons: Gus and Ned".
        return False
    if _has_next_of_kind(new, old):
        return True
    if has_other_topic(new.text, old) and not (is_event(new.text) or is_denial(new.text)):
        return False
    return not are_about_different_beings(new.text, old) and _replaces_by_rule(new, old)


def _are_on_other_days(new: Statement, old: str) -> bool:
    """Check whether two statements with the same beginning tell different things of different days:
    `I work at Greggs on Saturdays`, `I work at the library on Sundays`."""
    if _begin_of(new.text) != _begin_of(old) or new.is_change or is_changed(new.text):
        return False
    (days, one), (other_days, other) = (
        ({found[0].lower().rstrip("s") for found in _DAYS.finditer(text)}, _DAYS.sub("", text))
        for text in (new.text, old)
    )
    words, other_words = stems_of(one), stems_of(other)
    is_of_other = bool(words - other_words and other_words - words)
    return bool(days and other_days) and days.isdisjoint(other_days) and is_of_other


def _begin_of(text: str) -> list[str]:
    return text.lower().split()[:2]


_DAYS = LazyPattern(rf"\b(?:{WEEKDAYS})\b", _I)
_LISTS_BEINGS = LazyPattern(
    r"(?:(?:i|we)(?:['’]ve(?: got)?| have(?: got)?)|tengo|tenemos) [^\W\d_]+ [^\W\d_]+: ", _I
)


def _replaces_by_rule(new: Statement, old: str) -> bool:
    new = replace(new, text=REASON.sub("", new.text))
    old_in_first_person = _SELF.sub("I", old)
    ends_it = _has_successor(new.text, old) or _is_back(new.text, old) or says_done(new.text, old)
    ends_it = ends_it or _has_other_hair(new.text, old) or _has_first_of_kind(new.text, old)
    ends_it = ends_it or _lives_with_others(new.text, old)
    if ends_it or _is_other_plan(new, old_in_first_person):
        return True
    one, other = features(new.text), features(_SINCE.sub("", old_in_first_person))
    is_apart = one.is_reported or one.is_plan or other.is_reported
    is_apart = is_apart or tells_difference(new.text) or says_other_done(new.text, old)
    if is_apart or is_beside(new.text, old_in_first_person):
        return False
    if ends(new.text, other.concepts) and ends(new.text, other.concepts - _unsaid(old)):
        return _is_ended_by(new.text, old, one, other)
    if one.is_ended and is_end_of_another(new.text, old):
        return False
    if one.is_denial != other.is_denial:
        denial = new.text if one.is_denial else ""
        is_of_same = not _are_personal(new.text, old, one.topic & other.topic)
        return _has_departed(denial, old) or (is_of_same and _is_negation(denial, old, one, other))
    if new.is_correction and _has_same_noun(new.text, old):
        return True
    return not _is_about_another(new.text, old) and (
        _is_other_taste(one, other)
        or _has_other_word(new, old, one)
        or (
            _is_same_topic(new, old, one, other)
            and _has_same_holder(new, old_in_first_person, one, other)
            and _has_other_value(new, old, one, other)
        )
    )


def _are_current_and_best(new: str, old: str) -> bool:
    """Check whether one of two texts tells what is being read or watched, and the other one what is
    liked most: `I'm reading Emma`, `my favourite book is Ulysses`."""
    return any(
        _BEING_READ.search(one) and _LIKED_MOST.search(other)
        for one, other in ((new, old), (old, new))
    )


_BEING_READ = LazyPattern(r"\b(?:reading|watching|halfway|leyendo|viendo|leo|vemos)\b", _I)
_LIKED_MOST = LazyPattern(r"\b(?:favou?rite|fave?|best|favorit\w+|preferid\w+|que m[aá]s)\b", _I)


def _is_other_home(new: str, old: str) -> bool:
    """Check whether a statement tells a home of the speaker, and an older one another home that was
    left open: `the user lives in Madrid` beside `I live in Madrid`."""
    old = _SELF.sub("I", old)
    are_own = _OWN_HOME.match(new) and (_OWN_HOME.match(old) or _MOVES_OWN.match(old))
    if not are_own:
        return False
    names = [features(text).values_of(ValueType.NAME) or frozenset() for text in (new, old)]
    return bool(names[0] and names[1]) and not names[0] & names[1]


_MOVES_OWN = LazyPattern(r"^(?:i|we|i['’]ve|we['’]ve|me|nos) .*\b(?:moved|relocated|mud\w+)\b", _I)


def _has_next_of_kind(new: Statement, old: str) -> bool:
    """Check whether a statement of a change has another value of a relation of which a person has
    one at a time, in whatever words: `Duke does our electricity now` after `I get my power from
    Octopus, fixed tariff`."""
    shared = features(new.text).topic & features(old).topic & _ONE_AT_A_TIME
    is_said = new.is_change or new.is_correction or _BECOMES.search(new.text)
    if not shared or not (is_said or shared & _OF_THE_BODY):
        return False
    news = dict.fromkeys((without_aside(new.text), new.text))
    olds = dict.fromkeys((without_aside(old), old))
    return any(_is_next_of_kind(text, before) for text in news for before in olds)


def _is_next_of_kind(new: str, old: str) -> bool:
    shared = features(new).topic & features(old).topic & _ONE_AT_A_TIME
    if not shared or not _are_present(new, old, shared) or not _are_of_one(new, old, shared):
        return False
    new_values, old_values = (_values_of(shared, text) for text in (new, old))
    if any(map(_is_year, new_values)) != any(map(_is_year, old_values)):
        # "The mortgage ends in 2031", "the mortgage is 850".
        return False
    return bool(new_values and old_values) and not new_values & old_values


def _are_present(new: str, old: str, shared: frozenset[str]) -> bool:
    """Check whether two statements tell what is so, of the same beings."""
    one, other = features(new), features(old)
    if is_beside(new, old) or one.is_plan or other.is_past:
        return False
    if any(said.is_reported or said.is_negated or said.is_ended for said in (one, other)):
        return False
    return not (one.beings ^ other.beings) - shared - {"friend"}


def _are_of_one(new: str, old: str, shared: frozenset[str]) -> bool:
    """Check whether two statements tell a relation of one thing and bearer."""
    if names_other_of_kind(new, old):
        return False
    if (features(new).concepts ^ features(old).concepts) & _OF_ONE_ONLY:
        return False
    bare = _NOW_FIRST.sub("", new)
    if not shared & _WITH_PERSON - {"name"} and (
        _is_only_one_of_speaker(bare, old) or have_different_bearers(bare, old)
    ):
        return False
    if shared & _WITH_PERSON:
        return not _describes_person(old)
    is_of_other_kind = shared & _WITH_NUMBER and measures_otherwise(new, old)
    return not is_of_other_kind and not _is_of_named(bare, old, shared)


_OF_ONE_ONLY = frozenset({"password", "teach", "bank", "account"})
"""Concepts that tell two facts with the same relation apart: the provider of the wifi and its
password, what a person plays and teaches, what is saved for and where."""


def _is_year(value: str) -> bool:
    return is_year(frozenset({value}))


def _is_of_named(new: str, old: str, shared: frozenset[str]) -> bool:
    """Check whether a statement with a number, day or word is about a named being or thing, and an
    older one is not: `Ann has the spare key`; `Spotify costs 12`, `Netflix costs 10`."""
    if shared & _WITH_NAME:
        return False
    bearer = bearer_of(new) - SPEAKER
    names = [features(text).values_of(ValueType.NAME) or frozenset() for text in (new, old)]
    are_two = bool(shared & _WITH_NUMBER) and all(names) and not names[0] & names[1]
    return bool(bearer - bearer_of(old)) or are_two


def _describes_person(text: str) -> bool:
    """Check whether a statement tells something else of a person than the name: `my flatmate Tom is
    vegan`."""
    found = COPULA.match(text)
    return found is not None and bool(_persons(found["noun"])) and not _persons(found["tail"])


def without_aside(text: str) -> str:
    """The part of a statement that has its value: `my rent is £925` of `my rent is £925, bills not
    included`."""
    first = _ASIDE.split(text, maxsplit=1)[0]
    return first if len(first.split()) >= MIN_WORDS else text


_ASIDE = LazyPattern(r"[,;] | but | pero ")
MIN_WORDS = 2
"""Minimum number of words of a part that is a statement: `Rent's £925`."""


def _values_of(relations: frozenset[str], text: str) -> frozenset[str]:
    """The values of a relation of which a person has one at a time, in lower case."""
    said = features(text)
    if relations & _WITH_PERSON:
        return _persons(text)
    if said.beings:
        return frozenset()
    if relations & _WITH_NAME:
        first = _FIRST_NAME.match(text)
        names = {first[0].lower()} if first and not concepts_of(first[0]) & relations else set()
        return (said.values_of(ValueType.NAME) or frozenset()) | names
    if relations & _WITH_DAY:
        return said.values_of(ValueType.DAY) or frozenset()
    if relations & _WITH_NUMBER and not _LONG_NUMBER.search(text):
        return frozenset(one[0].lower() for one in _COUNTED.finditer(text))
    if "blood" in relations:
        return frozenset(one[0].lower() for one in _BLOOD.finditer(text))
    kinds = relations & (_WITH_MEMBER | _WITH_WORDS)
    return frozenset(
        word
        for word in split_words(_BECOMES.sub(" ", text))
        if kinds and _is_value_of(kinds, word, concepts_of(word))
    )


def _is_value_of(kinds: frozenset[str], word: str, concepts: frozenset[str]) -> bool:
    """Check whether a word may be the value of a relation: a breed, or any word that is neither the
    relation's nor one of those that stand beside every value."""
    if kinds & _WITH_MEMBER:
        return bool(concepts & kinds) and word not in _NOUNS_OF_MEMBERS
    return bool(concepts) and not concepts & (kinds | light() | _BESIDE_VALUES)


_LONG_NUMBER = LazyPattern(r"\d{4,} ?\d{3,}")


def _persons(text: str) -> frozenset[str]:
    """Names of persons in a text, in lower case, without places: `in Rome`."""
    return frozenset(one["name"].lower() for one in _PERSON.finditer(text)) - TITLES


_PERSON = LazyPattern(
    r"(?<!\bto )(?<!\bin )(?<!\bat )(?<!\bfrom )(?<!\ben )(?<!\ba )(?<![.!?] )\b"
    r"(?P<name>(?!(?:I|My|Our|The|We|Mi|El|La|Ahora|New|Next|At|On|They)\b)[A-ZÀ-Þ][^\W\d_]+)"
)
_COUNTED = LazyPattern(
    r"\d[\d.,:]*|\b(?:an hour|half an hour|una hora|media hora|first|second|third|fourth|fifth"
    r"|sixth|seventh|eighth|ninth|tenth|ground|top|primer[oa]?|segund[oa]|tercer[oa]?|cuart[oa]|quint[oa]"
    r"|sext[oa]|s[eé]ptim[oa]|octav[oa]|noven[oa]|d[eé]cim[oa]|bajo|[aá]tico)\b",
    _I,
)
_BECOMES = LazyPattern(
    r"\b(?:switch\w*|chang\w+|swapp\w+|mov(?:ed|ing)|upgrad\w+|renewed|reset|shifted|handed"
    r"|re(?:book|schedul|nam|train|test|program|plac|assign)\w*|become|different|turns out|in fact"
    r"|should be|correct\w*|tak(?:en|es|ing) over|took over|instead|bumped"
    r"|gone (?:up|down|to|over)"
    r"|cambi\w+|mud\w+|pas[éoa]\w* a|renov\w+|en vez de|mov(?:í|ió|imos|ieron|ido)|alarg\w+"
    r"|sub(?:í|imos|ió|ieron)|actuali[cz]\w+|corrig\w+|resulta que|en realidad|acabo de|me hice"
    r"|asign\w+|reprogram\w+|real es|diferente|ido a vivir)\b"
    # "My new landlord is Ann", but not "I opened a new account".
    r"|^(?:my|our|the|mi|el|la|nuestr[oa]) (?:new|nuev[oa]) |^(?:el|la|mi) \w+ nuev[oa] ",
    _I,
)
_FIRST_NAME = LazyPattern(r"(?-i:[A-Z])\w+(?= [a-z]+s )")
"""`Octopus sends me the bill`."""
_WITH_PERSON = frozenset({
    "bestfriend", "boss", "landlord", "name", "nickname", "roommate",
})  # fmt: skip
_WITH_NAME = frozenset({
    "bank", "book", "computer", "electricity", "employer", "film", "gym", "hotel", "insurance",
    "laptop", "optician", "read", "series", "team", "vet", "wifi",
})  # fmt: skip
_WITH_DAY = frozenset({
    "anniversary", "dental", "dentist", "drivingtest", "haircare", "licence", "sing",
})  # fmt: skip
_WITH_NUMBER = frozenset({
    "age", "commute", "floor", "height", "locker", "mortgage", "rent", "salary", "graduation",
    "shoe", "subscription",
})  # fmt: skip
_WITH_MEMBER = frozenset({"breed", "diet", "instrument", "phone", "subject"})
_WITH_WORDS = frozenset({"blood", "coffee", "save", "sparekey"})
"""Relations of which a person has one at a time, with the name of a person, the name of a firm or
the like, a day, a number, a word of the concept, or any other words."""
_OF_THE_BODY = frozenset({"blood", "shoe"})
"""Those of them that never have a second value, so that another one is a correction."""
_BLOOD = LazyPattern(
    r"(?<![\w-])(?:(?:(?-i:AB?|B|O)|0|cero|zero) ?(?:positiv[eo]|negativ[eo]|pos|neg)\b"
    r"|(?-i:AB?|B|O|0)[+-])",
    _I,
)
_ONE_AT_A_TIME = _WITH_PERSON | _WITH_NAME | _WITH_DAY | _WITH_NUMBER | _WITH_MEMBER | _WITH_WORDS
_NOUNS_OF_MEMBERS = frozenset({
    "breed", "raza", "diet", "dieta", "instrument", "instrumento", "subject", "degree", "major",
    "carrera", "grado", "asignatura", "meat", "carne", "phone", "mobile", "cell", "cellphone",
    "telephone", "telefono", "teléfono", "móvil", "movil", "celular", "cel", "celu", "smartphone",
})  # fmt: skip
"""Words of the concepts of _WITH_MEMBER that name the relation, and are no value of it."""
_BESIDE_VALUES = frozenset({
    "buy", "drink", "evening", "goal", "home", "key", "like", "morning", "place", "price", "want",
})  # fmt: skip
"""Concepts of words that stand beside the values of _WITH_WORDS."""


def _is_other_plan(new: Statement, old: str) -> bool:
    """Check whether a correction is a plan or a wish with the verb of an older one (`I want to
    study law`), or a change of what a person wants to be."""
    after, before = _PLANNED.match(new.text), _PLANNED.match(old)
    is_same_verb = after and before and after[0].lower() == before[0].lower()
    if new.is_correction and is_same_verb:
        return True
    are_ambitions = _WANTS_TO_BE.search(new.text) and _WANTS_TO_BE.search(old)
    bearer = bearer_of(_NOW_FIRST.sub("", new.text))
    return new.is_change and bool(are_ambitions and bearer & bearer_of(old))


_PLANNED = LazyPattern(
    r"(?:i want to|i['’]d like to|i['’]m (?:going|planning|hoping) to|we['’]re going to|quiero"
    r"|queremos|me gustar[ií]a|voy a|vamos a|pienso) [\w-]+(?= )",
    _I,
)


_WANTS_TO_BE = LazyPattern(r"\b(?:wants? to (?:be|become)|quier[eo] ser)\b", _I)


def is_beside(new: str, old: str) -> bool:
    """Check whether a new statement says the same as an older one, adds something, or is about
    another being."""
    is_added = ADDITION.search(new) or INTRODUCES.search(new) or value_key(new) == value_key(old)
    return bool(is_added) or is_only_one_former(new, old) or is_of_another(new, old)


def is_only_one_former(new: str, old: str) -> bool:
    """Check whether one of two statements is about a former person or thing, and the other one
    about the present one: `my first wife was called Joan`, `my wife's called Mabel`."""
    return bool(FORMER.search(new)) != bool(FORMER.search(old))


def _is_ended_by(event: str, old: str, one: Features, other: Features) -> bool:
    """Check whether an event ends an older statement that has a concept which it ends."""
    is_same_end = other.is_ended and ends(old, other.concepts)
    # "I share a flat with two girls" tells of no couple.
    is_of_others = ends(event, frozenset({"partner"})) and other.beings - COUPLE
    if holds_without_companion(event, old) or is_same_end or is_of_others:
        return False
    # A degree ends no lessons of Welsh, and not that I studied biology.
    was_learnt = other.is_past or other.concepts & _LEARNT or _STUDIED.match(old)
    is_learnt = was_learnt and ends(event, frozenset({"study"}))
    if is_learnt or is_end_of_another(event, old):
        return False
    if "pregnant" in other.concepts and ends(event, frozenset({"pregnant"})):
        # "My niece was born": the child is never the one who was pregnant.
        return not (one.subject & other.beings - other.subject)
    subject, being = leading_noun(old), leading_noun(event)
    of_being = concepts_of(being.text) & kin() if being else frozenset()
    if of_being and not of_being & other.concepts:
        # "Mum's out of hospital" says nothing of the speaker's thyroid.
        return False
    if subject and subject.is_named and not being and subject.text not in event:
        # "I came off it" says nothing of Mia's inhaler.
        return False
    if names_other_medicine(event, old):
        return False
    if other.concepts & _LASTING and ends(event, frozenset({"hospital"})):
        # Appointments and tablets go on after a stay in hospital.
        return False
    # "Mum came home" ends nothing of her work at the hospital.
    is_of_job = bool(other.concepts & _JOB) and not ends(event, _JOB)
    # "Le dieron el alta a mamá": she is no subject, but the only being.
    subjects = ((said.subject & said.beings or said.beings) - COUPLE for said in (one, other))
    # What was mended need not be what was broken.
    shared = one.topic & other.topic - {"break", "breakdown", "lose", "steal", "lend", "owe"}
    is_named = bool(one.names & other.names)
    is_about_it = is_named or bool(other.concepts & _OF_SUBJECT or shared)
    return len(set(subjects)) == 1 and not is_of_job and is_about_it


_LEARNT = frozenset({"speak", "instrument"})
_STUDIED = LazyPattern(
    r"^(?:i (?:studied|did|read|went to|majored)|estudié\b|hice (?:la|una) carrera|fui a la uni"
    r"|me (?:form|titul|licenci)é\b|tengo (?:el|un) (?:grado|t[ií]tulo))",
    _I,
)


def names_other_medicine(new: str, old: str) -> bool:
    """Check whether a text names a medicine that an older statement about another one does not:
    when one is stopped or changed, the others are still taken."""
    named = _medicines(new)
    return bool(named) and not named & value_key(old)


@lru_cache(maxsize=2000)
def _medicines(text: str) -> frozenset[str]:
    """The names of the medicines in a text: known ones, and what has a dose. Cached, since
    statements are compared again and again."""
    known = {word for word in value_key(text) if "medicine" in concepts_of(word)}
    dosed = value_key(" ".join(one["name"] or one["name2"] for one in _DOSED.finditer(text)))
    kinds = value_key(" ".join(one["name"] for one in _TABLETS.finditer(text)))
    return frozenset((known | dosed | kinds) - WORDS_FOR_MEDICINE)


_TABLETS = LazyPattern(
    r"\b(?P<name>(?!the\b|my|these|those|his|her|some|any|all|both|two|three|more|other|new|old)"
    r"[a-z]{4,}) (?:tablets?|pills?|capsules?)\b",
    _I,
)
"""`Iron tablets`."""


def holds_without_companion(event: str, old: str) -> bool:
    """Check whether a statement tells more than what the event ends: `I live in Rome with my
    girlfriend` after a separation."""
    rest = _COMPANION.sub("", old)
    return (
        rest != old
        and bool(features(rest).values)
        and not ends(event, concepts_of(rest))
        and bool(features(rest).topic & {"home", "work", "study"})
    )


WORDS_FOR_MEDICINE = frozenset({
    "antibiotic", "antibiotics", "antidepressant", "antidepressants", "course", "dose", "doses",
    "drug", "drugs", "medication", "medications", "medicine", "medicines", "meds", "mg",
    "painkiller", "painkillers", "pill", "pills", "prescription", "tablet", "tablets", "treatment",
    "vitamins", "antibiotico", "antibioticos", "comprimido", "comprimidos", "dosis", "medicacion",
    "medicamento", "medicamentos", "medicina", "medicinas", "remedio", "remedios", "remedy",
    "pastilla", "pastillas", "tratamiento",
})  # fmt: skip
"""Words for any medicine."""
_DOSED = LazyPattern(
    r"\b(?!tak(?:e|es|ing)\b|took\b|tom(?:o|a|ar|aba)\b)(?P<name>[^\W\d_][\w-]{3,}),?"
    r" \d[\d.,]* ?(?:mg|mcg|µg)\b"
    r"|\d ?(?:mg|mcg|µg) (?:of |de )?(?P<name2>[^\W\d_][\w-]{3,})",
    _I,
)
_COMPANION = LazyPattern(
    r",? (?:with|con) (?:my|our|his|her|mi|nuestr[oa]|su) [\w-]+(?: (?-i:[A-ZÀ-Þ])[\w-]+)*", _I
)
_WITHOUT = LazyPattern(r"\b(?:without|sin) (?P<thing>[^,;]+)$", _I)
_OF = LazyPattern(r" (?:de|del|of) ")


def _has_departed(new: str, old: str) -> bool:
    """Check whether the person of an older statement about a service has left: `my cleaner Ivy
    charges £12`, `Ivy retired`."""
    found = _DEPARTED.match(new)
    subject = leading_noun(old)
    if not found or not subject or subject.is_named or found["name"] not in subject.text:
        return False
    concepts = concepts_of(subject.text)
    return bool(concepts) and not concepts & kin() and old.lower().startswith(("my ", "our "))


def _has_successor(new: str, old: str) -> bool:
    """Check whether another person has taken over the service that an older statement tells: `we
    found another cleaner, Ivy was too dear`."""
    found, subject = _ANOTHER.search(new), leading_noun(old)
    if not found or not subject or not old.lower().startswith(("my ", "our ")):
        return False
    role = concepts_of(found["role"])
    is_named = any(word in value_key(new) for word in value_key(subject.text) - value_key(found[0]))
    return "profession" in role and bool(role & concepts_of(subject.text)) and is_named


def _has_other_hair(new: str, old: str) -> bool:
    """Check whether the speaker had cut or dyed the hair of which an older statement tells."""
    is_cut = _HAIR_CUT.search(new) and not features(new).beings
    return bool(is_cut and "haircolour" in features(old).topic and not features(old).beings)


def _lives_with_others(new: str, old: str) -> bool:
    """Check whether a being has moved in with the speaker, who lived alone."""
    return bool(_LIVES_ALONE.match(old) and _MOVED_IN.search(new))


_LIVES_ALONE = LazyPattern(r"^(?:i live (?:alone|by myself|on my own)|vivo sol[oa])\b", _I)
_MOVED_IN = LazyPattern(
    r"\bmoved in with me\b|\bse (?:vino|ha venido|mud[oó]|ha mudado) (?:a vivir )?conmigo\b", _I
)
_HAIR_CUT = LazyPattern(
    r"\b(?:had|got) my hair (?:cut|dyed|chopped|done)"
    r"|\b(?:cut|dyed|shaved|chopped) (?:off )?(?:all )?my (?:hair|head)\b"
    r"|\bme (?:he )?(?:cort(?:é|ado)|ti[ñn]e?(?:í|ido)|dej(?:é|ado)) (?:el )?pelo\b"
    r"|\bme (?:he )?rap(?:[eé]|ado)\b",
    _I,
)


def _has_first_of_kind(new: str, old: str) -> bool:
    """Check whether a being has got what an older statement says that it has none of: `we adopted a
    greyhound` after `we have no pets`."""
    if not (_HAS_NONE.search(old) and _GETS_ONE.search(new)):
        return False
    none_of, got = concepts_of(old), concepts_of(new)
    of_kind = none_of & got & {"pet", "child", "car", "bike", "phone", "job"}
    of_kind |= got & _ANIMALS if "pet" in none_of else frozenset()
    return bool(of_kind) and not have_different_bearers(new, old)


_ANIMALS = frozenset({"cat", "dog", "hamster", "horse", "parrot", "rabbit", "tortoise"})
_HAS_NONE = LazyPattern(
    r"\b(?:(?:have|has|got|own|owns) no"
    r"|(?:don|doesn|haven|hasn)['’]?t (?:have|got|own)(?: any| an?)?"
    r"|no (?:tengo|tiene|tenemos|tienen)) [\w-]+",
    _I,
)
_GETS_ONE = LazyPattern(
    r"\b(?:adopted|got|bought|gave birth|had an?|has adopted|adopt(?:é|ó|amos|ado)"
    r"|compr(?:é|ó|amos|ado)|tuv(?:e|o|imos)|tenido)\b",
    _I,
)


def _is_back(new: str, old: str) -> bool:
    """Check whether somebody is back from where an older statement says that they are."""
    found = _BACK.match(new)
    if not found or not _AWAY.search(old):
        return False
    who = value_key(found["who"]) - {"my", "our"}
    return bool(who) and who <= value_key(old) and value_key(found["place"]) <= value_key(old)


_BACK = LazyPattern(
    r"^(?P<who>(?:(?:my|our) )?[\w-]+(?: [\w-]+)?)(?:['’](?:s|m|re)| is| am| are) (?:home|back)"
    r"(?: home)? from (?:the )?(?P<place>[\w-]+)",
    _I,
)
_AWAY = LazyPattern(
    r"(?:['’](?:s|m|re)|\b(?:is|am|are|gone|went|flew)) (?:away )?(?:in|to|at)\b", _I
)
_ANOTHER = LazyPattern(
    r"^(?:i|we)(?:['’]ve| have)? (?:found|got|hired|chosen|chose|switched to|changed to|have)"
    r" (?:another|an? (?:new|different)) (?P<role>[\w-]+)",
    _I,
)
_DEPARTED = LazyPattern(
    r"^(?:(?:my|our) [\w-]+ )?(?P<name>(?-i:[A-Z])[\w-]+)(?: (?-i:[A-Z])[\w-]+)?(?:['’]s| has)? "
    r"(?:retired|resigned|quit(?! \w)|moved away|died|passed away|gone)\b",
    _I,
)


def is_end_of_another(new: str, old: str) -> bool:
    """Check whether something is over for a being that the older statement does not name: `Ann left
    the clinic` says nothing of the clinic's address."""
    subject = leading_noun(new)
    if companions := _AND_I.match(new):
        # "Ann and I broke up" says nothing of Eve.
        named = features(old).names
        return bool(named) and not named & value_key(companions[0])
    if subject is None or not subject.is_named or _DONE_TO_SPEAKER.search(new):
        return False
    return not value_key(subject.text) - TITLES <= value_key(old)


_DONE_TO_SPEAKER = LazyPattern(
    r"\b(?:took|taken|taking) me off\b|\bme (?:ha |han )?(?:quit|retir)\w+", _I
)


def _unsaid(text: str) -> frozenset[str]:
    """Relations that only an expression of several words suggests: `soy zurda` may name a job."""
    return phrase_concepts(text) - concepts_of(" ".join(split_words(text)[1:]))


def _is_about_another(new: str, old: str) -> bool:
    """Check whether two statements are about different beings or things."""
    if are_two_of_a_kind(new, old) or bool(AT_WORK.search(new)) != bool(AT_WORK.search(old)):
        return True
    if _medicines(old) and names_other_medicine(new, old):
        return True
    if bool(role_in_state(new)) != bool(role_in_state(old)) or names_other_of_kind(new, old):
        return True
    if _IS_CALLED.search(new) and is_named_aside(old):
        # "My new neighbour is called Ana" does not end "my neighbour Tom is a vet".
        return True
    one, other = features(new), features(old)
    is_name = "name" in one.topic & other.topic
    if is_name and _is_of_speaker(new, one) != _is_of_speaker(old, other):
        # "My assistant is called Ana" is not the name of the one who says so.
        return True
    subject = leading_noun(new)
    if subject and subject.is_named and _is_of_speaker_alone(old):
        # "Sonia is 40 on Friday" says nothing of my birthday.
        is_of_each = one.topic & other.topic & (_PERSONAL | {"birthday", "age"})
        if is_of_each and value_key(subject.text).isdisjoint(value_key(old)):
            return True
    is_own_home = _OWN_HOME.match(new) and _OWN_HOME.match(_SELF.sub("I", old))
    # "The spare key is with our neighbour" tells of the key.
    is_same = is_own_home or _are_of_same_thing(new, old)
    # "Mum moved in with my brother" tells of her.
    beings = (features(_COMPANION.sub("", text)).beings for text in (new, old))
    return len(set(beings)) > 1 and not is_same


def _are_of_same_thing(new: str, old: str) -> bool:
    """Check whether two statements tell what the same thing is, or where."""
    one, other = _noun_concepts(new), _noun_concepts(old)
    return one is not None and bool(one) and one == other and not one & kin()


def _noun_concepts(statement: str) -> frozenset[str] | None:
    """Concepts of the noun of which a statement tells what, or where, it is; None without one."""
    found = COPULA.match(statement)
    return concepts_of(found["noun"]) if found else None


def is_named_aside(statement: str) -> bool:
    """Check whether a statement tells more of a being than the name beside its noun: `my flatmate
    Eve works nights`."""
    subject = leading_noun(statement)
    return subject is not None and bool(_OWN_BEING.match(subject.text))


_IS_CALLED = LazyPattern(r"(?:['’]s| is| are)(?: now)? (?:called|named)\b|\bse llaman?\b", _I)
_OWN_BEING = LazyPattern(
    r"^(?:my|our|the|mi|nuestr[oa]|el|la) (?:[\w-]+ )+(?-i:[A-ZÀ-Þ])[\w-]+$", _I
)


def role_in_state(text: str) -> str:
    """The words for a boss, doctor or the like of whom a statement tells what concerns themselves
    only: `my boss has five children`, but not `my doctor put me on iron`; else empty."""
    found = None if _OF_SPEAKER.search(text) else _STATE_OF_ROLE.match(text)
    return found["role"] if found else ""


def _are_personal(new: str, old: str, shared: frozenset[str]) -> bool:
    """Check whether two statements tell what each of two people has, eats or likes for themselves:
    `I'm vegetarian`, `my wife can't eat shellfish`."""
    subjects = leading_noun(new), leading_noun(old)
    of = [concepts_of(one.text) & kin() if one and one.is_being else None for one in subjects]
    is_known = frozenset() not in of and not (subjects[1] and subjects[1].text in new)
    return bool(shared & _PERSONAL) and is_known and of[0] != of[1]


_PERSONAL = frozenset({"allergy", "diet", "like", "dislike", "smoke", "illness", "home", "work"})
"""Relations of each person apart: one's diet says nothing of another's."""


def _is_negation(denial: str, old: str, one: Features, other: Features) -> bool:
    """Check whether a new statement denies an older one, or the other way round: the older one has
    most concepts of the new one, or of the part of it that denies (`denial`: its text). What is not
    so for once ends no habit: `no rehearsal this weekend`."""
    if is_sought(denial) or (FOR_A_TIME.search(denial) and HABIT.search(old)):
        return False
    if any(_is_some_of(denial, items) for items in lists_of(old)):
        # One of two medicines is over.
        return False
    is_debt = "owe" in other.concepts and "owe" not in one.concepts
    if denial and (is_debt or names_other_medicine(denial, old)):
        return False
    if denial and not is_changed(denial):
        # "I can't have it (peanuts)" says nothing new of peanuts, "I no longer have it" does.
        denial = NOTE.sub("", denial)
    if denial and denies_other_thing(denial, old):
        return False
    core = (concepts_of(given_thing(ended_part(denial))) if denial else one.concepts) - general()
    if denial and (found := _WITHOUT.search(denial)):
        core = concepts_of(found["thing"]) - general()
    if (subject := leading_noun(denial)) and subject.is_being and not _IS_GONE.search(denial):
        # "Ana quit her job" ends nothing else that is known of Ana.
        core = core - concepts_of(subject.text) or core
    shared = (core & other.concepts) - {"like", "dislike"}
    return bool(shared) and len(shared) >= NEGATION_SHARE * len(core)


_IS_GONE = LazyPattern(
    r"\b(?:die[ds]?|dead|passed away|moved (?:out|away)|r[au]n (?:away|off)|retired|resigned"
    r"|(?:gone|left|sold|rehomed)(?=$|[,.;!]| (?:yesterday|last|this|in|now|us|for)\b)"
    r"|put (?:down|to sleep)|muri(?:ó|eron)|muert[oa]s?|falleci\w+|escap\w+|jubil\w+"
    r"|se (?:ha|han) ido|se (?:fue|fueron|march\w+)(?=$|[,.;!]| (?:ayer|el|hace|de casa)\b))",
    _I,
)
"""A being is gone, and not only something of it: nothing that was told of it holds."""


def lists_of(text: str) -> list[list[str]]:
    """The last words of the things that a text has in lists: `nuts`, `milk` of `allergic to nuts
    and to milk`."""
    return [
        [
            found["first"],
            *(one["item"] for one in _MORE_ITEM.finditer(found["more"])),
            found["last"],
        ]
        for found in _LIST.finditer(text)
    ]


def _is_some_of(denial: str, items: Sequence[str]) -> bool:
    """Check whether a denial names some things of a list of one kind, and not the others."""
    named = value_key(denial)
    known = [{each for each in concepts_of(word) if is_concept(each)} for word in items]
    # Names of medicines are seldom known.
    is_of_kind = bool(frozenset.intersection(*map(frozenset, known))) or not all(known)
    return is_of_kind and len({value_key(one) <= named for one in items}) > 1


def is_unrelated(message: str, clause: str, new: Statement) -> bool:
    """Check whether a clause has nothing to do with the older statement that it would change: that
    neither it nor the message before it (`message`, with the clause) names its topic, one of its
    names, or the value that is replaced."""
    old = _SINCE.sub("", new.replaced)
    other, ended = features(old), " ".join(map(ended_thing, ended_parts(clause)))
    # "They can't make Saturday, so dinner's on Sunday": the dinner.
    over = features(ended if any(map(is_concept, features(ended).topic)) else message)
    named = over.topic - light() - _OF_ANYTHING
    if not any(map(is_concept, named)):
        # "I went over to Lebara, 9 a month": the price is the topic.
        named |= over.concepts & {"price"}
    is_of_names = bool(over.names and other.names)
    if features(message).is_ended and is_of_names and not value_key(message) & other.names:
        # "Dr Ruiz retired" says nothing of Dr Soler.
        return True
    if _is_of_other_being(old, message) and _is_of_speaker_alone(message):
        # "I don't drink coffee" says nothing of the colleague who brings it.
        return not named & other.concepts & _DATED
    if _PREFER.search(clause) and _PREFER.search(old):
        return False
    dated = (other.values_of(kind) or frozenset() for kind in (ValueType.DAY, ValueType.TIME))
    values = value_key(old) - value_key(new.text) - frozenset().union(*dated)
    if value_key(message) & values:
        return False
    if not named & other.concepts and not over.names & other.names:
        return True
    # "We changed the wifi password" says nothing of the PIN.
    what = named - _CODES if named & _CODES else frozenset()
    is_of_other = bool(what) and not what & other.concepts
    return is_of_other or (is_denial(clause) and _denies_another(clause, named, old))


def has_other_topic(message: str, old: str) -> bool:
    """Check whether a message names what it is about, and has nothing in common with an older
    statement: `turns out I'm allergic to shellfish` gives a salary no other value."""
    if len(message.split()) < MIN_MATTER_WORDS or REFERS_BACK.search(message):
        return False
    said, before = features(message).concepts, features(old).concepts
    words = stems_of(_FAVOURITE.sub("", _NEWEST.sub("", message))) & stems_of(old) - light()
    if words or said & before & classes() or ends(message, before):
        return False
    topic = _matter_of(message)
    if _AMOUNT.search(message) and not (_AMOUNT.search(old) or before & _PAID):
        topic |= {"price"}
    if not topic & before:
        return bool(topic)
    own = topic - _OF_MANY_MATTERS
    former = (_matter_of(old) | before & classes()) - topic
    return bool(own and former) and not own & before


@lru_cache(maxsize=2000)
def _matter_of(text: str) -> frozenset[str]:
    """The concepts that tell what a text is about: its relations, and the things that it names."""
    topic = features(text).topic & _MATTERS
    found = [*things_named(text)]
    if new := _NEW_FIRST.match(text):
        found.append(thing_of(new["thing"]))
    named = frozenset().union(*(one.concepts for one in found))
    topic |= named & (things() | _MATTERS)
    if role := _ROLE_IS.search(text):
        topic |= concepts_of(role["role"]) & kin()
    if topic >= _SERVICES:
        # "I'm with Monzo now" does not tell which service.
        topic -= _SERVICES
    return topic.union(*(matter for matter in ONE_MATTER if topic & matter))


_NEW_FIRST = LazyPattern(r"(?-i:[Nn]ew) (?P<thing>[a-z]{3,})\b(?! \w+ing\b)")
"""A sentence that begins with a new thing: `new laptop, it's a MacBook`."""
_ROLE_IS = LazyPattern(
    r"(?:^|[,;] |\b(?:and|so|but|y|pero|ahora) )(?:my|our|mi|nuestr[oa]) (?P<role>[\w-]+)"
    r"(?: de ahora| ahora)? (?:is|are|es|se llama)\b",
    _I,
)
"""A being of the speaker, and what follows tells who it is: `mi doctora es …`."""
REFERS_BACK = LazyPattern(
    r"\b(?:it|them)\b(?!['’])|\b(?!lo dej)(?:me |nos |se |ya )?l[ao]s? (?:he|ha|hemos|han"
    r"|\w+(?:o|amos|emos|imos|aron|ieron|ó|é|í))\b|\b\w{3,}[aei]rl[ao]s?\b"
    r"|\b(?:our|my) (?:second|third|fourth|fifth) "
    r"|\bnac(?:ido|i[óo]) (?:el|la|nuestr[oa]) (?:segund|tercer|cuart|quint)[oa]\b",
    _I,
)
"""A pronoun for what was spoken of, or the number that follows: `our third was born`."""
MIN_MATTER_WORDS = 3
"""A shorter message is a value: `no, Hurt`."""
_AMOUNT = LazyPattern(
    r"[£$€] ?\d|\d ?(?:euros?|pounds?|quid|dollars?|d[oó]lares|pesos|[£$€])"
    r"|\d (?:a|per|al|por) (?:month|week|year|mes|semana|a[ñn]o)\b",
    _I,
)
_PAID = frozenset({"price", "rent", "salary", "bill", "subscription", "save", "mortgage", "owe"})
"""Concepts of amounts of money."""
_OF_MANY_MATTERS = frozenset({
    "like", "dislike", "car", "bill", "name", "trip", "age",
})  # fmt: skip
"""Concepts that facts of several kinds share."""
_SERVICES = frozenset({"bank", "insurance", "phone", "wifi"})
_MATTERS = (_ONE_AT_A_TIME - {"age", "subject", "schoolyear"}) | {
    "address", "allergy", "birthday", "dislike", "like", "medicine", "music", "numberplate",
    "parking", "record", "reserve", "shift", "study", "trip", "work",
}  # fmt: skip
"""Relations that a message names if it is about them."""


def _is_of_speaker_alone(text: str) -> bool:
    return features(text).is_own and not features(text).beings


def _denies_another(clause: str, named: frozenset[str], old: str) -> bool:
    """Check whether a denial of what is named is not one of an older statement: it denies another
    place (`I no longer work at Acme`, a job at Boots) or another thing of the kind (`I'm not
    allergic to eggs`, to nuts)."""
    if _AT_NAMED.search(clause):
        return denies_other_place(clause, old)
    shared = named & features(old).concepts
    if not all(is_concept(one) and one not in things() for one in shared):
        # "I dropped out of law school" ends "I study law".
        return False
    differences = named - shared, features(old).topic - features(clause).concepts
    return all(any(map(is_concept, one)) for one in differences)


def denies_other_thing(denial: str, old: str) -> bool:
    """Check whether a text denies something of a thing that an older statement does not name: `I'm
    not allergic to milk`, to nuts; `I don't speak French`, Arabic. Of what is over (`any more`),
    only where a person has several: it may be named in other words."""
    denied = " ".join(ended_parts(denial))
    if not is_negated(denied):
        return False
    named = _things_besides(denied, old)
    if not (is_changed(denied) or features(denied).is_ended):
        return bool(named)
    is_of_many = concepts_of(denied) & concepts_of(old) & _OF_SEVERAL
    return bool(is_of_many and named and _things_besides(old, denied))


def _things_besides(text: str, other: str) -> list[str]:
    """The words of a text that name something of which another text does not speak: its things,
    names and weekdays."""
    spans = typed_values(text).get(ValueType.NAME, ())
    names = {word for start, end in spans for word in split_words(text[start:end])}
    days = [word for word in split_words(text) if concepts_of(word) & WEEKDAY_CONCEPTS]
    ended = split_words(ended_thing(text))
    told, said = stems_of(other), stems_of(text)
    if stems_of(" ".join(names)) & told:
        # "There was no room in Lugo": a name says enough.
        ended, names = [], set()
    own = (concepts_of(word) for word in split_words(other) if not stems_of(word) & said)
    known = frozenset().union(*own) | general() | light()
    is_of_several = concepts_of(text) & concepts_of(other) & _OF_SEVERAL
    things_said = [one for one in ended if not concepts_of(one) <= _OF_SEVERAL | light()]
    if is_of_several and not stems_of(" ".join(things_said)) & told:
        # All kinds of music are of one concept.
        known = (known & things()) | light() | _OF_SEVERAL
    return [
        word
        for word in {*ended, *names, *days}
        if (stem := stems_of(word))
        and not stem <= told | light()
        # So are all languages and nationalities.
        and ("origin" in concepts_of(word) or not concepts_of(word) <= known)
    ]


_OF_SEVERAL = frozenset({"allergy", "speak", "like", "dislike", "illness"})
"""Relations to several things at the same time."""


def denies_other_place(denial: str, old: str) -> bool:
    """Check whether a text denies something of a place that an older statement does not name: `I no
    longer work at Acme`, `I'm a plumber`."""
    place = _AT_NAMED.search(denial) if is_denial(denial) else None
    return place is not None and not value_key(place["name"]) & value_key(old)


def _is_of_other_being(statement: str, message: str) -> bool:
    """Check whether a statement is about a being that a message does not name."""
    subject = leading_noun(statement)
    if subject is None or not subject.is_being:
        return False
    return value_key(subject.text).isdisjoint(value_key(message))


_SINCE = LazyPattern(r",? (?:since|desde) .*$", _I)
_OF_ANYTHING = frozenset({"name", "number", "like", "dislike"})
"""Relations that tell nothing of what is named, numbered or liked."""
_AT_NAMED = LazyPattern(r"\b(?:at|for|in|en|para) (?P<name>(?-i:[A-ZÀ-Þ])[\w-]+)", _I)
_CODES = SECRETS | {"key"}


def are_two_of_a_kind(new: str, old: str) -> bool:
    """Check whether the subjects are two things of one kind: `my red bag` and `my black bag`, `mi
    tía Pilar` and `mi tía Remedios`."""
    if _heads_differ(new, old) or have_different_owners(new, old):
        return True
    after, before = _NOUN_PHRASE.match(_NEWEST.sub("", new)), _NOUN_PHRASE.match(old)
    if not after or not before:
        return False
    one, other = concepts_of(after["noun"]), concepts_of(before["noun"])
    return bool(one & other and one - other and other - one)


SPEAKER = frozenset({"speaker"})


def owner_of(statement: str) -> frozenset[str]:
    """Words that name the owner of the thing, or the relative, that a statement is about: `Ann's
    dog is …`, `el perro de Ana es …`; none if no being is named."""
    found = _OWNED.match(statement)
    if not found:
        return frozenset()
    owner = found["owner"] or found["owner2"] or found["owner3"]
    if found["owner3"] and _OF_FIRM.search(statement, 0, found.start("owner3") + 1):
        # "La contraseña del Spotify": people have no article.
        return frozenset()
    if not OF_OWN.match(owner):
        return value_key(owner) if owner[0].isupper() else frozenset()
    return key_of_being(owner)


_OF_FIRM = re.compile(r"\bdel [A-ZÀ-Þ]$")


def key_of_being(phrase: str) -> frozenset[str]:
    """Words of a noun phrase without `my`, if it names a being; else none."""
    subject = leading_noun(f"{phrase} is")
    return value_key(OF_OWN.sub("", phrase)) if subject and subject.is_being else frozenset()


@lru_cache(maxsize=5000)
def bearer_of(statement: str) -> frozenset[str]:
    """Words that name the being that a statement is about: the owner of its subject (`Ann's dog`),
    its subject, or SPEAKER; none if that is not known."""
    if _OWNED.match(statement):
        return owner_of(statement)
    if to_being := _TO_BEING.match(statement):
        # "A Marta le gusta el té".
        return key_of_being(to_being["being"]) or value_key(to_being["being"])
    subject = leading_noun(statement)
    is_role = OF_OWN.match(statement) is not None
    if subject and subject.is_being and (is_role or subject_name(statement)):
        return value_key(OF_OWN.sub("", subject.text)) - _ADVERBS
    return SPEAKER if is_role or _BY_SPEAKER.match(statement) else frozenset()


_TO_BEING = LazyPattern(
    r"^a (?P<being>(?:(?:mi|nuestr[oa]) )?[\w-]+(?: (?-i:[A-ZÀ-Þ])[\w-]+)?),? "
    r"(?:(?:ya|no|solo|tambi[eé]n|tampoco|s[ií]|siempre|ahora) ){0,3}l[aeo]s? (?!(?:he|hemos|dej"
    r"|prest"
    r"|di|doy"
    r"|deb|pag)\w*)",
    _I,
)
_ADVERBS = frozenset({"ahora", "ya", "tambien", "siempre", "now", "also", "always"})
_OWNED = LazyPattern(
    r"^(?P<owner>(?!(?:it|that|there|s?he|who|what|where|here|let)['’])(?:(?:my|our) )?"
    r"[\w-]+(?: (?-i:[A-Z])[\w-]+)?)['’]s"
    r" (?!(?:an?|the|not|in|at|on|from|called|\d|been|got|gone|put|had|\w{2,}ed|going|moving|coming"
    r"|having|working|living|getting|leaving|studying|doing|starting)\b)\w"
    r"|^(?:el|la|los|las) [\w-]+ (?:[\w-]+ |con (?:el|la) [\w-]+ )??"
    r"(?:de (?P<owner2>(?:mis? |nuestr[oa]s? )?[\w-]+(?: (?-i:[A-ZÀ-Þ])[\w-]+)?)"
    r"|del? (?P<owner3>[\w-]+))",
    _I,
)
BEARER = r"(?:(?:my|our|mi|nuestr[oa]) )?[\w-]+(?: (?-i:[A-ZÀ-Þ])[\w-]+)?"
"""Words that may name a being: `my friend Ann`, `Ann`."""
DOES_SPANISH = rf"(?:se )?(?:{THIRD_SPANISH}|dedica|acuesta|levanta|calza)"
OF_OWN = LazyPattern(r"^(?:my|our|mis?|nuestr[oa]s?) ", _I)
"""Begins what belongs to the speaker: `my dog`."""
_BY_SPEAKER = LazyPattern(
    r"^(?:i|i['’]\w+|we|we['’]\w+|yo"
    r"|(?:no |ya |ahora |tambi[eé]n |me |nos )*"
    r"(?:(?!\w+o (?:me|nos|le|se|es|est[aá]|ha|va|vive|tiene|is|was|has)\b)[^\W\d_]{3,}o|soy|estoy"
    r"|voy|doy|(?:he|hemos) [^\W\d_]+(?:ado|ido|echo|uesto|isto|ito)"
    r"|[^\W\d_]{2,}(?:amos|emos|imos)))(?= |$)",
    _I,
)


def have_other_predicates(new: str, old: str) -> bool:
    """Check whether two statements about beings tell of topics that the vocabulary knows, and of
    none in common: `Ann moved to Hull`, `Ann studies law at York`."""
    one, other = leading_noun(new), leading_noun(old)
    if one is None or other is None or not one.is_being or _IS_NAMED.match(new, len(one.text)):
        return False
    vague = general() | light() | kin() | {"pet"}
    told = (
        _BEHIND_FIRST.split(text[len(subject.text) :])[0]
        for text, subject in ((new, one), (old, other))
    )
    said, before = ({each for each in concepts_of(one) - vague if is_concept(each)} for one in told)
    return bool(said and before) and not said & before


_BEHIND_FIRST = LazyPattern(r"[,;] | (?:and|but|so|y|pero) ", _I)
_IS_NAMED = LazyPattern(r"(?:['’]s| is| ahora es| es)(?: now| ahora)? (?-i:[A-ZÀ-Þ])", _I)


def have_different_bearers(new: str, old: str) -> bool:
    """Check whether a statement is about another being than an older one, as far as that is known:
    `I live in Leeds` is no news of Tom, and `Ann's dog is called Rex` none of mine. One that names
    the being of the other is about both."""
    one, other = bearer_of(new), bearer_of(old)
    subjects = [each for text in (new, old) if (each := leading_noun(text)) and not each.is_named]
    if len(subjects) > 1 and {"male", "female"} == {_sex_of_noun(each.text) for each in subjects}:
        # "Mi nieto" is not "mi nieta"; "el novio de mi nieta" is said of both.
        names = [each.text.lower() for each in subjects]
        if not (names[0] in names[1] or names[1] in names[0]):
            return True
    if not one or not other or one & other:
        return False
    is_of_both = one & value_key(old) or other & value_key(new)
    return not (is_of_both or (other == SPEAKER and _OF_SPEAKER.search(new)))


def _sex_of_noun(text: str) -> str:
    """The sex of a being's noun, without its name: the next boss may be of another one."""
    return sex_of(" ".join(word for word in text.split() if word[0].islower()))


def are_about_different_beings(new: str, old: str) -> bool:
    """Check whether two statements are about beings with different names, or only one of them about
    the speaker: `Bob lives in York now` changes nothing of `my friend Ann lives in Leeds`. Of
    two that do something for the speaker, one may replace the other: `Tom does my garden now`."""
    one, other = subject_name(new), subject_name(old)
    # "Mrs Lee moved Sadie to Sunday" is about both.
    if one and other and not other & set(split_words(new)):
        is_for_speaker = _FOR_SPEAKER.search(new) and _FOR_SPEAKER.search(old)
        if not (is_for_speaker or _TAKES_OVER.search(new)):
            return True
    bare = _NOW_FIRST.sub("", new)
    if bearer_of(old) == SPEAKER and not (_TAKES_OVER.search(new) or _CONTRAST.match(new)):
        # "Ana switched to law" changes nothing of what I study.
        return have_different_bearers(bare, old)
    if _is_only_one_of_speaker(bare, old) or _are_of_two_sexes(new, old):
        return True
    if not features(new).topic & features(old).topic:
        return False
    if is_changed(new) or is_event(new) or _TAKES_OVER.search(new):
        return False
    if any(COPULA.match(text) and _is_unnamed_being(text) for text in (new, old)):
        # "My boss is Ana": the name is the value.
        return False
    return have_different_bearers(new, old)


def _are_of_two_sexes(new: str, old: str) -> bool:
    """Check whether the subjects of two statements are relatives of two sexes: `el niño calza un
    35`, `mi hija calza un 30`. The next boss may be of another sex than the one before."""
    subjects = leading_noun(new), leading_noun(old)
    one, other = (
        concepts_of(one.text) & kin() - general() if one else frozenset() for one in subjects
    )
    sexes = {one.sex for one in subjects if one and one.sex}
    return bool(one and other) and not one & other and len(sexes) > 1


_CONTRAST = LazyPattern(r"^[^,]{1,30}, (?:not?|sino)\b", _I)
"""`Lugo, no Murcia`: the name is no subject."""
_NOW_FIRST = LazyPattern(
    r"^(?:(?:now|these days|nowadays|actually|yesterday|last \w+|ahora|ya|ayer|al final"
    r"|(?:la semana|el mes) pasad[oa]),? )+",
    _I,
)


def _is_only_one_of_speaker(new: str, old: str) -> bool:
    """Check whether one of two statements tells of the speaker, and the other one of a being that
    the first one does not name."""
    are_owned = _are_of_own_and_other(new, old) or _are_of_own_and_other(old, new)
    return are_owned or (_is_of_speaker_only(new) and _is_of_other(old, new))


def _are_of_own_and_other(own: str, other: str) -> bool:
    """Check whether a statement is about something of the speaker, and another one about that of a
    being that it does not name: `my doctor is …`, `Ana's doctor is …`."""
    owner = owner_of(other) if OF_OWN.match(own) and not owner_of(own) else frozenset()
    return bool(owner) and not owner & value_key(own)


@lru_cache(maxsize=2000)
def _is_of_speaker_only(text: str) -> bool:
    """Check whether a statement tells what the speaker does, has or gets, and means no other being
    by a pronoun. Cached: each clause is compared with many statements."""
    is_own = OF_OWN.match(text) or _OWN_IN_CHANGE.match(text)
    is_by_speaker = bearer_of(text) == SPEAKER or _DONE_BY_SPEAKER.match(text)
    return bool(is_own or (is_by_speaker and not _OTHER_MEANT.search(text)))


_OWN_IN_CHANGE = LazyPattern(
    r"^(?:i|we)(?:['’]ve| have)? \w+ (?:my|our) "
    r"|^(?:they|the [\w-]+)(?:['’]ve| have)? (?:moved|put|switched|given|gave) me\b"
    r"|^(?:me|nos) (?:han |ha )?\w+ (?:el|la|los|las) ",
    _I,
)
_DONE_BY_SPEAKER = LazyPattern(
    r"^(?:me|nos) (?:he|hemos|han|cambi\w+|pas\w+|mud\w+|hice|compr[eé]|toca|lleva)\b"
    r"|^(?:ya |no )*(?:he|hemos) \w+(?:ado|ido|echo|uesto|isto|ito)\b"
    r"|^(?:lo |la )?(?!(?:aqu|all|as|caf|beb|sof)[íié]?\b"
    r"|(?:jos|ren|no|josu|salom|zo|rub|noem)[éí]\b)"
    r"[^\W\d_]{3,}(?:é|í)\b",
    _I,
)
_OTHER_MEANT = LazyPattern(
    # "Me he mudado": no English "he".
    r"\b(?:it|them|him|her|she|he(?! \w+(?:ado|ido|echo|uesto|isto|ito)\b)|they|their"
    r"|his)\b(?!['’]s)"
    r"|\b(?:le|les|su|sus|ella|él)\b(?! \w+o\b)",
    _I,
)


_BEING_TOLD = LazyPattern(
    r"(?:(?:now|called|named|ahora|the|an?|el|la|un|una|don|do[ñn]a|dra?\.?|mrs?|ms) )*"
    r"(?-i:[A-ZÀ-Þ])",
    _I,
)
"""The complement of a role that is the name of a being: `my boss is Ana`."""
_SERVES_SPEAKER = LazyPattern(
    r"(?<=\w )(?:(?:me|us|nos|conmigo)\b|(?:my|our|mis?|nuestr[oa]s?) (?P<noun>[\w-]+))", _I
)


def _serves_speaker(text: str) -> bool:
    """Check whether a being does something for the speaker or for a thing of theirs: `Ann cuts my
    hair`, but not `my mum's doctor`, `el médico de mi madre`."""
    found = _SERVES_SPEAKER.search(text)
    return found is not None and not concepts_of(found["noun"] or "") & kin()


@lru_cache(maxsize=5000)
def _other_being(statement: str) -> frozenset[str]:
    """Words for the being other than the speaker that a statement is about; none if it tells what a
    being is or does for the speaker, as in `my boss is Ana`. Cached, as bearer_of is."""
    if _serves_speaker(statement):
        # "My gardener Sid charges me £20": another one may take his place.
        return frozenset()
    copula = COPULA.match(statement)
    tells_who = copula is not None and bool(_BEING_TOLD.match(copula["tail"]))
    if tells_who and _is_unnamed_being(statement) and not owner_of(statement):
        return frozenset()
    subject = leading_noun(statement)
    # "The dog weighs 12 kilos".
    is_being = subject is not None and subject.is_being and copula is None
    bearer = bearer_of(statement) or (
        value_key(subject.text) if subject and is_being else frozenset()
    )
    return bearer - SPEAKER


def _is_of_other(old: str, new: str) -> bool:
    """Check whether an older statement is about another being than the speaker, which a new one
    does not name."""
    being = _other_being(old)
    is_named = being & value_key(new) or concepts_of(" ".join(being)) & features(new).beings
    return bool(being) and not is_named


def _is_unnamed_being(text: str) -> bool:
    subject = leading_noun(text)
    is_owned = _OWNED.match(text) is not None
    return subject is not None and subject.is_being and not subject.is_named and not is_owned


_TAKES_OVER = LazyPattern(
    r"\b(?:(?:tak(?:es?|en|ing)|took) (?:over|(?:his|her|their|the) \w+)|step(?:s|ped)? in"
    r"|replac\w+|instead|is the new|en su lugar|sustitu\w+|reemplaz\w+|relev\w+)\b",
    _I,
)
_FOR_SPEAKER = LazyPattern(
    r"(?<=\w )(?:me|us|my|our|mine|ours|the|mis?|nos|nuestr[oa]s?|conmigo|el|la|los|las)\b", _I
)


def is_of_another(new: str, old: str) -> bool:
    """Check whether a statement tells of another being, and an older one of the home or the job of
    the speaker: `Ann got a new job`, `I work at Boots`. What is done to the speaker counts for
    them: `my boss moved me to Leeds`."""
    subject = leading_noun(new)
    is_own = subject is None or not subject.is_being or _OF_SPEAKER.search(new)
    return not is_own and bool(_OWN_JOB.match(old) or _OWN_HOME.match(old))


def is_of_other_home(new: str, old: str) -> bool:
    """Check whether a new statement about a home (`I moved to Rome`, `they sold the house`) is not
    about that of an older one, or this tells of none: `my clients are the city museum and Acme`."""
    is_by_other = bool(_BY_OTHER.match(new))
    if (
        _OWN_ORIGIN.match(old)
        or _OWN_ADDRESS.match(old)
        or _OWN_HOME.match(old)
        or _MOVES_HOME.search(old)
    ):
        return is_by_other
    return not (_LIVES.search(old) and leading_noun(old)) or "," in old.partition(" live")[0]


def is_own_home(text: str) -> bool:
    """Check whether a statement tells where the speaker lives, or has moved."""
    return bool(_OWN_HOME.match(text))


def tells_own_home(text: str) -> bool:
    """Check whether a statement tells a home of the speaker, also by its address or a move."""
    is_of_home = _OWN_ADDRESS.match(text) or _MOVES_HOME.search(text)
    return is_own_home(text) or bool(is_of_home)


def household_of(text: str) -> frozenset[str]:
    """The beings with whom the speaker lives, as far as they move along: a partner, children,
    animals."""
    return features(text).beings & _HOUSEHOLD if _OWN_HOME.match(text) else frozenset()


def have_different_owners(new: str, old: str) -> bool:
    """Check whether two statements begin with what belongs to different beings, or with different
    things of one: `Maya's lesson`, `Leo's lesson`, `my lesson`, `Maya's exam`."""
    if _is_of_own_and_other(new, old) or _is_of_own_and_other(old, new):
        return True
    if _A_BEING.match(old) and _OWN_FIRST.match(new):
        # "A girl called Eve walks the dog" says nothing of my daughter.
        return True
    after, before = OWNER_FIRST.match(new), OWNER_FIRST.match(old)
    if not after:
        # "My birthday", "Lucy's birthday".
        owner = before["name"] or before["name2"] if before and _OWN_FIRST.match(new) else None
        return owner is not None and owner not in new
    name, thing = after["name"] or after["name2"], after["thing"] or after["thing2"] or ""
    if not before:
        # "Landlord's" is no name.
        is_named = not any(map(is_concept, concepts_of(name)))
        return is_named and name not in old and bool(_OWN_FIRST.match(old))
    of_name, of_thing = before["name"] or before["name2"], before["thing"] or before["thing2"] or ""
    if name != of_name:
        return name not in old and of_name not in new
    things = [concepts_of(one) for one in (thing, of_thing)]
    are_known = all(any(map(is_concept, one)) for one in things)
    return are_known and not things[0] & things[1] and not is_changed(thing)


def _is_of_own_and_other(own: str, other: str) -> bool:
    """Check whether two statements begin with a relative of the speaker and with the same one of a
    relative: `my mum`, `my boss's mum`."""
    found = _RELATIVE_OF_OWN.match(other)
    is_own = _OWN_FIRST.match(own) and not _RELATIVE_OF_OWN.match(own)
    subject = leading_noun(own) if found and is_own else None
    if not found or not subject:
        return False
    return bool(concepts_of(found["noun"] or found["noun2"]) & concepts_of(subject.text) & kin())


def _heads_differ(new: str, old: str) -> bool:
    """Check whether two statements tell of different attributes: `la cuota del gimnasio es …`, `el
    número del gimnasio es …`."""
    after, before = COPULA.match(new), COPULA.match(old)
    if not after or not before:
        return False
    one, other = (_OF.split(found["noun"], maxsplit=1) for found in (after, before))
    is_of_both = len(one) == len(other) == 2
    return is_of_both and not concepts_of(one[0]) & concepts_of(other[0])


def _is_other_taste(one: Features, other: Features) -> bool:
    is_opposite = ("like" in one.concepts and "dislike" in other.concepts) or (
        "dislike" in one.concepts and "like" in other.concepts
    )
    objects = one.concepts - {"like", "dislike"}, other.concepts - {"like", "dislike"}
    return is_opposite and bool(objects[0]) and objects[0] == objects[1]


def _has_other_word(new: Statement, old: str, one: Features) -> bool:
    """Another word of a class of which one holds at a time: `single`, `married`."""
    after, before = _class_words(new.text), _class_words(old)
    subject = leading_noun(new.text)
    if subject and subject.is_named and not value_key(subject.text) & value_key(old):
        # "Ines is a vegetarian these days" says nothing of the diet of the speaker.
        return False
    for pattern in (_PREFER, _ROLE):
        if new.is_change and pattern in after and pattern in before:
            return not one.beings and not (one.topic | features(old).topic) & _STATES
    if _WORKS.search(new.text if _WORKLESS.search(old) else old) and (
        bool(_WORKLESS.search(new.text)) != bool(_WORKLESS.search(old))
    ):
        is_of_same = subject is not None and value_key(subject.text) <= value_key(old)
        is_of_same = is_of_same or bool(one.subject & features(old).subject)
        return is_of_same or not one.beings or bool(bearer_of(new.text) & bearer_of(old))
    for pattern in (_MARITAL, _DIET):
        if pattern in after and pattern in before and after[pattern] != before[pattern]:
            return not one.beings
    return False


@lru_cache(maxsize=2000)
def _class_words(text: str) -> dict[LazyPattern, str]:
    """The beginning of the word of each class that a statement has: `vegan` and `vegana` are one.
    Cached, since candidates are compared again and again."""
    found = {one: one.search(text) for one in (_PREFER, _ROLE, _MARITAL, _DIET)}
    return {one: match[0][:STEM_CHARS].lower() for one, match in found.items() if match}


def _has_same_holder(new: Statement, old: str, one: Features, other: Features) -> bool:
    """Check whether a relation that two statements share is one of the same person or thing: the
    boss's name is not the speaker's, and the alarm's code not the gate's."""
    shared = one.topic & other.topic
    after, before = one.topic - shared, other.topic - shared
    # "The call is on Friday" leaves out which: the one that is known.
    is_known = after <= before and bool(new.is_change or COPULA.match(new.text))
    are_dated = one.values_of(ValueType.DAY) and other.values_of(ValueType.DAY)
    if shared <= {"name"} and not (are_dated and is_known):
        return _named(new.text, one) == _named(old, other)
    if shared <= {"home"} and not one.beings:
        return _are_own_homes(new, old)
    if shared <= {"origin"} and not one.beings:
        return bool(_OWN_ORIGIN.match(new.text)) == bool(_OWN_ORIGIN.match(old)) and (
            bool(_OWN_ORIGIN.match(old)) or after == before
        )
    if shared <= concepts_of(_LIGHT_WORDS):
        return after == before
    if shared & _DATED and not shared & _HELD_BY_TURNS:
        return (after == before or is_known) and not (one.is_past and other.is_past)
    if shared & _OF_THINGS:
        return after == before
    if shared <= _JOB and not one.beings:
        return bool(_OWN_JOB.match(old)) and not other.is_past
    # "Book club is on Friday" says nothing of what is read for it.
    is_of_club = "team" in shared and not new.is_change
    is_own_club = _OWN_TEAM.match(new.text) and _OWN_TEAM.match(old)
    is_of_size = shared <= {"age"} and (after | before) & {"height", "weight"}
    return not (is_of_size or (is_of_club and not is_own_club))


def _are_own_homes(new: Statement, old: str) -> bool:
    """Check whether both of two statements tell where the speaker lives, in as much detail."""
    subject = leading_noun(new.text)
    if _BY_OTHER.match(new.text) or (subject and subject.is_named):
        return False
    is_detail = bool(_STREET.search(new.text)) != bool(_STREET.search(old))
    texts = (old,) if new.is_change else (new.text, old)
    are_own = all(_OWN_HOME.match(text) or _OWN_ADDRESS.match(text) for text in texts)
    return are_own and (new.is_change or not is_detail)


def _is_of_speaker(text: str, said: Features) -> bool:
    """Check whether the name in a statement is the speaker's own."""
    return bool(_SPEAKER_NAMED.match(text)) and not said.beings


def _named(text: str, said: Features) -> frozenset[str]:
    """Concepts of the person or thing whose name a statement tells; none: it is not known."""
    if _is_of_speaker(text, said):
        return frozenset({"speaker"})
    found = COPULA.match(text)
    return said.beings or (concepts_of(found["noun"]) if found else frozenset({text}))


def _is_same_topic(new: Statement, old: str, one: Features, other: Features) -> bool:
    shared = one.topic & other.topic
    if note := NOTE.search(new.text):
        # Two things are said of one person.
        of_note = concepts_of(note[0])
        shared -= of_note if NOTE.search(old) else of_note & kin()
    if not new.is_change and _have_other_nouns(new.text, old):
        return False
    share = CHANGED_SHARE if new.is_change else TOPIC_SHARE
    subject = leading_noun(new.text)
    of_being = one.subject | (concepts_of(subject.text) if subject and subject.is_being else set())
    topics = one.topic - of_being, other.topic - of_being
    is_related = one.concepts & other.concepts - of_being - general() - kin()
    if shared <= of_being and all(topics) and not is_related:
        # "Ann moved to Hull" says nothing of what Ann drives.
        return False
    if not new.is_change and (other.topic - one.topic) & things():
        # "I train on Tuesdays" says nothing of yoga on Mondays.
        return False
    if (
        not new.is_change
        and not any(map(is_concept, shared))
        and any(map(is_concept, other.topic - one.topic))
    ):
        # "Ann is coming on Friday" says nothing of Ann's birthday.
        return False
    if not shared or len(shared) < share * min(len(one.topic), len(other.topic)):
        return False
    # What happened once is not undone by what happened at another time.
    return new.is_change or bool(shared & EXCLUSIVE) or not (one.is_past or other.is_past)


def _have_other_nouns(new: str, old: str) -> bool:
    """Check whether two statements with `is` are about things that have nothing in common: `the
    slides are due on Monday`, `the report is due on Friday`."""
    one, other = _noun_concepts(new), _noun_concepts(old)
    return one is not None and other is not None and not one & other


def _has_other_value(new: Statement, old: str, one: Features, other: Features) -> bool:
    names = one.values_of(ValueType.NAME), other.values_of(ValueType.NAME)
    note = NOTE.search(new.text)
    if note and names[1] and names[1] <= value_key(note[0]):
        # "Everyone calls her Dot (my mother Dorothea)" adds a name.
        return False
    has_other_name = bool(names[0] and names[1] and not names[0] & names[1] - TITLES)
    is_exclusive = new.is_change or bool(one.topic & other.topic & EXCLUSIVE)
    for kind, values in one.values:
        before = other.values_of(kind)
        if before is None or not values - before or not before - values:
            continue
        if kind is ValueType.NUMBER and (
            one.topic & other.topic <= _JOB
            or _is_long(values) != _is_long(before)
            or measures_otherwise(new.text, old)
        ):
            # "I work from 8 to 15" and "I'm a nurse, floor 5"; a price and a telephone.
            continue
        if kind is ValueType.DAY and is_year(values) != is_year(before):
            # "We married in 2011" and "our anniversary is the 8th of June".
            continue
        is_date = any(word[:1].isdigit() for word in before - values)
        if kind is ValueType.DAY and is_date and HABIT.search(new.text):
            # What is done on Sundays says nothing of the race on 26 October.
            continue
        # "My sister Ann moved to York" is about one of "two sisters: Ann and Eve".
        is_of_all = is_exclusive and not (values & before and lists_of(old))
        # "My cat Milo is 3" and "my cat Luna is 9" are about two cats.
        if is_of_all if kind is ValueType.NAME else not has_other_name:
            return True
    return _takes_turn(new, old, one.topic & other.topic) or _has_other_tail(new, old)


def measures_otherwise(new: str, old: str) -> bool:
    """Check whether one of two texts tells a duration or what was paid, and the other one does not:
    `I'm 34`, `I've been married for 10 years`; `I wear size 7`, `I paid 60 for new shoes`."""
    return any(bool(one.search(new)) != bool(one.search(old)) for one in _MEASURES)


_MEASURES = (
    LazyPattern(
        r"\b(?:for|been \w+|hace|llev(?:o|a|as|amos|an)|durante) (?:about |for |casi |over )?\w+ "
        r"(?:days?|weeks?|months?|years?|d[ií]as?|semanas?|mes(?:es)?|a[ñn]os?)\b",
        _I,
    ),
    LazyPattern(r"\b(?:paid|bought|spent|compr(?:ado|é|amos)|pagu[eé]|pagado|gast(?:ado|é))\b", _I),
)


def is_year(days: frozenset[str]) -> bool:
    """Check whether a date is a year only, which says nothing of a day of the year."""
    return all(len(word) == YEAR_DIGITS and word.isdigit() for word in days)


def _is_long(numbers: frozenset[str]) -> bool:
    return sum(map(len, numbers)) >= MIN_PHONE_DIGITS


def _takes_turn(new: Statement, old: str, shared: frozenset[str]) -> bool:
    """Check whether a change ends what was so although no value has a type: `they've put me on
    nights`; `mum moved out` after `mum lives with us`; `now I work in a bar`."""
    if new.is_change and "work" in shared and _WORKS_AT.match(new.text) and _OWN_JOB.match(old):
        return True
    is_move = "home" in shared and _MOVES_HOME.search(new.text) and _LIVES.search(old)
    return bool(is_move or (new.is_change and shared & _HELD_BY_TURNS))


def _has_same_noun(new: str, old: str) -> bool:
    after, before = _FIRST_NOUN.match(new), _FIRST_NOUN.match(old)
    # "My favourite singer" is not "my favourite colour".
    shared = concepts_of(after[0]) & concepts_of(before[0]) if after and before else frozenset()
    return bool(shared - _OF_ANYTHING)


def _has_other_tail(new: Statement, old: str) -> bool:
    """`My favourite food is …`, `the key is …`: the same noun with another complement."""
    after, before = COPULA.match(new.text), COPULA.match(old)
    if not after or not before:
        return False
    noun = after["noun"]
    if not concepts_of(noun) or concepts_of(noun) != concepts_of(before["noun"]):
        return False
    is_same_kind = bool(_PLACE_TAIL.match(after["tail"])) and bool(
        _PLACE_TAIL.match(before["tail"])
    )
    return (
        new.is_change
        or is_same_kind
        or bool(_FAVOURITE.search(noun) or concepts_of(noun) & EXCLUSIVE)
    )


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
    return len(one.concepts & other.concepts) >= RESTATED_SHARE * len(other.concepts)
