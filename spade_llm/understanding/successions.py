"""Successions: messages that announce a change and then say what holds instead.

`Switched banks, I'm with Monzo now`: the first part names what has changed, and the second one is
understandable only together with it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from os.path import commonprefix
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.understanding.clause_kinds import THIRD_SPANISH, is_statement
from spade_llm.understanding.corrections import (
    ASIDE_PLACE,
    DOES,
    describes,
    is_head,
    is_of_person,
    restated,
    whole_phrase,
)
from spade_llm.understanding.features import (
    WAS_SO,
    Statement,
    ended_part,
    ended_parts,
    ended_thing,
    ends,
    features,
    given_thing,
    is_denial,
    is_event,
    is_negated,
    is_sought,
)
from spade_llm.understanding.pronouns import (
    antecedent,
    is_noun_phrase,
    leading_noun,
    noun_phrases,
    with_person,
    with_role,
)
from spade_llm.understanding.replacement import (
    ADDITION,
    BEFORE_ITEM,
    EXCLUSIVE,
    FOR_A_TIME,
    INTRODUCES,
    REASON,
    SPEAKER,
    TITLES,
    WHEN,
    bearer_of,
    denies_other_thing,
    have_different_bearers,
    holds_without_companion,
    is_end_of_another,
    is_of_another,
    is_of_other_home,
    lists_of,
    names_other_medicine,
)
from spade_llm.understanding.substitution import (
    CLASSES,
    MAX_NAMES,
    has_details,
    outside,
    values_in_place_of,
    with_class,
    with_count,
    with_measured,
    with_typed_value,
    with_types,
    without_known,
)
from spade_llm.understanding.things import COPULA
from spade_llm.understanding.vocabulary import (
    MONTHS,
    TIME_BEHIND,
    ValueType,
    concepts_of,
    general,
    is_concept,
    kin,
    light,
    phrase_concepts,
    relatives,
    stems_of,
    tells_difference,
    things,
    typed_values,
    value_key,
    values_of_part,
    without_counts,
)
from spade_llm.understanding.wording import SPANISH_FIRST_PERSON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.understanding.pronouns import Mention

_I = re.IGNORECASE

MIN_NAMED = 0.5
"""Minimum share of an announcement's concepts that the earlier statement has."""
MAX_ANNOUNCEMENT_WORDS = 10
"""A longer part says more than that something has changed."""
MAX_TOPIC_WORDS = 3
"""Maximum length in words of a complement that is replaced as a whole."""
MAX_BACK = 3
"""Number of earlier statements to which a clause may refer without naming them."""
_BORDER = LazyPattern(
    r"\s*[,;:–—]\s+(?:and |so |but |y |pero |as[ií] que |por eso |which is why |that['’]s why )?"
    r"|\s+(?:and|so|but|lol|haha+|which is why|that['’]s why|y|pero|as[ií] que|por eso|jaja+)\s+",
    _I,
)
"""Beginning of what may hold instead."""
_ANNOUNCES = LazyPattern(
    r"\b(?:chang\w+|switch\w+|swap\w+|put(?= (?:\w+ ){1,3}up\b)|(?:went|gone|going) up"
    r"|raised|increased|mov(?:ed|ing)|got (?:an?|some)? ?(?:\w+ )?new|new|different"
    r"|lost|gained|put on|grew|birthday|turned|promot\w+|upgrad\w+|replac\w+|start\w+|re(?:paint"
    r"|book|nam|decorat|new"
    r"|locat|assign|arrang)\w*|(?:gave|given|assigned|issued) (?:me|us) an?(?:other)?"
    r"|me (?:han )?(?:asign|da|die|pus|toc)\w* otr[oa]"
    r"|cambi\w+|mud\w+|nuev[oa]s?|ascend\w+|adelgaz\w+|engord\w+|crec\w+|cumpl\w+"
    r"|pas(?:é|ado|amos)|empe[zc]\w+|renov\w+"
    r"|got(?= (?:my|our|the|that|his|her) .{2,40} wrong\b)|me equivoqu[eé] (?:de|con))\b",
    _I,
)
"""Something becomes different, or was told wrongly."""
_ENGLISH_PAST = LazyPattern(
    r"(?:\w{3,}ed|bought|took|sold|left|quit|lost|gave|threw|broke|split|got|cut|dropped)$", _I
)
_ENGLISH_PRESENT = LazyPattern(
    r"(?:doing|working|studying|living|learning|playing|taking|driving|using|teaching|training"
    r"|seeing|dating) \w",
    _I,
)
_NOW_WORDS = (
    r"\b(?:now|instead|these days|from now on|nowadays|currently|ahora|actualmente|en su lugar"
    r"|desde ahora|a partir de ahora)\b"
)
_SUCCEEDS_NOW = LazyPattern(_NOW_WORDS, _I)
_TAKES_OVER = LazyPattern(
    rf"{_NOW_WORDS}|^(?:the|my|our) new (?:one|\w+) (?:is|was)\b|^(?:the|my|our) new \w+['’]s\b"
    r"|^(?:el|la) nuev[oa] (?:\w+ )?(?:es|se llama)\b"
    r"|\b(?:tak(?:es?|en|ing) over|took over|took (?:his|her|their|the) (?:room|place|spot)"
    r"|(?:step|fill|stand)\w* in"
    r"|covering|covers? for|(?:to|will|can|['’]ll) cover"
    r"|replac\w+|in (?:his|her|their) place|till|until|for the time being"
    r"|(?:gave|given|put|assigned|moved|switched|swapped) (?:me|us)|sustitu\w+|reemplaz\w+"
    r"|en su (?:lugar|puesto|sitio)|de momento|hasta"
    r"|(?:me|nos) (?:han|asign\w+|toc\w+|pasó|\w+ron))\b",
    _I,
)
"""The clause says that somebody has the place of another."""
_GONE = LazyPattern(
    r"\b(?:left|leav\w+|gone|go(?:es|ing)|went|off|away|out|sick|ill|retir\w+|quit\w*|mov(?:ed|ing)"
    r"|broke\w*|hurt|injured|dropped|passed|died|no longer|not|n['’]t|holidays?|hospital|operation"
    r"|baja|ausente|vacaciones|permiso|licencia|excedencia|jubil\w+|enferm\w+|mal[oa]|oper\w+"
    r"|mur\w+|march\w+|mud\w+|ido|fue|va|dej\w+|no|ya no|parto|maternidad|rompi\w*|roto"
    r"|rot[oa]|lesion\w*|despid\w+|despedid[oa]|cambi\w+)\b",
    _I,
)
"""Says that the person who is replaced is away, or has left."""
_MAY_TAKE_OVER = LazyPattern(
    r"\b(?:till|until|hasta|de momento|(?:gave|given|put|moved|switched|swapped) (?:me|us)"
    r"|(?:me|nos) (?:han|asign\w+|toc\w+|pasó|\w+ron))\b",
    _I,
)
"""A replacement, but only if the person who is replaced is gone (_GONE)."""
_RESULT = LazyPattern(r"\b(?:so|why|as[ií] que|por eso)\b", _I)
_IS_SO = LazyPattern(
    r"^[\w'’ ]{2,30}?(?:['’]s| is| are| was| est[aá]n?| es| feels?| se siente) (?!\w+ing\b)", _I
)
"""`So Ann is sad`: a state, not what somebody does instead."""
_KIND_OF_ITEM = r"(?:an?|the|my|our|una?|el|la|mi|nuestr[oa]) (?-i:[a-zß-ÿ]{2,}) (?=(?-i:[A-ZÀ-Þ]))"
"""An article and a word before a name: `an old Raleigh`, `una bici Orbea`."""
_BEHIND_ITEM = (
    r"(?=$|[,.;]| (?:and|y|todos|cada|los|por|a las|desde|para|every|each|on|in|at|with|since|daily"
    r"|twice|once|for)\b)"
)
"""End of a list."""
_FOR = LazyPattern(r"\b(?:for|at|para|en) $", _I)
BESIDE = LazyPattern(r", (?-i:[A-ZÀ-Þ])[\w-]+,")
"""A name beside the noun of a being: `my mum, Ann, …`."""
_INDEFINITE = LazyPattern(r"(?:an?|una?) (?!new\b|nuev)", _I)
_OF_PLACE = LazyPattern(r"\s(?:at|from|of|del?|en) (?-i:[A-Z])")
_SUCCEEDS = LazyPattern(
    rf"{_NOW_WORDS}|^(?:(?:i|we)(?:['’]ve)? )?(?:bought|got|joined|started|signed|took"
    rf"|taken|found|am|use|booked|chose|went with"
    r"|drive|have"
    r"|(?:me |nos )?(?:he|hemos) (?:comprado|pillado|apuntado|cogido|empezado|reservado)"
    r"|compr[eé]|compramos|cogimos|me fui|empec[eé]|empezamos|(?:me )?abr[ií]|contrat[eé]"
    r"|estoy|voy|uso|tengo)\b|^(?:(?:nos )?iremos|nos vamos|vamos|iré|me voy) al?\b"
    r"|^(?:it|they|i|we)['’](?:s|re|m)\b|^(?:es|son)\b",
    _I,
)
"""A clause tells what holds instead: it says so, or tells what was taken."""

