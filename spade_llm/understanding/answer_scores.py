"""Score of a statement as the answer to a question: points for what fits, penalties."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words, strip_accents
from spade_llm.understanding.clause_kinds import THIRD_SPANISH
from spade_llm.understanding.features import NOTE, ends, features, is_changed
from spade_llm.understanding.pronouns import leading_noun, subject_name
from spade_llm.understanding.questions import (
    ASKS_OWN_NAME,
    ASKS_PAST,
    ASKS_VALUE,
    ASKS_WHEN,
    ASKS_WHERE,
    ASKS_WHICH,
    ASKS_WHICH_DAY,
    ASKS_WHICH_THING,
    ASKS_WHO,
    ASKS_WHO_DOES,
    ASKS_WITH_WHOM,
    Candidate,
    Question,
    is_about_speaker,
)
from spade_llm.understanding.replacement import (
    COUPLE,
    FORMER,
    SECRETS,
    YEAR,
    owner_of,
    role_in_state,
)
from spade_llm.understanding.things import COPULA
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
    sex_of,
    stems_of,
    things,
    typed_values,
    value_key,
    values_of_part,
)

if TYPE_CHECKING:
    from spade_llm.understanding.features import Features

_I = re.IGNORECASE

# The scores were chosen by hand such that the cases of tests/understanding and of the development
# half of bench/memory_exam are decided rightly; only their order and differences matter.

MIN_NUMBER_DIGITS = 5
"""Minimum number of digits of what is surely a number of something, not a price or a date."""
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
DEED_SCORE = 1.0
"""Score of the verb in a question for its subject."""
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
_WH = LazyPattern(r"^¿?(?:where|when|who|d[oó]nde|cu[aá]ndo|qui[eé]n)\b", _I)
_WHO_IS = LazyPattern(
    r"^[¿\s]*(?:(?:and|y) )?(?:who(?:['’]?s| is| are)|qui[eé]n(?:es)? (?:es|son))\b", _I
)
_NUMBER_OF = LazyPattern(
    r"\b(?:my|our|his|her|the|[\w-]+['’]s) (?:[\w-]+ ){0,2}number\b(?! of (?!the\b))"
    r"|\b(?:n[uú]mero|tel[eé]fono|m[oó]vil|celular) de(?:l| la| mi| nuestr[oa])\b",
    _I,
)
_WITH = LazyPattern(r"\b(?:with|con)\b", _I)
_TOGETHER = LazyPattern(
    r"\b(?:with|con|and (?-i:[A-Z])\w+|y (?-i:[A-ZÀ-Þ])\w+|alone|myself|my own|sol[oa]s?|nadie"
    r"|nobody|no ?one|together|juntos|juntas)\b",
    _I,
)
_THEM = LazyPattern(r"\b(?:him|her|them|los|las|l[eo]s?)\b(?= [^\W\d_]+)|\b(?:him|her|them)\b", _I)
"""A pronoun that may mean the beings of the question: `my mum picks them up`."""
_OWN_NAME = LazyPattern(
    r"^(?:i['’]?m|i am|(?:yo )?soy) (?-i:[A-ZÀ-Þ])[\w-]+(?: (?-i:[A-ZÀ-Þ])[\w-]+)?\W*$", _I
)
"""`I'm Dan` has the form of `I'm vegan`, but tells no work."""
_TELLS_OWN_NAME = LazyPattern(
    r"(?:.*\b)?(?:(?:i['’]m|i am|call me|my (?:\w+ )?name|calls? me|me llam\w+|ll[aá]mame"
    r"|mi nombre|soy|me dicen|it['’]s|this is)\b|(?-i:[A-ZÀ-Þ])\w+ here\b)",
    _I,
)
_THE = LazyPattern(r"^(?:the|el|la) [\w-]+(?: [\w-]+)? (?:is|es|se llama)\b", _I)
_LONG_NUMBER = re.compile(r"(?<![\w.,:])\d{3,}(?![\w.,:]*\d)")
SAID_OF_SPEAKER = LazyPattern(
    r"^[^,;]{2,30} (?:(?:said|says)(?: that)?|told me(?: that)?) (?:i|i['’]m)\b"
    r"|^[^,;]{2,30} (?:me )?(?:ha dicho|dice|dijo) que (?:(?:no|ya|me) )*"
    r"(?:(?!como\b)[^\W\d_]+o|soy|estoy|voy|he)\b",
    _I,
)
"""`The doctor said I can't have aspirin` tells of the speaker."""
_AGE_ASKED = LazyPattern(r"\bhow old\b|\bqu[eé] edad\b|\bcu[aá]ntos a[ñn]os (?:ten|tien)", _I)
_AGE_TOLD = LazyPattern(
    r"\b(?:(?:ten(?:go|emos)|tiene[ns]?) (?:(?:\S+ ){1,3}?a[ñn]os|\d{1,2}(?=$|[,.;]))"
    r"|cumpl\w+|va a hacer|de \d+|nac\w+|turn\w*|old|ages?|aged|born"
    r"|birthday|cumplea[ñn]os|cumple)\b|\w \(\d{1,3}\)|\b(?:i['’]?m|i am|is|are|was)\b|['’]s\b",
    _I,
)
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


def score(asked: Question, candidate: Candidate) -> float:
    """The score of a candidate: shared concepts, value of the expected type, same beings."""
    said = features(candidate.text)
    shared = _shared(asked, candidate, said)
    named = asked.names & set(split_words(candidate.text))
    subject = leading_noun(candidate.text)
    # "Ben got a job" does not tell whether I am out of work.
    is_of_name = bool(subject and subject.is_named and not said.is_own)
    is_same_being = not is_of_name and said.beings <= features(asked.text).beings | COUPLE
    is_same_being = bool(named) or is_same_being
    # The end of studies tells neither a language nor what was studied, and where.
    is_of_what = bool(asked.concepts & _LEARNT or ASKS_WHICH_THING.search(asked.text))
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
    if shared and shared <= ATTRIBUTES and not asked.concepts <= ATTRIBUTES | general() | light():
        points -= SMALL_PENALTY
    points += _doer_points(asked, candidate.text)
    points -= _of_other_thing(asked, candidate, said)
    points -= PENALTY if _is_owned_by_another(asked, candidate.text) else 0.0
    if shared and not features(asked.text).beings and is_about_speaker(asked.text):
        # "My son, who lives in Rome" does not tell where the speaker lives.
        points -= 0.0 if shared & concepts_of(_RELATIVE.sub("", candidate.text)) else PENALTY
    # "Nina" is a name here, and no girl.
    is_name = ASKS_OWN_NAME.search(asked.text) and _BEGINS_WITH_OWN_NAME.match(candidate.text)
    is_same = is_name or child_of_relative(asked, candidate.text, said)
    other_being = 0.0 if is_same else _other_being(asked, candidate, said)
    points += ENDED_SCORE if is_ended else -other_being
    points += _type_points(asked, candidate, said) + _time_points(asked, candidate, said)
    if said.is_negated and not said.is_ended and _WH.search(asked.text):
        points -= SMALL_PENALTY
    is_disliked = said.concepts & {"like", "dislike"} == {"dislike"}
    if "like" in asked.concepts and is_disliked and ASKS_VALUE.search(asked.text):
        # It answers `do I like …?`, but not `what do I like?`.
        points -= SMALL_PENALTY
    return points


_LEARNT = frozenset({"speak", "instrument", "degree", "university"})
"""Concepts of which the end of studies says nothing: a language, what was studied and where."""


def less_fitting(asked: Question, text: str) -> float:
    """Penalty of a statement that answers a question only if no other one does."""
    owned = _BEING_OF_BEING.match(text)
    being = concepts_of(owned["being"] or owned["being2"]) & kin() if owned else frozenset()
    if owned and being and not (being & asked.concepts or asked.names - value_key(owned[0])):
        # "My brother's friend is a butcher" for "what does my brother do?"
        return PENALTY
    if _has_no_value(asked, text):
        return PENALTY
    if _WHICH_YEAR.search(asked.text):
        return 0.0 if YEAR.search(text) else SMALL_PENALTY
    if not ASKS_WHICH_THING.search(asked.text):
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


def _has_no_value(asked: Question, text: str) -> bool:
    """Check whether a statement tells no value that a question may ask for: a refused time, a thing
    of another person, an exception, an opinion, a departure."""
    if any(says.search(text) and asks.search(asked.text) for says, asks in _NO_ANSWERS):
        return True
    if asked.expected & {ValueType.DAY, ValueType.TIME} and _CANNOT_BE_THEN.search(text):
        return True
    if _OF_ANOTHER.search(text) and not _MINE.search(text) and _ASKS_MINE.search(asked.text):
        return True
    if _OPINION.match(text) and ASKS_VALUE.search(asked.text):
        return not _ASKS_OPINION.search(asked.text)
    is_colour = ValueType.COLOUR in asked.expected and not COPULA.match(text)
    has_no_colour = is_colour and ValueType.COLOUR not in typed_values(text)
    return has_no_colour or _is_of_other_sex(asked, text)


def _is_of_other_sex(asked: Question, text: str) -> bool:
    """Check whether a statement is about `mi nieto`, and a question about `mi nieta`."""
    own, subject = _OWN_BEING.search(asked.text), leading_noun(text)
    if own is None or subject is None or subject.is_named:
        return False
    if own["noun"].lower() in split_words(subject.text):
        # "My sister Ann's boyfriend"
        return False
    shared = concepts_of(own["noun"]) & concepts_of(subject.text) & kin()
    return bool(shared) and {sex_of(own["noun"]), subject.sex} == {"male", "female"}


_ONLY_ONCE = LazyPattern(
    r"\b(?:s[oó]lo|solamente) (?:porque|por (?:hoy|esta vez)|hoy|ese d[ií]a|esta vez)\b"
    r"|\b(?:just|only) (?:this once|for (?:today|one day)|because|today|this time)\b",
    _I,
)
_TODAY_FIRST = LazyPattern(r"^(?:hoy|today|tonight|esta (?:noche|semana)|this week)\b", _I)
_ONE_DAY = LazyPattern(
    r"^(?:ayer|anoche|el otro d[ií]a|esta ma[ñn]ana|hoy|yesterday|last night|the other day|today"
    r"|this morning)\b(?!.*\b(?:ahora|now|from now)\b)",
    _I,
)
_ASKS_WHO_IS = LazyPattern(r"\bqui[eé]n es (?:mi|nuestr[oa]) |\bwho(?:['’]s| is) (?:my|our) ", _I)
_USUALLY = LazyPattern(r"\b(?:normalmente|usually|normally|siempre|always|suelo|suele)\b", _I)
_OWN_BEING = LazyPattern(r"\b(?:my|our|mi|nuestr[oa]) (?P<noun>[^\W\d_]+)", _I)
_OF_WRONG_PERSON = LazyPattern(
    r"\bde otr[oa](?=$|[,.;]| (?:persona|paciente))|\b(?:someone|somebody) else['’]s\b", _I
)
"""Something of another person: `they gave me someone else's wristband, B negative`."""
_MOVED_AWAY = LazyPattern(
    r"\bl[ao] (?:han )?(?:traslad|ascend|cambi|destin)[^\W\d_]+ a |\bse (?:ha )?(?:jubil|march)\w+"
    r"|\bhas (?:moved|left|retired)\b|\b(?:got|been) (?:moved|transferred|relocated) to\b",
    _I,
)
"""A departure: it names no successor."""
_NO_ANSWERS = (
    (_ONLY_ONCE, ASKS_VALUE),
    (_ONE_DAY, _ASKS_WHO_IS),
    (_TODAY_FIRST, _USUALLY),
    (_OF_WRONG_PERSON, ASKS_VALUE),
    (_MOVED_AWAY, ASKS_WHO),
)
"""What a statement tells that is no answer to a question of that kind: an exception, for one."""
_CANNOT_BE_THEN = LazyPattern(
    r"\b(?:can['’]?t|cannot|couldn['’]?t|won['’]?t) (?:do|make|manage|come) "
    r"|\bno (?:(?:me|le|les|nos) )?(?:puede[ns]?|pod[ií]an?|pod[eé]mos|viene bien) (?:a|el|los)\b",
    _I,
)
"""A time that is refused: `Greta can't do 9:30`."""
_OPINION = LazyPattern(
    r"^(?:(?:the|el|la) )?[\w&-]+(?: [\w&-]+)? (?:was|were|is|are|es|son|era|eran|fue|fueron)"
    r"(?: (?:so|really|too|absolutely|totally|muy|tan|un))? (?:useless|rubbish|awful|terrible"
    r"|great|rude"
    r"|brilliant|lovely|hopeless|crap|shit|expensive|dear|desastre|in[uú]til(?:es)?|car[oa]s?"
    r"|mal[ií]sim[oa]s?|car[ií]sim[oa]s?|horrible)[\s.!]*$",
    _I,
)
"""An opinion, which tells nothing else: `Barclays were useless`."""
_ASKS_OPINION = LazyPattern(r"\b(?:how|think|like|opin\w+|qu[eé] tal|c[oó]mo|parec\w+)\b", _I)
_ASKS_MINE = LazyPattern(
    r"\b(?:is|are) mine\b|\bcu[aá]l(?:es)? (?:es|son) (?:mi|la m[ií]a|el m[ií]o)", _I
)
_MINE = LazyPattern(r"\b(?:mine|my|our|m[ií][ao]s?|mis?)\b", _I)
_OF_ANOTHER = LazyPattern(r"\b(?:is|are) (?-i:[A-Z])\w+['’]s$|\b(?:es|son) de (?!m[ií]\b)\w+$", _I)
"""A thing that belongs to another person: `the green suitcase is Kieran's`."""
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
    found = ASKS_WHICH.search(asked.text)
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
    if asked.concepts & relatives() or TO_SPEAKER.search(text):
        # "My father's sister" is the speaker's aunt.
        return False
    owner = owner_of(text)
    is_named = owner & value_key(asked.text) or concepts_of(" ".join(owner)) & asked.concepts
    return bool(owner) and not is_named


_POSSESSED = LazyPattern(
    r"\w['’]s \w+ (?!an?\b|the\b)|\b(?:de|del) (?:(?:mis?|nuestr[oa]s?) |(?-i:[A-ZÀ-Þ]))", _I
)
"""A question for something of a relative or of a named being."""
TO_SPEAKER = LazyPattern(r"(?<=\w )(?:i|me|us|we|my|our|yo|nos|conmigo|mis?|nuestr[oa]s?)\b", _I)
"""Words for the speaker behind the subject."""


def _rare_points(asked: Question, candidate: Candidate, shared: frozenset[str]) -> float:
    """Points for a shared word that the vocabulary does not know, if it may be the answer."""
    unknown = {one for one in shared if not is_concept(one) and len(one) > MIN_RARE_CHARS}
    if not unknown - concepts_of(" ".join(asked.names)):
        return 0.0
    is_possible = not asked.expected or has_expected(asked, candidate, features(candidate.text))
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


def _doer_points(asked: Question, text: str) -> float:
    """Points for the verb of a question for its subject (`who drives my mum?`); fewer if the
    subject of a statement is a being that the question names already."""
    if not ASKS_WHO_DOES.match(asked.text) or not (verb := _ASKED_DEED.match(asked.text)):
        return 0.0
    subject = leading_noun(text)
    words = value_key(subject.text) if subject and subject.is_being else frozenset[str]()
    points = DEED_SCORE if stems_of(verb["verb"]) & stems_of(text) - light() else 0.0
    return points - (DEED_SCORE if words and words <= value_key(asked.text) else 0.0)


_ASKED_DEED = LazyPattern(
    r"^[¿\s]*(?:who|qui[eé]n(?:es)?)(?:['’]s| is| are| will| also)?"
    r" (?:(?:me|te|nos|les?|se|l[ao]s?|est[aá]) )*(?P<verb>\w+)",
    _I,
)


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
    return shared | child_of_relative(asked, candidate.text, said)


def child_of_relative(asked: Question, text: str, said: Features) -> frozenset[str]:
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


def has_what_is_asked(asked: Question, candidate: Candidate) -> bool:
    """Check whether a statement has more in common with the question than a name or a habit: `who
    is Ben's doctor?`, `Ben's teacher is Ann`; `what do I do on Mondays?`, `I do judo`."""
    return not (
        (_shares_name_only(asked, candidate) and not ends(candidate.text, asked.concepts))
        or (_NUMBER_OF.search(asked.text) and not _tells_number(asked, candidate.text))
        or (ASKS_OWN_NAME.search(asked.text) and not _TELLS_OWN_NAME.match(candidate.text))
        or (ASKS_VALUE.search(asked.text) and _lacks_weekday(asked, candidate))
        or (
            ASKS_WITH_WHOM.search(asked.text)
            and not asked.concepts & (_PROVIDERS | {"gym", "partner"})
            and _lacks_companion(candidate)
        )
        or bool(_AGE_ASKED.search(asked.text) and not _AGE_TOLD.search(candidate.text))
        or (bool(ASKS_WHICH_DAY.search(asked.text)) and not _tells_day(candidate.text))
        or (bool(ASKS_WHO_DOES.match(asked.text)) and _names_no_other_being(asked, candidate.text))
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
    is_for_value = bool(ASKS_VALUE.search(asked.text))
    said = features(candidate.text)
    of_names = concepts_of(" ".join(asked.names)) | features(asked.text).beings
    specific = {one for one in asked.concepts if is_concept(one)} - general() - light() - of_names
    if is_for_value and not asked.expected:
        # "What car do Orville and I have?": what he may not eat is no answer.
        is_of_kind = bool(asked.names and _KIND_OF.search(asked.text))
        return is_of_kind and bool(specific) and not specific & said.concepts
    if asked.names and (owned := _OF_NAMED.search(asked.text)):
        noun = owned["being"] or owned["being2"]
        being = concepts_of(noun) & (kin() | {"pet"})
        if being and not (being & said.concepts or stems_of(noun) & stems_of(candidate.text)):
            # Where Emma lives does not tell who Emma's boyfriend is.
            return True
    if not asked.names or not specific or (specific <= ATTRIBUTES and not is_for_value):
        return False
    if (asked.concepts & said.concepts) - of_names - general():
        return False
    # The name of another one than is asked for is no answer.
    is_role = bool(_WHO_IS.search(asked.text) and specific & _ROLES)
    # "Ben no longer swims" counts nothing.
    counted = replace(candidate, text=_NOT.sub(" ", candidate.text))
    # Of a person, anything may be told: the day of a wedding does not tell when Emma plays tennis.
    subject = leading_noun(candidate.text)
    is_of_person = subject is not None and subject.is_being and not _AGE_ASKED.search(asked.text)
    is_of_person = is_of_person and ValueType.NAME not in asked.expected
    is_of_person = is_of_person and bool(asked.names & subject_name(candidate.text))
    return is_role or is_of_person or not (asked.expected and has_expected(asked, counted, said))


_OF_NAMED = LazyPattern(
    r"(?-i:[A-ZÀ-Þ])\w+['’]s (?P<being>\w+)"
    r"|\b(?:el|la|los|las) (?P<being2>\w+) de (?:mi \w+ )?(?-i:[A-ZÀ-Þ])",
    _I,
)
_KIND_OF = LazyPattern(
    r"\b(?:what|which) (?:kind|sort|type|make|brand) of\b|\bqu[eé] (?:tipo|clase|marca) de\b", _I
)
"""Asks for a thing by its kind."""


def _tells_name(text: str, asked: Question) -> bool:
    """Check whether a statement has the name of what is asked for behind its noun: `my aunt Eva`
    for `what is my aunt called?`."""
    found = INTRODUCTION.search(text)
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
        is_of_another = concerns_another(candidate.text, asked.text)
        if shared & _STATES and not ASKS_VALUE.search(asked.text) and is_about_speaker(asked.text):
            # "Do I live in York?", "I live in Leeds"
            return 0.0 if not is_of_another else -PENALTY
        if is_of_another or INTRODUCTION.search(candidate.text):
            # "My cat Shadow is 11" says nothing about Whiskers, and neither does "Shadow is 11".
            return -PENALTY
        return 0.0 if said.beings & features(asked.text).beings else -SMALL_PENALTY
    points = 0.0 if concepts_of(" ".join(named)) & shared else NAMED_SCORE
    if ASKS_WHO.search(asked.text) and said.concepts & kin():
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
    r"|me llamo|mi nombre es|ll[aá]mame|me dicen) (?-i:[A-ZÀ-Þ])",
    _I,
)
"""Tells nothing but the name of the speaker; `_TELLS_OWN_NAME` may stand anywhere."""


def _other_being(asked: Question, candidate: Candidate, said: Features) -> float:
    """Penalty: what is said of a sister is no answer to a question about oneself, and the other
    way round."""
    asked_beings = features(asked.text).beings
    has_name = _names_shared(asked.text, candidate.text)
    # "My husband" in parentheses only says how a name is related.
    is_own = is_about_speaker(NOTE.sub("", asked.text))
    is_of_both = SAID_OF_SPEAKER.search(candidate.text) or _AND_SPEAKER.match(candidate.text)
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
    is_for_being = is_named or not is_own or bool(ASKS_WHO_DOES.match(asked.text))
    is_for_being = is_for_being or not ASKS_WHO.search(asked.text)
    is_wanted = bool(_asks_for_being(asked) and said.subject and is_for_being)
    if ASKS_WITH_WHOM.search(asked.text):
        is_wanted = is_wanted and bool(_WITH.search(candidate.text))
    # "Who collects the kids?", "my mum collects them"
    is_object = bool(ASKS_WHO_DOES.match(asked.text) and _THEM.search(candidate.text))
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
    if is_own and is_asked and has_other_owner(candidate.text, asked):
        penalty += PENALTY
    # A statement about the speaker does not answer "what does my partner do?".
    is_of_couple = said.concepts & ({"partner"} | COUPLE)
    penalty += PENALTY * ("partner" in asked.concepts and said.is_own and not is_of_couple)
    is_subject_asked = not said.subject or bool(said.subject & asked.concepts) or has_name
    # "The doctor raised my dose" is about the speaker.
    is_subject_asked = is_subject_asked or bool(_DONE_TO_OWN.match(candidate.text))
    is_about_another = concerns_another(candidate.text, asked.text)
    penalty += PENALTY if is_of_owned(candidate.text, asked) else 0.0
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
    return PENALTY if is_own or not ASKS_WHO.search(asked.text) else SMALL_PENALTY


def _is_of_dependants(asked: Question, candidate: Candidate) -> bool:
    """Check whether a question asks for something of one's children or animals, which a statement
    tells without its owner: `the vet is Dr Hill`."""
    is_dependant = features(asked.text).beings <= _DEPENDANTS
    return is_dependant and bool(_THE.match(candidate.text)) and not _OF.search(candidate.text)


def _asks_for_being(asked: Question) -> bool:
    """Check whether a question asks for a being: `who …?`, `which cousin …?`, `what relative …?`"""
    which = ASKS_WHICH.search(asked.text)
    is_class = which and concepts_of(which["noun"]) & (kin() | CLASSES_OF_BEINGS)
    return bool(is_class or ASKS_WHO.search(asked.text))


def _is_of_couple(asked: Question, said: Features) -> bool:
    """Check whether `I'm married to Chris`, which names no being, is about the person asked for."""
    beings = features(asked.text).beings
    return "partner" in said.concepts and not said.beings and bool(beings) and beings <= COUPLE


def has_other_owner(text: str, asked: Question) -> bool:
    """Check whether a being of a statement has another owner: `Ana's mother` is not mine."""
    relatives = [found["owner"] or found["owner2"] for found in _OF_RELATIVE.finditer(text)]
    return any(
        concepts & kin() and owner not in asked.names for owner, concepts in _owned(text)
    ) or any(concepts_of(one) & (kin() | {"partner"}) - asked.concepts for one in relatives)


def is_of_owned(text: str, asked: Question) -> bool:
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
    if has_expected(asked, candidate, said):
        return TYPE_SCORE
    is_open = may_have_name(asked, candidate) or _may_have_colour(asked, candidate)
    # A statement without a time does not answer `when`.
    penalty = SMALL_PENALTY if ValueType.DAY in asked.expected else TYPE_SCORE
    return 0.0 if is_open else -penalty


def _may_have_colour(asked: Question, candidate: Candidate) -> bool:
    """Check whether a colour is expected, and what is asked for is called something unknown: `the
    kitchen is mustard`."""
    found = COPULA.match(candidate.text) if ValueType.COLOUR in asked.expected else None
    return found is not None and len(found["tail"].split()) == 1


_DECIMAL = LazyPattern(r"\d[.,]\d\d\b(?! ?[ap]\.?m)", _I)
"""A price, which may look like an hour: `Spotify's 10.50`."""


def may_have_name(asked: Question, candidate: Candidate) -> bool:
    """Check whether a name is expected, and the text has no capitals: any word may be one."""
    told = candidate.text[1:]
    return ValueType.NAME in asked.expected and told == told.lower()


def has_expected(asked: Question, candidate: Candidate, said: Features) -> bool:
    """Check whether a candidate has a value of a type that the question expects."""
    text = candidate.text
    is_for_place = ASKS_WHERE.search(asked.text) and not PLACE.search(text)
    if is_for_place and _IS_THE.search(text) and "hotel" not in said.concepts:
        return False
    # A name of the question itself is none that answers it, nor is that of a pet a place.
    names = asked.names | (subject_name(text) if is_for_place else frozenset())
    return (
        any((said.values_of(kind) or frozenset()) - names for kind in asked.expected)
        or bool(ValueType.NUMBER in asked.expected and (has_count(text) or _DECIMAL.search(text)))
        # "How often …?": "twice a day".
        or "frequency" in asked.concepts & said.concepts
        or bool(
            ValueType.DAY in asked.expected
            and _PERIOD.search(text)
            and not ASKS_WHICH_DAY.search(asked.text)
        )
        or bool(ASKS_WHERE.search(asked.text) and PLACE.search(text))
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
    used_to = bool(USED_TO.search(candidate.text) or is_former)
    if asked.wants_before:
        return points + (PENALTY if candidate.is_closed or used_to else -SMALL_PENALTY)
    if candidate.is_closed and not ASKS_PAST.search(asked.text):
        points -= SMALL_PENALTY
    is_gone = said.is_ended and ASKS_WHO.search(asked.text)
    if (used_to or is_gone) and not _PAST.search(asked.text):
        # "Dr Hill retired" tells nothing of the doctor that took over.
        points -= SMALL_PENALTY
    is_state = asked.concepts & said.concepts & _STATES
    is_of_now = not (_FUTURE.search(asked.text) or ASKS_WHEN.search(asked.text))
    if said.is_plan and is_of_now:
        points -= PENALTY if is_state else PLAN_PENALTY if _WH.search(asked.text) else 0.0
    return points


_RELATIVE = LazyPattern(
    r",? (?:who|which) [^,;]*|, (?:que|quien) [^,;]*"
    r"|\b(?:film|movie|show|series|documentary|book|novel|story|peli|pel[ií]cula|serie|documental"
    r"|libro|novela|historia)\b(?: \w+){0,3}? (?:where|about|in which|of an?|with an?|donde|de una?"
    r"|sobre|en (?:la|el) que) .*$",
    _I,
)
"""Words about the noun before them: a relative clause, the content of a film."""
ATTRIBUTES = frozenset({
    "name", "surname", "nickname", "age", "colour", "size", "code", "pin", "password", "key",
    "number", "brand", "address", "floor", "phone", "monday", "tuesday", "wednesday", "thursday",
    "friday", "saturday", "sunday", "weekend",
})  # fmt: skip
"""Relations that only say something together with what has them."""
_PROVIDERS = frozenset({"bank", "bill", "insurance", "phone", "provider", "wifi"})
"""`Who do I bank with?` asks for a company."""
CLASSES_OF_BEINGS = frozenset({"family", "animal", "sibling", "parent", "person"})
_DEPENDANTS = frozenset({"cat", "child", "daughter", "dog", "hamster", "pet", "rabbit", "son"})
_ROLES = frozenset({"boss", "dentist", "doctor", "paediatrician", "teacher", "vet"})
_NOT = LazyPattern(r"\bno\b", _I)
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
PLACE = LazyPattern(
    r"\b(?:in|on|at|under|behind|inside|next to|to|en|debajo|detr[aá]s|dentro|encima|sobre"
    rf"|junto a)\b(?! (?:the )?(?:\d|{MONTHS}|{WEEKDAYS}))|\bonline\b|\ben l[ií]nea\b",
    _I,
)
"""A preposition of place; that of a day (`on 4 June`) is none."""
_OWNER = LazyPattern(
    r"(?<![Mm]y )(?<![Oo]ur )\b(?!(?:s?he|it|that|this|there|here|who|what|where|how|let)['’])"
    r"(?P<name>[^\W\d_]\w+)['’]s (?:(?:best|oldest|old|new|first|little|big|older|younger) )?"
    r"(?P<noun>[a-z]\w+)"
    r"|(?P<noun2>\w+) de (?P<name2>[A-ZÀ-Þ]\w+)"
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
_PAST = LazyPattern(r"\b(?:did|ever|stop|quit|was|were|dej[eé]|alguna vez|\w+[íaáé]ba)\b", _I)
USED_TO = LazyPattern(
    r"\b(?:used to|sol[ií]a|antes|viv[ií]a|trabajaba|fumaba)\b"
    r"|\bestuve (?:\w+ )?a[ñn]os\b|\bi was an? .*\bfor (?:\w+ )?years\b"
    r"|\b(?:when|while) (?:i|we) (?:was|were)\b|\bas a (?:kid|child|teenager|student|boy|girl)\b"
    r"|\bcuando (?:era|[eé]ramos|ten[ií]a|iba|estaba|viv[ií]a|estudiaba)\b"
    r"|\bde (?:ni[ñn]|peque[ñn]|chic)[oa]s?\b|\bde (?:joven|adolescente|estudiante)\b"
    r"|\bera (?:el |la |un |una )?(?!de\b)\w+(?: de [\w ]+)?$",
    _I,
)
"""A habit or a job of the past: `I used to smoke`, `estuve 35 años de maquinista`."""
_CAPITAL = re.compile(r"(?<=\s)(?!I\b)[A-ZÀ-Þ][\w-]+")
_OTHER_SUBJECT = LazyPattern(
    r"^(?!.*\b(?:me|us|nos)\b)(?!.* (?:is|are|as|es|son|como) (?:my|our|mis?|nuestr))(?!I\b"
    r"|I['’]|I(?:m"
    r"|ve)\b|My\b|Our\b|We\b|The\b|Mi\b|Mis\b|Yo\b|Me\b"
    r"|El\b|La\b"
    r"|It\b|There\b|This\b"
    r"|En\b|A\b|No\b|Hoy\b|Ahora\b|Ayer\b|Ma[ñn]ana\b|Antes\b|Tod[oa]s?\b|Ya\b"
    r"|Aqu[ií]\b|Tambi[eé]n\b|Siempre\b|Nunca\b)(?P<name>[A-ZÀ-Þ][\wáéíóúñ]+)"
    r"(?:['’]s [a-z]| (?:is|was|has|lives|works|says"
    r"|said|told|likes|loves|moved|went|got|wants|es|vive|dice|dijo|tiene|trabaja|se|est[aá]"
    r"|estudia|ha|va"
    r"|[a-zß-ÿ]{3,}ó)(?!\w))"
)


def _weight(concept: str) -> float:
    if concept in general() or concept in light():
        return GENERAL_SCORE
    is_relation = is_concept(concept) and concept not in things()
    return RELATION_SCORE if is_relation else NAMED_SCORE


_NEWCOMER = LazyPattern(
    r"(?:the|a|this) (?:new )?(?:guy|girl|bloke|lad|woman|man|kid|temp|intern|lady|chap|dude)\b", _I
)
"""`The new guy teaches maths`."""


def concerns_another(text: str, question: str) -> bool:
    found = _OTHER_SUBJECT.match(text)
    if _NEWCOMER.match(text):
        return True
    if found is None or found["name"].lower() in question.lower():
        return False
    # "Cleaner's called Bo": a noun at the beginning of a sentence.
    concepts = {one for one in concepts_of(found["name"]) if is_concept(one)}
    is_noun = found["name"].endswith(("er", "or", "ist")) or concepts & concepts_of(question)
    return not (is_noun and concepts)


INTRODUCTION = LazyPattern(
    r"\b(?:my|our|mi|nuestr[oa]) (?P<noun>(?:[\w-]+ )??[\w-]+?)(?: (?:at|in|from|de|en) [\w-]+)?"
    r"(?:['’]s name (?:is|was)|['’]s (?:called|named)|['’]s| is (?:called|named)| is| called| named"
    r"| se llama"
    r"| es| llamad[oa]|,)? (?P<name>(?-i:[A-ZÀ-Þ])[\w.-]+(?: (?-i:[A-ZÀ-Þ])[\w-]+){0,3})",
    _I,
)
"""Words that give the name of a being: `my stepfather is called Winston`, `my sister Ana`."""


def _names_shared(question: str, text: str) -> bool:
    """Check whether a text has a name of the question."""
    question = question.lstrip("¿¡ \"'")
    spans = values_of_part(question).get(ValueType.NAME, ())
    words = {word for start, end in spans for word in split_words(question[start:end])}
    names = {word for word in words if not is_function_word(strip_accents(word))}
    return bool(names & set(split_words(text)))
