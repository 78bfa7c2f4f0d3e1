"""Choice of the statement that answers a question about the person who asks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words, strip_accents
from spade_llm.understanding.clauses import THIRD_SPANISH
from spade_llm.understanding.corrections import CHANGE_WORDS, contrasted
from spade_llm.understanding.features import NOTE, ends, features, is_changed, is_negated
from spade_llm.understanding.pronouns import leading_noun, subject_name
from spade_llm.understanding.reminders import asked_task_verb, is_done_with, is_task_of
from spade_llm.understanding.replacement import (
    ADDITION,
    BEARER,
    COPULA,
    COUPLE,
    DOES_SPANISH,
    FORMER,
    HABIT,
    OF_OWN,
    REASON,
    SECRETS,
    SPEAKER,
    TITLES,
    WORDS_FOR_MEDICINE,
    YEAR,
    Statement,
    are_two_of_a_kind,
    bearer_of,
    denies_other_place,
    denies_other_thing,
    have_different_bearers,
    have_different_owners,
    is_beside,
    is_year,
    key_of_being,
    names_other_kind,
    names_other_of_kind,
    owner_of,
    qualified_nouns,
    replaces,
    role_in_state,
    tells_own_home,
)
from spade_llm.understanding.substitution import LABELLED, outside, units_of
from spade_llm.understanding.vocabulary import (
    MONTHS,
    WEEKDAY_CONCEPTS,
    WEEKDAYS,
    ValueType,
    concepts_of,
    general,
    has_count,
    is_concept,
    is_function_word,
    kin,
    light,
    relatives,
    stems_of,
    things,
    typed_values,
    value_key,
    values_of_part,
)
from spade_llm.understanding.wording import SPANISH_FIRST_PERSON

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from spade_llm.understanding.features import Features

_I = re.IGNORECASE

# The scores were chosen by hand such that the cases of tests/understanding and of the development
# half of bench/memory_exam are decided rightly; only their order and differences matter.

MAX_QUESTION_CHARS = 500
"""Maximum length of a question in characters; of a longer text its end is read."""
MIN_NUMBER_DIGITS = 5
"""Minimum number of digits of what is surely a number of something, not a price or a date."""
MAX_ANSWERS = 3
"""Maximum number of statements in an answer; several only for questions about several things."""
MAX_ABOUT = 8
"""The same for everything about a topic."""
MIN_SCORE = 1.5
"""Minimum score of an answer: a shared relation with a value of the expected type, or a shared
word that is rarer than that."""
CERTAIN_SCORE = 3.5
"""The same, if documents have an answer as well."""
NAMED_SCORE = 2.0
"""Score of a shared name, being or word without a concept."""
RELATION_SCORE = 1.5
"""Score of a shared relation: `home`, `work`."""
GENERAL_SCORE = 0.75
"""Score of a shared concept that includes others: `food`."""
COVERED_SCORE = 0.5
"""Score of a statement that has all concepts of the question, beside those of the concepts; a share
of it if it has some."""
WHOLE_SCORE = 0.25
"""Additional score if none is missing."""
WORD_SCORE = 0.125
"""Score of a shared word beside that of its concept, at most MAX_WORDS times: `how old is my bike?`
rather means a bike than a tricycle."""
MIN_RARE_CHARS = 5
RARE_SCORE = 0.75
"""Score of a longer word that the vocabulary does not know: hardly anything else has it."""
MAX_WORDS = 3
VERB_SCORE = 0.5
"""Score of the verb of the question in the same form: `¿qué toco?` is not about football."""
FAVOURITE_SCORE = 1.0
"""Score of `favourite` in both, beside what is merely liked."""
JOB_SCORE = 1.0
"""Score of a profession (`I'm a nurse`) if the question asks for the job: a statement about the
place or the hours of work does not answer it."""
SUBJECT_SCORE = 0.25
"""Score of a statement of which the subject is what is asked for."""
CLASS_PENALTY = 0.5
"""Penalty if only a class is shared: `do I eat fish?` is not answered by what is said of meat."""
TYPE_SCORE = 0.5
"""Score of a value of the expected type, and penalty if there is none."""
ENDED_SCORE = 2.5
"""Score of an event that ended what is asked: `we split up` for `do I have a girlfriend?`."""
CHANGED_SCORE = 0.25
"""A statement that says that something has changed is newer than one that does not."""
PENALTY = 2.0
"""For what is said of another being, by another person, or of another time than is asked: more than
a shared relation scores."""
SMALL_PENALTY = 1.0
"""For what may still be the answer if nothing better is known. Answers whose score is this close to
the best one are given together."""
ASIDE_PENALTY = 0.5
"""For another being that a statement about the speaker only mentions."""
NOTE_PENALTY = 0.25
"""Penalty if the words of the question stand in parentheses only, as the meaning of a pronoun."""
DOUBT_PENALTY = 0.25
"""For what was found in an old conversation only."""

_HOW_TO = LazyPattern(
    r"^[¿\s]*(?:how (?:do|can|should|would)|why|(?:can|could|would) you|c[oó]mo (?!me |se llama"
    r"|te )"
    r"|por qu[eé])\b",
    _I,
)
"""Questions for instructions and reasons, which a fact about the person seldom answers."""
_HOW = LazyPattern(r"^[¿\s]*(?:y )?c[oó]mo (?=(?:soy|eres|es|son|est\w+|me|se|te|le|va)\b)", _I)
"""`¿Cómo soy?` asks for nothing to eat."""
_SAID = LazyPattern(
    r"^(?:(?:can|could|will|would) you |please )*(?:remind|tell) me\b"
    r"|^¿?(?:me )?(?:puedes |podr[ií]as )?(?:recu[eé]rdame|recordar(?:me)?|decirme|dime)\b"
    r"|\b(?:(?:i|we)(?:['’]ve| have| had)? (?:ever |already )?(?:said|mentioned|told you|shared"
    r"|explained)"
    r"|did (?:i|we) (?:ever )?(?:say|mention|tell you|share|explain))(?: to you)?\b"
    r"|\bte (?:he |hab[ií]a )?(?:dij|dich|cont|mencion|coment|habl)\w+",
    _I,
)
"""The words `what I said about …` in a question: it does not ask who said something."""
_WH = LazyPattern(r"^¿?(?:where|when|who|d[oó]nde|cu[aá]ndo|qui[eé]n)\b", _I)
_WH_ENGLISH = r"wh(?:at|ich|o|ose|en|ere)"
_WH_OTHER = r"how|qu[eé]|cu[aá]l(?:es)?|qui[eé]n(?:es)?|d[oó]nde|cu[aá]ndo|c[oó]mo|cu[aá]nt[oa]s?"
_WH_FIRST = LazyPattern(rf"^[¿\s]*(?:(?:and|y|so) )?(?:{_WH_ENGLISH}|{_WH_OTHER})\b", _I)
_WHEN = LazyPattern(
    r"\b(?:when(?:['’]?s)?|(?:what|which) (?:day|date|time|year|month)(?:['’]?s)?"
    r"|which (?:morning|afternoon|evening|night)s?|cu[aá]ndo|date of birth|fecha de nacimiento"
    r"|qu[eé] (?:d[ií]as?|fecha|horas?|a[ñn]o|mes))\b",
    _I,
)
_WHICH_DAY = LazyPattern(
    r"\b(?:(?:what|which) (?:day|date)|date of birth|fecha de nacimiento"
    r"|which (?:morning|afternoon|evening|night)s?"
    r"|qu[eé] (?:d[ií]a|fecha))\b",
    _I,
)
_WHO = LazyPattern(
    r"\b(?:who|what['’]?s? .*\bnames?|called|qui[eé]n(?:es)?|c[oó]mo se llaman?|nombres?)\b", _I
)
_WHICH = LazyPattern(r"\b(?:which|what|qu[eé]|cu[aá]l) (?:of my |de mis )?(?P<noun>[\w-]+)", _I)
_WHO_DOES = LazyPattern(
    r"^¿?(?:who|qui[eé]n(?:es)?)(?: (?!(?:is|are|was|were|am|es|son|soy|era|eran)\b"
    r"|(?:do|did|have|can|should|will|would) (?:i|we)\b)"
    r"|(?:['’]s| is| are) (?!anything|something|nothing|during)\w+ing\b)",
    _I,
)
"""`Who brings me coffee?` asks for another being, though it names the speaker."""
_WHO_IS = LazyPattern(
    r"^[¿\s]*(?:(?:and|y) )?(?:who(?:['’]?s| is| are)|qui[eé]n(?:es)? (?:es|son))\b", _I
)
_SPOUSE = LazyPattern(r"\b(?:husband|wife|marido|esposo|esposa|mi mujer)\b", _I)
_MARRIED = LazyPattern(
    r"\b(?:we|i)(?:['’]ve| have)?(?: just| finally)? (?:got|gotten|were) (?:married|hitched)\b"
    r"|\btied the knot\b|\bnos (?:hemos )?casa(?:mos|do)\b|\bme (?:he )?cas(?:é|ado)\b",
    _I,
)
_EX = LazyPattern(r"\b(?:(?:my|mi) ex|ex de m[ií])\b(?! (?-i:[A-ZÁÉÍÓÚÑ]))", _I)
_WITH_WHOM = LazyPattern(
    r"^[¿\s]*(?:(?:and |y )?con qui[eé]n|(?:and )?(?:with whom|who\b.*\bwith))\b", _I
)
_NUMBER_OF = LazyPattern(
    r"\b(?:my|our|his|her|the|[\w-]+['’]s) (?:[\w-]+ ){0,2}number\b(?! of (?!the\b))"
    r"|\b(?:n[uú]mero|tel[eé]fono|m[oó]vil|celular) de(?:l| la| mi| nuestr[oa])\b",
    _I,
)
_WITH = LazyPattern(r"\b(?:with|con)\b", _I)
_TOGETHER = LazyPattern(
    r"\b(?:with|con|and (?-i:[A-Z])\w+|y (?-i:[A-ZÁÉÍÓÚÑ])\w+|alone|myself|my own|sol[oa]s?|nadie"
    r"|nobody|no ?one|together|juntos|juntas)\b",
    _I,
)
_THEM = LazyPattern(r"\b(?:him|her|them|los|las|l[eo]s?)\b(?= [^\W\d_]+)|\b(?:him|her|them)\b", _I)
"""A pronoun that may mean the beings of the question: `my mum picks them up`."""
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
    r"(?: (?:mi|nuestr[oa]) \w+| (?-i:[A-ZÁÉÍÓÚÑ])\w+)?\W*$",
    _I,
)
"""Asks for medicines without naming them: `what does mum take?`."""
_OWN_NAME = LazyPattern(
    r"^(?:i['’]?m|i am|(?:yo )?soy) (?-i:[A-ZÁÉÍÓÚÑ])[\w-]+(?: (?-i:[A-ZÁÉÍÓÚÑ])[\w-]+)?\W*$", _I
)
"""`I'm Dan` has the form of `I'm vegan`, but tells no work."""
_ASKS_OWN_NAME = LazyPattern(
    r"\b(?:c[oó]mo quiero que me (?:llames|digas)|what should (?:you|people) call me"
    r"|what do i (?:like|want) to be called|what(?:['’]?s| is) my (?:full |first )?name"
    r"|what am i called|c[oó]mo me llamo"
    r"|cu[aá]l es mi nombre|(?:who am i|qui[eé]n soy)(?=\W*$))",
    _I,
)
_TELLS_OWN_NAME = LazyPattern(
    r"(?:.*\b)?(?:(?:i['’]m|i am|call me|my (?:\w+ )?name|calls? me|me llam\w+|ll[aá]mame"
    r"|mi nombre|soy|me dicen|it['’]s|this is)\b|(?-i:[A-ZÁÉÍÓÚÑ])\w+ here\b)",
    _I,
)
_THE = LazyPattern(r"^(?:the|el|la) [\w-]+(?: [\w-]+)? (?:is|es|se llama)\b", _I)
_WHERE = LazyPattern(
    r"\b(?:where|(?:which|what) (?:city|country|town)|d[oó]nde"
    r"|qu[eé] (?:ciudad|pa[ií]s|localidad|poblaci[oó]n))\b",
    _I,
)
_HOW_MANY = LazyPattern(
    r"\b(?:how (?:many|much|old|tall|long|far|often|heavy)|(?:what|which) (?:number|size|age)"
    r"|what do(?:es)? (?:\w+ )?\w+ (?:weigh|earn)"
    r"|what(?:['’]s| is) (?:my|our) (?:salary|wage|rent|income|pension)\b"
    r"|cu[aá]l es (?:mi|nuestr[oa]) (?:sueldo|salario|alquiler|pensi[oó]n)\b"
    r"|what(?:['’]s| is) (?:my|the"
    r"|our) (?:\w+ )?number|cu[aá]nt[oa]s?|qu[eé] (?:n[uú]mero"
    r"|talla|edad))\b",
    _I,
)
_FOR_VALUE = LazyPattern(rf"\b(?:{_WH_ENGLISH}(?:['’]?s)?|{_WH_OTHER}|ad[oó]nde)\b", _I)
_LONG_NUMBER = re.compile(r"(?<![\w.,:])\d{3,}(?![\w.,:]*\d)")
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
_STILL = LazyPattern(
    r"\b(?:still|any ?more|no longer|yet|todav[ií]a|a[uú]n|sig[ou]e?s?|seguimos|siguen|ya no)\b", _I
)
"""The question is whether something that held holds now."""
_NO_LONGER = LazyPattern(r"\b(?:ya no|no longer|any ?more)\b", _I)
_ALIVE = LazyPattern(r"\b(?:sig[ou]e?n?|est[aá]n?) viv[oa]s?\b", _I)
"""`Vivo` means `alive` here, not `I live`."""
_BEFORE_WHAT = LazyPattern(
    r"(?P<before>\b(?:before|antes)) (?:de(?:l| \w+r a)? )?(?P<name>(?-i:[A-ZÁÉÍÓÚÑ])[^?]*)", _I
)
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
    r"(?=\W*$| (?:al?|de|en|con|los|las|el|la|mi|por|para|cada)\b)",
    _I,
)
_SAID_OF_SPEAKER = LazyPattern(
    r"^[^,;]{2,30} (?:(?:said|says)(?: that)?|told me(?: that)?) (?:i|i['’]m)\b"
    r"|^[^,;]{2,30} (?:me )?(?:ha dicho|dice|dijo) que (?:(?:no|ya|me) )*"
    r"(?:(?!como\b)[^\W\d_]+o|soy|estoy|voy|he)\b",
    _I,
)
"""`The doctor said I can't have aspirin` tells of the speaker."""
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
_FOR_TASTES = LazyPattern(
    r"^[¿\s]*(?:(?:and|y) )?(?:what(?: else| things)? (?P<no>do(?:n['’]?t| not) )?(?:do )?(?:i|we)"
    r" (?:really |also |most )*(?:like|love|enjoy|(?P<hate>dislike|hate|not like))"
    r"(?: to do| doing)?(?: (?:the )?most)?"
    r"|what are my (?:(?P<both>likes and dislikes|tastes|preferences)|likes|(?P<dislikes>dislikes))"
    r"|qu[eé] (?:m[aá]s |cosas )?(?:(?P<nunca>no )?(?:me|nos) (?:gustan?|encantan?)(?: hacer)?"
    r"|(?P<odio>odio|detesto|no soporto))"
    r"|(?:cu[aá]les son mis|qu[eé]) (?P<gustos>gustos|preferencias)(?: tengo)?)[\s?]*$",
    _I,
)
_OWN_TASTE = LazyPattern(
    r"^(?!.*(?:\bwould (?:like|love)|['’]d (?:like|love)|\b(?:looks?|feels?|sounds?) like|used to))"
    r"(?:(?:i|we|i['’]\w+|we['’]\w+)\b|(?:my|our) [^,;]{0,20}favou?rite"
    r"|(?:a m[ií],? )?(?:(?:no|s[ií]|tampoco|tambi[eé]n) )?(?:(?:me|nos)\b|odio|detesto|soporto"
    r"|aguanto"
    r"|prefiero|adoro|amo|soy)|(?:mis?|nuestr[oa]) [^,;]{0,20}favorit)",
    _I,
)
_AGE_ASKED = LazyPattern(r"\bhow old\b|\bqu[eé] edad\b|\bcu[aá]ntos a[ñn]os (?:ten|tien)", _I)
_AGE_TOLD = LazyPattern(
    r"\b(?:(?:ten(?:go|emos)|tiene[ns]?) (?:(?:\S+ ){1,3}?a[ñn]os|\d{1,2}(?=$|[,.;]))"
    r"|cumpl\w+|va a hacer|de \d+|nac\w+|turn\w*|old|ages?|aged|born"
    r"|birthday|cumplea[ñn]os|cumple)\b|\w \(\d{1,3}\)|\b(?:i['’]?m|i am|is|are|was)\b|['’]s\b",
    _I,
)
_TASK = LazyPattern(
    r"(?:(?:i|we) (?:have to|need(?: to)?|ought to|must|should)\b(?! an?\b| the\b| my\b)"
    r"|(?:ten(?:go|emos)|hay) (?:que\b|pendiente)|(?:debo|debemos) [^\W\d_]+r\b)",
    _I,
)
"""Tasks of the person (reminders.as_task)."""
_WHO_IS_THE = LazyPattern(
    r"^[¿\s]*(?:(?:and|y) )?(?:who(?:['’]?s| is)|qui[eé]n es) (?:the|my|our|el|la|mi|nuestr[oa]) "
    r"(?P<head>[\w-]+) (?:of|for|de|del)\b",
    _I,
)
_ASKS_JOB = LazyPattern(
    r"\bwhat(?:['’]?s| is) (?:my|\w+['’]s|his|her) (?:\w+['’]s )?(?:job|trade|profession"
    r"|occupation)\b"
    r"|\bwhat (?:do|does) .{1,20} do (?:for|at) (?:a living|work)\b|\bse? dedic\w+|\bme dedico\b"
    r"|\bqu[eé] (?:profesi[oó]n|oficio) "
    r"|\bwhat does (?:my |our )?[\w' ]{2,20} do\W*$|\b(?:de|en) qu[eé] trabaj\w+",
    _I,
)
_TELLS_JOB = LazyPattern(
    r"\b(?:i['’]?m|i am|is|['’]s|soy|es|works? as|trabaj[oa] (?:de|como)) (?:an? |the |una? )?"
    r"(?!for\b|on\b|in\b|at\b|from\b|my\b|our\b|mi\b|noches?\b|d[ií]a\b|tardes?\b"
    r"|ma[ñn]anas?\b|lunes\b)\w+"
    r"|\bdriv(?:e|es|ing)\b|\bconduzco\b|\bmanej[oa]\b|\bteach(?:es)?\b|\bdoy clases\b",
    _I,
)
"""A statement of a profession, not of the place or the hours of work: `I'm a nurse`."""
_FAVOURITE = LazyPattern(r"\bfavou?rites?\b|\bfavorit[oa]s?\b|\bpreferid[oa]s?\b", _I)
_ASKED_ACT = LazyPattern(
    r"\b(?:do|did|am|are|was|were|have|can) (?:i|we) (?:still |usually |normally |always )?"
    r"(?P<verb>(?!have|got|get|going|like|love|live|work|need|want|take|call|do\b|be\b"
    r"|go\b)\w{4,})\b",
    _I,
)
"""The verb of a question about what the speaker does: `what do I grow?`."""
_ASKED_NOUN = LazyPattern(
    r"^[¿\s]*(?:what|which|qu[eé]|cu[aá]l) (?!(?:day|date|time|year|month|d[ií]a|fecha|hora|a[ñn]o"
    r"|mes)\b)(?P<noun>\w{3,}) (?:am|is|are|do|does|did|was|were|have"
    r"|has|tengo|tenemos|es|est[aá]|estoy)\b"
    r"|^[¿\s]*(?:what(?:['’]?s| is) (?:the|my|our)|cu[aá]l es (?:el|la|mi)) (?P<noun2>\w{3,})"
    r" (?:for|of|to|de|del|para)\b",
    _I,
)
"""The thing that a question asks for: `what seat am I in?`, `what's the code for my locker?`."""
_ASKED_SEVERAL = LazyPattern(
    r"^(?:who|what) are (?:the names of )?(?:my|our) (?P<noun>[a-z]+)(?: called| named)?[\s?]*$"
    r"|^[¿\s]*(?:qui[eé]nes son|c[oó]mo se llaman) (?:mis|nuestr[oa]s) (?P<noun2>\w+)[\s?]*$",
    _I,
)
"""A question for all beings or things of a kind: `who are my sisters?`."""
_ASKED_VERB = LazyPattern(
    r"^[¿\s]*(?:qu[eé]|d[oó]nde|cu[aá]ndo|c[oó]mo|cu[aá]nt\w+) (?:me |lo |la )?"
    r"(?P<verb>[^\W\d_]{3,}o)\b",
    _I,
)
"""The verb of a question about what the speaker does: `¿qué toco?`."""
_IS_THE = LazyPattern(r"\b(?:es|is) (?:el|la|mi|the|my|an?|una?)\b", _I)
"""A description of a person: `Ana is my boss`."""
_FUTURE = LazyPattern(
    r"\b(?:plan\w*|want\w*|going to|would|hope|will|quiero|voy|planes|pienso|gustar[ií]a"
    r"|think\w*|next|moving|leaving|starting|mud(?:o|amos)|empiezo|empezamos)\b",
    _I,
)
_ALL = LazyPattern(
    r"\b(?:all|every|list|things|names|pets|tablets|pills|medicines|meds|medication|clients"
    r"|customers"
    r"|pastillas|medicinas|clientes|allergies|hobbies|languages|children|kids|siblings"
    r"|plans|what (?:do|can['’]?t) i (?:like|hate|eat)|what (?:am|is|are) .* allergic"
    r"|a qu[eé] .* al[eé]rgic[oa]|qu[eé] (?:me gusta|odio)|todos|todas|qu[eé] d[ií]as|which days"
    r"|(?:qu[eé]|cu[aá]les) (?:medicamentos|remedios)|(?:what|which) medications"
    r"|idiomas|mascotas|alergias|hijos|hermanos|planes|nombres)\b",
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
        text = _WITHOUT_APOSTROPHE.sub(r"\g<word>'s", text[-MAX_QUESTION_CHARS:])
        later = _BEFORE_WHAT.search(text)
        # "Where did I live before Leeds?" is not about Leeds.
        text = _BEFORE_WHAT.sub(r"\g<before>", text)
        if _PAST_QUESTION.search(text):
            # Nor is "how often did I run before my knee went?" about the knee.
            text = _BEFORE_EVENT.sub(r"\g<before>", text)
        expected: set[ValueType] = set()
        when = _WHEN.search(text)
        # "Where did I live when I was a child?" asks for no time.
        if when and not _FOR_VALUE.search(text[: when.start()]):
            is_day = _WHICH_DAY.search(text) is not None
            expected |= {ValueType.DAY} if is_day else {ValueType.DAY, ValueType.TIME}
        elif _WHERE.search(text) or _WHO.search(text):
            expected |= {ValueType.NAME}
        elif _HOW_MANY.search(text):
            expected |= {ValueType.NUMBER}
        elif _COLOUR.search(text):
            expected |= {ValueType.COLOUR}
        return Question(
            text=text,
            concepts=_asked_concepts(_BEFORE.sub(" ", text)),
            names=_names(text),
            expected=frozenset(expected),
            wants_before=_asks_for_former(text),
            implied=concepts_of(found[0]) if (found := _IS_NAMED.search(text)) else frozenset(),
            replaced_by=frozenset(split_words(later["name"])) if later else frozenset(),
        )


_WITHOUT_APOSTROPHE = LazyPattern(r"\b(?P<word>what|who|where|when|how)s\b", _I)


@cache
def _do() -> frozenset[str]:
    """Concepts of `do`: `what do I have to do on Monday?` asks for whatever it is."""
    return concepts_of("hacer")


def _asked_concepts(text: str) -> frozenset[str]:
    """The concepts of a question; those of a diet, too, if it asks what somebody may eat."""
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


MAX_LATER = 100
"""Number of the latest candidates that may replace an older one: comparing all of them takes time
that grows with the square of their number."""


def with_closed(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, each marked if one of the MAX_LATER latest ones replaces it. They must be
    ordered from the oldest."""
    statements = [Statement(text=one.text, is_change=is_changed(one.text)) for one in candidates]
    marked = []
    for number, one in enumerate(candidates, 1):
        later = zip(reversed(candidates[number:]), reversed(statements[number:]), strict=True)
        # Statements of one message hold together.
        latest = islice(later, MAX_LATER)
        apart = (new for other, new in latest if not one.is_of_same_message(other))
        successor = next((new.text for new in apart if _has_replaced(new, one.text)), "")
        is_closed = one.is_closed or bool(successor)
        marked.append(replace(one, is_closed=is_closed, successor=one.successor or successor))
    return marked