_REASON = LazyPattern(
    r"^(?:no me daba (?:la vida|tiempo)|no (?:me )?(?:ten[ií]a|quedaba) tiempo"
    r"|i (?:couldn['’]?t|didn['’]?t)\b"
    r"|(?:(?:it|they)(?:['’]s|['’]re| is| are| was| were| got) )?too\b"
    r"|(?:it|they|s?he)(?:['’]s|['’]re| is| are) (?:out of|closed|full|fully|short|ill|sick|away)\b"
    r"|era (?:muy|demasiado)\b"
    r"|me cans[eé]\b|no pod[ií]a\b|no \w+[ae]n nada\b"
    # "Me dolían los dedos", but "me llamaba Ana" says how it was before.
    rf"|(?!(?:no )?\w+ (?:llam|dedic)){WAS_SO})",
    _I,
)
"""Reasons of an end, and not what holds instead."""
_NOW = LazyPattern(
    r"\b(?:now|instead|these days|nowadays|from now on|ahora|actualmente|últimamente)\b"
    r"|^(?:since|desde(?: que)?)\b",
    _I,
)
_FAVOURITE = LazyPattern(r"\b(?:favou?rit\w+|preferid[oa]s?|gusta(?:n)? más)\b", _I)
_VERB = LazyPattern(
    r"\b(?:i|we)(?:['’](?:m|ve|re))? (?:now |usually |always |mostly )?([a-z]+)"
    # A noun has an article or a preposition before it.
    r"|(?<![a-z'’])(?<!\bel )(?<!\bal )(?<!\bun )(?<!\bmi )(?<!\bde )(?<!\bdel )(?<!\ben )"
    r"([a-zß-ÿ]+(?:oy|o|amos|emos|imos))\b"
)
_SPANISH_VERB = LazyPattern(r"[A-ZÀ-Þ][a-zß-ÿ]+(?:oy|o|amos|emos|imos)$")
"""The first word of a Spanish statement about the speaker: `Tomo metformina`."""
_OF_MANY = frozenset({
    "have", "like", "love", "know", "want", "think", "speak", "am", "was", "had", "been", "can",
    "will", "do", "got", "need", "feel", "hate", "live", "work", "tengo", "quiero", "hablo",
    "conozco", "soy", "estoy", "como", "creo", "tenemos", "somos", "estamos", "vivo", "trabajo",
    "no", "lo", "yo", "cuando", "ahora", "tanto", "mucho", "poco", "otro", "nuevo", "solo",
    "pero", "todo", "luego", "bajo", "kilo", "turno",
})  # fmt: skip
"""Verbs of which several objects hold at a time, and words that look like verbs."""
_NOW_IT_IS = LazyPattern(
    r"^(?:(?:and|so|y|as[ií] que) )?(?:now |ahora )?(?:it['’]?s|it is|they['’]re|es|son) "
    r"(?:now |ahora )?(?P<new>.+?)(?: now| ahora| instead)?$",
    _I,
)
_IT_IS_ONLY = LazyPattern(
    r"^(?:(?:now|ahora|ya) )?(?:it|it['’]s|they['’]re|i['’]ve got|i['’]m|we['’]re|es|son|tengo"
    r"|tenemos|estoy|estamos|est[aá])(?:\s|$)",
    _I,
)
"""The beginning of a clause that gives what was named before it another value."""
_TIMES_OF_DAY = frozenset({"morning", "afternoon", "evening"})
_SUBJECTS = frozenset({"i", "we", "my", "our", "yo", "nosotros", "mi", "the", "el", "la"})
_HOME = frozenset({"home", "address"})
_ENDS = LazyPattern(r"\b(?:no longer|no more|any ?more|ya no)\b", _I)
_OWNER = LazyPattern(r"(\w+)['’]s (\w+)")
_BARE_END = LazyPattern(
    r"^(?:(?:it|they)(?:['’]s| is| has| was| got|['’]ve| have| were)? \w+"
    r"|(?:(?:i|we)(?:['’]ve| have)? )?[a-z]+ (?:it|them)"
    r"|(?:se (?:me |nos |le )?|(?:me |nos )?l[ao]s? (?!del?\b|que\b))(?:he |hemos |ha |han )?"
    r"[a-zß-ÿ]+)"
    r"\b[^,;]{0,25}$",
    _I,
)
"""An end without a noun."""
_DONE_TODAY = LazyPattern(
    r"(?:(?:i|we)(?:['’]ve| have)? |just |finally )*(?:cancel|sold|quit|g[ai]ve|left|closed|return"
    r"|got rid|stopped|binned|ditched)\w*\b.*\b(?:this (?:morning|afternoon)|today)\b"
    r"|(?:(?:me|nos|he|hemos|hoy) )*(?:cancel|vend|dej|di|dado|dimos|cerr)\w*\b.*"
    r"\b(?:hoy|esta (?:ma[ñn]ana|tarde))\b",
    _I,
)
"""An end with its day, and not for that day only: `I cancelled Netflix this morning`."""
_PRESENT = LazyPattern(
    r"^(?:now |ahora )?(?:(?:i|we) (?!like|love|hate|think|feel|know|want|hope|can|will|was|had"
    r"|did)\w+(?<!ed)"
    r"|(?!(?:odio|quiero|creo|como)\b)(?-i:[a-zß-ÿ])[a-zß-ÿ]*(?:o|oy|amos|emos|imos))\s",
    _I,
)
"""A habit or state of the speaker."""


def tells_absence(text: str) -> bool:
    """Check whether a part of a message says that a being is away or has left."""
    subject = leading_noun(text)
    return subject is not None and subject.is_being and bool(_GONE.search(text))


def announces(text: str) -> bool:
    """Check whether a part of a message says that something becomes different."""
    return bool(_ANNOUNCES.search(text))


def has_changed(text: str) -> bool:
    """Check whether a part of a message says that there is another one of something, and not which:
    `I've changed doctors`. What was told before is over then."""
    return bool(_HAS_CHANGED.match(text))


_HAS_CHANGED = LazyPattern(
    r"(?:(?:i|we|(?:my|our) [\w-]+(?: (?-i:[A-Z])\w+)?|(?-i:[A-Z])\w+)(?:['’](?:ve|s)| have| has)?)"
    r"(?: (?:just|recently|now|also))? (?:(?:changed|switched|swapped) (?:(?:my|our|his|her) )?"
    r"(?:doctors?|gps?|dentists?|vets?|schools?|gyms?|clubs?|teams?|banks?|jobs?|providers?"
    r"|suppliers?|companies|insurers?|landlords?|teachers?|classes|phones?|cars?|hairdressers?"
    r"|barbers?|pharmac(?:y|ies)|churches|colleges|unis?|universities|supermarkets?|nurser(?:y|ies))"
    r"|moved (?:house|home|flats?|out))"
    rf"(?:{TIME_BEHIND}| in (?:{MONTHS}|\d{{4}})$|$)"
    r"|(?:(?:me|nos|se) )?(?:(?:mi|nuestr[oa]) [^\W\d_]+ |(?-i:[A-ZÀ-Þ])\w+ )?"
    r"(?:(?:ha|he|hemos) cambiado|cambi(?:é|ó|amos)) de "
    r"(?:m[eé]dic[oa]|doctora?|dentista|veterinari[oa]|colegio|cole|escuela|instituto|gimnasio"
    r"|club|equipo|banco|trabajo|curro|compañ[ií]a|seguro|caser[oa]|profesora?|coche|m[oó]vil|celular|peluquer[oa]|universidad|guarder[ií]a)"
    rf"(?:{TIME_BEHIND}| en (?:{MONTHS}|\d{{4}})$|$)",
    _I,
)


