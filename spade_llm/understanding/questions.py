"""Question about the person who asks: its words, concepts and the kind of value that it wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words, strip_accents
from spade_llm.understanding.clause_kinds import THIRD_SPANISH
from spade_llm.understanding.features import features
from spade_llm.understanding.pronouns import leading_noun
from spade_llm.understanding.vocabulary import (
    ValueType,
    concepts_of,
    typed_values,
)
from spade_llm.understanding.wording import FIRST_PERSON_VERBS, SPANISH_FIRST_PERSON

_I = re.IGNORECASE

MAX_QUESTION_CHARS = 500
"""Maximum length of a question in characters; of a longer text its end is read."""

ASKS_HOW_TO = LazyPattern(
    r"^[¿\s]*(?:how (?:do|can|should|would)|why|(?:can|could|would) you|c[oó]mo (?!me |se llama"
    r"|te )"
    r"|por qu[eé])\b",
    _I,
)
"""Questions for instructions and reasons, which a fact about the person seldom answers."""
_HOW = LazyPattern(r"^[¿\s]*(?:y )?c[oó]mo (?=(?:soy|eres|es|son|est\w+|me|se|te|le|va)\b)", _I)
"""`¿Cómo soy?` asks for nothing to eat."""
_WH_ENGLISH = r"wh(?:at|ich|o|ose|en|ere)"
_WH_OTHER = r"how|qu[eé]|cu[aá]l(?:es)?|qui[eé]n(?:es)?|d[oó]nde|cu[aá]ndo|c[oó]mo|cu[aá]nt[oa]s?"
_WH_FIRST = LazyPattern(rf"^[¿\s]*(?:(?:and|y|so) )?(?:{_WH_ENGLISH}|{_WH_OTHER})\b", _I)
ASKS_WHEN = LazyPattern(
    r"\b(?:(?:by )?when(?:['’]?s)?|(?:what|which) (?:day|date|time|year|month)(?:['’]?s)?"
    r"|which (?:morning|afternoon|evening|night)s?|cu[aá]ndo|date of birth|fecha de nacimiento"
    r"|qu[eé] (?:d[ií]as?|fecha|horas?|a[ñn]o|mes))\b",
    _I,
)
ASKS_WHICH_DAY = LazyPattern(
    r"\b(?:(?:what|which) (?:day|date)|date of birth|fecha de nacimiento"
    r"|which (?:morning|afternoon|evening|night)s?"
    r"|qu[eé] (?:d[ií]a|fecha))\b",
    _I,
)
ASKS_WHO = LazyPattern(
    r"\b(?:who|what['’]?s? .*\bnames?|called|qui[eé]n(?:es)?|c[oó]mo se llaman?|nombres?)\b", _I
)
ASKS_WHICH = LazyPattern(r"\b(?:which|what|qu[eé]|cu[aá]l) (?:of my |de mis )?(?P<noun>[\w-]+)", _I)
ASKS_WHO_DOES = LazyPattern(
    r"^¿?(?:who|qui[eé]n(?:es)?)(?: (?!(?:is|are|was|were|am|es|son|soy|era|eran)\b"
    r"|(?:do|did|have|can|should|will|would) (?:i|we)\b)"
    r"|(?:['’]s| is| are) (?!anything|something|nothing|during)\w+ing\b)",
    _I,
)
"""`Who brings me coffee?` asks for another being, though it names the speaker."""
ASKS_WITH_WHOM = LazyPattern(
    r"^[¿\s]*(?:(?:and |y )?con qui[eé]n|(?:and )?(?:with whom|who\b.*\bwith))\b", _I
)
_MAY_EAT = LazyPattern(
    r"\b(?:can(?:['’]?t)?|may|allowed to|able to)\b.*\beat\b|\bpued[eo]n?s?\b.*\bcomer\b"
    r"|^what (?:does|do|can|should) .* eat\b|^¿?qu[eé] comen?\b",
    _I,
)
_MAY_TAKE = LazyPattern(r"\b(?:can|may|should) i (?:take|have)\b|\bpuedo tomar\b", _I)
_OPENED = LazyPattern(
    r"\b(?P<verb>(?:we|i) (?:open|close|shut)|abrimos|cerramos)(?: up)?"
    r" (?:the|our|my|el|la|nuestr[oa]) [\w-]+",
    _I,
)
"""A shop or the like that the speaker opens, which statements of the hours need not name."""
_TAKEN = LazyPattern(
    r"^(?:so |and )?what(?: do i| does [\w’' ]{2,20}| am i|['’]?s [\w’' ]{2,20}| is [\w’' ]{2,20}?)"
    r" (?:take|taking|on)(?: now| again| at the moment| these days|,| for (?:it|that))*\W*$"
    r"|^¿?(?:y )?qu[eé] (?:tom[ao]|est(?:oy|á) tomando)(?: ahora)?"
    r"(?: (?:mi|nuestr[oa]) \w+| (?-i:[A-ZÀ-Þ])\w+)?\W*$",
    _I,
)
"""Asks for medicines without naming them: `what does mum take?`."""
_TAKEN_FOR = LazyPattern(
    r"(?<= take)(?: for (?:my|his|her|the) [\w-]+)(?=\W*$)"
    r"|(?<= tom[ao])(?: para (?:mi|su|el|la|los|las) [\w-]+)(?=\W*$)",
    _I,
)
"""`What does Graeme take for his diabetes?`"""
ASKS_OWN_NAME = LazyPattern(
    r"\b(?:c[oó]mo quiero que me (?:llames|digas)|what should (?:you|people) call me"
    r"|what do i (?:like|want) to be called|what(?:['’]?s| is) my (?:full |first )?name"
    r"|what am i called|c[oó]mo me llamo"
    r"|cu[aá]l es mi nombre|(?:who am i|qui[eé]n soy)(?=\W*$))",
    _I,
)
ASKS_WHERE = LazyPattern(
    r"\b(?:where|(?:which|what) (?:city|country|town)|d[oó]nde"
    r"|qu[eé] (?:ciudad|pa[ií]s|localidad|poblaci[oó]n))\b",
    _I,
)
_HOW_MANY = LazyPattern(
    r"\b(?:how (?:many|much|old|tall|long|far|often|heavy)|(?:what|which) (?:number|size|age"
    r"|dos(?:e|age))"
    r"|what do(?:es)? (?:\w+ )?\w+ (?:weigh|earn)"
    r"|what(?:['’]s| is) (?:my|our) (?:salary|wage|rent|income|pension)\b"
    r"|cu[aá]l es (?:mi|nuestr[oa]) (?:sueldo|salario|alquiler|pensi[oó]n)\b"
    r"|what(?:['’]s| is) (?:my|the"
    r"|our) (?:\w+ )?number|cu[aá]nt[oa]s?|qu[eé] (?:n[uú]mero"
    r"|talla|edad|dosis))\b",
    _I,
)
ASKS_VALUE = LazyPattern(rf"\b(?:{_WH_ENGLISH}(?:['’]?s)?|{_WH_OTHER}|ad[oó]nde)\b", _I)
_COLOUR = LazyPattern(r"\bcolou?r|\bcolor", _I)
_BEFORE = LazyPattern(
    r"\b(?:before|previous(?:ly)?|used to|formerly"
    # "What do I use to log in?" asks for what is so now.
    r"|(?<!do i )(?<!do we )(?<!can i )(?<!should i )use to"
    r"|(?:old(?:er)?|last) (?=job|van|address"
    r"|phone|car|boss"
    r"|flat|house|school|team|manager|number|email|password|code|gym|bank|doctor|dentist|price|rent"
    r"|size)"
    r"|(?:was|were) (?:the|my|our) (?:old|former|first)|(?:was|were) (?:i|we) ever"
    r"|have (?:i|we) ever been|alguna vez (?:he sido|fui|fuimos)|(?:he sido|fui) alguna vez"
    r"|original(?:ly|mente)?|initial(?:ly)?"
    r"|inicial(?:mente)?|at first|al principio"
    r"|antes|anterior(?:mente)?|sol[ií]a|primero(?! de)|hab[ií]a(?:mos)? \w+[dt]o"
    r"|first(?=\W*$| (?:choose|pick|say|plan|tell|want)))\b",
    _I,
)
_GIVEN_UP = LazyPattern(
    r"^(?:what|which|who)\b[^?]{0,30} did (?:i|we) (?:drop|give up|get rid of|leave|replace)\b"
    r"|^¿?(?:qu[eé]|cu[aá]l|qui[eé]n)\b[^?]{0,30}? (?:dej[eé]|dejamos|abandon[eé]|sustitu[ií])\b",
    _I,
)
"""The question is for what does not hold any more: `which subject did I drop?`"""
_ALIVE = LazyPattern(r"\b(?:sig[ou]e?n?|est[aá]n?) viv[oa]s?\b", _I)
"""`Vivo` means `alive` here, not `I live`."""
_BEFORE_WHAT = LazyPattern(
    r"(?P<before>\b(?:before|antes)) (?:de(?:l| \w+r a)? )?(?P<name>(?-i:[A-ZÀ-Þ])[^?]*)", _I
)
_BEFORE_FIRST = LazyPattern(
    r"^\W*(?:(?:and|y|pero),? )*(?P<before>(?:before"
    r"|antes de) (?-i:[A-ZÀ-Þ])\w+(?: (?-i:[A-ZÀ-Þ])\w+)?)"
    r",? ¿?(?P<asked>\w[^?]*?) ?\?*$",
    _I,
)
"""A question behind what it asks for the time before: `before Wendy, who cut my hair?`"""
_BEFORE_EVENT = LazyPattern(
    r"\b(?P<before>before|antes) (?:(?:my|our|the|i|we|s?he|they|it)\b|de que\b|del? (?:la "
    r"|los )?).*$",
    _I,
)
_OWN = LazyPattern(
    r"\b(?:i|i['’]\w+|my|me|mine|we|we['’]\w+|our|us|mis?|m[ií]|nos|nuestr[oa]s?|"
    + "|".join(
        sorted(
            {
                form
                # "Leo" is a name, "era" an English word, too.
                for one in SPANISH_FIRST_PERSON - {"sé", "leo", "era"}
                for form in (one, strip_accents(one))
            }
        )
    )
    + r"|(?-i:leo)(?![?!.]*$)|(?!gramos)\w{2,}(?:amos|emos|imos)|he \w+[dt]o"
    r"|\w{2,}(?:aba|ía) antes)(?!\w)"
    # "¿Dónde aparco?": the verb alone says who.
    r"|\b(?:qu[eé]|d[oó]nde|cu[aá]ndo|c[oó]mo|cu[aá]nt\w+|qui[eé]n|cu[aá]l) (?:me |lo |la "
    r"|no )?[^\W\d_]{3,}o"
    r"(?=\W*$| (?:al?|de|en|con|los|las|el|la|mi|por|para|cada)\b)"
    # "¿En qué ciudad reparto?": at the end, it is no noun.
    rf"|\b(?:qu[eé]|cu[aá]nt[ao]s?) [^\W\d_]+ (?:{'|'.join(sorted(FIRST_PERSON_VERBS))})\W*$",
    _I,
)
_FOR_TASKS = LazyPattern(
    r"^[¿\s]*(?:(?:and|y) )?(?:what(?: else)?(?: do (?:i|we) (?:still )?(?:have|need) to do"
    r"|(?: is|['’]?s) (?:(?:still )?(?:left|pending)(?: to (?:do|be done))?|(?:still )?to (?:do"
    r"|be done)|on my to-?do list)"
    r"| (?:are|were) my (?:open |pending )?(?:tasks|to-?dos|chores|errands|reminders))"
    r"|(?:is there |do i have )?any(?:thing)? (?:else |left |still )*(?:to do|pending|open)(?:"
    r" tasks?| to-?dos?)?"
    r"|(?:do i have |are there )?(?:any |open |pending |unfinished |outstanding )+(?:tasks?"
    r"|to-?dos|chores"
    r"|errands)(?: left| to do| pending)?"
    r"|(?:(?:show|list|tell)(?: me)? )?my (?:open |pending )?(?:tasks|to-?dos|to-?do list|task"
    r" list|reminders)"
    r"|qu[eé] (?:m[aá]s |cosas )?(?:tengo|tenemos|ten[ií]a|hay) (?:que hacer|pendientes?)"
    r"|(?:cu[aá]les son |qu[eé] |tengo |hay |dime |ens[eé][ñn]ame |mu[eé]strame )?(?:mis |las |la"
    r" |mi )?"
    r"(?:tareas|recordatorios|lista de tareas)(?: (?:me quedan|tengo|hay|quedan|pendientes|por"
    r" hacer))*"
    r"|(?:qu[eé] )?(?:me |nos )?(?:queda|falta) (?:algo |alguna cosa )?por hacer|qu[eé] me"
    r" (?:queda|falta)"
    r"|(?:tengo|hay|me queda) algo (?:pendiente|que hacer))[\s?]*$",
    _I,
)
ASKS_TASTES = LazyPattern(
    r"^[¿\s]*(?:(?:and|y) )?(?:what(?: else| things)? (?P<no>do(?:n['’]?t| not) )?(?:do )?(?:i|we)"
    r" (?:really |also |most )*(?:like|love|enjoy|(?P<hate>dislike|hate|not like))"
    r"(?: to do| doing)?(?: (?:the )?most)?"
    r"|what are my (?:(?P<both>likes and dislikes|tastes|preferences)|likes|(?P<dislikes>dislikes))"
    r"|qu[eé] (?:m[aá]s |cosas )?(?:(?P<nunca>no )?(?:me|nos) (?:gustan?|encantan?)(?: hacer)?"
    r"|(?P<odio>odio|detesto|no soporto))"
    r"|(?:cu[aá]les son mis|qu[eé]) (?P<gustos>gustos|preferencias)(?: tengo)?)[\s?]*$",
    _I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that may answer a question."""

    text: str
    date: str = ""
    """`2026-11-20`; empty if it was said in this conversation."""
    time: str = ""
    """`14:05:30.250` on that date; the number of the message, if it was said in this conversation;
    empty if unknown. Statements of one message have the same."""
    is_closed: bool = False
    """A later statement replaced it."""
    is_doubtful: bool = False
    """Found in an old conversation: it may not hold any more."""
    successor: str = ""
    """Text of the later statement that replaced it; empty if there is none, or it is not known."""
    is_earlier: bool = False
    """True in an answer if it stands behind a later statement that may have replaced it."""

    def is_of_same_message(self, other: Candidate) -> bool:
        """Check whether both were made in one message, as far as their times are known."""
        return bool(self.time) and (self.date, self.time) == (other.date, other.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the features by which candidates are compared with it."""

    text: str
    whole: str
    """Its text with what it does not ask for: the illness for which a medicine is taken."""
    concepts: frozenset[str]
    names: frozenset[str]
    """Words of its names, in lower case."""
    expected: frozenset[ValueType]
    wants_before: bool
    replaced_by: frozenset[str]
    """Words of the name before which it asks: `who were we with before Zen?`"""
    implied: frozenset[str] = frozenset()
    """Concepts of what the being is that it calls by name: a statement with the name need not say
    it again."""

    @staticmethod
    def read(text: str) -> Question:
        """The features of a question; of a long text those of its end, where the question is."""
        whole = text = _WITHOUT_APOSTROPHE.sub(r"\g<word>'s", text[-MAX_QUESTION_CHARS:])
        text = _BEFORE_FIRST.sub(r"\g<asked> \g<before>?", text)
        # The medicine is asked for, not the illness.
        text = _TAKEN_FOR.sub("", text)
        later = _BEFORE_WHAT.search(text)
        # "Where did I live before Leeds?" is not about Leeds.
        text = _BEFORE_WHAT.sub(r"\g<before>", text)
        if ASKS_PAST.search(text):
            # Nor is "how often did I run before my knee went?" about the knee.
            text = _BEFORE_EVENT.sub(r"\g<before>", text)
        expected: set[ValueType] = set()
        when = ASKS_WHEN.search(text)
        # "Where did I live when I was a child?" asks for no time.
        if when and not ASKS_VALUE.search(text[: when.start()]):
            is_day = ASKS_WHICH_DAY.search(text) is not None
            expected |= {ValueType.DAY} if is_day else {ValueType.DAY, ValueType.TIME}
        elif ASKS_WHERE.search(text) or ASKS_WHO.search(text):
            expected |= {ValueType.NAME}
        elif _HOW_MANY.search(text):
            expected |= {ValueType.NUMBER}
        elif _COLOUR.search(text):
            expected |= {ValueType.COLOUR}
        return Question(
            text=text,
            whole=whole,
            concepts=_asked_concepts(_BEFORE.sub(" ", text)),
            names=names_in_question(text),
            expected=frozenset(expected),
            wants_before=asks_for_former(text),
            implied=concepts_of(found[0]) if (found := _IS_NAMED.search(text)) else frozenset(),
            replaced_by=frozenset(split_words(later["name"])) if later else frozenset(),
        )


_WITHOUT_APOSTROPHE = LazyPattern(r"\b(?P<word>what|who|where|when|how)s\b", _I)


@cache
def _do() -> frozenset[str]:
    """Concepts of `do`: `what do I have to do on Monday?` asks for whatever it is."""
    return concepts_of("hacer")


def _asked_concepts(text: str) -> frozenset[str]:
    """The concepts of a question; those of a diet, too, if it asks what a person may eat."""
    concepts = concepts_of(_OPENED.sub(r"\g<verb>", _HOW.sub("", text))) - _do()
    if "dislike" in concepts:
        # "What don't I like?"
        concepts -= {"like"}
    if "medicine" in concepts and _MAY_TAKE.search(text):
        # Not "I take the bus".
        return concepts - concepts_of("take") | {"allergy"}
    if _TAKEN.search(text):
        return concepts | {"medicine"}
    return concepts | {"diet", "allergy"} if _MAY_EAT.search(text) else concepts


def asks_for_tasks(question: str) -> bool:
    """Check whether a question is for all that the person has to do."""
    return bool(_FOR_TASKS.match(question))


def asks_for_list(question: str) -> bool:
    """Check whether a question is for all tasks or tastes of the person: nothing similar answers
    it."""
    return asks_for_tasks(question) or bool(ASKS_TASTES.match(question))


ASKS_WHICH_THING = LazyPattern(
    r"^\W*(?:(?:so|and|y|oye|do you (?:know|remember)|sabes),? )*(?:what|which|who|where"
    r"|in (?:what|which)|(?:en |de |a |con |para )?(?:qu[eé]|cu[aá]l(?:es)?|qui[eé]n|d[oó]nde))"
    r"(?! (?:time|day|date|month|year|number|hora|d[ií]a|fecha|mes|a[ñn]o|n[uú]mero)\b)",
    _I,
)


_IS_NAMED = LazyPattern(
    r" \(my [\w' -]+\)$|\b(?:my|our|mi|nuestr[oa]) [\w-]+(?= (?-i:[A-ZÀ-Þ])[^\W\d_]{2,})", _I
)
"""Role of a being of a question, behind it (`_with_being`), or before its name."""
ASKS_PAST = LazyPattern(
    r"\b(?:did|was|were|had)\b(?! (?:[\w'’-]+ ){1,3}born\b)|^[¿\s]*(?:[^\W\d_]+ ){1,3}?"
    r"(?!compañía|policía|energía|batería|geografía|fotografía|alegría|garantía|categoría|teoría"
    r"|(?-i:[A-ZÀ-Þ])|\w{3,}ería(?<!quería))[^\W\d_]{2,}(?:aba|ía)[ns]?\b"
    r"|\bera[ns]?\b",
    _I,
)
"""The question may be about what does not hold any more, if what holds does not fit it."""


def asks_for_former(question: str) -> bool:
    """Check whether a question asks for a former value: `where did I live before?`."""
    return bool(
        _BEFORE.search(question) or _GIVEN_UP.search(question) or _DID_HAVE.search(question)
    )


_DID_HAVE = LazyPattern(
    r"^(?:what|which) [\w-]+ did (?:i|we) (?:have|own|drive)\W*$"
    r"|^\W*qu[eé] [\w-]+ (?:ten[ií]a|ten[ií]amos|conduc[ií]a|usaba|llevaba)(?: yo)?\W*$",
    _I,
)


def asks_whether_before(question: str) -> bool:
    """Check whether a question asks if something was so once: `was I ever vegan?`."""
    return bool(_BEFORE.search(question)) and not ASKS_VALUE.search(question)


def asks_about_past(question: str) -> bool:
    """Check whether a question is, or may be, about what does not hold any more: `where did I live
    before?`, `what was my dog called?`, `am I still vegan?`."""
    if asks_for_former(question):
        return True
    is_marked = question.rstrip().endswith("?")
    if ASKS_PAST.search(question):
        return is_marked or bool(_WH_FIRST.match(question))
    is_if = is_marked and not (ASKS_VALUE.search(question) or ASKS_HOW_TO.search(question))
    return is_if and is_personal(question)


@lru_cache(maxsize=200)
def is_about_speaker(question: str) -> bool:
    """Check whether a question is about the person that asks it. Cached, since it is compared with
    each candidate."""
    return bool(_OWN.search(_ALIVE.sub(" ", question)))


def is_personal(question: str) -> bool:
    """Check whether a question is about the person who asks it, or about a being around them: `when
    is the baby due?`."""
    return is_about_speaker(question) or bool(features(question).beings)


def names_in_question(question: str) -> frozenset[str]:
    # The first word has a capital anyway.
    question = question.lstrip("¿¡ \"'")
    spans = typed_values(question).get(ValueType.NAME, ())
    words = [word for start, end in spans for word in split_words(question[start:end])]
    if _NAME_FIRST.match(question) and (subject := leading_noun(question)) and subject.is_named:
        words += split_words(subject.text)
    # "Paulo's": what stands behind the apostrophe is no name.
    return frozenset(word for word in words if len(word) > 1)


_NAME_FIRST = LazyPattern(rf"(?-i:[A-ZÀ-Þ])\w+ (?:ya |todav[ií]a |a[uú]n )?{THIRD_SPANISH}\b", _I)
"""A Spanish question in the order of a statement: `¿Ana es vegana?`."""