def _has_replaced(later: Statement, earlier: str) -> bool:
    """Check whether a later statement replaces an earlier one, or a value of it that it names:
    `they swapped her Eltroxin for Euthyrox`."""
    return replaces(later, earlier) or (
        later.is_change and contrasted(later.text, [earlier]) is not None
    )


def is_repeated(text: str, fact: str) -> bool:
    """Check whether a fact has all that a change tells: after `it's on Friday now`, the fact says
    what is on Friday."""
    text = REASON.sub("", text)
    told = stems_of(CHANGE_WORDS.sub(" ", text))
    new = {one for one in concepts_of(fact) - concepts_of(text) if is_concept(one)}
    # With no more than who somebody is, it is the same.
    is_same = is_changed(text) or new <= kin()
    return is_same and bool(told) and text != fact and told <= stems_of(fact)


def tells_value_of(fact: str, text: str) -> bool:
    """Check whether a fact has all values of a statement that was made in the same message, and is
    about the same: it is that statement with what was known before."""
    said, told = features(text), features(fact)
    about = concepts_of(outside(text, typed_values(text))) - general() - light()
    kinds = [kind for kind in ValueType if said.values_of(kind)]
    none = frozenset[str]()
    has_all = all((_values(said, one) or none) <= (_values(told, one) or none) for one in kinds)
    return bool(kinds) and has_all and bool(about & told.concepts)


def find_answers(
    question: str, candidates: Iterable[Candidate], *, is_certain: bool = False
) -> list[Candidate]:
    """The statements that answer the question, best first; none if no candidate is close enough.

    `candidates`: oldest first; of those with equal scores the latest is best. A closed one answers
    only a question about the past. `is_certain`: only those that reach CERTAIN_SCORE, because there
    is another source, too. At most MAX_ANSWERS, and one only unless the question is about several
    things.
    """
    candidates, question = list(candidates), _SAID.sub(" ", question)
    if (listed := _listed_answers(question, candidates)) is not None:
        return listed
    candidates = _without_done(candidates, question)
    asked = Question.read(_with_being(question, candidates))
    if not asked.concepts and not asked.names and not asked.replaced_by:
        return []
    if asked.wants_before:
        candidates = [
            replace(one, is_closed=True) if _follower(asked, one, candidates) else one
            for one in candidates
        ]
    least = CERTAIN_SCORE if is_certain else MIN_SCORE
    scored = _scored(asked, candidates, least)
    if not scored:
        return _answers_otherwise(question, asked, candidates, least)
    ordered = _with_end_first(question, asked, scored)
    best, _, first = ordered[0]
    if _ALL.search(question):
        near = [one for points, _, one in ordered if points >= best - SMALL_PENALTY]
        if len(near) == 1:
            return [*_beside(question, asked, ordered, candidates)]
        told = [one for one in near if not _is_moved(asked, one, near)][:MAX_ANSWERS]
        return told if asked.wants_before else sorted(told, key=lambda one: one.is_closed)
    return [*_beside(question, asked, ordered, candidates)]


def _answers_otherwise(
    question: str, asked: Question, candidates: Sequence[Candidate], least: float
) -> list[Candidate]:
    """Answers to a question that no candidate answers in its words: it asks for the husband, and
    the wedding is known, or for a former partner or value."""
    is_married = any(_MARRIED.search(one.text) for one in candidates if not one.is_closed)
    if is_married and _SPOUSE.search(question):
        # A statement made before the wedding calls the spouse a boyfriend or girlfriend.
        return find_answers(_SPOUSE.sub("partner", question), candidates)
    if _EX.search(question):
        # Former partners are seldom called so at the time.
        over = [replace(one, is_closed=False) for one in candidates if one.is_closed]
        found = find_answers(_EX.sub("my partner", question), over)
        return [replace(one, is_closed=True) for one in found]
    if asked.wants_before:
        replaced = (one for one in reversed(candidates) if _is_replaced_by(asked.replaced_by, one))
        return list(islice(replaced, 1))
    return _successor_of_former(asked, candidates, least)


def _beside(
    question: str,
    asked: Question,
    ordered: Sequence[tuple[float, int, Candidate]],
    candidates: Sequence[Candidate],
) -> Iterator[Candidate]:
    """The best answer, and what may hold instead of it, or was so before it."""
    first = ordered[0][2]
    is_of_past = _asks_for_former(question) or _PAST_QUESTION.search(question)
    if first.is_closed and not is_of_past:
        # "Am I left-handed?": what holds instead. A birth does not say instead of what it is.
        holding = _holding(first, candidates)
        if holding and not ends(holding.text, asked.concepts):
            yield holding
        yield first
    elif _ASKED_SEVERAL.match(question):
        yield first
    elif not asked.wants_before and (follower := _follower(asked, first, candidates)):
        yield follower
        yield replace(first, is_earlier=True)
    else:
        yield from _predecessors(question, first, ordered, candidates)
        yield first


def _predecessors(
    question: str,
    answer: Candidate,
    ordered: Sequence[tuple[float, int, Candidate]],
    candidates: Sequence[Candidate],
) -> list[Candidate]:
    """The statement that the answer replaced, if the question may ask for it: `what was my dog
    called?` may mean the former or the present one."""
    if not _PAST_QUESTION.search(question):
        return []
    former = [one for _, _, one in ordered if one.is_closed]
    return [one for one in former if _holding(one, candidates) == answer][:1]