def announced(text: str, every: Sequence[str], known: Sequence[str]) -> str:
    """The latest of the earlier statements of which a part of a message says that it is over or has
    changed; empty if it says so of none. `known`: those of this conversation; a pronoun refers to
    the last of them."""
    if INTRODUCES.search(text) or tells_difference(text) or is_sought(text):
        return ""
    text = REASON.sub("", text)
    ends_of_text = ended_parts(text) or ([""] if announces(text) else [])
    return next(filter(None, (_announced(text, one, every, known) for one in ends_of_text)), "")


def _announced(text: str, ended: str, every: Sequence[str], known: Sequence[str]) -> str:
    """The statement of which one part of the text (`ended`) says that it is over; empty: it has
    changed."""
    if not every or len((ended or text).split()) > MAX_ANNOUNCEMENT_WORDS:
        return ""
    is_plan = features(ended).is_plan and not _NO_JOURNEY.search(ended)
    is_for_a_time = FOR_A_TIME.search(ended) and not _DONE_TODAY.match(ended)
    if ended and (is_plan or is_for_a_time):
        return ""
    of = ended_thing(ended) if ended else _ANNOUNCES.sub(" ", text)
    # "Two of my pupils have left" says nothing of two cats.
    thing = concepts_of(without_counts(of))
    named = thing - general()
    if is_negated(ended) and named and named <= kin():
        # "Mum still doesn't know": nothing of her is over.
        return ""
    # "Ava can't have milk" ends nothing of a list in which she is named.
    is_exchange = not ended and has_changed(text)
    is_bare_denial = is_negated(ended) and not (_ENDS.search(ended) or features(ended).is_ended)
    is_bare = not named and not is_negated(ended) and bool(_BARE_END.search(ended))
    # "My phone's gone, left it on the bus": the phone.
    is_bare = is_bare and not noun_phrases(text[: text.find(ended)])
    if ended and is_bare and known:
        # "It broke", "lo vendí": what was spoken of last.
        return next((one for one in reversed(known) if _may_be_over(ended, one)), "")
    # "Mark's changed jobs" is about the husband who was told of, not about the speaker.
    text = with_role(text, every)
    subject = None if ended else leading_noun(text)
    done_to = named - concepts_of(subject.text) if subject else frozenset()
    # "Ben lost his job": it is his job that is over, and not that he is called Ben.
    beings = " ".join(
        one.text
        for one in noun_phrases(ended)
        # "I work for Crumb": a client.
        if one.is_being and not _FOR.search(ended[: one.start])
    )
    over = named - concepts_of(beings) if beings else frozenset()
    # "I gave Bo to my aunt" tells of a cat of mine.
    about = features(given_thing(ended) if given_thing(ended) != ended else text).beings
    found = [
        one
        for one in every
        if named
        and len(named & features(one).concepts) >= MIN_NAMED * len(named)
        # "The cleaner moved the sofa" changes nothing of her.
        and (not done_to or done_to & features(one).concepts)
        and (not over or over & features(one).concepts)
        # "Dad retired": it is not over that he is called Ben.
        and (
            not is_event(ended)
            or ends(ended, features(one).concepts)
            or (_names_subject(ended, one) and not COPULA.match(one))
        )
        and not holds_without_companion(ended, one)
        and not denies_other_thing(ended, one)
        and not names_other_medicine(ended, one)
        # "I can't climb stairs any more" says nothing of what I must not take.
        and not (ended and is_denial(one))
        and about <= features(one).beings | concepts_of(one)
        and (not is_of_another(text, one) or _names_subject(ended, one))
        and not named & concepts_of(one) <= kin() < named | kin()
        and not named <= _owners(one)
        and (ended or is_exchange or not _shares_being_only(named, one))
        and not (is_bare_denial and _shares_subject_only(ended, named, one))
        and (ended or (is_head(named, one) and not features(one).is_ended))
        and not (named & concepts_of(one) <= _HOME and is_of_other_home(text, one))
        # "We moved" is itself an announcement.
        and (features(one).values or not announces(one))
        and not (ended and is_end_of_another(text, one))
        # Who no longer works for a firm may still be owed money by it.
        and "owe" not in features(one).concepts - named
    ]
    # "Sold the Fiesta" is about that car rather than about another one.
    words = value_key(ended_thing(ended)) if ended else frozenset()
    gone = leading_noun(ended) if ended else None
    return max(
        reversed(found),
        # "I left Acme" ends one item of a list rather than the note that Acme called.
        key=lambda one: (
            # "My flatmate is called Ann" rather than "my flatmate Ann's a drummer".
            not (gone and describes(one, gone.text)),
            len(named & features(one).concepts),
            len(words & value_key(one)),
            len(typed_values(one).get(ValueType.NAME, ())),
        ),
        default="",
    )


def _may_be_over(ended: str, statement: str) -> bool:
    """Check whether a statement may be what a pronoun means: things are sold, habits given up."""
    if _SOLD.search(ended):
        if bearer_of(statement) - SPEAKER:
            # "Ann drives a Skoda": it is hers.
            return False
        return bool(
            _POSSESSED.match(statement) or features(statement).concepts & (things() | _SALEABLE)
        )
    return not _GIVEN_UP.search(ended) or bool(_DONE_BY_SPEAKER.match(statement))


_SOLD = LazyPattern(r"\b(?:sold|scrapped|traded|vend[ií]\w*)\b", _I)
_POSSESSED = LazyPattern(
    r"^(?:(?:i|we)(?:['’]ve)? (?:have|own|got|bought|drive|ride)|(?:me )?compr\w+|ten(?:go|emos)"
    r"|conduzco)\b",
    _I,
)
_SALEABLE = frozenset({"bike", "brand", "car", "home", "phone", "transport"})
_DONE_BY_SPEAKER = LazyPattern(
    r"^(?:(?:i|we)(?:['’](?:m|re))? |(?:yo )?[^\W\d_]+(?:o|oy|amos|emos|imos) )", _I
)
_GIVEN_UP = LazyPattern(
    r"\b(?:(?:gave|given|give|giving) (?:it|them) up|quit|(?:lo|la|los|las) (?:he )?dej\w+)\b", _I
)
_NO_JOURNEY = LazyPattern(
    r"\b(?:not|no|nada)\b (?:(?:nos|me|going|off|flying|travelling) )*(?:vamos|voy|iremos|viajamos"
    r"|to|vuelo|volamos|(?<=nada )de) (?:a )?(?-i:[A-ZÀ-Þ])",
    _I,
)
"""A journey that will not be made: `we're not going to Crete`."""


def _shares_subject_only(denied: str, named: frozenset[str], statement: str) -> bool:
    """Check whether a statement has nothing of what is denied but the name that begins it."""
    subject = leading_noun(denied)
    shared = named & features(statement).concepts
    return subject is not None and subject.is_named and shared <= concepts_of(subject.text)


def _shares_being_only(named: frozenset[str], earlier: str) -> bool:
    """Check whether what a change names has only a being in common with an earlier statement: `my
    sister Ann moved to York` changes nothing of `I have two sisters: Ann and Eve`."""
    spans = typed_values(earlier).get(ValueType.NAME, ())
    names = concepts_of(" ".join(earlier[start:end] for start, end in spans))
    # "Hillcrest School" names a school, too.
    unknown = {one for one in names if not is_concept(one)}
    return named & concepts_of(earlier) <= kin() | general() | unknown


def _names_subject(ended: str, earlier: str) -> bool:
    """Check whether what is over is so for a being that an earlier statement names: `Ben moved out
    of the flat` after `I share it with Ben`."""
    subject = leading_noun(ended) if ended else None
    return bool(subject and subject.is_named and value_key(subject.text) <= value_key(earlier))


def _owners(statement: str) -> frozenset[str]:
    """Names of people to whom a being of a statement belongs: it is not about Ann in `Ann's mum
    lives in Rome`."""
    owners = (one[1] for one in _OWNER.finditer(statement) if concepts_of(one[2]) & kin())
    return concepts_of(" ".join(owners))


def ending(text: str, earlier: str) -> list[Statement]:
    """The statements that take an earlier one's place if it, or one of several things of which it
    tells, is over: `Pepper died` ends only a part of `our goldfish are Salt and Pepper`."""
    text = elliptic(text[:1].upper() + text[1:])
    told = with_role(text, [earlier])
    told = with_topic(text, earlier) if told == text else told
    if _PARTLY.search(text):
        return [Statement(text=text, is_change=True)]
    thing = ended_thing(ended_part(REASON.sub("", text)))
    named = value_key(thing)
    subject = leading_noun(text)
    # "Ben moved out of the flat" after "I share it with Ben and Tom".
    named |= value_key(subject.text) if subject and subject.is_named else frozenset()
    names = [earlier[start:end] for start, end in typed_values(earlier).get(ValueType.NAME, ())]
    words = [word for items in lists_of(earlier) for word in items]
    for item in (*names, *words):
        # "Mac and cheese" is over as a whole.
        others = [
            one
            for one in (names if item in names else words)
            if one != item and not (value_key(one) and value_key(one) <= named)
        ]
        if (
            others
            and value_key(item)
            and value_key(item) <= named
            and (rest := _without_item(earlier, item, others))
        ):
            return [
                Statement(text=told if item in names else text, is_change=True),
                Statement(text=rest, is_change=True, replaced=earlier),
            ]
    whole = Statement(text=told[:1].upper() + told[1:], is_change=True, replaced=earlier)
    parts = _list_parts(earlier)
    over = _part_that_is_over(parts, stems_of(thing) - light())
    if over is None:
        return [whole]
    ended = Statement(text=text, is_change=True)
    rest = _without_part(earlier, parts, over)
    # If the list cannot be shortened, it stays: rather told twice than lost.
    return [ended, *([Statement(text=rest, is_change=True, replaced=earlier)] if rest else [])]


_PARTLY = LazyPattern(
    r"\b(?:half|(?:some|part|most) of|la mitad|parte|algun[oa]s) (?:the|my|our|del?|of)\b", _I
)
"""Only a part of a thing is gone: `I sold half the sheep`."""
_AND = re.compile(r" (?:and|y|e) ")
_LIST_BORDER = re.compile(r",? (?:and|y|e) |, ")
_CLAUSE_WORDS = LazyPattern(
    r"\b(?:i|he|she|they|we|it|is|are|was|has|have|who|es|son|est[aá]n?|tiene|vive|trabaja|que|se)\b",
    _I,
)
_OTHER_ITEM = LazyPattern(r"(?:otr[oa]|one) ", _I)
_ARTICLES = r"an?|the|my|our|some|una?|el|la|los|las|mis?|unos|unas"
_ITEM_BEGIN = LazyPattern(rf"(?:{_ARTICLES}|at|in|on|with|for|to|con|en|al?|de)\b", _I)
_ITEM_ARTICLE = LazyPattern(rf"(?:{_ARTICLES})$", _I)


def _list_parts(text: str) -> list[str]:
    """Parts of a statement that lists things behind its verb, the first with what stands before the
    list; empty if it lists none."""
    parts = _LIST_BORDER.split(text)
    return [] if not _AND.search(text) or any(map(_CLAUSE_WORDS.search, parts[1:])) else parts


def _part_that_is_over(parts: Sequence[str], over: frozenset[str]) -> int | None:
    """Number of the part that has most of the stems of the thing that is over; None if none or more
    than one has."""
    shares = [len(over & stems_of(one)) for one in parts]
    most = max(shares, default=0)
    return shares.index(most) if most and shares.count(most) == 1 else None


def _without_part(text: str, parts: Sequence[str], number: int) -> str:
    """The statement without one part of its list; empty if what stands before the list cannot be
    told apart from the first part."""
    joined = " and " if " and " in text else " y "
    if number:
        left = [one for at, one in enumerate(parts) if at != number]
    else:
        second = _OTHER_ITEM.sub("", parts[1])
        begin = second.split(" ", 1)[0].lower()
        words = parts[0].split(" ")
        borders = [at for at, word in enumerate(words) if at and _is_begin(word.lower(), begin)]
        if not _ITEM_BEGIN.match(second) or not borders:
            return ""
        left = [" ".join([*words[: borders[-1]], second]), *parts[2:]]
    return joined.join([", ".join(left[:-1]), left[-1]]) if len(left) > 1 else left[0]


def _is_begin(word: str, begin: str) -> bool:
    """Check whether an item may begin with a word, if the next one begins with `begin`: both with
    the same preposition, or both with an article."""
    return word == begin or bool(_ITEM_ARTICLE.match(word) and _ITEM_ARTICLE.match(begin))


def _without_item(text: str, item: str, others: Sequence[str]) -> str:
    """A statement without one item of a list in it; empty if it stands beside none of the other
    ones."""
    called = r"(?:[\w-]+ ){1,2}(?:called|named|llamad[oa]) "
    before = rf"(?:{_KIND_OF_ITEM}|{BEFORE_ITEM}(?:{called})?)"
    every = "|".join(map(re.escape, others))
    one = rf"{before}{re.escape(item)}\b"
    beside = rf"(?P<beside>\b(?:{every})\b(?P<when>{WHEN}))(?:,|,? (?:and|y|e)) {one}"
    found = re.search(beside, text)
    # "Ramipril and aspirin at night": the time behind the last one is that of both.
    beside += f"{WHEN if found and found['when'] else ''}{_BEHIND_ITEM}"
    first = rf"\b{one}{WHEN}?(?:,|,? (?:and|y|e)) (?={before}(?:{every})\b)"
    shorter = re.sub(rf"{beside}|{first}", r"\g<beside>", text, count=1)
    if not re.search(rf"\b(?:and|y|e) {before}(?:{every})\b", shorter) and len(others) > 1:
        # "Milk, nuts" of "milk, nuts and eggs".
        last = rf",(?= {before}{re.escape(others[-1])}\b)"
        shorter = re.sub(last, " and" if " and " in text else " y", shorter, count=1)
    return _with_one_less(shorter, 1 + len(others)) if shorter != text else ""


def _with_one_less(text: str, count: int) -> str:
    """A statement of several beings or things with their number, if it tells that: `our two cats`
    of which one is left are `our cat`."""

    def fewer(found: re.Match[str]) -> str:
        if _COUNTED.index(found["count"].lower()) % len(_COUNTS) != count - 2:
            return found[0]
        left = _COUNTED[_COUNTED.index(found["count"].lower()) - 1] if count > 2 else ""
        if left:
            return f"{found['own'] or ''}{left} {found['noun']}"
        is_spanish = found["count"].lower() == "dos"
        noun = re.sub(r"(?<=[^aeiou])ies$", "y", found["noun"])
        noun = re.sub(r"ren$", "", noun) if noun.endswith("children") else noun.removesuffix("s")
        article = ("una" if noun.endswith("a") else "un") if is_spanish else "one"
        own = re.sub(r"(?i)(mi|nuestr[oa])s ", r"\1 ", found["own"] or "")
        return f"{own}{noun}" if own else f"{article} {noun}"

    return _COUNT_OF.sub(fewer, text, count=1)


_COUNTS = ("two", "three", "four", "five", "six")
_COUNTED = (*_COUNTS, "dos", "tres", "cuatro", "cinco", "seis")
_COUNT_OF = re.compile(
    rf"\b(?P<own>(?:my|our|mis|nuestr[oa]s) )?(?P<count>{'|'.join(_COUNTED)})"
    r" (?P<noun>[^\W\d_]+)\b",
    _I,
)
"""Several beings or things with their number: `our two cats`."""