def _scored(
    asked: Question, candidates: Sequence[Candidate], least: float
) -> list[tuple[float, int, Candidate]]:
    """The candidates that answer a question, each with its score and its number, best first."""
    is_open = asked.wants_before or _may_be_closed(asked.text)
    scored = [
        (score(asked, one), number, one)
        for number, one in enumerate(candidates)
        if is_open or not one.is_closed
    ]
    # Of two that hold, the older one was before.
    order = 1 if asked.wants_before else -1
    near = [one for one in scored if one[0] >= least]
    near = [one for one in near if not _is_of_another_bearer(asked, one[2].text)]
    near = [one for one in near if not _is_of_other_medicine(asked, one[2].text)]
    near = [*near, *_told_along(asked, near, candidates)]
    found = (one for one in near if _has_what_is_asked(asked, one[2]))
    scored = sorted(
        found,
        key=lambda one: (
            _less_fitting(asked, one[2].text) - one[0],
            _is_of_others_only(asked, one[2]),
            order * one[1],
        ),
    )
    if not _ALL.search(asked.text) and (verb := _asked_verb(asked)):
        # "I grow leeks there" for "what do I grow on my plot?", not what the plot costs.
        scored = _preferred(asked, scored, lambda text: verb <= stems_of(text))
    if head := _ASKED_NOUN.match(asked.text):
        # "My seat is 23C" for "what seat am I in on the flight?", not when the flight is.
        noun = stems_of(head["noun"] or head["noun2"])
        former = {one.text for _, _, one in scored if asked.wants_before and one.is_closed}
        scored = _preferred(
            asked, scored, lambda text: bool(noun & stems_of(text)) or text in former
        )
    if several := _ASKED_SEVERAL.match(asked.text):
        # "I have two sisters, Ann and Eve" for "who are my sisters?", not "my sister Ann moved".
        plural = several["noun"] or several["noun2"]
        scored = [one for one in scored if plural in split_words(one[2].text)] or scored
    if kinds := qualified_nouns(asked.text):
        # "The spare key is …" says nothing of the garage key.
        scored = _preferred(asked, scored, lambda text: not names_other_kind(text, kinds))
    is_of_taste = is_negated(asked.text) or "dislike" in asked.concepts
    if _FOR_VALUE.search(asked.text) and not is_of_taste:
        scored = [one for one in scored if not _denies_beside(one, scored)]
    if is_open:
        return scored
    return [one for one in scored if not _is_followed(asked, one, scored)] or scored


def _preferred(
    asked: Question,
    scored: list[tuple[float, int, Candidate]],
    is_preferred: Callable[[str], bool],
) -> list[tuple[float, int, Candidate]]:
    """The answers with a property; all of them if none has it, or only less fitting ones have."""
    found = [one for one in scored if is_preferred(one[2].text)]
    is_fitting = any(not _less_fitting(asked, one[2].text) for one in found)
    return found if is_fitting or (found and _less_fitting(asked, scored[0][2].text)) else scored


def _denies_beside(
    one: tuple[float, int, Candidate], scored: Sequence[tuple[float, int, Candidate]]
) -> bool:
    """Check whether a candidate denies something else than another one tells: `I'm not allergic to
    milk` does not answer `what am I allergic to?`, if an allergy is known; nor does `I no longer do
    judo` answer what sport I do, if another one is known."""
    points, _, denial = one
    is_over = is_changed(denial.text) and _is_only_denial(denial.text)
    return features(denial.text).is_negated and any(
        _only_denies_another(denial.text, other.text)
        or (
            is_over
            and near > points - SMALL_PENALTY
            and not stems_of(denial.text) - light() <= stems_of(other.text)
        )
        for near, _, other in scored
        if not features(other.text).is_negated
    )


def _told_along(
    asked: Question,
    found: Sequence[tuple[float, int, Candidate]],
    candidates: Sequence[Candidate],
) -> list[tuple[float, int, Candidate]]:
    """Statements that have the value that is asked for, and no topic of their own, in the messages
    of candidates without such a value, with the scores of these: `my shift is the late one; I'm on
    from ten till six` for `when's my shift?`."""
    kinds = asked.expected & {ValueType.DAY, ValueType.TIME, ValueType.NUMBER}

    def has_value(one: Candidate) -> bool:
        return any(_values(features(one.text), kind) for kind in kinds)

    return [
        (points, number, other)
        for points, _, one in (found if kinds else ())
        if not has_value(one)
        for number, other in enumerate(candidates)
        if other.is_of_same_message(one)
        and not other.is_closed
        and has_value(other)
        and _continues(other.text, one.text)
    ]


def _continues(text: str, before: str) -> bool:
    """Check whether a statement tells more of what another one of its message is about: it has the
    same subject, a pronoun, or one that the vocabulary does not know."""
    subject = leading_noun(text)
    is_open = subject is None or not any(map(is_concept, concepts_of(subject.text) - general()))
    return is_open and features(text).beings <= features(before).beings


def _asked_verb(asked: Question) -> frozenset[str]:
    """The stem of the verb of a question about an activity of the speaker: `what do I grow?`; empty
    if there is none, or a light one."""
    found = _ASKED_ACT.search(asked.text)
    return stems_of(found["verb"]) - light() if found else frozenset()


def asks_for_tasks(question: str) -> bool:
    """Check whether a question is for all that the person has to do."""
    return bool(_FOR_TASKS.match(question))


def asks_for_list(question: str) -> bool:
    """Check whether a question is for all tasks or tastes of the person: nothing similar answers
    it."""
    return asks_for_tasks(question) or bool(_FOR_TASTES.match(question))


def _listed_answers(question: str, candidates: Sequence[Candidate]) -> list[Candidate] | None:
    """Tastes of the person, or tasks that they still have to do, if a question is for all of them,
    or for known tasks with a verb (`what do I have to pay?`); else None."""
    if found := _FOR_TASTES.match(question):
        has_both = bool(found["both"] or found["gustos"])
        is_negative = any(found[one] for one in ("no", "hate", "dislikes", "nunca", "odio"))
        tastes = [one for one in candidates if not one.is_closed and _OWN_TASTE.match(one.text)]
        wanted = (_like, _dislike) if has_both else (_dislike if is_negative else _like,)
        return [one for one in tastes if any(does(one.text) for does in wanted)][-MAX_ABOUT:]
    tasks = [one for one in candidates if not one.is_closed and _TASK.match(one.text)]
    if asks_for_tasks(question):
        return tasks[-MAX_ABOUT:]
    verb = asked_task_verb(question)
    return [one for one in tasks if verb and is_task_of(one.text, verb)][-MAX_ABOUT:] or None


def _like(text: str) -> bool:
    said = features(text)
    return "like" in said.concepts and not (said.subject or said.is_denial)


def _dislike(text: str) -> bool:
    said = features(text)
    return "dislike" in said.concepts and not said.subject


def _without_done(candidates: Sequence[Candidate], question: str) -> list[Candidate]:
    """The candidates without what was done: `I paid the gas` is nothing that I have to pay."""
    verb = asked_task_verb(question)
    if not verb:
        return [*candidates]
    return [one for one in candidates if not is_done_with(one.text, verb)]


def _successor_of_former(
    asked: Question, candidates: Sequence[Candidate], least: float
) -> list[Candidate]:
    """A former statement that would answer the question, behind what holds instead of it:
    `who cuts my hair?` has no word in common with `I go to Mimi now`."""
    former = [
        (points, number, one)
        for number, one in enumerate(candidates)
        if one.is_closed
        and (points := score(asked, replace(one, is_closed=False))) >= least
        and _has_what_is_asked(asked, one)
    ]
    for _, _, one in sorted(former, key=lambda found: (-found[0], -found[1])):
        if follower := _holding(one, candidates) or _follower(asked, one, candidates):
            return [follower, one]
    return []


def _holding(former: Candidate, candidates: Sequence[Candidate]) -> Candidate | None:
    """The successor of a statement that still holds, or the successor of that one, and so on."""
    by_text = {one.text: one for one in candidates}
    found: Candidate | None = former
    for _ in candidates:
        found = by_text.get(found.successor) if found else None
        if found is None or not found.is_closed:
            return found
    return None


def _is_replaced_by(words: frozenset[str], candidate: Candidate) -> bool:
    """Check whether a statement does not hold any more, and its successor has all these words."""
    return bool(words) and words <= set(split_words(candidate.successor))


def _is_moved(asked: Question, one: Candidate, others: Sequence[Candidate]) -> bool:
    """Check whether another answer tells a change of this one: `I've put the pills up in the
    kitchen instead`."""
    if asked.wants_before:
        return False
    changes = (other for other in others if other != one and is_changed(other.text))
    return any(_may_follow(asked, other, one.text) for other in changes)


def _follower(
    asked: Question, earlier: Candidate, candidates: Sequence[Candidate]
) -> Candidate | None:
    """The latest statement behind this one that may tell what holds instead of it, although no rule
    is sure of that."""
    if not asked.concepts & features(earlier.text).concepts:
        return None
    later = _later(asked, earlier, candidates)
    found = next((one for one in later if _may_follow(asked, one, earlier.text)), None)
    found = found or next((one for one in later if _is_news(asked, one, earlier)), None)
    return found or _update(asked, earlier, later, candidates)