def with_next_child(text: str, every: Sequence[str]) -> Statement | None:
    """`We had our third` after `we have two kids`: the number of children, and how it grew."""
    said = _NEXT_CHILD.match(text)
    for one in reversed(every if said else ()):
        had = _CHILDREN.search(one)
        count = had["count"].lower() if had else ""
        if said and had and said["nth"].lower().startswith(_AFTER[_number(count)]):
            number, noun = _next_number(count), had["noun"]
            if number in {"two", "dos"}:
                if one[had.end() :].strip(" .!"):
                    # "A son called Max" is not two of them.
                    continue
                noun = "children" if number == "two" else "hijos"
            grown = f"{one[: had.start()]}{number} {noun}{one[had.end() :]}"
            return Statement(text=f"{grown}; {text}", is_change=True, replaced=one)
    return None


def _number(count: str) -> int:
    """The number that a word or a digit tells: 2 for `two`, `dos` and `2`, 1 for an article."""
    if count.isdigit():
        return int(count)
    return _COUNTED.index(count) % len(_COUNTS) + 2 if count in _COUNTED else 1


def _next_number(count: str) -> str:
    """The next number, in the language of a word, or as a digit."""
    if count.isdigit():
        return str(int(count) + 1)
    if count not in _COUNTED:
        return "dos" if count.startswith("un") else "two"
    return _COUNTED[_COUNTED.index(count) + 1]


_AFTER = {
    1: ("second", "segund"),
    2: ("third", "tercer"),
    3: ("fourth", "cuart"),
    4: ("fifth", "quint"),
}
"""Beginning of the ordinal that follows a number."""
_NEXT_CHILD = LazyPattern(
    r"^(?:(?:i|we)(?:['’]ve)?(?: just| finally)* (?:had|welcomed) (?:our|my)"
    r"|(?:our|my)(?= [a-z]+ (?:child |kid |baby |one )?(?:was born|(?:has )?arrived|is here|came))"
    r"|(?:hemos|he|acabamos de|acabo de) (?:tenido|tener) (?:al?|el|la)"
    r"|(?:tuvimos|tuve) (?:al?|el|la)"
    r"|(?:ha nacido|naci[óo]) (?:el|la|nuestr[oa])) (?P<nth>second|third|fourth|fifth"
    r"|segund[oa]|tercer[oa]|cuart[oa]|quint[oa])"
    r"(?=$|[,.;!:]| (?:child|kid|baby|one|hij[oa]|was|has|is|came|arrived|on|last|yesterday|today"
    r"|ayer|hoy|el)\b)",
    _I,
)
_CHILDREN = LazyPattern(
    r"\b(?P<count>one|two|three|four|an?|una?|dos|tres|cuatro|[1-4]) (?:(?:little|lovely|young) )?"
    r"(?P<noun>kids?|child(?:ren)?|(?:baby )?(?:son|daughter|girl|boy)|hij[oa]s?|ni[ñn][oa]s?"
    r"|peques?|cr[ií][oa]s?)\b",
    _I,
)


def split_announcement(text: str) -> tuple[str, str]:
    """A clause in two: what is over or has changed, and what holds instead; the second part is
    empty if there is none."""
    for border in _BORDER.finditer(text):
        first, rest = text[: border.start()], text[border.end() :]
        if (
            rest
            and not _is_listed(first, border[0], rest)
            and (ended_part(first) or _ANNOUNCES.search(first))
            and (is_successor(rest, "", first) or _is_value(rest))
        ):
            return first, rest
    return text, ""


def _is_listed(first: str, border: str, rest: str) -> bool:
    """Check whether a value only goes on with a list: `Tuesdays and Thursdays`."""
    if border.strip() not in ("and", "y") or not _is_value(rest):
        return False
    kinds = values_of_part(rest).keys()
    ends = (kind for kind, spans in values_of_part(first).items() if spans[-1][1] == len(first))
    return any(kind in kinds for kind in ends)


def _is_value(text: str) -> bool:
    """Check whether a text has nothing but typed values: `la 1088`."""
    spans = [span for of_kind in values_of_part(text).values() for span in of_kind]
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return bool(spans) and not concepts_of(text)


def named_before(text: str, before: str, every: Sequence[str]) -> Statement | None:
    """The earlier statement with a new value, if the first of two parts names the old one or the
    topic, and the second one says what holds instead: `Ann had a baby, so Eve cuts my hair now`,
    `they painted the door, it's red`. The clause before it (`before`) may be the first part."""
    parts = [
        (text[: one.start()], text[one.end() :], bool(_RESULT.search(one[0])))
        for one in _BORDER.finditer(text)
    ]
    # With what the being of the clause before it is to the speaker: `my mate Rob left`.
    others = [one for one in every if not before or not value_key(before) <= value_key(one)]
    for first, rest, is_result in [*parts, *([(before, text, False)] if before else [])]:
        is_now = bool(_SUCCEEDS_NOW.search(rest))
        is_instead = is_now or is_result or bool(_TAKES_OVER.search(rest))
        if not (is_instead or _SUCCEEDS.search(rest) or _IT_IS_ONLY.match(rest)):
            continue
        named = concepts_of(first)
        # "I changed the alarm code, it's 3358" says nothing of the gate's, told last.
        for one in sorted(reversed(others), key=lambda one: -len(named & features(one).concepts)):
            if is_of_another(rest, one) or _tells_of_other_topic(rest, one):
                continue
            # A sister has no successor.
            is_other = is_instead and (is_now or not features(one).beings & relatives())
            # "Two of my pupils have left" says nothing of two cats.
            said = _SOME_OF.sub(" ", ASIDE_PLACE.sub(" ", first))
            if found := _of_two_parts(said, rest, one, is_other):
                return found
    return None


_SOME_OF = LazyPattern(r"\b\w+ (?:of (?:my|our|the)|de (?:mis|nuestr[oa]s|l[ao]s)) (?=\w)", _I)


def _tells_of_other_topic(text: str, earlier: str) -> bool:
    """Check whether a clause and an earlier statement are about different relations of the speaker:
    `I work for the NHS now` does not replace a home."""
    text = _SUCCEEDS.sub(" ", text)
    one, other = (features(said).topic - general() - light() for said in (text, earlier))
    return bool(one and other) and not one & other


def _of_two_parts(first: str, rest: str, earlier: str, is_instead: bool) -> Statement | None:
    bare = _SUCCEEDS.sub(" ", rest)
    gone = _gone(first, earlier)
    if gone and describes(earlier, gone):
        return None
    is_instead = is_instead or bool(gone and _SUCCEEDS.search(rest))
    if is_instead and (found := with_typed_value(earlier, f"{first} {gone}", bare)):
        return found
    named = concepts_of(_ANNOUNCES.sub(" ", first)) & features(earlier).concepts
    # Many things have a name: that says nothing of which is meant.
    named -= general() | light() | {"name"}
    is_of_other = features(earlier).beings - features(first).beings or any(
        concepts_of(one[2]) & kin() and one[1] not in earlier for one in _OWNER.finditer(first)
    )
    if not named or is_of_other or not _IT_IS_ONLY.match(rest):
        return None
    if _name_differently(first, earlier):
        return None
    types = without_known(bare, values_of_part(bare), earlier)
    if types.keys() & values_in_place_of(bare, types, earlier).keys():
        own = concepts_of(outside(bare, types)) - general() - light() - features(earlier).concepts
        return None if own else with_types(earlier, bare, types)
    return _with_new(rest, earlier, first)


def _name_differently(first: str, earlier: str) -> bool:
    """Check whether two texts name different people or firms, and none that both name: `Ann moved
    the deadline` says nothing of `the Acme report is due on Friday`."""
    subject = leading_noun(first)
    spans = typed_values(first).get(ValueType.NAME, ())
    names = {subject.text} if subject and subject.is_named else set[str]()
    names |= {first[slice(*one)] for one in spans}
    others = {earlier[slice(*one)] for one in typed_values(earlier).get(ValueType.NAME, ())}
    others |= {one.text for one in noun_phrases(earlier) if one.is_named}
    one, other = (value_key(" ".join(each)) for each in (names, others))
    return bool(one and other) and not one & other


def _gone(text: str, earlier: str) -> str:
    """The name in an earlier statement with which a clause begins: `the Jazz failed its test` after
    `I drive a Honda Jazz`."""
    begin = value_key(" ".join(text.split()[:2]))
    names = (earlier[slice(*one)] for one in typed_values(earlier).get(ValueType.NAME, ()))
    return next((one for one in names if value_key(one) & begin), "")


def substituted(
    text: str, before: str, every: Sequence[str], known: Sequence[str]
) -> tuple[str, str, str]:
    """The earlier statement in which a being has the place that another one takes now: `Ann broke
    her wrist, so Eve is stepping in` after `Ann walks our dog`; and before it what is said of the
    former and of the new being. Empty if there is none.

    `before`: the clause before it in the message; the latest of `known` may say of the former being
    what this clause does not.
    """
    for border in _BORDER.finditer(text):
        first, rest = text[: border.start()], text[border.end() :]
        is_result = bool(_RESULT.search(border[0]))
        if earlier := _place_of_another(first, rest, every, is_result=is_result):
            return first, rest, earlier
    first = before or "".join(known[-1:])
    # "Ann left, now Eve comes" says itself who is gone.
    said = text if _GONE.search(first) else _MAY_TAKE_OVER.sub(" ", text)
    takes_over = _TAKES_OVER.search(said) and not ended_part(text)
    if first and (before or takes_over):
        others = [one for one in every if one.lower() != first.lower()]
        return first, text, _place_of_another(first, text, others, is_apart=not before)
    return "", "", ""


def _place_of_another(
    first: str,
    rest: str,
    every: Sequence[str],
    *,
    is_result: bool = False,
    is_apart: bool = False,
) -> str:
    """The earlier statement about the being of the first clause, if by the second another being has
    its place: this names the same relation, says that it takes over, or (`is_result`) does
    something because of the first. `is_apart`: they are of two messages, so that `now` alone does
    not say that it takes over."""
    gone = next(iter(noun_phrases(first)), None)
    is_first = gone and first[: gone.start].lower() in ("", "a ")
    # "My niece Ann, the doctor, …": of the being itself, nothing is said yet.
    if not gone or not gone.is_being or not is_first or is_noun_phrase(first):
        return ""
    if gone.start and _DONE_TO_IT.match(rest):
        # "A mamá, como …, la llevamos": what happens to her.
        return ""
    if ADDITION.search(rest) or is_negated(rest) or _same_being(gone, with_person(rest, (), first)):
        return ""
    if antecedent(rest, [first])[0].startswith(gone.text):
        return ""
    bare = _SUCCEEDS_NOW.sub(" ", rest) if is_apart else rest
    takes_over = bool(_TAKES_OVER.search(bare)) or (is_result and not _IS_SO.search(rest))
    # Reversed: of equal points the latest.
    points = {
        one: _points_of_place(one, gone, first, rest, takes_over=takes_over)
        for one in reversed(every)
    }
    best = max(points, key=lambda one: points[one], default="")
    return best if best and points[best] else ""


_DONE_TO_IT = LazyPattern(r"(?:l[ao]s?|les?) [^\W\d_]", _I)


def _points_of_place(
    earlier: str, gone: Mention, first: str, rest: str, *, takes_over: bool
) -> int:
    """How probable it is that an earlier statement is about the place that another being takes; 0:
    it is not."""
    came = _newcomer(rest, earlier)
    # Of what is over for the former being, nothing holds of the new one.
    if not came or not _same_being(gone, earlier) or features(earlier).is_ended:
        return 0
    if have_different_bearers(first, earlier):
        # "My boyfriend's boss" is not mine.
        return 0
    said = concepts_of(rest) - concepts_of(came.text) - general()
    names = [one for one in noun_phrases(earlier) if one.is_named]
    if len(names) > MAX_NAMES or (not takes_over and said & concepts_of(first)):
        # A list of beings; "Ben goes to one school, and Lucy goes to another".
        return 0
    shared = len(said & concepts_of(earlier) - concepts_of(gone.text))
    shared += bool(antecedent(rest, [earlier])[0])
    # The teacher of a daughter is no relative.
    own = features(_OF_RELATIVE.sub(" ", earlier)).beings
    points = 2 * shared + (takes_over and not own & relatives())
    tail = COPULA.match(earlier) if points else None
    if is_of_person(earlier, gone.text):
        return 0
    # "Our director is Ann" rather than "Ann is strict".
    return points + bool(tail and gone.text in tail["tail"])


_OF_RELATIVE = LazyPattern(
    r" (?:de|of) (?:mis?|nuestr[oa]s?|my|our) [\w-]+|\b(?:my|our) [\w-]+['’]s\b", _I
)


def _newcomer(text: str, earlier: str) -> Mention | None:
    """The being of a clause that an earlier statement does not name."""
    beings = (
        one
        for one in noun_phrases(text)
        # "He moved, for a girl": the girl does not take his place.
        if one.is_being and not one.is_value and not _INDEFINITE.match(text, one.start)
    )
    return next((one for one in beings if not _same_being(one, earlier)), None)


def in_place_of(first: str, rest: str, earlier: str) -> Statement:
    """The earlier statement with another being in the place of that of the first clause; in the
    words of the second one, if more is said of the former being than its name."""
    gone, came = noun_phrases(first)[0], _newcomer(rest, earlier)
    place = next((one for one in noun_phrases(earlier) if _same_being(gone, one.text)), None)
    tail = COPULA.match(earlier)
    if place and came and not _OF_PLACE.match(earlier, place.start + len(place.text)):
        end = place.start + len(place.text)
        beside = BESIDE.match(earlier, end)
        is_whole = not tail or place.start <= tail.start("tail") or end <= tail.start("tail")
        if is_whole and earlier[place.start : end].lower() == place.text.lower():
            text = earlier[: place.start] + came.text + earlier[beside.end() if beside else end :]
            return Statement(text=text[:1].upper() + text[1:], is_change=True, replaced=earlier)
    bare = earlier.replace(gone.text, "")
    text = with_topic(rest[:1].upper() + rest[1:], bare)
    return Statement(text=text, is_change=True, replaced=earlier)


def closest(rest: str, earlier: str, every: Sequence[str]) -> str:
    """The earlier statement that shares most with what holds instead: an announcement (`the coach
    moved me up, I play in goal now`) may name something else."""
    said = features(rest).concepts - light()
    beings = features(rest).beings, features(earlier).beings
    verbs = _verbs(rest)
    shares = {
        one: bool(verbs & _verbs(one))
        + sum(0.5 if both in general() else 1 for both in said & features(one).concepts)
        for one in (*every, earlier)
        if features(one).beings in beings
    }
    best = max(shares, key=lambda one: (shares[one], one == earlier))
    return best if shares[best] > 1 else earlier


def _same_being(mention: Mention, text: str) -> bool:
    """Check whether a text names the being of a mention."""
    if mention.is_named:
        return value_key(mention.text) - TITLES <= value_key(text)
    return bool(concepts_of(mention.text) & concepts_of(text) - general())


def elliptic(text: str) -> str:
    """An announcement with its subject: `packed in the gym` → `I packed in the gym`."""
    first = text.split(" ", 1)[0]
    subject = "I" if _ENGLISH_PAST.match(first) else "I'm" if _ENGLISH_PRESENT.match(text) else ""
    return f"{subject} {text[0].lower()}{text[1:]}" if subject else text


def is_successor(text: str, earlier: str, announcement: str) -> bool:
    """Check whether a clause behind an announcement says what holds instead."""
    if _NEW_ONE.match(text):
        return True
    # "I'm at Aldi" is as much about work as about a home; "at a shop called …" tells no own name.
    of_place = frozenset({"name"}) if _IS_AT.match(text) else frozenset()
    about = features(text).topic - phrase_concepts(text) - of_place
    if _REASON.match(text) or _STAYS.search(text) or _TOLD_BESIDE.match(text):
        return False
    if INTRODUCES.search(text) or about & EXCLUSIVE - features(earlier).topic:
        return False
    types = values_of_part(text)
    has_type = bool(types.keys() & typed_values(earlier).keys())
    own = concepts_of(outside(text, types)) - general() - light()
    if has_type and own and not own & features(earlier).concepts:
        # "Ann moved, so Eve waters the plants" names no new person.
        has_type = False
    if has_type or _SUCCEEDS_NOW.search(text):
        return True
    # "I don't smoke, I run": a denial needs no successor.
    is_over = not features(announcement).is_negated
    return is_over and bool(_SUCCEEDS.search(text) or _PRESENT.match(text))