def _later(asked: Question, earlier: Candidate, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The statements behind one, latest first, without those of its message, of what was so long
    ago, of another person, and denials of something else."""
    behind = candidates[candidates.index(earlier) + 1 :]
    least_fitting = _less_fitting(asked, earlier.text)
    asked_kinds = qualified_nouns(asked.text)
    return [
        one
        for one in reversed(behind)
        if not (
            _USED_TO.search(one.text)
            or one.is_of_same_message(earlier)
            or not _may_be_of_same(asked, _joined(_message_of(one, behind)), earlier.text)
            or _less_fitting(asked, one.text) > least_fitting
            or have_different_bearers(one.text, earlier.text)
            or names_other_of_kind(one.text, earlier.text)
            or names_other_kind(one.text, asked_kinds)
            or _only_denies_another(one.text, earlier.text)
        )
    ]


def _message_of(candidate: Candidate, candidates: Sequence[Candidate]) -> list[Candidate]:
    """A statement with the others of its message."""
    return [one for one in candidates if one == candidate or one.is_of_same_message(candidate)]


def _joined(candidates: Sequence[Candidate]) -> str:
    return "; ".join(one.text for one in candidates)


def _may_be_of_same(asked: Question, text: str, earlier: str) -> bool:
    """Check whether a later statement may be about the same as an earlier one: it says that
    something has changed, or names all that the earlier one names of the question: `my phone is a
    Pixel` says nothing of the phone number. What another named being does is about that one."""
    new, old = features(text), features(earlier)
    subject = subject_name(text)
    if asked.names and subject and not (subject | new.names) & (asked.names | old.names):
        return False
    if asked.names and new.is_ended and new.names and not new.names & (asked.names | old.names):
        # "I cancelled Netflix" says nothing of Filmin.
        return False
    if is_changed(text) or new.is_ended or new.is_denial or _FOLLOWS.search(text):
        return True
    lost = asked.concepts & old.concepts - new.concepts - general() - light()
    shared = new.concepts & old.concepts - general() - light() - _ATTRIBUTES
    names = (new.names & old.names) | subject & subject_name(earlier)
    # What the vocabulary does not know is as good as a name: `donkeys`.
    rare = {one for one in new.concepts & old.concepts if not is_concept(one)} - light()
    return bool(names or rare or (shared and not any(map(is_concept, lost))))


def _only_denies_another(text: str, other: str) -> bool:
    """Check whether a statement says no more than that something else is not so: `I'm not allergic
    to milk` beside an allergy to nuts, but not `I can't have nuts`."""
    is_denied = _is_only_denial(text) and not _CANNOT.search(text)
    return is_denied and denies_other_thing(text, other)


_CANNOT = LazyPattern(
    r"\b(?:can(?:['’]?t|not)|mustn['’]?t|shouldn['’]?t|not allowed|never"
    r"|no (?:puedo|puede|debo|debe)|nunca)\b",
    _I,
)


def _update(
    asked: Question,
    earlier: Candidate,
    later: Sequence[Candidate],
    candidates: Sequence[Candidate],
) -> Candidate | None:
    """The latest statement behind this one (`later`) that answers otherwise, and names in its
    message the same thing, as few of all candidates do: `the optician rang, they can only fit me in
    on the 21st` after `I see the optician on the 14th`."""
    return next(
        (
            one
            for one in later
            if not (one.is_closed or one.is_of_same_message(earlier))
            and _has_other_answer(asked, one.text, earlier.text)
            and _is_told_as_fact(one.text)
            and not _is_of_another_matter(asked, one, earlier.text)
            and _shares_rare_thing(asked, one, earlier, candidates)
        ),
        None,
    )


def _has_other_answer(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement about the same thing may answer a question otherwise: it has
    another value of the type that is asked for, it tells where something is now, or the question
    asks whether something is so."""
    one, other = features(new), features(old)
    if kinds := _asked_kinds(asked, old):
        days = [said.values_of(ValueType.DAY) or frozenset() for said in (one, other)]
        # "Mondays and Tuesdays" after "Mondays".
        is_more = ValueType.DAY in kinds and bool(days[1] and days[0] - days[1])
        is_more = is_more and is_year(days[0]) == is_year(days[1])
        return is_more or any(_has_other(one, other, kind) for kind in kinds)
    if _WHERE.search(asked.text) or _WHO_HAS.search(asked.text):
        is_place = bool(_PLACE.search(new) and _PLACE.search(old))
        return is_place or bool(_HANDED_ON.search(new))
    named = (asked.concepts & other.concepts) - general() - light()
    is_whether = not (asked.expected or _FOR_VALUE.search(asked.text))
    return is_whether and 2 * len(named & one.concepts) >= len(named)


def _asked_kinds(asked: Question, answer: str) -> frozenset[ValueType]:
    """The types of which another value would be another answer."""
    kinds = asked.expected & {ValueType.DAY, ValueType.TIME, ValueType.NUMBER}
    if asked.expected or not _FOR_VALUE.search(asked.text):
        return kinds
    values = typed_values(answer).keys()
    return frozenset({ValueType.NUMBER}) if ValueType.NUMBER in values else frozenset()


def _is_told_as_fact(text: str) -> bool:
    """Check whether a statement tells what is so: no plan, nothing that is denied or added, and
    nothing that other people say of themselves."""
    said = features(text)
    is_of_others = bool(said.subject) and _is_hearsay(text)
    return not (_is_only_denial(text) or ADDITION.search(text) or is_of_others)


def _is_only_denial(text: str) -> bool:
    """Check whether each part of a statement denies something; a part of `I put it in my bag so as
    not to forget it` tells something."""
    return all(map(is_negated, _TOLD_PART.split(_NO_TROUBLE.sub("", text))))


def _is_hearsay(text: str) -> bool:
    """Check whether a statement only reports what other people say of themselves."""
    is_known = _SAID_OF_SPEAKER.search(text) or _SAID_BY_OFFICE.search(text)
    return features(text).is_reported and not is_known


_SAID_BY_OFFICE = LazyPattern(
    r" said (?:that )?(?:my|our) |^(?:the )?(?:scan|ultrasound|test|letter|results?|email|text|app"
    r"|website|allergist|vet|doctor|gp|nurse|physio|dentist|midwife|school|council|hospital"
    r"|clinic)\b[^,;]{0,20}? says? "
    r"|^[^,;]{2,30} (?:dice|dijo|ha dicho) que [^,;]*\b(?:me|nos)\b",
    _I,
)
"""A report by a letter, a doctor or the like, which is not about themselves."""
_TOLD_PART = LazyPattern(r"[,;:] | (?:and|so|because|y|para|porque) ", _I)
_NO_TROUBLE = LazyPattern(
    r"\b(?:sin problemas?|no problem|without (?:any )?(?:trouble|problems?))\b", _I
)


def _is_of_another_matter(asked: Question, new: Candidate, old: str) -> bool:
    """Check whether a later statement with another value is about another being, thing or kind of
    number than the answer to a question."""
    text = NOTE.sub("", new.text)
    secrets = asked.concepts & features(old).concepts & SECRETS
    units = units_of(text), units_of(old)
    # "I've given the key to our neighbour" tells of the key.
    is_of_place = _WHERE.search(asked.text) or _WHO_HAS.search(asked.text)
    beings = features(text).beings - features(old).beings - features(asked.text).beings - COUPLE
    is_of_another = (
        have_different_owners(text, old)
        or _has_other_owner(text, asked)
        or (not is_of_place and (beings or _tells_of_another(asked, text, old)))
    )
    return bool(
        is_of_another
        or secrets - features(text).concepts
        or (all(units) and not units[0] & units[1])
        or are_two_of_a_kind(text, old)
        or not _has_what_is_asked(asked, new)
        or _names_other_thing(asked, text, old)
    )


def _names_other_thing(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement lacks a thing that a question and its answer name, and has
    another one: `I have knee physio on 7 May` for `when is the knee op?`. What says that something
    has changed may name what it is now."""
    if asked.concepts & SECRETS and units_of(new):
        # "The gate's hinge cost 30 euros" tells no code.
        return True
    numbered = {one["noun"].lower() for one in LABELLED.finditer(old) if one.start()}
    if not numbered & set(split_words(asked.text)) <= set(split_words(new)):
        # "What unit do I drive?": a number without that noun is another one.
        return True
    named = features(asked.text).beings & features(old).beings
    if _TELLS_NAME_OF.search(new) and named - features(new).concepts:
        # "We have a boat, its name is Otter" does not tell what the dog is called.
        return True
    if is_changed(new):
        return False
    one, other = features(NOTE.sub("", new)), features(old)
    vague = general() | light() | kin() | _TIMES
    lost = asked.concepts & other.concepts - one.concepts - vague
    return bool(lost and things() & one.topic - other.concepts - asked.concepts)


def _shares_rare_thing(
    asked: Question, later: Candidate, earlier: Candidate, candidates: Sequence[Candidate]
) -> bool:
    """Check whether the message of a later statement names something that the question and its
    answer name, and at most MAX_RARE other statements; and all names of both."""
    told = _message_of(later, candidates)
    said = _joined(told)
    words = value_key(said)
    if not asked.names & value_key(earlier.text) <= words and not _SAME_PLACE.search(said):
        return False
    concepts = frozenset[str]().union(*(features(one.text).concepts for one in told))
    vague = general() | light() | kin() | _TIMES | concepts_of(" ".join(asked.names)) | {"home"}
    names = names_besides(asked.text, earlier.text) & words
    wanted = asked.concepts | concepts_of(" ".join(names))
    meant = wanted & features(earlier.text).concepts - vague
    shared = meant & concepts
    if 3 * len(shared) <= len(meant):
        # "The bowls lot voted for Wednesdays, same time": the question names the park only.
        is_arranged = bool(_ARRANGED.search(said) or _FOLLOWS.search(said) or is_changed(said))
        shared = features(earlier.text).topic & concepts - vague if is_arranged else frozenset()
    others = [one for one in candidates if one != earlier and one not in told]
    return any(
        sum(concept in features(one.text).concepts for one in others) <= MAX_RARE
        for concept in shared
    )


_ARRANGED = LazyPattern(
    r"\b(?:same (?:time|place|day|hour)|still|as usual|voted|from (?:this|next) (?:month|week|year)"
    r"|in place of|remains?|sick|on leave|mism[oa] (?:hora|d[ií]a|sitio|lugar)"
    r"|desde (?:este|el) mes|me (?:clav|cobr|sub)\w+|lo hacen|no puede)\b",
    _I,
)
"""Tells an arrangement beside one that was made before."""
_SAME_PLACE = LazyPattern(r"\b(?:same place|mismo (?:sitio|lugar))\b", _I)
"""Stands for a place that was named before."""
_TELLS_NAME_OF = LazyPattern(r"\b(?:its|his|her) name is\b|\bse llama\b", _I)
MAX_RARE = 2
"""Maximum number of other statements that name what two statements have in common."""


def _is_news(asked: Question, new: Candidate, old: Candidate) -> bool:
    """Check whether a later statement tells that what an answer names has gone, or has another day
    or place: `finally let the Golf go` for `I drive a Golf`, which is not asked for by its name."""
    one, other = features(new.text), features(old.text)
    is_added = bool(ADDITION.search(new.text))
    if new.is_closed or is_added or _is_hearsay(new.text) or new.is_of_same_message(old):
        return False
    if _has_other_value(asked, new.text, old.text):
        return True
    if one.is_plan:
        return False
    words = set(split_words(new.text))
    told = "; ".join(part for part in _COMMA.split(new.text) if not is_negated(part))
    has_gone = names_besides(asked.text, old.text) & value_key(new.text) and _PARTED.search(told)
    if has_gone or _tells_turn(asked, new.text, old.text):
        return True
    if _WHO_HAS.search(asked.text) and _HANDED_ON.search(told):
        # "Dan passed the drill on to his son": the answer need not be a name.
        return bool(stems_of(asked.text) & stems_of(old.text) & stems_of(new.text) - light())
    is_of_named = bool(asked.names & words & set(split_words(old.text)))
    if not is_of_named or one.is_negated:
        return False
    is_other_day = HABIT.search(new.text) and HABIT.search(old.text)
    if ValueType.DAY in asked.expected and is_other_day:
        return _has_other(one, other, ValueType.DAY)
    return bool(_WHERE.search(asked.text) and _WENT.search(new.text) and _PLACE.search(new.text))


def _tells_turn(asked: Question, new: str, old: str) -> bool:
    """Check whether a question asks whether something is so, and a later statement tells an event
    by which what it names ends, comes back or changes hands: `is the van at the garage?`, `I picked
    the van up`."""
    if _FOR_VALUE.search(asked.text) or not _TURNS.search(new):
        return False
    names = asked.names & value_key(old)
    if not names:
        return bool(stems_of(asked.text) & stems_of(old) & stems_of(new) - light() - kin() - _TIMES)
    subject = leading_noun(old)
    if subject and subject.is_being and value_key(subject.text) & names:
        # Of a person, anything may be told: "Ben passed his test" for "does Ben like football?".
        meant = (asked.concepts | features(old).concepts) - general() - light() - kin()
        if not (meant - concepts_of(" ".join(names))) & features(new).concepts:
            return False
    return names <= value_key(new)


_GONE = (
    r"got rid|sold|traded|swapped|finished|shut|quit|broke|wrote (?:[\w'’-]+ ){1,3}off|for good"
    r"|no longer|not any ?more|cerr(?:ó|ado|aron)"
)
"""Words for the end of a thing, or for its change of hands, in any sentence."""
_TURNS = LazyPattern(
    r"\b(?:pick(?:ed)? (?:[\w'’-]+ ){1,3}up|picked up"
    r"|(?:came|come|got|gave|given|brought|sent|handed|took|taken|went|gone|paid|dropped)"
    r" (?:[\w'’-]+ ){0,3}(?:back|off|round|in|over|away|home)"
    rf"|{_GONE}|pull(?:ed)? out|call(?:ed)? off|fell through|tied the knot|got (?:married|hitched)"
    r"|passed|failed|over and done|square|settled|even|closed|packed (?:it )?(?:in|up)"
    r"|jacked (?:it )?in|split up|last of|cancel\w+|scrapped|binned|ditched|never happened"
    r"|de vuelta|otra vez en|me (?:la|lo|las|los) (?:trajo|trajeron|ha traído|devolvi\w+)"
    r"|devuelt\w+|recog(?:í|ió|ido|imos)|vend(?:í|ió|ido|imos)|anul\w+|no se hizo|no va a haber"
    r"|no se hace|se cay[oó]|se ha caído|se acab[oó]|para siempre|en paz|a mano|pagad[oa]"
    r"|saldad[oa]|aprob(?:é|ó|ado)|suspend(?:í|ió|ido)|se cas(?:ó|aron)|nos casamos"
    r"|termin(?:é|ó|ado|amos)|acab(?:é|ó|ado|amos))\b",
    _I,
)
"""An event by which something ends, comes back or changes hands."""


def _has_other_value(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement has another value of the type that the question expects, and
    is about the same: it names the same things, or one of them and says what follows from
    something (`he'll come for the kids at six`, `they have put the class in Govan`)."""
    one, other = features(new), features(old)
    kinds = asked.expected & {ValueType.DAY, ValueType.TIME, ValueType.NUMBER}
    has_place = bool(_WHERE.search(asked.text) and _PLACE.search(new) and _PLACE.search(old))
    if not has_place and not any(_has_other(one, other, kind) for kind in kinds):
        return False
    is_of_another = one.beings - other.beings - features(asked.text).beings
    if one.is_negated or is_of_another or are_two_of_a_kind(new, old):
        return False
    if _names_other_thing(asked, new, old):
        return False
    if not asked.names & value_key(old) <= value_key(new):
        return False
    spans = typed_values(old).get(ValueType.NAME, ())
    of_names = {word for start, end in spans for word in value_key(old[start:end])}
    names = value_key(new) & value_key(old) & of_names
    shared = {*names, *(one.concepts & other.concepts - general() - light() - _TIMES)}
    if not shared & (asked.names | asked.concepts | names):
        return False
    is_same_habit = bool(HABIT.search(new) and HABIT.search(old))
    return len(shared) > 1 or is_same_habit or bool(_FOLLOWS.search(new))


_FOLLOWS = LazyPattern(
    r"\b(?:so|because|since|will|['’]ll|going to|would (?:rather|like)|prefers?|can only|have to"
    r"|(?:have|has|['’]ve|['’]s) (?:put|moved|given|changed|switched|taken)|put me on|in the end"
    r"|gave|rang|texted|from here on|this (?:term|year|season)|as[ií] que|porque|entonces"
    r"|de modo que"
    r"|voy a|va a|van a|vamos a|prefiere|solo puede|al final|me toca|me atiende|me ven?|avis\w+"
    r"|han (?:puesto|pasado|cambiado|mandado)|este (?:curso|a[ñn]o|trimestre))\b",
    _I,
)
"""Says what follows from something, or what others have arranged."""


def names_besides(question: str, text: str) -> frozenset[str]:
    """Names in a statement that answers a question, and things that the vocabulary does not know,
    in lower case: neither its subject (`Tom is a plumber`, `Tom left his bike here`: he still is
    one), nor what the question names, nor what stands beside the part that answers."""
    subject = leading_noun(text)
    about = value_key(question) | TITLES | (value_key(subject.text) if subject else frozenset())
    asked = concepts_of(question) - general() - light()
    parts = [one for one in _COMMA.split(text) if concepts_of(one) & asked] or [text]
    names = typed_values(text).get(ValueType.NAME, ())
    of_names = {word for start, end in names for word in split_words(text[start:end])}
    return frozenset(
        word
        for word in value_key(" ".join(parts)) - about
        # Not the "s" of "Lucy's".
        if (word in of_names and len(word) > 1)
        or (len(word) > MIN_RARE_CHARS and not any(map(is_concept, concepts_of(word))))
    )


_COMMA = re.compile(r"[,;:] (?:and |y )?")


_PARTED = LazyPattern(
    rf"\b(?:let (?:[\w'’-]+ ){{1,4}}go|{_GONE}|gave|given|passed|handed|retired|left"
    r"|clos(?:ed|ing)|moved|lost|took me off|taken me off|came off|come off"
    r"|stopped|dropped|switched|flew|packed up|casc(?:ó|ado)|written off|siniestro"
    r"|me (?:da|receta|pone)\b"
    r"|went off|gone off|gone|so (?:an?|the|it|we|i|he|she|now)\b"
    r"|instead|vend\w+|sal(?:í|ió|imos) de|dej(?:é|ó|amos|ado)|pas(?:ó|é) "
    r"|pasado|jubil\w+|traspas\w+|se ocupa|endosado|cambi\w+|quit(?:ó|ado|aron)"
    r"|de modo que|as[ií] que|conque|por lo que|ya no|se (?:ha )?(?:ido|fue|march\w+|mud\w+))\b",
    _I,
)
"""A person or thing has gone or was replaced, or a consequence of that."""
_WHO_HAS = LazyPattern(
    r"^(?:so )?who(?:['’]s| is| has| have)?(?: still)? (?:got|has|have|borrow\w+|holding)\b"
    r"|^¿?(?:y )?qui[eé]n (?:sigue teniendo|tiene|se llev[oó]|se qued[oó])\b"
    r"|\ben manos de qui[eé]n\b",
    _I,
)
_HANDED_ON = LazyPattern(
    r"\b(?:passed|lent|gave|given|handed|returned|brought|took|left|back|pas(?:ó|é|ado)|dej(?:ó|é"
    r"|ado)"
    r"|prest(?:ó|é|ado)|devolvi(?:ó|ste)|devolví|devuelto|trajo|traído|llev(?:ó|é|ado))\b",
    _I,
)
_WENT = LazyPattern(
    r"\b(?:moved|gone|went|relocated|transferred|settled|lives?|living|se (?:ha )?(?:fue|fueron|ido"
    r"|mud\w+|march\w+|traslad\w+|volvi\w+|vuelto)|vive|est[aá] en)\b",
    _I,
)
"""A change of place: of a person, or of a home."""


def _may_follow(asked: Question, new: Candidate, old: str) -> bool:
    """Check whether a later statement may tell what holds instead of an older one: it names half of
    what that has of the question, and another value, or tells a change of it."""
    if _cannot_follow(asked, new, old):
        return False
    one, other = features(new.text), features(old)
    words = set(split_words(new.text))
    of_names = concepts_of(" ".join(asked.names))
    wanted = (asked.concepts & other.concepts) - general() - light() - kin() - of_names
    found = wanted & one.concepts
    is_named = asked.names & set(split_words(old)) <= words
    # "They're doing the recital at St Luke's": of the one that was told of.
    is_meant = found and found == wanted and not one.beings
    if not is_named and (not is_meant or have_different_owners(new.text, old)):
        return False
    if is_changed(new.text) and (found or _exchanges_name(one, other, old)):
        # "Ann has moved" does not tell when her birthday is.
        is_dated = one.values_of(ValueType.DAY) or _values(one, ValueType.TIME)
        return ValueType.DAY not in asked.expected or bool(is_dated)
    if _tells_whether(asked, new.text, old):
        return True
    if is_named and asked.names and _has_other_member(asked, new.text, old):
        return True
    named = stems_of(asked.text) & stems_of(old) - light()
    is_half = 2 * len(named & stems_of(new.text)) >= len(named) > 0
    is_about_it = 2 * len(found) >= len(wanted) > 0 or (not wanted and bool(asked.names & words))
    is_about_it = is_about_it or (is_half and bool(found))
    kinds = asked.expected or {ValueType.DAY, ValueType.TIME, ValueType.NUMBER, ValueType.COLOUR}
    has_other = any(_has_other(one, other, kind) for kind in kinds)
    is_at_place = _WHERE.search(asked.text) and _PLACE.search(new.text) and _PLACE.search(old)
    return is_about_it and (has_other or bool(is_at_place))


def _cannot_follow(asked: Question, new: Candidate, old: str) -> bool:
    """Check whether a later statement cannot tell what holds instead of an older one: it is over or
    a plan, others say it of themselves, it adds something, or it is about another being or thing.
    """
    one, other = features(new.text), features(old)
    is_told = one.is_reported and not _SAID_OF_SPEAKER.search(new.text)
    # "We got another cat, that makes four" tells how many there are.
    is_counted = ValueType.NUMBER in asked.expected and _has_other(one, other, ValueType.NUMBER)
    # "I can't have aspirin" holds whatever else is prescribed, as does an allergy.
    is_of_denial = stems_of(asked.text) & stems_of(old) <= stems_of(new.text)
    return (
        new.is_closed
        or "allergy" in other.concepts - one.concepts
        or is_told
        or one.is_plan
        or (is_beside(new.text, old) and not is_counted)
        or (other.is_negated and not is_of_denial)
        or not _has_what_is_asked(asked, new)
        or _is_aside(asked, new.text, one.concepts)
        or are_two_of_a_kind(new.text, old)
        or _tells_of_another(asked, new.text, old)
        or _names_other_thing(asked, new.text, old)
        or denies_other_place(new.text, old)
    )


def _tells_whether(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement answers a question whether something is so: `I passed my
    test` tells whether I have passed my driving test, of which only the date was known."""
    if _FOR_VALUE.search(asked.text):
        return False
    of_question, said = stems_of(asked.text), stems_of(new)
    shared = of_question & stems_of(old)
    is_event = features(new).is_past or is_changed(new)
    is_told = of_question & said - shared or (is_event and _STILL.search(asked.text))
    return bool(is_told) and 2 * len(shared & said) >= len(shared)


def _is_aside(asked: Question, text: str, concepts: frozenset[str]) -> bool:
    """Check whether a statement tells a number or code, or only has the word for a home: `the wifi
    password at home is …` does not tell where somebody lives."""
    if concepts & (SECRETS | {"number"}) - asked.concepts:
        return True
    is_of_home = asked.concepts & concepts - general() == {"home"}
    return is_of_home and is_about_speaker(asked.text) and not tells_own_home(text)


def _exchanges_name(one: Features, other: Features, old: str) -> bool:
    """Check whether a statement has a name of an older one, which is not its subject, and another
    one: `switched to Monzo because Barclays closed` after `I bank with Barclays`."""
    new, before = one.values_of(ValueType.NAME), other.values_of(ValueType.NAME)
    if not new or not before or not new - before:
        return False
    return bool(new & before - value_key(old.split(maxsplit=1)[0]) - one.beings)


def _tells_of_another(asked: Question, new: str, old: str) -> bool:
    """Check whether a later statement is about a being that an older one does not name: what is
    said of a husband follows nothing that was said of the speaker."""
    one, other = features(new), features(old)
    is_of_named = _is_about_another(new, asked.text) or bool(one.subject - other.beings)
    # "Ann moved to be nearer her mum" is about Ann.
    beings = one.subject & other.beings or one.beings
    return (
        bool(beings - other.beings - COUPLE)
        or _is_of_owned(new, asked)
        or (is_about_speaker(asked.text) and _has_other_owner(new, asked))
        or (is_of_named and is_about_speaker(asked.text))
        or (bool(role_in_state(new)) and not role_in_state(old))
    )


def _has_other_member(asked: Question, new: str, old: str) -> bool:
    """Check whether both statements have a member of a class that the question names and of which
    one holds at a time, each another one: `he plays goalie`, `he's on defense`."""
    classes = asked.concepts & _HELD_BY_ONE & features(new).concepts & features(old).concepts
    one, other = (
        {word for word in split_words(text) if concepts_of(word) & classes} for text in (new, old)
    )
    return bool(one - other and other - one)


_HELD_BY_ONE = frozenset({"position", "profession", "study", "subject", "work"})


def _has_other(one: Features, other: Features, kind: ValueType) -> bool:
    """Check whether both statements have values of a type, each one that the other has not."""
    new, old = _values(one, kind), _values(other, kind)
    if not new or not old or (kind is ValueType.DAY and is_year(new) != is_year(old)):
        return False
    return bool(new - old and old - new)


def _values(said: Features, kind: ValueType) -> frozenset[str] | None:
    """The values of a type; a number may be a time: `open till 6`."""
    values = said.values_of(kind)
    return said.values_of(ValueType.NUMBER) if not values and kind is ValueType.TIME else values


def find_about(topic: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The statements that hold and name all that a topic names, oldest first, at most MAX_ABOUT."""
    named = stems_of(topic)
    wanted = concepts_of(_with_being(topic[:1].upper() + topic[1:], candidates)) & kin()
    open_ones = [one for one in candidates if not one.is_closed]
    names = _names_of_beings((one.text for one in open_ones), wanted)
    found = [
        one
        for one in open_ones
        if (named and named <= stems_of(one.text))
        or (wanted and wanted <= features(one.text).concepts)
        or names & set(split_words(one.text))
    ]
    return found[-MAX_ABOUT:]


def _names_of_beings(texts: Iterable[str], beings: frozenset[str]) -> frozenset[str]:
    """Names, in lower case, that statements give to beings of these concepts: `two kids, Ella and
    Max`."""
    lists = (
        found["names"]
        for text in texts
        for found in _NAMES_BEHIND.finditer(text)
        if concepts_of(found["noun"]) & beings
    )
    return frozenset(word for names in lists for word in split_words(names)) - {"and", "y", "e"}


_NAMES_BEHIND = LazyPattern(
    r"\b(?P<noun>[^\W\d_]+),? (?:(?:called|named|que se llaman?|se llaman?|llamad[oa]s?) )?"
    r"(?P<names>(?-i:[A-ZÁÉÍÓÚÑ])\w+(?:(?:, | and |, and | y | e )(?-i:[A-ZÁÉÍÓÚÑ])\w+)*)\b",
    _I,
)
"""Names behind the noun of a being."""


def _may_be_closed(question: str) -> bool:
    """Check whether what does not hold any more may answer: a question about the past, or whether
    something is so (`do I still smoke?`)."""
    return bool(_PAST_QUESTION.search(question) or not _FOR_VALUE.search(question))


def _is_followed(
    asked: Question,
    ended: tuple[float, int, Candidate],
    scored: Sequence[tuple[float, int, Candidate]],
) -> bool:
    """Check whether a statement tells an end (`I dropped out of law school`), and another one what
    holds instead: `I study nursing`."""
    over = features(ended[2].text)
    topic = asked.concepts & over.concepts - general()
    is_over = over.is_ended or bool(_NO_LONGER.search(ended[2].text))
    names = over.names
    return is_over and any(
        points >= ended[0] - PENALTY
        # "Dr Hill has retired" ends what names her, and is followed by any other doctor.
        and (number > ended[1] or is_changed(one.text) or not names & set(split_words(one.text)))
        and not (features(one.text).is_denial or features(one.text).is_ended)
        and features(one.text).beings == over.beings
        and bool(topic & features(one.text).concepts)
        for points, number, one in scored
    )


def _with_end_first(
    question: str, asked: Question, scored: Sequence[tuple[float, int, Candidate]]
) -> list[tuple[float, int, Candidate]]:
    """The answers; to a question whether something is so, an event that ended it (`we split up`)
    before what was told of it earlier."""
    if _FOR_VALUE.search(question):
        return list(scored)
    over = [one for one in scored if ends(one[2].text, asked.concepts) and one[1] > scored[0][1]]
    return [*over[:1], *scored] if over and not over[0][2].is_closed else list(scored)


def find_nearest(
    question: str, candidates: Sequence[Candidate], recalled: Collection[str] = ()
) -> Candidate | None:
    """The first of the candidates, which are in the order of their meaning's similarity to the
    question, if it can be an answer: with a value of the expected type, about the same being, and
    not known to be about something else. `recalled`: texts that a search by meaning found near
    enough to the question; these may be about what the question names in other words.
    """
    asked = Question.read(question)
    candidates = _without_done(candidates, question)
    if not candidates or _HOW_TO.search(question) or asks_for_list(question):
        return None
    # Only the first: similarity of meaning alone is weak evidence, and weaker for the next.
    nearest = candidates[0]
    is_possible = _may_answer(asked, nearest) and (
        nearest.text in recalled or not _is_unrelated(asked, nearest)
    )
    if not _FOR_VALUE.search(question):
        # Whether something is so, only what has a word of it can tell.
        is_possible = is_possible and score(asked, nearest) > 0.0
    return nearest if is_possible else None


def find_possible(
    question: str, candidates: Sequence[Candidate], recent: Collection[str]
) -> Candidate | None:
    """The candidate that may answer although the vocabulary has no sufficient link: with a value of
    the expected type, about the same being, and not known to be about something else.

    `recent`: texts of the latest statements of the conversation. A question for a value (`which`,
    `who`) that has no link to any candidate may mean one of them; the latest is returned.
    """
    candidates = _without_done(candidates, question)
    asked = Question.read(_with_being(question, candidates))
    if _HOW_TO.search(question) or asks_for_list(question):
        return None
    is_open = bool(_FOR_VALUE.search(question))
    possible = [
        (points, number)
        for number, one in enumerate(candidates)
        if _may_answer(asked, one)
        and ((points := score(asked, one)) > 0.0 or (is_open and one.text in recent))
        and not _is_unrelated(asked, one)
    ]
    return candidates[max(possible)[1]] if possible else None


def _may_answer(asked: Question, candidate: Candidate) -> bool:
    """Check whether nothing but the missing words in common is against this candidate."""
    said = features(candidate.text)
    is_against = (
        candidate.is_closed
        or asked.wants_before
        or said.is_reported
        or said.is_plan
        or _is_of_other_being(asked, said)
        or _is_about_another(candidate.text, asked.text)
    )
    return not is_against and (
        not asked.expected
        or _has_expected(asked, candidate, said)
        or _may_have_name(asked, candidate)
    )


def _is_of_other_being(asked: Question, said: Features) -> bool:
    beings = features(asked.text).beings
    if beings:
        return not beings & said.beings
    # Another being that a statement about the speaker only mentions does not count.
    return bool(said.subject - asked.concepts or (said.beings and not said.is_own))


def _is_unrelated(asked: Question, candidate: Candidate) -> bool:
    """Check whether both are about known relations, but not about the same: `what is my religion?`
    and `I live in Rome`. Of a word without a concept it is not known."""
    said = features(candidate.text).concepts
    if "profession" not in said:
        # "I'm a Quaker" has the form of "I'm a nurse".
        said -= {"work", "role"}
    return not asked.concepts & said and all(
        any(is_concept(one) and one not in general() | _TIMES for one in concepts)
        for concepts in (asked.concepts, said)
    )


def score(asked: Question, candidate: Candidate) -> float:
    """The score of a candidate: shared concepts, value of the expected type, same beings."""
    said = features(candidate.text)
    shared = _shared(asked, candidate, said)
    named = asked.names & set(split_words(candidate.text))
    is_same_being = bool(named) or said.beings <= features(asked.text).beings | COUPLE
    # The end of studies tells neither a language nor what was studied, and where.
    is_of_what = bool(asked.concepts & _LEARNT or _WHICH_THING.search(asked.text))
    lasting = {"study"} if is_of_what else set[str]()
    is_ended = is_same_being and ends(candidate.text, asked.concepts - lasting)
    if not shared and not is_ended and not named:
        return 0.0
    points = sum(map(_weight, shared)) + COVERED_SCORE * len(shared) / max(1, len(asked.concepts))
    points += _name_points(asked, candidate, said, shared)
    points += WHOLE_SCORE if shared == asked.concepts else 0.0
    points += _rare_points(asked, candidate, shared)
    points += _word_points(asked, candidate)
    # "What do I do on Thursdays?": anything that is on that day.
    points += RELATION_SCORE if shared and asked.concepts <= WEEKDAY_CONCEPTS else 0.0
    subject = leading_noun(candidate.text)
    is_named = subject is not None and value_key(subject.text) & asked.names
    points += SUBJECT_SCORE if is_named or _is_subject(asked, candidate.text) else 0.0
    if (note := NOTE.search(candidate.text)) and shared and shared <= concepts_of(note[0]):
        # It is about that, but what names it without a pronoun says more of it.
        points -= NOTE_PENALTY
    # A class that both name says little, if the question names a member of it that was not told.
    is_class = shared <= general() and not asked.concepts - shared <= general()
    if is_class and not _is_of_couple(asked, said):
        points -= CLASS_PENALTY
    # So does an attribute (`name`), if it is that of something else (`the au pair's`).
    if shared and shared <= _ATTRIBUTES and not asked.concepts <= _ATTRIBUTES | general() | light():
        points -= SMALL_PENALTY
    points -= _of_other_thing(asked, candidate, said)
    points -= PENALTY if _is_owned_by_another(asked, candidate.text) else 0.0
    if shared and not features(asked.text).beings and is_about_speaker(asked.text):
        # "My son, who lives in Rome" does not tell where the speaker lives.
        points -= 0.0 if shared & concepts_of(_RELATIVE.sub("", candidate.text)) else PENALTY
    # "Nina" is a name here, and no girl.
    is_name = _ASKS_OWN_NAME.search(asked.text) and _BEGINS_WITH_OWN_NAME.match(candidate.text)
    is_same = is_name or _child_of_relative(asked, candidate.text, said)
    other_being = 0.0 if is_same else _other_being(asked, candidate, said)
    points += ENDED_SCORE if is_ended else -other_being
    points += _type_points(asked, candidate, said) + _time_points(asked, candidate, said)
    if said.is_negated and not said.is_ended and _WH.search(asked.text):
        points -= SMALL_PENALTY
    is_disliked = said.concepts & {"like", "dislike"} == {"dislike"}
    if "like" in asked.concepts and is_disliked and _FOR_VALUE.search(asked.text):
        # It answers `do I like …?`, but not `what do I like?`.
        points -= SMALL_PENALTY
    return points


_LEARNT = frozenset({"speak", "instrument", "degree", "university"})
"""Concepts of which the end of studies says nothing: a language, what was studied and where."""


def _less_fitting(asked: Question, text: str) -> float:
    """Penalty of a statement that answers a question only if no other one does."""
    owned = _BEING_OF_BEING.match(text)
    being = concepts_of(owned["being"] or owned["being2"]) & kin() if owned else frozenset()
    if owned and being and not (being & asked.concepts or asked.names - value_key(owned[0])):
        # "My brother's friend is a butcher" for "what does my brother do?"
        return PENALTY
    if _WHICH_YEAR.search(asked.text):
        return 0.0 if YEAR.search(text) else SMALL_PENALTY
    if not _WHICH_THING.search(asked.text):
        return 0.0
    said = features(text)
    is_of_part = bool(said.topic & _OF_A_THING - asked.concepts) or _is_of_other_head(asked, text)
    is_liked = "dislike" in asked.concepts and "dislike" not in said.concepts
    is_unnamed = _TOWN.search(asked.text) and ValueType.NAME not in typed_values(text)
    is_of_hours = (
        asked.concepts & _JOBS and _HOURS.search(text) and not _FOR_HOURS.search(asked.text)
    )
    penalties = (is_of_part, is_liked, is_unnamed, is_of_hours)
    of_class = PENALTY if _names_only_class(asked, text) else 0.0
    return of_class + SMALL_PENALTY * sum(map(bool, penalties))


_BEING_OF_BEING = LazyPattern(
    r"^(?:my|our) [\w-]+(?: (?-i:[A-Z])[\w-]+)?['’]s (?P<being>[\w-]+)\b"
    r"|^(?:el|la) (?P<being2>[\w-]+) de (?:mi|nuestr[oa]) ",
    _I,
)
"""A being that is one of another being's: `my brother's friend`."""
_OF_A_THING = frozenset({
    "numberplate", "insurance", "exam", "subscription", "price", "graduation", "save", "commute",
})  # fmt: skip
"""Attributes of a thing, which do not tell which it is: the plate of a car."""
_TOWN = LazyPattern(
    r"\b(?:town|city|where .*\b(?:live|home)|ciudad|localidad|poblaci[oó]n|pueblo|d[oó]nde vivo)\b",
    _I,
)
_WHICH_YEAR = LazyPattern(r"\b(?:(?:what|which) year|qu[eé] a[ñn]o)\b", _I)
_FOR_HOURS = LazyPattern(r"\b(?:hours|times?|shifts?|horas?|horarios?|jornada|turno)\b", _I)
_JOBS = frozenset({"work", "profession"})
_HOURS = LazyPattern(
    r"\b(?:from |de )?\d{1,2}(?:[:.]\d\d)? (?:to|till|a|hasta) \d|\ben (?:tren|bus|coche)$", _I
)


def _is_of_other_head(asked: Question, text: str) -> bool:
    """Check whether a statement tells of something of the thing that a question asks for (`what car
    do I drive?`): `my car insurance is with Aviva`, `I have a driving test`."""
    found = COPULA.match(text) or _HAS_THING.match(text)
    if not found:
        return False
    first = _OF.split(found["noun"])[0].split()
    if not first or first[-1][0].isupper():
        return False
    is_spanish = bool(_SPANISH_NOUN.match(text))
    head = concepts_of(first[0] if is_spanish else first[-1])
    known = frozenset(filter(is_concept, head)) - general()
    return bool(known) and not known & asked.concepts


_WHICH_THING = LazyPattern(
    r"^\W*(?:(?:so|and|y|oye|do you (?:know|remember)|sabes),? )*(?:what|which|who|where"
    r"|in (?:what|which)|(?:en |de |a |con |para )?(?:qu[eé]|cu[aá]l(?:es)?|qui[eé]n|d[oó]nde))"
    r"(?! (?:time|day|date|month|year|number|hora|d[ií]a|fecha|mes|a[ñn]o|n[uú]mero)\b)",
    _I,
)
_HAS_THING = LazyPattern(
    r"^(?:i have|i['’]ve got|we have|we['’]ve got|tengo|tenemos)"
    r" (?:(?:an?|the|my|el|la|los|las|una?|mi) )?"
    r"(?P<noun>[\w-]+(?: (?:de [\w-]+|(?!(?:on|at|in|el|la|en|con|with)\b)[\w-]+)){0,2})",
    _I,
)
_SPANISH_NOUN = LazyPattern(r"^(?:mis?|el|la|los|las|nuestr[oa]s?|tengo|tenemos)\b", _I)


def _names_only_class(asked: Question, text: str) -> bool:
    """Check whether a question asks for a member of a class (`which medicine do I take?`), and a
    statement has only the word for the class: `I take my medicine at 8`."""
    found = _WHICH.search(asked.text)
    noun = found["noun"].lower() if found else ""
    kind = concepts_of(noun) & _CLASSES_WITH_MEMBERS if noun in _CLASS_WORDS else frozenset()
    if not kind or ValueType.NAME in typed_values(text):
        return False
    words = {word for word in split_words(text) if concepts_of(word) & kind}
    return bool(words) and words <= _CLASS_WORDS | set(split_words(asked.text))


_CLASSES_WITH_MEMBERS = frozenset({"medicine", "speak", "instrument", "sport", "subject"})
_CLASS_WORDS = frozenset({
    "medicine", "medication", "medications", "meds", "pill", "pills", "tablet", "tablets", "drug",
    "pastilla", "pastillas", "medicina", "medicamento", "medicación", "remedio", "prescription",
    "tomo", "take", "language", "idioma", "instrument", "instrumento", "sport", "deporte",
})  # fmt: skip
PLAN_PENALTY = 0.25
"""Penalty of what is only intended, for a question about what is so."""
_FORGOT = LazyPattern(r"\b(?:forgot(?:ten)?|olvid(?:é|ó|ado|aba))\b", _I)


def _is_owned_by_another(asked: Question, text: str) -> bool:
    """Check whether a question asks for something of the speaker, and a statement tells that of the
    thing of a being that the question does not name: `Priya's dog` is not mine."""
    if not is_about_speaker(asked.text) or _POSSESSED.search(asked.text):
        return False
    if asked.concepts & relatives() or _TO_SPEAKER.search(text):
        # "My father's sister" is the speaker's aunt.
        return False
    owner = owner_of(text)
    is_named = owner & value_key(asked.text) or concepts_of(" ".join(owner)) & asked.concepts
    return bool(owner) and not is_named


_POSSESSED = LazyPattern(
    r"\w['’]s \w+ (?!an?\b|the\b)|\b(?:de|del) (?:(?:mis?|nuestr[oa]s?) |(?-i:[A-ZÁÉÍÓÚÑ]))", _I
)
"""A question for something of a relative or of a named being."""


def _is_of_others_only(asked: Question, candidate: Candidate) -> bool:
    """Check whether a question asks for something of the speaker alone (`what car do I drive?`),
    and a statement tells that of a being that it names (`Priya drives a Fiesta`)."""
    is_for_speaker = is_about_speaker(asked.text) and not (
        asked.names or features(asked.text).beings or _WHO.search(asked.text)
    )
    bearer = bearer_of(candidate.text) if is_for_speaker else SPEAKER
    is_other = bool(bearer) and bearer != SPEAKER and not bearer & value_key(asked.text)
    return is_other and not _TO_SPEAKER.search(candidate.text)


def _is_of_another_bearer(asked: Question, text: str) -> bool:
    """Check whether a question asks for something of one being, and a statement tells that of
    another one: `my dog is called Rex` for `what's Ana's dog called?`. A name may be that of a
    being that the other text calls by its role."""
    if _child_of_relative(asked, text, features(text)):
        return False
    one, thing = _asked_bearer(asked.text)
    other = _bearer_of_being(text, thing) if thing else bearer_of(text)
    if not one or not other or one & other:
        return False
    if _names_bearer(text, one) or _names_bearer(asked.text, other):
        return False
    if one == SPEAKER:
        return not _TO_SPEAKER.search(_OF_OTHER.sub("", text) if owner_of(text) else text)
    roles, others = (
        {word for word in words if concepts_of(word) & kin()} for words in (one, other)
    )
    if other == SPEAKER:
        is_shared = "home" in asked.concepts and concepts_of(" ".join(one)) & COUPLE
        return not (is_shared or _OF_US.match(text))
    is_same_kind = (roles and others) or (one - roles and other - others)
    return bool(is_same_kind) and not concepts_of(" ".join(roles)) & concepts_of(" ".join(others))


def _is_of_other_medicine(asked: Question, text: str) -> bool:
    """Check whether a question names a medicine, and a statement another one."""
    words = value_key(asked.text)
    named = {one for one in words if "medicine" in concepts_of(one)} - _KINDS_OF_MEDICINE
    said = features(text)
    # "I'm allergic to penicillin" may answer for another one.
    is_of_medicine = "medicine" in said.concepts and "allergy" not in said.concepts
    return bool(named) and is_of_medicine and not (said.is_denial or named & value_key(text))


_KINDS_OF_MEDICINE = WORDS_FOR_MEDICINE | {
    "capsule", "capsules", "cream", "ointment", "eyedrops", "inhaler", "injection", "injections",
    "patch", "steroid", "steroids", "statin", "statins", "supplement", "supplements", "vitamin",
    "antihistamine", "anticoagulant", "contraceptive", "prescriptions", "prescribe", "prescribed",
    "prescribes", "prescribing", "analgesico", "analgesicos", "antihistaminico", "anticoagulante",
    "anticonceptivo", "anticonceptivos", "anticonceptiva", "capsula", "capsulas", "colirio",
    "crema", "gotas", "inhalador", "inyeccion", "inyecciones", "jarabe", "parche", "pomada",
    "receta", "recetas", "recetado", "recetaron", "vitaminas",
}  # fmt: skip
"""Words for kinds of medicine, of which a statement may have the name."""


def _names_bearer(text: str, bearer: frozenset[str]) -> bool:
    """Check whether a text names a being by one of its words, or by another one for the same."""
    words = bearer - SPEAKER
    return bool(words & value_key(text) or concepts_of(" ".join(words)) & concepts_of(text))


def _bearer_of_being(text: str, thing: str) -> frozenset[str]:
    """Words for the being to which a statement says that another one belongs; none if it says
    nothing of that: `Dr Hill is lovely` may answer `who is my doctor?` (`thing`: `doctor`)."""
    owner = owner_of(text)
    if owner and not _names_bearer(thing, owner):
        return owner
    # "My niece" may be "my brother's daughter".
    is_own = OF_OWN.match(text) or bearer_of(text) == SPEAKER
    return SPEAKER if is_own and concepts_of(thing) & concepts_of(text) & kin() else frozenset()


_OF_OTHER = LazyPattern(r"\bdel? (?:mi|nuestr[oa]) [\w-]+|^(?:my|our) [\w-]+", _I)
_OF_US = LazyPattern(r"(?:we|our|us|nuestr[oa]s?|nos|[^\W\d_]+(?:amos|emos|imos))\b", _I)
_ASKS_OF = LazyPattern(
    r"^[¿\s]*(?:what|when|where|who|how (?:old|much|tall)|which [\w-]+)(?:['’]s| is| are)"
    rf" (?P<owner>{BEARER})['’]s (?P<thing>[\w-][\w '’-]{{2,40}})[?\s]*$"
    r"|^[¿\s]*(?:what|when|where|who|how (?:old|much|tall)|which [\w-]+)(?:['’]s| is| are)"
    r" (?P<own>my|our) (?P<own_thing>[\w-][\w -]{2,40})[?\s]*$"
    rf"|^[¿\s]*(?:what|where|when|which|how)(?: [\w-]+){{0,3}}? (?:do|does|am|is|are)"
    rf" (?P<subject>i|we|{BEARER}) (?!called\b|like\b)[\w-]+(?: [\w-]+){{0,3}}[?\s]*$"
    r"|^[¿\s]*(?:cu[aá]l(?:es)?|cu[aá]ndo|d[oó]nde|qui[eé]n|c[oó]mo) (?:es|son|se llama|est[aá]) "
    rf"(?:(?P<own2>mi|nuestr[oa]) (?P<own_thing2>[\w ]{{3,40}}?)"
    rf"|(?:el|la) (?P<thing2>[\w ]{{3,40}}?) del? (?P<owner2>{BEARER}))[?\s]*$"
    r"|^[¿\s]*(?:a |de |en )?(?:qu[eé]|cu[aá]nt[oa]s?|d[oó]nde|cu[aá]ndo|c[oó]mo)"
    rf"(?: [\w-]+){{0,2}}? (?:{DOES_SPANISH}"
    rf"(?: (?-i:[a-záéíóúñ]+))? (?P<subject2>{BEARER})"
    r"|(?P<subject3>(?:me )?(?:soy|estoy|voy|[^\W\d_]{3,}o))"
    r"(?: (?:un |una |el |la )?[\w-]+)?)[?\s]*$",
    _I,
)
"""Asks for something of a being: `what's Ana's dog called?`, `¿a qué soy alérgica?`."""


@lru_cache(maxsize=500)
def _asked_bearer(question: str) -> tuple[frozenset[str], str]:
    """Words that name the being of which a question asks something, or SPEAKER, and the being that
    it asks for (`my doctor`), if it does; no words if it asks for nothing of a being."""
    found = _ASKS_OF.match(question)
    if not found:
        return frozenset(), ""
    thing = next((found[one] for one in _THING_GROUPS if found[one]), "")
    thing = thing if concepts_of(thing) & (kin() | _CLASSES_OF_BEINGS) else ""
    named = next((found[one] for one in _BEARER_GROUPS if found[one]), "")
    if not named or named.lower() in ("i", "we"):
        return SPEAKER, thing
    return key_of_being(named), thing


_THING_GROUPS = ("thing", "own_thing", "thing2", "own_thing2")
_BEARER_GROUPS = ("owner", "owner2", "subject", "subject2")
_TO_SPEAKER = LazyPattern(r"(?<=\w )(?:i|me|us|we|my|our|yo|nos|conmigo|mis?|nuestr[oa]s?)\b", _I)
"""Words for the speaker behind the subject."""


def _rare_points(asked: Question, candidate: Candidate, shared: frozenset[str]) -> float:
    """Points for a shared word that the vocabulary does not know, if it may be the answer."""
    unknown = {one for one in shared if not is_concept(one) and len(one) > MIN_RARE_CHARS}
    if not unknown - concepts_of(" ".join(asked.names)):
        return 0.0
    is_possible = not asked.expected or _has_expected(asked, candidate, features(candidate.text))
    return RARE_SCORE if is_possible else 0.0


def _word_points(asked: Question, candidate: Candidate) -> float:
    """Points for words that a question and a candidate have in common."""
    words = stems_of(asked.text) & stems_of(candidate.text)
    verb = _ASKED_VERB.match(asked.text)
    # "¿Qué tomo para dormir?" asks for more than the verb says.
    is_all = asked.concepts - general() <= features(candidate.text).concepts
    has_verb = is_all and verb is not None and verb["verb"].lower() in split_words(candidate.text)
    is_favourite = _FAVOURITE.search(asked.text) and _FAVOURITE.search(candidate.text)
    points = WORD_SCORE * min(len(words), MAX_WORDS) + VERB_SCORE * has_verb
    points += FAVOURITE_SCORE * bool(is_favourite)
    is_job = _ASKS_JOB.search(asked.text) and "profession" in features(candidate.text).concepts
    return points + JOB_SCORE * bool(is_job and _TELLS_JOB.search(candidate.text))


def _head_concepts(asked: Question) -> frozenset[str]:
    """Concepts of the being that is asked for: `who is the vet of our cats?`."""
    found = _WHO_IS_THE.match(asked.text)
    return concepts_of(found["head"]) - general() if found else frozenset()


def _shared(asked: Question, candidate: Candidate, said: Features) -> frozenset[str]:
    """Concepts that a question and a candidate have in common."""
    shared = asked.concepts & said.concepts
    if _OWN_NAME.match(candidate.text) and "profession" not in said.concepts:
        shared -= {"work", "role"}
    if asked.names & set(split_words(candidate.text)):
        shared |= asked.implied
    if "partner" in said.concepts and not said.beings:
        # "I'm seeing someone called Sol" tells the girlfriend's name.
        shared |= asked.concepts & COUPLE
    if "name" in asked.concepts and _tells_name(candidate.text, asked):
        shared |= {"name"}
    if "medicine" in said.concepts and said.beings:
        # "What does Rex drink?" may ask for what he is given.
        shared |= asked.concepts & {"drink"}
    return shared | _child_of_relative(asked, candidate.text, said)


def _child_of_relative(asked: Question, text: str, said: Features) -> frozenset[str]:
    """The relative that a question asks for, if a statement tells of the child of its parent: `my
    sister had a girl, Maeve` for `what's my niece called?`."""
    found = {one for one in asked.concepts & _PARENTS.keys() if _PARENTS[one] & said.subject}
    return frozenset(found if found and _HAS_CHILD.search(text) else ())


_SIBLINGS = frozenset({"sister", "brother", "sibling", "sisterinlaw", "brotherinlaw"})
_PARENTS = {
    "grandchild": frozenset({"daughter", "son", "child"}),
    "niece": _SIBLINGS,
    "nephew": _SIBLINGS,
}
"""Relatives of the speaker, and those that their parents are."""
_HAS_CHILD = LazyPattern(
    r"\b(?:has|had|have|have had|gave birth to|expecting|bec[oa]me an? (?:dad|mum|mom|father|mother"
    r"|parent)|tiene|tienen|tuvo|tuvieron|ha tenido|ha sido (?:padre|madre)"
    r"|di(?:o|eron) a luz)\b.*\b(?:girls?|boys?|kids?|child(?:ren)?|sons?|daughters?|twins"
    r"|ni[ñn][oa]s?|hij[oa]s?|gemel[oa]s|melliz[oa]s)\b",
    _I,
)


def _of_other_thing(asked: Question, candidate: Candidate, said: Features) -> float:
    """Penalty: the code of the flat is not the flat, and invoice 2031 is not invoice 2033."""
    is_secret = bool(said.concepts & SECRETS) and not asked.concepts & SECRETS
    penalty = SMALL_PENALTY if is_secret else 0.0
    numbers = set(_LONG_NUMBER.findall(asked.text))
    others = set(_LONG_NUMBER.findall(candidate.text)) if numbers else set()
    return penalty + (2 * PENALTY if others and not numbers & others else 0.0)


def _has_what_is_asked(asked: Question, candidate: Candidate) -> bool:
    """Check whether a statement has more in common with the question than a name or a habit: `who
    is Ben's doctor?`, `Ben's teacher is Ann`; `what do I do on Mondays?`, `I do judo`."""
    return not (
        (_shares_name_only(asked, candidate) and not ends(candidate.text, asked.concepts))
        or (_NUMBER_OF.search(asked.text) and not _tells_number(asked, candidate.text))
        or (_ASKS_OWN_NAME.search(asked.text) and not _TELLS_OWN_NAME.match(candidate.text))
        or (_FOR_VALUE.search(asked.text) and _lacks_weekday(asked, candidate))
        or (
            _WITH_WHOM.search(asked.text)
            and not asked.concepts & (_PROVIDERS | {"gym", "partner"})
            and _lacks_companion(candidate)
        )
        or bool(_AGE_ASKED.search(asked.text) and not _AGE_TOLD.search(candidate.text))
        or (bool(_WHICH_DAY.search(asked.text)) and not _tells_day(candidate.text))
        or (bool(_WHO_DOES.match(asked.text)) and _names_no_other_being(asked, candidate.text))
    )


def _tells_day(text: str) -> bool:
    """Check whether a statement has a day, or a part of the year: `in spring`."""
    said = features(text)
    return bool(
        said.values_of(ValueType.DAY) or said.concepts & WEEKDAY_CONCEPTS or _PERIOD.search(text)
    )


def _names_no_other_being(asked: Question, text: str) -> bool:
    """Check whether a statement in the first person names no other being, and does not say that the
    speaker acts alone: `I'm learning Korean` does not answer `who teaches me Korean?`."""
    said = features(text)
    # "Julio" is a name here, and no month.
    names = {one.lower() for one in _CAPITAL.findall(text)} - asked.names
    is_of_speaker = bool(_FIRST_PERSON.match(text)) and not _TOGETHER.search(text)
    return is_of_speaker and not (names or said.beings or said.subject)


def _tells_number(asked: Question, text: str) -> bool:
    """Check whether a statement has the number that is asked for: a long one, or one of what has it
    (`room 12`)."""
    if any(map(str.isdigit, text)) and len(re.sub(r"\D", "", text)) >= MIN_NUMBER_DIGITS:
        return True
    named = asked.concepts - {"number"} - concepts_of(" ".join(asked.names)) - asked.implied
    return bool(named & concepts_of(text)) and (any(map(str.isdigit, text)) or has_count(text))


def _lacks_companion(candidate: Candidate) -> bool:
    """Check whether a statement says nothing of with whom: `I live in Leeds`."""
    return not (features(candidate.text).beings or _TOGETHER.search(candidate.text))


def _lacks_weekday(asked: Question, candidate: Candidate) -> bool:
    has_time = features(candidate.text).values_of(ValueType.TIME)
    return bool(asked.concepts & WEEKDAY_CONCEPTS) and not (has_time or _tells_day(candidate.text))


def _shares_name_only(asked: Question, candidate: Candidate) -> bool:
    """Check whether a statement has only a name in common with a question for something more
    specific: `is Ben allergic to something?` or `how old is Ben?`, `Ben loves pasta`."""
    is_for_value = bool(_FOR_VALUE.search(asked.text))
    said = features(candidate.text)
    of_names = concepts_of(" ".join(asked.names)) | features(asked.text).beings
    specific = {one for one in asked.concepts if is_concept(one)} - general() - light() - of_names
    if is_for_value and not asked.expected:
        # "What car do Orville and I have?": what he may not eat is no answer.
        is_of_kind = bool(asked.names and _KIND_OF.search(asked.text))
        return is_of_kind and bool(specific) and not specific & said.concepts
    if not asked.names or not specific or (specific <= _ATTRIBUTES and not is_for_value):
        return False
    if (asked.concepts & said.concepts) - of_names - general():
        return False
    # The name of another one than is asked for is no answer.
    is_role = bool(_WHO_IS.search(asked.text) and specific & _ROLES)
    # "Ben no longer swims" counts nothing.
    counted = replace(candidate, text=_NOT.sub(" ", candidate.text))
    return is_role or not (asked.expected and _has_expected(asked, counted, said))


_KIND_OF = LazyPattern(
    r"\b(?:what|which) (?:kind|sort|type|make|brand) of\b|\bqu[eé] (?:tipo|clase|marca) de\b", _I
)
"""Asks for a thing by its kind."""


def _tells_name(text: str, asked: Question) -> bool:
    """Check whether a statement has the name of what is asked for behind its noun: `my aunt Eva`
    for `what is my aunt called?`."""
    found = _INTRODUCTION.search(text)
    return found is not None and bool(concepts_of(found["noun"]) & asked.concepts)


def _is_subject(asked: Question, text: str) -> bool:
    """Check whether all that the subject of a statement names is in the question: `the shed` for
    `where is the shed?`, but not `the key of the shed`."""
    subject = leading_noun(text)
    if subject is None or subject.is_being or _OF.match(text[subject.start + len(subject.text) :]):
        return False
    return bool(named := concepts_of(subject.text)) and named <= asked.concepts


def _name_points(
    asked: Question, candidate: Candidate, said: Features, shared: frozenset[str]
) -> float:
    """Points for the names of the question, beyond those of their stems: a stem is the same for
    `Lucho` and `Lucha`, and `Ella` has none."""
    if not asked.names:
        return 0.0
    named = asked.names & set(split_words(candidate.text))
    if not named:
        is_of_another = _is_about_another(candidate.text, asked.text)
        if shared & _STATES and not _FOR_VALUE.search(asked.text) and is_about_speaker(asked.text):
            # "Do I live in York?", "I live in Leeds"
            return 0.0 if not is_of_another else -PENALTY
        if is_of_another or _INTRODUCTION.search(candidate.text):
            # "My cat Shadow is 11" says nothing about Whiskers, and neither does "Shadow is 11".
            return -PENALTY
        return 0.0 if said.beings & features(asked.text).beings else -SMALL_PENALTY
    points = 0.0 if concepts_of(" ".join(named)) & shared else NAMED_SCORE
    if _WHO.search(asked.text) and said.concepts & kin():
        points += TYPE_SCORE
    of_names = concepts_of(" ".join(asked.names)) | said.beings | {"name", "pet"}
    is_for_being = _asks_for_being(asked) or asked.concepts & said.beings
    if said.concepts <= of_names and "name" not in asked.concepts and not is_for_being:
        # It only tells the name.
        points -= PENALTY
    return points


_AND_SPEAKER = LazyPattern(r"(?:[\w'’-]+ ){1,4}(?:and i|y yo)\b", _I)
"""`My brother and I run a shop`."""


_BESIDE = LazyPattern(
    r" (?:with|con) (?:[\w'’-]+ ){0,2}?(?:friends|mates|colleagues|amig[oa]s)\b", _I
)
"""Companions that a statement is not about: `chess with old friends`."""


_BEGINS_WITH_OWN_NAME = LazyPattern(
    r"(?:my (?:full |first )?name(?:['’]s| is)|call me|(?:people|my friends|everyone) call me"
    r"|me llamo|mi nombre es|ll[aá]mame|me dicen) (?-i:[A-ZÁÉÍÓÚÑ])",
    _I,
)
"""Tells nothing but the name of the speaker; `_TELLS_OWN_NAME` may stand anywhere."""


def _other_being(asked: Question, candidate: Candidate, said: Features) -> float:
    """Penalty: what is said of a sister is no answer to a question about oneself, and the other
    way round."""
    asked_beings = features(asked.text).beings
    has_name = _names_shared(asked.text, candidate.text)
    # "My husband", which stands in parentheses, only says who is called so.
    is_own = is_about_speaker(NOTE.sub("", asked.text))
    is_of_both = _SAID_OF_SPEAKER.search(candidate.text) or _AND_SPEAKER.match(candidate.text)
    if is_own and is_of_both:
        return 0.0
    # A name excuses another being only where the question is about that name.
    has_name = has_name and not is_own
    # "My partner": what is said of my girlfriend.
    is_member = not asked_beings and bool(said.beings and said.concepts & asked.concepts & kin())
    is_asked = bool(said.beings & asked_beings) or is_member or _is_of_couple(asked, said)
    penalty = 0.0
    # "Who walks the dog?" asks for another being.
    is_named = bool(asked.names & set(split_words(candidate.text)))
    is_for_being = is_named or not is_own or bool(_WHO_DOES.match(asked.text))
    is_for_being = is_for_being or not _WHO.search(asked.text)
    is_wanted = bool(_asks_for_being(asked) and said.subject and is_for_being)
    if _WITH_WHOM.search(asked.text):
        is_wanted = is_wanted and bool(_WITH.search(candidate.text))
    # "Who collects the kids?", "my mum collects them"
    is_object = bool(_WHO_DOES.match(asked.text) and _THEM.search(candidate.text))
    is_wanted = is_wanted or is_object
    if said.beings - asked_beings and not (has_name or is_wanted or is_member):
        speaks_of_self = said.is_own and not said.subject
        # "Chess with old friends is on Mondays" is about the chess.
        is_beside = not (said.subject or features(_BESIDE.sub("", candidate.text)).beings)
        speaks_of_self = speaks_of_self or is_beside
        is_aside = (
            speaks_of_self or _FIRST_PERSON.match(candidate.text)
        ) and "name" not in asked.concepts
        penalty += ASIDE_PENALTY if is_aside or is_asked or not is_own else PENALTY
    is_meant = is_object or _is_of_dependants(asked, candidate)
    head = _head_concepts(asked)
    is_head = bool(head & said.concepts)
    is_meant = is_meant or is_head
    # "Who is the vet of our cats?" is not answered by what is told of the cats.
    penalty += PENALTY * (bool(head) - is_head)
    names = said.names
    has_other_name = bool(asked.names and names and not is_named and not is_own)
    if asked_beings and (has_other_name or not (is_asked or has_name or is_meant)):
        # "My son Leo" is not "my son Ben".
        penalty += PENALTY
    if is_own and is_asked and _has_other_owner(candidate.text, asked):
        penalty += PENALTY
    # A statement about the speaker does not answer "what does my partner do?".
    is_of_couple = said.concepts & ({"partner"} | COUPLE)
    penalty += PENALTY * ("partner" in asked.concepts and said.is_own and not is_of_couple)
    is_subject_asked = not said.subject or bool(said.subject & asked.concepts) or has_name
    # "The doctor raised my dose" is about the speaker.
    is_subject_asked = is_subject_asked or bool(_DONE_TO_OWN.match(candidate.text))
    is_about_another = _is_about_another(candidate.text, asked.text)
    penalty += PENALTY if _is_of_owned(candidate.text, asked) else 0.0
    if (
        is_own
        and not (is_asked or is_wanted or is_head)
        and (is_about_another or not is_subject_asked)
    ):
        penalty += PENALTY
    if is_own and (role := role_in_state(candidate.text)):
        penalty += 0.0 if concepts_of(role) & asked.concepts else PENALTY
    return penalty + _penalty_of_report(asked, said, is_excused=has_name, is_own=is_own)


def _penalty_of_report(asked: Question, said: Features, *, is_excused: bool, is_own: bool) -> float:
    """Penalty for what others told of themselves; smaller if it asks for them: `who is moving?`."""
    if not said.is_reported or is_excused:
        return 0.0
    return PENALTY if is_own or not _WHO.search(asked.text) else SMALL_PENALTY


def _is_of_dependants(asked: Question, candidate: Candidate) -> bool:
    """Check whether a question asks for something of one's children or animals, which a statement
    tells without saying whose it is: `the vet is Dr Hill`."""
    is_dependant = features(asked.text).beings <= _DEPENDANTS
    return is_dependant and bool(_THE.match(candidate.text)) and not _OF.search(candidate.text)


def _asks_for_being(asked: Question) -> bool:
    """Check whether a question asks for a being: `who …?`, `which cousin …?`, `what relative …?`"""
    which = _WHICH.search(asked.text)
    is_class = which and concepts_of(which["noun"]) & (kin() | _CLASSES_OF_BEINGS)
    return bool(is_class or _WHO.search(asked.text))


def _is_of_couple(asked: Question, said: Features) -> bool:
    """Check whether `I'm married to Chris`, which names no being, is about the person asked for."""
    beings = features(asked.text).beings
    return "partner" in said.concepts and not said.beings and bool(beings) and beings <= COUPLE


def _has_other_owner(text: str, asked: Question) -> bool:
    """Check whether a being of a statement belongs to somebody else: `Ana's mother` is not mine."""
    relatives = [found["owner"] or found["owner2"] for found in _OF_RELATIVE.finditer(text)]
    return any(
        concepts & kin() and owner not in asked.names for owner, concepts in _owned(text)
    ) or any(concepts_of(one) & (kin() | {"partner"}) - asked.concepts for one in relatives)


def _is_of_owned(text: str, asked: Question) -> bool:
    """Check whether a statement is about a being of the one that a question names: `how old is
    Ana?`, `Ana's husband is 35`."""
    return any(
        owner in asked.names and concepts & kin() and not concepts & asked.concepts
        for owner, concepts in _owned(text)
    )


def _owned(text: str) -> list[tuple[str, frozenset[str]]]:
    """The owners that a text names, in lower case, and the concepts of what each has: `Ana's
    husband`, `la madre de Ana`."""
    return [
        ((found["name"] or found["name2"]).lower(), concepts_of(found["noun"] or found["noun2"]))
        for found in _OWNER.finditer(text)
    ]


def _type_points(asked: Question, candidate: Candidate, said: Features) -> float:
    if not asked.expected:
        return 0.0
    if _has_expected(asked, candidate, said):
        return TYPE_SCORE
    is_open = _may_have_name(asked, candidate) or _may_have_colour(asked, candidate)
    # What has no time at all tells nobody when.
    penalty = SMALL_PENALTY if ValueType.DAY in asked.expected else TYPE_SCORE
    return 0.0 if is_open else -penalty


def _may_have_colour(asked: Question, candidate: Candidate) -> bool:
    """Check whether a colour is expected, and what is asked for is called something unknown: `the
    kitchen is mustard`."""
    found = COPULA.match(candidate.text) if ValueType.COLOUR in asked.expected else None
    return found is not None and len(found["tail"].split()) == 1


def _may_have_name(asked: Question, candidate: Candidate) -> bool:
    """Check whether a name is expected, and the text has no capitals: any word may be one."""
    told = candidate.text[1:]
    return ValueType.NAME in asked.expected and told == told.lower()


def _has_expected(asked: Question, candidate: Candidate, said: Features) -> bool:
    """Check whether a candidate has a value of a type that the question expects."""
    text = candidate.text
    if _WHERE.search(asked.text) and _IS_THE.search(text) and not _PLACE.search(text):
        return False
    return (
        # A name of the question itself is none that answers it.
        any((said.values_of(kind) or frozenset()) - asked.names for kind in asked.expected)
        or bool(ValueType.NUMBER in asked.expected and has_count(text))
        # "How often …?": "twice a day".
        or "frequency" in asked.concepts & said.concepts
        or bool(
            ValueType.DAY in asked.expected
            and _PERIOD.search(text)
            and not _WHICH_DAY.search(asked.text)
        )
        or bool(_WHERE.search(asked.text) and _PLACE.search(text))
    )


def _time_points(asked: Question, candidate: Candidate, said: Features) -> float:
    """Points for what holds now, or held before if that is asked."""
    is_newer = is_changed(candidate.text) and not asked.wants_before
    points = CHANGED_SCORE if is_newer else 0.0
    points -= DOUBT_PENALTY if candidate.is_doubtful else 0.0
    # "I forgot her birthday" does not say when it is.
    has_forgotten = _FORGOT.search(candidate.text) and not _FORGOT.search(asked.text)
    points -= SMALL_PENALTY if has_forgotten else 0.0
    is_former = FORMER.search(candidate.text) and not FORMER.search(asked.text)
    used_to = bool(_USED_TO.search(candidate.text) or is_former)
    if asked.wants_before:
        return points + (PENALTY if candidate.is_closed or used_to else -SMALL_PENALTY)
    if candidate.is_closed and not _PAST_QUESTION.search(asked.text):
        points -= SMALL_PENALTY
    is_gone = said.is_ended and _WHO.search(asked.text)
    if (used_to or is_gone) and not _PAST.search(asked.text):
        # "Dr Hill retired" tells nothing of the doctor that took over.
        points -= SMALL_PENALTY
    is_state = asked.concepts & said.concepts & _STATES
    is_of_now = not (_FUTURE.search(asked.text) or _WHEN.search(asked.text))
    if said.is_plan and is_of_now:
        points -= PENALTY if is_state else PLAN_PENALTY if _WH.search(asked.text) else 0.0
    return points


_IS_NAMED = LazyPattern(
    r" \(my [\w' -]+\)$|\b(?:my|our|mi|nuestr[oa]) [\w-]+(?= (?-i:[A-ZÁÉÍÓÚÑ])[^\W\d_]{2,})", _I
)
"""Role of a being of a question, behind it (`_with_being`), or before its name."""
_RELATIVE = LazyPattern(
    r",? (?:who|which) [^,;]*|, (?:que|quien) [^,;]*"
    r"|\b(?:film|movie|show|series|documentary|book|novel|story|peli|pel[ií]cula|serie|documental"
    r"|libro|novela|historia)\b(?: \w+){0,3}? (?:where|about|in which|of an?|with an?|donde|de una?"
    r"|sobre|en (?:la|el) que) .*$",
    _I,
)
"""Words about the noun before them: a relative clause, the content of a film."""
_ATTRIBUTES = frozenset({
    "name", "surname", "nickname", "age", "colour", "size", "code", "pin", "password", "key",
    "number", "brand", "address", "floor", "phone", "monday", "tuesday", "wednesday", "thursday",
    "friday", "saturday", "sunday", "weekend",
})  # fmt: skip
"""Relations that only say something together with what has them."""
_PROVIDERS = frozenset({"bank", "bill", "insurance", "phone", "provider", "wifi"})
"""`Who do I bank with?` asks for a company."""
_CLASSES_OF_BEINGS = frozenset({"family", "animal", "sibling", "parent", "person"})
_DEPENDANTS = frozenset({"cat", "child", "daughter", "dog", "hamster", "pet", "rabbit", "son"})
_ROLES = frozenset({"boss", "dentist", "doctor", "paediatrician", "teacher", "vet"})
_NOT = LazyPattern(r"\bno\b", _I)
_TIMES = WEEKDAY_CONCEPTS | {"christmas"}
_STATES = frozenset({"home", "work", "study", "marital"})
"""Relations of which a plan says nothing yet."""
_PERIOD = LazyPattern(
    r"\b(?:ago|spring|summer|autumn|fall|winter|christmas|easter|morning|afternoon|evening|night"
    r"|noon|(?:before|at|after|with|until|till) (?:my |the )?(?:bed|bedtime|breakfast|lunch|dinner"
    r"|tea|supper|work|school|meals?)|(?:antes de|despu[eé]s de|con|tras) (?:el |la |las |cada )?"
    r"(?:acostarme|dormir|desayun\w+|comer|comidas?|almuerzo|almorzar|cenar?|merienda|trabajo)"
    r"|en ayunas|al (?:levantarme|acostarme|despertar\w*)"
    r"|week(?:end)?s?|days?|months?|years?|weekdays?|every|daily|quarter (?:past|to)|half past"
    r"|since|until|(?:before|after|between|from|till|by|de|entre|antes de|hasta) (?:las? )?\d{1,2}"
    r"|(?:19|20)\d\d|primavera|verano|oto[ñn]o|invierno|navidad|semana|noches?|tardes?|mes|meses"
    r"|a[ñn]os?"
    r"|d[ií]as?"
    r"|hace (?=un|d[oi]|tres|cuatr|cinco|seis|siete|ocho|nueve|poco|much|tiempo|a[ñn]os|\d)"
    r"|desde|cada|findes?|y media|y cuarto|menos cuarto)\b",
    _I,
)
_PLACE = LazyPattern(
    r"\b(?:in|on|at|under|behind|inside|next to|to|en|debajo|detr[aá]s|dentro|encima|sobre"
    rf"|junto a)\b(?! (?:the )?(?:\d|{MONTHS}|{WEEKDAYS}))",
    _I,
)
"""A preposition of place; that of a day (`on 4 June`) is none."""
_OWNER = LazyPattern(
    r"(?<![Mm]y )(?<![Oo]ur )\b(?!(?:s?he|it|that|this|there|here|who|what|where|how|let)['’])"
    r"(?P<name>[^\W\d_]\w+)['’]s (?:(?:best|oldest|old|new|first|little|big|older|younger) )?"
    r"(?P<noun>[a-z]\w+)"
    r"|(?P<noun2>\w+) de (?P<name2>[A-ZÁÉÍÓÚÑ]\w+)"
)
_OF_RELATIVE = LazyPattern(
    r"^(?:my|our) (?P<owner>[\w-]+)['’]s \w+(?:['’]s| is| was)\b"
    r"|^(?:el|la|los|las) \w+ de (?:mi|nuestr[oa]) (?P<owner2>[\w-]+)\b",
    _I,
)
"""A person known through a relative: `my girlfriend's boss is …`."""
_OF = LazyPattern(r"['’]s\b| (?:de|del|of)\b", _I)
_DONE_TO_OWN = LazyPattern(
    r"^(?:the|el|la) [\w-]+ (?:(?:has|ha|me|nos) )*(?:\w+ed|put|gave|cut|took|set|made|\w+[óa]d?o?)"
    r" (?:my|our|me|us|mis?|nuestr[oa]s?|l[ao]s?)\b",
    _I,
)
_FIRST_PERSON = LazyPattern(
    # "Pedro me corta el pelo", "Marco teaches me"
    rf"^(?!\w+o (?:me|nos|le|se|{THIRD_SPANISH}|usa|is|was|has|\w+s (?:me|us|my|our))\b)"
    r"(?:i|i['’]?(?:m|ve|d|ll)|we|we['’]\w+|yo|nos|le|lo|la|me|\w+(?:o|é|í|amos|emos|imos))\b",
    _I,
)
_PAST_QUESTION = LazyPattern(
    r"\b(?:did|was|were|had)\b(?! (?:[\w'’-]+ ){1,3}born\b)|^[¿\s]*(?:[^\W\d_]+ ){1,3}?"
    r"(?!compañía|policía|energía|batería|geografía|fotografía|alegría|garantía|categoría|teoría"
    r"|(?-i:[A-ZÁÉÍÓÚÑ])|\w{3,}ería(?<!quería))[^\W\d_]{2,}(?:aba|ía)[ns]?\b"
    r"|\bera[ns]?\b",
    _I,
)
"""The question may be about what does not hold any more, if what holds does not fit it."""
_PAST = LazyPattern(r"\b(?:did|ever|stop|quit|was|were|dej[eé]|alguna vez|\w+[íaáé]ba)\b", _I)
_USED_TO = LazyPattern(
    r"\b(?:used to|sol[ií]a|antes|viv[ií]a|trabajaba|fumaba)\b"
    r"|\bestuve (?:\w+ )?a[ñn]os\b|\bi was an? .*\bfor (?:\w+ )?years\b"
    r"|\b(?:when|while) (?:i|we) (?:was|were)\b|\bas a (?:kid|child|teenager|student|boy|girl)\b"
    r"|\bcuando (?:era|[eé]ramos|ten[ií]a|iba|estaba|viv[ií]a|estudiaba)\b"
    r"|\bde (?:ni[ñn]|peque[ñn]|chic)[oa]s?\b|\bde (?:joven|adolescente|estudiante)\b"
    r"|\bera (?:el |la |un |una )?(?!de\b)\w+(?: de [\w ]+)?$",
    _I,
)
"""A habit or a job of the past: `I used to smoke`, `estuve 35 años de maquinista`."""
_CAPITAL = re.compile(r"(?<=\s)(?!I\b)[A-ZÁÉÍÓÚÑ][\w-]+")
_OTHER_SUBJECT = LazyPattern(
    r"^(?!.*\b(?:me|us|nos)\b)(?!.* (?:is|are|as|es|son|como) (?:my|our|mis?|nuestr))(?!I\b"
    r"|I['’]|I(?:m"
    r"|ve)\b|My\b|Our\b|We\b|The\b|Mi\b|Mis\b|Yo\b|Me\b"
    r"|El\b|La\b"
    r"|It\b|There\b|This\b"
    r"|En\b|A\b|No\b|Hoy\b|Ahora\b|Ayer\b|Ma[ñn]ana\b|Antes\b|Tod[oa]s?\b|Ya\b"
    r"|Aqu[ií]\b|Tambi[eé]n\b|Siempre\b|Nunca\b)(?P<name>[A-ZÁÉÍÓÚÑ][\wáéíóúñ]+)"
    r"(?:['’]s [a-z]| (?:is|was|has|lives|works|says"
    r"|said|told|likes|loves|moved|went|got|wants|es|vive|dice|dijo|tiene|trabaja|se|est[aá]"
    r"|estudia|ha|va"
    r"|[a-záéíóúñ]{3,}ó)(?!\w))"
)


def _weight(concept: str) -> float:
    if concept in general() or concept in light():
        return GENERAL_SCORE
    is_relation = is_concept(concept) and concept not in things()
    return RELATION_SCORE if is_relation else NAMED_SCORE


def _asks_for_former(question: str) -> bool:
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
    return bool(_BEFORE.search(question)) and not _FOR_VALUE.search(question)


def asks_about_past(question: str) -> bool:
    """Check whether a question is, or may be, about what does not hold any more: `where did I live
    before?`, `what was my dog called?`, `am I still vegan?`."""
    if _asks_for_former(question):
        return True
    is_marked = question.rstrip().endswith("?")
    if _PAST_QUESTION.search(question):
        return is_marked or bool(_WH_FIRST.match(question))
    is_if = is_marked and not (_FOR_VALUE.search(question) or _HOW_TO.search(question))
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


_NEWCOMER = LazyPattern(
    r"(?:the|a|this) (?:new )?(?:guy|girl|bloke|lad|woman|man|kid|temp|intern|lady|chap|dude)\b", _I
)
"""`The new guy teaches maths`."""


def _is_about_another(text: str, question: str) -> bool:
    found = _OTHER_SUBJECT.match(text)
    if _NEWCOMER.match(text):
        return True
    if found is None or found["name"].lower() in question.lower():
        return False
    # "Cleaner's called Bo": a noun at the beginning of a sentence.
    is_noun = found["name"].endswith(("er", "or", "ist"))
    return not (is_noun and any(map(is_concept, concepts_of(found["name"]))))


_INTRODUCTION = LazyPattern(
    r"\b(?:my|our|mi|nuestr[oa]) (?P<noun>(?:[\w-]+ )??[\w-]+?)(?: (?:at|in|from|de|en) [\w-]+)?"
    r"(?:['’]s name (?:is|was)|['’]s (?:called|named)|['’]s| is (?:called|named)| is| called| named"
    r"| se llama"
    r"| es| llamad[oa]|,)? (?P<name>(?-i:[A-ZÁÉÍÓÚÑ])[\w.-]+(?: (?-i:[A-ZÁÉÍÓÚÑ])[\w-]+){0,3})",
    _I,
)
"""Words that give the name of a being: `my stepfather is called Winston`, `my sister Ana`."""


def _with_being(question: str, candidates: Sequence[Candidate]) -> str:
    """The question, and behind it what the beings are that it calls by their names."""
    names = _names(question)
    if not names:
        return question
    found = (one for candidate in candidates for one in _INTRODUCTION.finditer(candidate.text))
    nouns = (one["noun"] for one in found if names & set(split_words(one["name"])))
    beings = [
        one for one in dict.fromkeys(nouns) if concepts_of(one) & kin() and one not in question
    ]
    return " ".join([question, *(f"(my {one})" for one in beings[:1])])


def _names(question: str) -> frozenset[str]:
    # The first word has a capital anyway.
    question = question.lstrip("¿¡ \"'")
    spans = typed_values(question).get(ValueType.NAME, ())
    words = (word for start, end in spans for word in split_words(question[start:end]))
    # "Paulo's": what stands behind the apostrophe is no name.
    return frozenset(word for word in words if len(word) > 1)


def _names_shared(question: str, text: str) -> bool:
    """Check whether a text has a name of the question."""
    question = question.lstrip("¿¡ \"'")
    spans = values_of_part(question).get(ValueType.NAME, ())
    words = {word for start, end in spans for word in split_words(question[start:end])}
    names = {word for word in words if not is_function_word(strip_accents(word))}
    return bool(names & set(split_words(text)))


_TASTES = frozenset({"like", "dislike"})
_EVENTS = frozenset({"appointment", "exam", "wedding"})
_DATED = frozenset({"meeting", "trip", "plan", "surgery"})
"""Concepts of what may be an event, or only what somebody does: a nurse in surgery."""


_IS_ONE = LazyPattern(r"(?:i(?:['’]m| am) an?|soy) ", _I)
"""`I'm a nurse`."""


def group_statements(texts: Iterable[str]) -> dict[str, list[str]]:
    """Statements by group (`you`, `people`, `tastes`, `plans`), in this order, without empty
    groups."""
    groups: dict[str, list[str]] = {"you": [], "people": [], "tastes": [], "plans": []}
    texts = list(dict.fromkeys(texts))
    names = _names_of_beings(texts, kin())
    for text in texts:
        groups[_group(text, names)].append(text)
    return {name: found for name, found in groups.items() if found}


def _group(text: str, names: frozenset[str]) -> str:
    """The group of a statement. `names`: those of beings, in lower case."""
    of_text = features(text)
    when = {ValueType.DAY, ValueType.TIME} & {kind for kind, _ in of_text.values}
    is_dated = bool(of_text.concepts & _DATED) and (bool(when) or of_text.is_plan)
    if "profession" in of_text.concepts and _IS_ONE.match(text):
        # Whatever the hours and days are.
        return "you"
    is_event = bool(of_text.concepts & _EVENTS) or len(when) > 1
    if is_event or is_dated or (of_text.is_plan and ValueType.DAY in when):
        return "plans"
    is_of_being = bool(of_text.concepts & kin()) or _is_about_another(text, "")
    is_of_being = is_of_being or bool(names & set(split_words(text)[:1]))
    if is_of_being and not of_text.concepts & SECRETS:
        return "people"
    if of_text.concepts & _TASTES:
        return "tastes"
    return "plans" if of_text.is_plan else "you"