_TOLD_BESIDE = LazyPattern(
    r"(?:and |so |y )?(?:back (?:to|in|home)\b|de vuelta (?:a|en)\b"
    r"|(?:i |we )?got (?:[£$€]?\d|some\b|good|nothing|my money|our money)|me (?:dieron|pagaron) )",
    _I,
)
"""What became of the one who left, or what was paid for a thing that is gone."""
_NEW_ONE = LazyPattern(
    r"(?:and |so |y )?(?:(?:the|our|my) (?:new|next) (?:one|guy|lady|girl|lad|person)(?:['’]s| is)"
    r"|(?:his|her|their) (?:replacement|successor)(?:['’]s| is)"
    r"|(?:el|la) nuev[oa] (?:es|se llama)|su (?:sustitut|sucesor|reemplaz)\w* (?:es|se llama))\b",
    _I,
)
"""The one who takes the place of the being that was spoken of."""


def tells_reason(text: str) -> bool:
    """Check whether a clause behind an end only tells why: `no tenía tiempo`, `it was too far`."""
    return _REASON.match(text) is not None


def successor(text: str, earlier: str, announcement: str = "") -> Statement:
    """The statement that takes an earlier one's place: with its words, if only a value is new; else
    in words of its own, behind which stands the topic if they do not name it.

    `announcement`: the part before it, which may name the value that is replaced.
    """
    if _does_the_same(text, earlier):
        return Statement(text=text[:1].upper() + text[1:], is_change=True, replaced=earlier)
    if found := with_measured(earlier, announcement, text) or with_count(earlier, text):
        return found
    # "Ya no tomo mate, me cae mal, ahora tomo café": the reason before it tells nothing new.
    parts = (text[one.end() :] for one in _BORDER.finditer(text))
    whole = text
    text = next((one for one in parts if _NOW.match(one)), text)
    if found := with_typed_value(earlier, announcement, _SUCCEEDS.sub(" ", text)):
        # "We sold the Golf and bought a black Kia": nothing else of the Golf holds of the Kia.
        found = None if has_details(found) else whole_phrase(text, found)
    else:
        found = (
            restated(text, [earlier], [earlier], is_change=True)
            or _with_object(text, earlier, announcement)
            or _with_new(text, earlier, announcement)
        )
    if found:
        return found
    told = with_topic(elliptic(whole[:1].upper() + whole[1:]), earlier, announcement)
    return Statement(text=told, is_change=True, replaced=earlier)


def _does_the_same(text: str, earlier: str) -> bool:
    """Check whether another being has the verb of an earlier statement: `Uncle Vernon drives Mum`
    after `my cousin Reggie drives her`."""
    came, gone = leading_noun(text), leading_noun(earlier)
    if not (came and gone and came.is_being and gone.is_being) or _same_being(came, earlier):
        return False
    verb = _DEED.match(text, came.start + len(came.text))
    other = _DEED.match(earlier, gone.start + len(gone.text))
    return bool(verb and other and verb[1] == other[1])


_DEED = LazyPattern(r" (?!(?:is|has|was|had|es|se|ha|le|me|nos|tiene)\b)([^\W\d_]+)", _I)


def in_own_words(text: str, corrected: Statement) -> Statement:
    """The statement that takes an earlier one's place, in the words of the clause: of its last part
    that says something."""
    parts = [text[one.end() :] for one in _BORDER.finditer(text)]
    rest = next((one for one in reversed(parts) if is_statement(one)), text)
    before = text.removesuffix(rest)
    if _new_names(before) - value_key(corrected.replaced):
        # "Me pasé a Orange y pago 29": both parts tell something new.
        rest = text
    told = with_topic(elliptic(rest[:1].upper() + rest[1:]), corrected.replaced, text)
    return replace(corrected, text=told)


def _new_names(text: str) -> frozenset[str]:
    spans = values_of_part(text).get(ValueType.NAME, ())
    return value_key(" ".join(text[slice(*one)] for one in spans))


_NOW_BEHIND = LazyPattern(rf" (?:{_NOW_WORDS})$", _I)


def _with_object(text: str, earlier: str, announcement: str) -> Statement | None:
    """`Now I do judo` after `I quit yoga`: the earlier statement with the new object in the place
    of the one that the announcement names, or of one of its class."""
    found = DOES.match(text)
    if not found or is_denial(earlier):
        return None
    new, before = found["new"], earlier.split()
    if _is_job_at_place(new, earlier):
        return None
    if values_of_part(new).keys() & typed_values(earlier).keys():
        # "I swim on Tuesdays" instead of "I go to the gym on Mondays".
        return None
    thing = ended_thing(ended_part(announcement))
    over, named = concepts_of(thing) - general(), value_key(thing)
    verb = 1 if before[0].lower() in _SUBJECTS else 0
    place = [
        n
        for n, word in enumerate(before)
        if n > verb and concepts_of(word) & over and word.lower() not in SPANISH_FIRST_PERSON
    ]
    # Of two medicines, the one that is named.
    place = [n for n in place if value_key(before[n]) & named] or place
    if not place or place != list(range(place[0], place[-1] + 1)):
        return with_class(earlier, new, concepts_of(new) & CLASSES)
    if _AT.search(" ".join(["", *before[: place[0]], ""])):
        # "I'm a waiter at a hotel": no object.
        return None
    rest = before[place[-1] + 1 :]
    # "A history now student" for "I'm doing history now".
    changed = [*before[: place[0]], _NOW_BEHIND.sub("", new) if rest else new, *rest]
    return Statement(text=" ".join(changed), is_change=True, replaced=earlier)


_AT = LazyPattern(r" (?:at|in|from|en) (?:(?:an?|the|my|una?|el|la|mi) )?$", _I)


def _with_new(text: str, earlier: str, announcement: str) -> Statement | None:
    """`Now it's cider` after `I gave up beer`: the earlier statement with the new word in the place
    of the one that is over, or of its complement."""
    found = _NOW_IT_IS.match(text)
    if not found or len(found["new"].split()) > MAX_TOPIC_WORDS:
        return None
    if _is_job_at_place(found["new"], earlier):
        return None
    if concepts_of(found["new"]) <= concepts_of(earlier):
        # "It's my favourite now" names no other one.
        return None
    over = value_key(ended_thing(ended_part(announcement)))
    tail = COPULA.match(earlier)
    start = tail.start("tail") if tail else 0
    place = [one.span() for one in re.finditer(r"[\w'’-]+", earlier) if value_key(one[0]) & over]
    if len(place) == 1 and place[0][0] >= start:
        start, end = place[0]
    elif tail and len(tail["tail"].split()) <= MAX_TOPIC_WORDS:
        end = len(earlier)
    else:
        return None
    changed = earlier[:start] + found["new"] + earlier[end:]
    return Statement(text=changed, is_change=True, replaced=earlier)


def _is_job_at_place(new: str, earlier: str) -> bool:
    """Check whether new words are a profession, and an earlier statement tells a place of work: `he
    left the garage, he's a cook now`."""
    return "profession" in concepts_of(new) and bool(_PLACE_OF_WORK.search(earlier))


_PLACE_OF_WORK = LazyPattern(r"\b(?:works?|trabaj[ao]) (?:at|in|for|en|para) ", _I)
_STAYS = LazyPattern(
    r"\b(?:stay(?:ing)? (?:put|here|where)|nos quedamos|me quedo|seguimos|sigo (?=en|aqu))\b", _I
)
"""Nothing takes the place of a plan that is off: `we're staying put in Bath`."""
_JOBS = frozenset({"work", "profession"})
_IS_AT = LazyPattern(
    r"(?:now |ahora )?(?:i['’]?m (?:now )?(?:at|with) |(?P<es>estoy (?:ahora )?(?:en|con) ))", _I
)
_OWN_TOPICS = frozenset({"office", "work", "school", "nursery", "university", "profession"})


def with_topic(text: str, earlier: str, announcement: str = "") -> str:
    """A statement with the topic of an earlier one in parentheses, unless it names that itself:
    `I bought a Skoda (car)`. `announcement`: names the value that is replaced, which is no topic.
    """
    said, before = features(text).concepts, features(earlier)
    topic = _topic(earlier, announcement)
    if before.topic & _JOBS and "work" not in said and (at := _IS_AT.match(text)):
        # "I'm at a bakery now" would answer no question about work.
        return f"{text} ({'trabajo' if at['es'] else 'work'})"
    # "I cycle to the office now" and "I'm a nurse now" say themselves what they are about.
    is_told = said & before.concepts & _OWN_TOPICS or said & before.topic & things()
    if have_same_begin(text, earlier):
        return text
    # "En el bar ahora pido mosto" has the bar and the verb of the earlier one.
    has_words = len(stems_of(text) & stems_of(earlier) - light()) > 1
    # "I'm a teacher now" after "I'm an accountant".
    has_words = has_words or bool(
        _HAS_JOB.match(_NOW.sub("", text).strip()) and _HAS_JOB.match(earlier)
    )
    if not topic or is_told or has_words or said & before.topic & concepts_of(topic):
        return text
    is_ended = bool(ended_part(announcement))
    for word in [] if is_ended else re.findall(r"[^\W_]+", _ANNOUNCES.sub(" ", announcement)):
        if before.topic & concepts_of(word) - general() and not word[0].isupper():
            # "Switched course" names the topic itself.
            return text if said & concepts_of(word) - general() else f"{text} ({word})"
    if not is_ended:
        # "Ana changed her mind, it's a cake now" is about Ana.
        names = [earlier[start:end] for start, end in typed_values(earlier).get(ValueType.NAME, ())]
        topic = " ".join([topic, *(one for one in names if one in announcement)])
    return f"{text} ({topic})"


def adjacent(text: str, known: Sequence[str], *, is_change: bool) -> str:
    """The latest of the statements just before a clause that tells of the same with the same verb,
    and says that it is different now: `now I take the bus`; empty if there is none. `is_change`:
    the clause begins with a word of change."""
    is_now = is_change or _NOW.search(text) or _BY_NOW.match(text)
    if not is_now or is_denial(text) or ADDITION.search(text):
        return ""
    verbs, of_new = _verbs(text), features(text)
    return next(
        (
            one
            for one in reversed(known[-MAX_BACK:])
            if (
                features(one).beings == of_new.beings
                and (verbs & _verbs(one) or (_FAVOURITE.search(text) and _FAVOURITE.search(one)))
                and not (of_new.topic - phrase_concepts(text)) & EXCLUSIVE - features(one).topic
            )
            or have_same_begin(text, one)
            or (_HAS_JOB.match(text) and _are_of_one_job(text, one))
        ),
        "",
    )


def _are_of_one_job(text: str, earlier: str) -> bool:
    """Check whether two statements tell what the speaker is by a profession, or by the same noun:
    `I'm store manager now` after `I'm an assistant manager at Boots`."""
    one, other = (_ROLE.match(each) for each in (_NOW.sub("", text).strip(), earlier))
    if not one or not other:
        return False
    is_job = all("profession" in concepts_of(each["role"]) for each in (one, other))
    return is_job or one["role"].split()[-1] == other["role"].split()[-1]


_ROLE = LazyPattern(
    r"(?:i['’]m|i am|i work as) (?:an? |the )?(?P<role>[a-z-]+(?: [a-z-]+)?)(?=$| (?:at|in|for|of"
    r"|on) )",
    _I,
)


def have_same_begin(text: str, earlier: str) -> bool:
    """Check whether two short statements begin with the same verb and preposition, but for words of
    time before it, and end otherwise: `ahora estoy en pediatría`, `estoy en urgencias`."""
    one, other = (_words_of(each) for each in (text, earlier))
    if _NO_SUBJECT_ES.match(" ".join(one)) and (subject := leading_noun(earlier)):
        other = _words_of(earlier[subject.start + len(subject.text) :])
    same = len(commonprefix([one, other]))
    begin = " ".join(one[:same])
    if not _BEGIN.match(begin) or (one[0] in _OF_MANY and not _AT_END.search(begin)):
        return False
    if not 0 < len(one) - same <= MAX_END_WORDS or same >= len(other):
        return False
    # "Ahora trabajo en casa" does not end "trabajo en Indra".
    are_named = [ValueType.NAME in typed_values(each) for each in (text, earlier)]
    return are_named[0] or not are_named[1]


def _words_of(text: str) -> list[str]:
    """Words of a statement in lower case, without those of time before it; all articles are one."""
    return _ARTICLE.sub("el", _TIME_BEFORE.sub("", text).lower()).strip(" .").split()


MAX_END_WORDS = 5
"""Maximum length in words of what is new in a clause that begins like an earlier statement."""
_BY_NOW = LazyPattern(r"^ya (?:me |nos )?[^\W\d_]+(?:o|oy|amos|emos|imos)\b", _I)
_ARTICLE = LazyPattern(r"\b(?:el|la|los|las|una?)\b", _I)
_TIME_BEFORE = LazyPattern(
    r"^(?:(?:now|these days|in the end|ahora|ya|al final|actualmente|(?:en|desde) [^\W\d_]+"
    r"|el finde"
    r"|on [^\W\d_]+(?:day(?: [a-z]+)?|s)|(?:los|cada) [^\W\d_]+|por las? [^\W\d_]+),? )+(?=\S+ \S)",
    _I,
)
_BEGIN = LazyPattern(
    r"(?:i|we)(?:['’]\w+)? \S+|i['’]m \S+|(?:(?:me|nos) )?(?:estoy|vivo|voy|soy|trabajo|como"
    r"|[^\W\d_]{2,}(?:amos|emos|imos)|[^\W\d_]{3,}o) (?:a|al|en|de|del|con|por|para|el)\b"
    rf"|{THIRD_SPANISH} (?:al?|en|del?|con|el)\b",
    _I,
)
"""Verb and preposition or article with which a habit or state begins."""
_AT_END = LazyPattern(r" (?:at|in|on|with|to|for|al?|en|con|del?|para)(?: (?:the|el|my|mi))?$", _I)
_NO_SUBJECT_ES = LazyPattern(rf"{THIRD_SPANISH}\b", _I)


def _verbs(text: str) -> frozenset[str]:
    """Verbs of the speaker that tell of one thing at a time."""
    found = {match[1] or match[2] for match in _VERB.finditer(text.lower())} - _OF_MANY
    # "I'm studying" and "I study" tell of one thing.
    return frozenset(re.sub(r"(?<=\w{3})(?:ing|e)$", "", one) for one in found)


_HAS_JOB = LazyPattern(
    r"i(?:['’]m| am| work as) |(?:soy|(?:trabajo|laburo|curro) (?:de|como)) ", _I
)


def _topic(statement: str, announcement: str) -> str:
    """The words that name what a statement is about, without its value."""
    found = COPULA.match(statement)
    if found and not _SPANISH_VERB.match(found["noun"].split()[0]):
        return found["noun"]
    bare = statement
    spans = sorted((one for of in typed_values(statement).values() for one in of), reverse=True)
    for start, end in spans:
        bare = f"{bare[:start]} {bare[end:]}"
    named = value_key(ended_thing(ended_part(announcement)))
    # "I'm a cook": the profession is the value.
    no_topics = _TIMES_OF_DAY | ({"profession"} if _HAS_JOB.match(statement) else set())
    words = [
        word
        for word in re.findall(r"[^\W_]+", bare)
        if any(is_concept(one) and one not in general() for one in concepts_of(word))
        and not concepts_of(word) & no_topics
        and word.lower() not in SPANISH_FIRST_PERSON | _NO_TOPICS
        and not (bare.startswith(word) and _SPANISH_VERB.match(word))
        and not value_key(word) & named
    ]
    # The first word of the statement may have had a capital for that only.
    return "".join(word.lower() if bare.startswith(word) else word for word in words[:1])


_NO_TOPICS = frozenset({"going", "seeing", "dating", "pay", "old", "called", "named"})
"""Words with a concept that name no thing."""


def is_announcement_only(text: str, earlier: str) -> bool:
    """Check whether a part names the topic (`switched banks`), not only the value, so that it would
    be taken for an answer beside what holds instead."""
    before = features(earlier)
    named = concepts_of(ended_thing(ended_part(text))) & before.concepts
    relations = {one for one in before.topic if is_concept(one) and one not in things()}
    return not named or bool(named & relations) or ends(text, before.concepts)
