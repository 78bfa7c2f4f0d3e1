"""Vocabulary: concepts of everyday facts (synonyms in English and Spanish) and typed values."""

# Patterns and lists of words are read best on long lines.
# ruff: noqa: E501, SIM905

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import ENGLISH, STOP_WORDS, split_words, stem_word, strip_accents

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN_WORDS = 40
"""Maximum number of words of one concept in a search: the first ones are the usual ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The contents of `concepts.toml`."""

    words: Mapping[str, tuple[str, ...]]
    concepts: Mapping[str, frozenset[str]]
    """The concepts of each word."""
    kin: frozenset[str]
    replaceable: frozenset[str]
    swap: str
    """Pattern of the verbs of a change from one thing to another."""
    events: tuple[tuple[LazyPattern, frozenset[str]], ...]
    sexes: Mapping[str, frozenset[str]]
    general: frozenset[str]
    classes: frozenset[str]
    things: frozenset[str]


@cache
def _table() -> _Table:
    # Imported here: importing the package must stay fast.
    import tomllib
    from importlib.resources import files

    read = tomllib.loads(files(__package__).joinpath("concepts.toml").read_text("utf-8"))
    kinds = ("relations", "actions", "classes", "beings", "things")
    words = {
        concept: tuple(dict.fromkeys(listed.split()))
        for kind in kinds
        for concept, listed in read[kind].items()
    }
    concepts: dict[str, set[str]] = {}
    for concept, listed in words.items():
        for word in listed:
            concepts.setdefault(word, set()).add(concept)
    return _Table(
        words=words,
        concepts={word: frozenset(found) for word, found in concepts.items()},
        kin=frozenset(read["KIN"]),
        replaceable=frozenset(read["REPLACEABLE"]),
        swap="|".join(read["SWAP"]),
        events=tuple(
            (
                LazyPattern(rf"\b(?:{'|'.join(one['events'])})\b", re.IGNORECASE),
                frozenset(one["ends"]),
            )
            for one in read["events"]
        ),
        sexes={"female": frozenset(read["FEMALE"]), "male": frozenset(read["MALE"])},
        general=frozenset(read["GENERAL"]),
        classes=frozenset(read["classes"]),
        things=frozenset(read["things"]),
    )


def kin() -> frozenset[str]:
    """Concepts that name another being: a statement about one is not about the speaker."""
    return _table().kin


@cache
def relatives() -> frozenset[str]:
    """Concepts of beings of which no other takes the place, as of a sister or a cousin."""
    return _table().kin - _table().replaceable


_SEX_OF_WORD = LazyPattern(
    r"\w*(?:(?P<female>daughter|mother|sister|girl|lass|woman|a)|(?P<male>son|father|brother|boy|lad"
    r"|man|o))\b(?! (?-i:[a-z]))",
    re.IGNORECASE,
)
"""Endings of the nouns of beings that are female or male: `stepson`, `nieta`."""


def sex_of(noun: str) -> str:
    """`female` or `male` for a noun of one sex (`my sister`); else empty."""
    concepts = concepts_of(noun)
    found = [sex for sex, members in _table().sexes.items() if members & concepts]
    if len(found) == 1:
        return found[0]
    word = _SEX_OF_WORD.search(noun) if concepts & kin() else None
    return str(word.lastgroup) if word else ""


def swap_verbs() -> str:
    """Pattern of the verbs of a change from one thing to another of its kind."""
    return _table().swap


def events() -> tuple[tuple[LazyPattern, frozenset[str]], ...]:
    """Expressions for events that end facts, and the concepts of those facts."""
    return _table().events


def general() -> frozenset[str]:
    """Concepts that include others: they match, but do not tell two things apart."""
    return _table().general


def is_concept(found: str) -> bool:
    """Check whether a member of `concepts_of` is a concept, not the stem of a word without one."""
    return found in _table().words


def things() -> frozenset[str]:
    """Concepts of single things, which tell as much as a name."""
    return _table().things


MIN_TYPO_CHARS = 6
"""Minimum length of a word in which a missing or wrong letter is tolerated."""


@cache
def _typos() -> Mapping[str, frozenset[str]]:
    """The known words with one letter missing."""
    typos: dict[str, frozenset[str]] = {}
    for word, found in _table().concepts.items():
        if len(word) >= MIN_TYPO_CHARS:
            for at in range(1, len(word)):
                typos.setdefault(word[:at] + word[at + 1 :], found)
    return typos


_PHRASES = (
    (r"\b(?:got|was|been|get) promoted\b|\bascendid[oa]\b", "work role"),
    (r"\b(?:married|engaged) to (?-i:[A-ZÁÉÍÓÚÑ])|\bcasad[oa] con (?-i:[A-ZÁÉÍÓÚÑ])", "partner"),
    (r"\bwhat did i (?:use to )?do *\W*$|\ba qu[eé] me dedicaba\b|^¿?qu[eé] (?:hac[ií]a|era)(?: yo)? *\W*$", "work profession role"),
    (r"^what\b.{1,30}\bstud(?:y|ies|ying)\b|^¿?qu[eé] (?:carrera |est[aá] )?estudi(?:o|a|an|ando)\b", "subject"),
    (r"\bon (?:days|nights|earl(?:y|ies)|lates)\b", "shift"),
    (r"\bme (?:han )?contrat\w+|\bme (?:han (?:cogido|fichado)|cogieron|ficharon) (?:en|de|como|para)\b|\b(?:hired|took) me (?:on|as|at)\b|\b(?:got|been|was) hired\b", "work"),
    (r"\b(?:seeing|dating|going out with) (?:someone|somebody|anyone|a\b|(?-i:[A-ZÁÉÍÓÚÑ]))|\b(?:who|what) (?:am|was) i (?:seeing|dating|going out with)\b|\bin a relationship\b|\b(?:saliendo|salgo|salir|sal[ií]a) con (?:alguien|una? (?:chic|t[ií]|muchach|pib)[oa]\b|(?-i:[A-ZÁÉÍÓÚÑ]))|\b(?:est(?:oy|aba)|sigo|sos|eres) de novi[oa]", "marital partner girlfriend boyfriend"),
    (r"\bme (?:he )?cas(?:[eé]|ado)\b|\bnos (?:hemos )?casa(?:mos|do)\b|\bgot (?:married|hitched)\b|\btied the knot\b", "marital"),
    (r"\bse cas(?:an?|ar[aá]n?)\b", "wedding marriage"),
    (r"\b(?:gone|moved|went) (?:back )?into (?!town\b|work\b|business\b)|\ba vivir\b|\bse (?:ha|han) (?:venido|vuelto) a (?!\w+[aei]r\b)|\bse (?:ha|han) quedado en (?-i:[A-ZÁÉÍÓÚÑ])|\bupped sticks\b|\b(?:gone|come|went) to live\b|\b(?:me|nos) (?:vine|vinimos|vengo) (?:a|para)\b", "home"),
    (r"\b(?:what|which|my|our|home|(?:an?|the) (?:small|little|big|nice|new|same)) ?(?:city|town)\b|\bhometown\b|\b(?:qu[eé]|mi|nuestra|una) (?:\w+ )?ciudad\b", "home"),
    (r"\bfor a living\b|\ba qu[eé] (?:me|te|se) dedic[oa]s?\b|\bde qu[eé] trabaj[oa]\b", "work profession"),
    (r"\bwhat do i do\b(?! \w)|\ben qu[eé] (?:trabaj|curr|labur)[oa]", "work profession role"),
    (r"\b(?:i(?:['’]m| am)|we(?:['’]re| are)) (?:now |currently )?in (?-i:[A-ZÁÉÍÓÚÑ])\w+|\best(?:oy|amos) (?:viviendo )?en (?-i:[A-ZÁÉÍÓÚÑ])\w+", "home"),
    (r"\bhow old\b|\bcu[aá]ntos a[ñn]os\b|\byears old\b|\b(?:turn(?:ed|s|ing)?|am|is) \d{1,3}$", "age"),
    (r"\bi(?:['’]m| am) \d{1,3}\b(?! ?(?:kg|kilos|cm|min|%|pounds|lbs))", "age"),
    (r"\b(?:live|vivo|house|flat) (?:at|on|en) (?:the )?(?:\d|[^,;]{0,40}\b(?:street|road|avenue|lane|calle|avenida|plaza)\b)", "address home"),
    (r"^i(?:['’]m| am) (?-i:[A-Z][a-z]+)(?=$|,| and\b|\.)|^(?:yo )?soy (?-i:[A-ZÁÉÍÓÚÑ]\w+)(?=$|,| y\b)", "name"),
    (r"\b(?:get|gets|got|getting|wake|wakes|woke|waking) up\b", "wake"),
    (r"\b(?:go|goes|going|went) to (?:bed|sleep)\b|\b(?:voy|ir|vas|va) a (?:la cama|dormir)\b", "sleep"),
    (r"\b(?:grew|grow|brought) up\b", "origin"),
    (r"\b(?:pass(?:ed|es)? away|no longer with us)\b", "die"),
    (r"\b(?:gave|give|giving) birth\b|\bdar a luz\b|\bdio a luz\b", "birth"),
    (r"\bwork(?:s|ed|ing)? out\b|\b(?:do|did|doing) (?:any |some )?sports?\b|\bhacer? ejercicio\b|\bhag[oa] (?:ejercicio|deporte)\b", "exercise sport"),
    (r"\bd(?:oy|ar|as|an|aba|ando) clases?\b", "teach work"),
    (r"\bwork(?:s|ing)? (?:from|at) home\b|\bwfh\b|\btrabaj\w+ (?:desde|en) casa\b|\bhome office\b", "remote"),
    (r"\bget(?:ting)? to (?:the )?(?:work|office|school|uni\w*)\b|\b(?:llegar|ir|voy|llego) (?:al? )(?:la )?(?:trabajo|curro|oficina|facultad)\b", "commute transport"),
    (r"\b(?:day|days|morning|afternoon)s? off\b|\b(?:d[ií]as?|tardes?) libres?\b|\b(?:libro|libras|libra|librar) (?:el|los) \w+", "dayoff"),
    (r"\b(?:free|spare) time\b|\btiempo libre\b|\bratos libres\b", "hobby"),
    (r"\bhow often\b|\bcada cu[aá]nto\b|\b(?:once|twice|\w+ times) an? (?:day|week|month|year)\b|\b\w+ (?:vez|veces) (?:al|a la|por) \w+", "frequency"),
    (r"\bhalf[- ](?:brother|sister)\b|\bmedio herman[oa]\b", "stepsibling"),
    (r"\b(?:left|right)[- ]?handed\b|\bleftie\b", "handed"),
    (r"\b\d['’′]\s?\d{1,2}\b|\b\d (?:ft|foot|feet)\b|\b[12][.,]\d\d ?m\b", "height"),
    (r"\blo m[ií]o\b|\b(?:partial to|keen on|big on|my (?:thing|cup of tea)|a sucker for)\b", "like"),
    (r"\bmis? viej[oa]s?\b(?= (?:es|se|le|cumple|vive|tiene|trabaja|est[aá]|\w+ó)\b|\W*$)", "mother father parent"),
    (r"\b(?:what|which) make\b|\bde qu[eé] marca\b", "brand"),
    (r"\b(?:(?:run|own|manage)s?|running|managing) (?:an?|my own|the) (?:\w+ )?(?:shop|store|bakery|caf[eé]|pub|bar|restaurant|farm|salon|gym|firm|business|company|studio|school|hotel|hostel|garage|stall|nursery|agency)\b|\b(?:llevo|regento) una? (?:tienda|bar|negocio|panader\w+|restaurante|taller|granja|peluquer\w+|tall\w+|librer\w+|quiosco|hostal)\b", "work business"),
    (r"\b(?:shopping|grocery) list\b|\bgroceries\b|\blista de la compra\b|\bneed to (?:buy|get)\b|\b(?:tengo|hay|falta) que comprar\b", "shoppinglist"),
    (r"\bhay fever\b", "allergy pollen health"),
    (r"\b(?:i['’]?m|i am|soy) (?:an? )?(?:aries|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces|c[aá]ncer|tauro|g[eé]minis|escorpio|sagitario|capricornio|acuario|piscis)\b", "zodiac"),
    (r"\b(?:me|te|le|nos) (?:dicen?|llaman)\b(?! que)|\b(?:call me|calls me|go by|goes by|known as|answers? to (?-i:[A-ZÁÉÍÓÚÑ])\w+|responde a (?-i:[A-ZÁÉÍÓÚÑ])\w+)\b", "name nickname"),
    (r"\bcolou?r[- ]?blind\b|\bdalt[oó]nic[oa]\b", "sight health"),
    (r"\b(?:expecting|esperamos|espero) (?:our|my|a|an?|twins?|gemel\w+|un|nuestr\w+|mi) ?\b|\bcuentas\b|\bnace(?:r[aá])? (?:el|la|mi|nuestr[oa]) ", "due pregnant birth"),
    (r"\bi(?:['’]?m| am| was| turned?) (?:in my )?(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)\w*\b(?! (?:min|mile|kil|per|day|week|month))", "age"),
    (r"\bbig day\b", "birthday wedding"),
    (r"\bstar sign\b|\bsigno del zod\w+", "zodiac"),
    (r"\bblood pressure\b|\btensi[oó]n (?:alta|baja|arterial)\b", "bloodpressure health"),
    (r"\bdate of birth\b|\bfecha de nacimiento\b", "birthday"),
    (r"\b(?:number|licen[cs]e|registration) plates?\b", "numberplate"),
    (r"\bdriv(?:ing|er['’]?s?) licen[cs]e\b|\b(?:carnet|carn[eé]|permiso) de conducir\b", "licence"),
    (r"\b(?:credit|debit|bank) card\b|\btarjeta(?: de (?:cr[eé]dito|d[eé]bito))?\b", "card"),
    (r"\bwashing machine\b", "washingmachine"),
    (r"\bice[- ]?creams?\b|\bhelados?\b", "icecream"),
    (r"\bsun ?glasses\b|\bgafas de sol\b", "sunglasses"),
    (r"\bnew year['’]?s?(?: eve)?\b|\ba[ñn]o nuevo\b|\bfin de a[ñn]o\b", "newyear"),
    (r"\bdue (?:date|in|on|to give)\b|\bsal(?:go|e) de cuentas\b|\bexpecting (?:a|our)\b", "due"),
    (r"\bwater (?:is with|company|supplier|provider)\b|\bagua (?:es|la tengo|la tenemos) con\b", "bill"),
    (r"\bbank account\b|\bcuenta (?:del banco|bancaria|corriente)\b", "bank account"),
    (r"\bi(?:['’]m| am|['’]ve been| have been| was) (?:an?|the) (?!bit\b|little\b|lot\b|fan\b)", "work role"),
    (r"\b(?:he|she|\w+)(?:['’]s| is) an? \w+(?:er|or|ist|ian|nurse|chef|pilot)\b", "work role"),
    (r"^(?:yo )?soy (?!de\b|al[eé]rg|muy\b|m[aá]s\b|el\b|la\b|vegan|vegetar|cel[ií]ac|diab|de\b)\w+", "work role"),
    (r"(?:['’](?:m|s|re)|\b(?:am|is|are|comes?|came)) (?:originally )?from\b|\bwhere .* from\b|\bam i from\b|\bfrom\?$|\bsoy de\b|\bde d[oó]nde soy\b|^i['’]?m an? (?:\w+ ){1,3}from (?-i:[A-ZÁÉÍÓÚÑ])", "origin"),
    (r"\bborn (?:in|at)\b|\bnac[ií] en\b", "origin"),
    (r"\bcan(?:['’]t|not) stand\b|\bdo(?:es)?n['’]t (?:really )?like\b|\bno (?:me )?(?:gusta|soporto)n?\b", "dislike"),
    (r"\bcan(?:['’]t|not)(?: i)? (?:eat|have)\b|\bno puedo (?:comer|tomar)\b|\bprohib\w+", "allergy health food"),
    (r"\ballerg\w+|\bal[eé]rgi\w+", "food"),
    (r"(?:\b(?:my|our|his|her|their)(?: new| old)?|\b(?:the )?new|^\W*|[,;:.]) ?number\b(?! of\b| plate)|\bphone number\b|\bn[uú]mero de tel[eé]fono\b", "phone"),
    (r"\bwi-?fi\b", "wifi"),
    (r"\b(?:broke up|split up|broken up|hemos roto|lo hemos dejado|rompimos)\b", "partner separation"),
    (r"\b(?:knock|clock)(?:s|ed)? (?:off|out)\b|\bfinish(?:es)? (?:work|my shift)\b|^i get off (?:work )?at\b|\b(?:salgo|sale|acab[oa]|termin[oa]) (?:de trabajar|del (?:curro|trabajo)|a las?)\b", "finish work"),
    (r"\bclock(?:s|ed)? (?:in|on)\b|\bstart(?:s)? work\b|\bshift (?:begin|start)s?\b|^(?:entro|empiezo) a las?\b|\b(?:entr[oa]|empiez[oa]) a trabajar\b|\bat work (?:by|for)\b", "begin work"),
    (r"\bi(?:['’]m on| make| am on) (?:about |around )?[£$€]?\d[\d.,]*(?:k\b| (?:a|per) (?:month|year|hour))", "salary money"),
    (r"\bpay(?:ing)? for (?:the|our|my) (?:house|flat)\b|\bpag(?:o|amos) (?:por la|de) casa\b", "rent mortgage"),
    (r"\b(?:as|when i was) an? (?:little |small |young )?(?:kid|child|boy|girl)\b|\bde (?:ni[ñn][oa]|peque[ñn][oa]|cr[ií][oa])\b", "origin"),
    (r"\bshar(?:e|ing) (?:a|the|my) (?:flat|house|room|place) with\b|\bcompart(?:o|imos) (?:piso|casa|habitaci[oó]n|cuarto) con\b", "roommate"),
    (r"^(?:ahora |ya )?(?:soy|somos) del (?-i:[A-ZÁÉÍÓÚÑ])|\bde qu[eé] (?:cuadro|equipo)\b|\bhinchas? de\b", "team"),
    (r"\bpassed (?:away|on\b|last|in (?:19|20)\d|peacefully|when)", "die"),
    (r"\bmy old man\b", "father parent"),
    (r"\bmi chica\b", "girlfriend partner"),
    (r"\bonly child\b|\bhij[oa] [uú]nic[oa]\b", "sibling brother sister"),
    (r"\b(?:cuts?|cutting|does|dye[sd]?|done) (?:my |our )?hair\b|\bhair (?:cut|done|dyed)\b|\bcort\w+ el pelo\b", "hairdresser haircare"),
    (r"\b(?:looks?|looking) after the (?:kids|children|baby)\b|\bcuidan? (?:a los ni[ñn]os|al beb[eé]|al ni[ñn]o|a la ni[ñn]a)\b", "childcare"),
    (r"\b(?:passed|took|taking|failed|do|sit) (?:my |the )?(?:driving )?(?:driving|theory) test\b", "licence"),
    (r"\bi(?:['’]m| am) with (?-i:[A-ZÁÉÍÓÚÑ])|\bestoy con (?-i:[A-ZÁÉÍÓÚÑ])\w+$", "provider phone wifi bank insurance"),
    (r"\bbuilding work\b", "building builder"),
    (r"\bjourney to (?:work|school|the office)\b", "commute transport"),
    (r"\bon (?:annual )?leave\b|\btime off\b", "holiday trip"),
    (r"\boff on (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:don['’]?t|not) (?:i |have to )?work\W*$|\bno (?:trabajo|curro)\W*$|^libro los\b", "dayoff"),
    (r"\bwhich hand\b|\bqu[eé] mano\b", "handed"),
    (r"\bhelp(?:s|ing)? out\b", "volunteer"),
    (r"\b(?:driv(?:es?|ing)|cook(?:s|ing)?|cod(?:es?|ing)|teach(?:es|ing)?|clean(?:s|ing)?) for (?-i:[A-Z])", "employer work"),
    (r"\bwork(?:s|ed|ing)? for (?:the|an?)\b|\btrabaj[oa] para\b", "employer work"),
    (r"\b(?:hand|turn)(?:ed|s|ing)? (?:it|them|that|this)? ?in\b", "deadline"),
    (r"\bhow much (?:do|am|did) i (?:now )?(?:get|make|on|earn|paid)\b(?! up)", "salary money"),
    (r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[a-z]", "email"),
    (r"\b(?:an|per) hour\b|\bhourly\b|\d ?/ ?h(?:r|our)?\b|\bpor hora\b|\bla hora\b", "hourly"),
    (r"^i(?:['’]m| am| now)? (?:now )?(?:work\w*|get paid|(?:got|have) an? (?:\w+ )?job)\b.*\d[\d.,]*(?:k|p)?(?: (?:an?|per) (?:hour|week|month|year)| ?/ ?h(?:r|our)?)\b", "salary money"),
    (r"^[¿\W]*what (?:does|did) (?:my [\w-]+|our [\w-]+|[\w-]+) do\W*(?:\(my \w+\))?$", "work profession role"),
    (r"(?-i:\b[A-Z])\w+ \(\d{1,2}\)", "age"),
    (r"\bturn(?:s|ing)? (?:\d{1,3}\b|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)\w*)", "birthday age"),
    (r"\bdolor(?:es)? de cabeza\b", "headache health pain"),
    (r"\bbad (?:back|knees?|hip|neck|shoulder|foot|leg|stomach|tooth)\b|\b(?:back|knees?|hip|neck|shoulder|foot|leg|stomach) (?:is|are|['’]s) (?:bad|killing)\b|\btengo (?:el|la|los|las) \w+ (?:fatal|mal|hech[oa]s? polvo)\b", "pain health"),
    (r"\bcan(?:['’]?t|not)(?: i)? (?:do\b|swim|cook|drive|sing|dance|ride|draw|ski|skate|whistle|spell)|\bno s[eé] (?:hacer|nadar|cocinar|conducir|cantar|bailar|montar|dibujar|esquiar|patinar|silbar)\b", "unable"),
    (r"\b(?:finish|complete) (?:my|the) (?:degree|course|studies)\b|\b(?:acab|termin)\w+ la carrera\b", "graduation"),
    (r"\bllev(?:o|amos) (?:aqu[ií]|viviendo)\b|\b(?:i|we)['’]ve (?:been|lived) here\b", "home"),
    (r"\b(?:estoy|estamos) viendo\b|\bwatching\b|\bqu[eé] veo\b", "series film"),
    (r"\blleva?o? un equipo\b|\ba mi cargo\b|\bi (?:run|head) (?:a|the) team\b", "lead"),
    (r"\bqu[eé] puesto\b|\bjob title\b", "role work"),
    (r"\bno (?:puedo|puede|pueden) (?:comer|tomar)\b|\bcan(?:['’]?t|not)(?: \w+)? eat\b", "allergy food"),
    (r"\b(?:tomo|como|eat|have) (?:por la|in the) (?:ma[ñn]ana|morning)\b", "breakfast meal"),
    (r"\b(?:bad|hopeless|useless|rubbish|terrible|awful|no good|crap) at\b|\bse (?:me|le) dan? (?:fatal|mal|de pena)\b", "badat"),
    (r"\b(?:good|great|brilliant|ace) at\b|\bse (?:me|le) dan? (?:bien|genial)\b", "goodat"),
    (r"\b(?:in|into|en) (?:year|grade|form|reception|sixth form)(?: \d+)?\b", "study school schoolyear"),
    # The form of a telephone number.
    (r"(?<!\d)(?<!number is )(?<!number )(?<!número es )(?<!número )(?:\+\d{1,3}[ .-]?)?(?:0\d{2,4}|[679]\d{2})(?:[ .-]?\d{2,4}){2,3}(?!\d)", "phone"),
    (r"\bget married\b|\bcaso\b|\bcasamos\b|\bcasarme\b", "wedding marital"),
)  # fmt: skip
"""Patterns of expressions of several words, and their concepts."""


@cache
def _phrases() -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    return tuple(
        (re.compile(pattern, re.IGNORECASE), frozenset(concepts.split()))
        for pattern, concepts in _PHRASES
    )


STOP = STOP_WORDS | frozenset(
    "before previously earlier formerly anteriormente asi stolen extended joined instead robado robada prorrogado stopped stop stops quit gave given cancelled canceled changed change changes switched dropped up down out off turns"
    " dejado deje dejo cancelado cancelada cancelaron cambiado cambiada cambiaron days these nowadays lately some about only"
    " around into avoid avoiding trying try cut ever did called llama solo unos unas ultimo todos todas cada lado parte"
    " also now still just really very actually currently recently please btw got get gets getting"
    " going go goes went known remember tell told say know think one ones thing things last time"
    " ago back more most new usually always anymore longer no not never yes ok okay sorry instead anyway"
    " moment because obviously finally momento since every kind type sort much many long often own used mine yours theirs it s t m ve re d ll"
    " ahi alli aqui aca ahora ya aun todavia tambien actualmente ultimamente recuerda recuerdas sabes dime digo dije"
    " era eran fue fueron estaba estar vez cosa cosas nunca jamas siempre bastante gracias favor"
    " estoy esta estan he ha hemos haber habia sera seria suelo suele perdon mejor realidad"
    " cual cuales quien quienes donde cuando cuanto cuanta cuantos cuantas como que son mia mio mias"
    " mios nuestro nuestra nuestros nuestras muy hay hoy esto eso ese esa este tengo tienes tiene"
    " tenemos have has had having am is are was were been be being do does did done don i we"
    " you he she they them him her his their our us me my your".split()
)
"""Words that do not tell what a text is about, without accents; as part of a concept (`stopped`)
they count."""


def is_function_word(folded: str) -> bool:
    """Check whether a word (lower case, no accents) says nothing about a topic."""
    return folded in STOP


_LIGHT_WORDS = (
    "voy vas va van ir iba hago haces hace hacen hacer doing make makes making da das dan puedo puede"
    " puedes poder quiero quiere quieres estamos estuve all too right good best tal mr mrs ms dr again"
    " after over along until want wants see use uses uso usa says said dice dijo day days year years"
    " month months week weeks dia dias mes meses ano hora horas todo toda fin asi bit must take takes"
    " taking took brings happened first while mientras"
)
"""Words that tell little of what a text is about; two texts may have nothing else in common."""


@cache
def light() -> frozenset[str]:
    """Stems of words that tell little."""
    return frozenset(map(_stem, _LIGHT_WORDS.split()))


class ValueType(StrEnum):
    """Kind of value in a statement; a value is replaced by another of the same kind."""

    DAY = "day"
    TIME = "time"
    COLOUR = "colour"
    HANDLE = "handle"
    """Address on the net or password: `@ana`, `ana@example.org`, `otter-lamp-22`."""
    NUMBER = "number"
    NAME = "name"


MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|enero|febrero|marzo|abril|mayo|junio|julio"
    "|agosto|septiembre|octubre|noviembre|diciembre"
)
WEEKDAYS = (
    "mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?"
    "|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bados?|domingos?"
)
_COLOURS = (
    "red|green|blue|yellow|orange|purple|pink|black|white|gr[ae]y|brown|turquoise|violet|gold"
    "|silver|beige|navy|teal|rojo|roja|verde|azul|amarill[oa]|naranja|morad[oa]|rosa|negr[oa]"
    "|blanc[oa]|gris|marr[oó]n|turquesa|violeta|dorad[oa]|platead[oa]|granate"
)
_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    "|un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince"
    "|diecis[eé]is|diecisiete|dieciocho|diecinueve|veinti[a-zéó]+|veinte"
    "|(?:treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa)"
    "(?: y (?:un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve))?"
)
_AMOUNT = (
    r" ?(?:(?:an?|per) (?:hour|day|week|month|year)|/ ?h|€|£|\$|(?:euros?|eur|pounds?|quid|dollars?"
    r"|kg|kilos?|km|miles?|each|metres|meters|m|l|litres|la hora|por hora|al (?:mes|d[ií]a))\b)"
)
"""Unit behind a number that is no time: `7.50 an hour`."""
TYPED: Mapping[ValueType, re.Pattern[str]] = {
    ValueType.DAY: re.compile(
        rf"\b(?:(?:{WEEKDAYS})(?:,? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?)?"
        rf"|(?:the |el |el d[ií]a )?\d{{1,2}}(?:st|nd|rd"
        rf"|th)?(?: of)? (?:de )?(?:{MONTHS})\b\.?(?:,? (?:de )?\d{{4}})?"
        rf"|(?:{MONTHS})\b\.? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
        rf"|(?:{MONTHS})(?:,? (?:de )?\d{{4}})?"
        # "7-3-9-1" is a code.
        r"|(?<![\d/-])\d{1,2}[/-]\d{1,2}(?:[/-]\d{2,4})?(?![/-]\d)|\d{4}-\d\d-\d\d|tomorrow|tonight|(?<!la )ma[ñn]ana"
        # "7.30" is a time, and so is "at 9.10".
        r"|(?<!at )(?<!las )(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])(?:\.\d{2,4})?"
        r"|tmrw?|tmw|tomoz|2moro|tues|weds?|thurs?"
        r"|the \d{1,2}(?:st|nd|rd|th)|el (?:d[ií]a )?\d{1,2}|next (?:week|month|year)"
        # "La han pasado al 5".
        r"|(?<=al )(?:d[ií]a )?(?:[1-9]|[12]\d|3[01])(?=$|[,;!]| a las?\b)"
        r"|la semana que viene|(?:(?<=in )|(?<=en )|(?<=since )|(?<=desde )|(?<=de )|(?<=del )"
        r"|(?<=of )|(?<=until ))(?:19|20)\d\d(?! ?(?:euros?|eur\b|€|dollars?|d[oó]lares|pounds?"
        r"|libras"
        r"|pesos|kilos|kg|km|metros|met\w+|miles|people|personas|calor\w+|steps|pasos)))\b",
        re.IGNORECASE,
    ),
    ValueType.TIME: re.compile(
        rf"\b(?:(?<![£$€.,])\d{{1,2}}[:.][0-5]\d(?![\d.]|{_AMOUNT})(?: ?[ap]\.?m\b\.?| ?h)?|\d{{1,2}} ?(?:[ap]\.?m\b\.?|h\b)"
        rf"|(?:\d{{1,2}}|{_NUMBER_WORDS}) o['’]clock"
        rf"|(?<!from )(?:(?:five|ten|twenty|twenty-five|a quarter|quarter|half|\d{{1,2}}) (?:past|to)|half) (?:\d{{1,2}}|{_NUMBER_WORDS})\b"
        rf"|at \d{{1,2}} ?[ap]\.?m\b\.?|at (?:\d{{1,2}}|{_NUMBER_WORDS})\b(?![:.]\d| (?-i:[A-ZÁÉÍÓÚÑ][a-z]))|noon|midnight"
        r"|(?:(?<=moved to )|(?<=back to )|(?<=forward to )|(?<=put it to ))\d{1,2}(?=$|[,;.]| (?:in|on)\b)"
        rf"|a la (?:1\b|una)|a las (?:\d{{1,2}}(?![\d:.]*\d)|{_NUMBER_WORDS})(?: y media| (?:y|menos) (?:cuarto|cinco|diez|veinte|veinticinco))?)",
        re.IGNORECASE,
    ),
    ValueType.COLOUR: re.compile(rf"\b(?:(?:dark|light) )?(?:{_COLOURS})\b", re.IGNORECASE),
    ValueType.HANDLE: re.compile(
        r"(?<!\w)@[\w.-]+|\b[\w.+-]+@[\w.-]+\w|\bhttps?://\S+|\bwww\.\S+|(?<![\w-])[a-zA-Z]{3,}(?:[-_][a-zA-Z]+)*[-_]?\d+(?:[-_]?\w+)*\b(?!-)"
    ),
    ValueType.NUMBER: re.compile(
        r"(?<![\w.])[+#]?\d[\d.,/-]*(?: \d[\d.,/-]*)*(?:[¼½¾](?!\w)|(?: and a half| y medi[oa]"
        r"| mil(?:lones)?(?: y medio)?)\b|[a-z]{0,3}\b)|\b[A-Z]*\d+[A-Z\d]*\b"
        rf"|\b(?:(?!one\b|un[oa]?\b|once (?:an?|in|every|per|i|we|the|he|she|they|upon)\b)(?:{_NUMBER_WORDS}))\b(?: mil(?:lones)?\b)?(?: y medio\b)?"
    ),
    ValueType.NAME: re.compile(
        r"(?<![.!?¿¡]\s)(?<!^)(?<!^[\"“«])\b(?!I\b|I['’]|OK\b)[A-ZÁÉÍÓÚÑÜ][\w'’-]*"
        r"(?: (?:de |del |la |van |von |of |the )?[A-ZÁÉÍÓÚÑÜ][\w'’-]*)*"
    ),
}
"""Patterns of values. Order matters: a date is no number, a weekday is no name."""


_COUNT = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thir\w+|fif\w+|twenty|forty"
    r"|sixty"
    r"|seventy|eighty|ninety|hundred|thousand|dozen|couple|half|quarter|once|twice|an? (?:day|week"
    r"|month"
    r"|year)|every|each|only|no|never|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|trece"
    r"|catorce"
    r"|quince|veint\w+|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|cien\w*|mil"
    r"|media|par"
    r"|docena|cada|ningun[oa]?|nunca|vez|veces)\b",
    re.IGNORECASE,
)
"""Numbers in words, and words that count."""


def has_count(text: str) -> bool:
    """Check whether a text has a number in words, or a word that counts: `twice`, `no`."""
    return bool(_COUNT.search(text))


@lru_cache(maxsize=2000)
def typed_values(text: str) -> Mapping[ValueType, tuple[tuple[int, int], ...]]:
    """Spans of the typed values of a text; a span has one type only."""
    taken: list[tuple[int, int]] = []
    found: dict[ValueType, tuple[tuple[int, int], ...]] = {}
    for kind, pattern in TYPED.items():
        spans = [
            (match.start(), match.start() + len(match[0].rstrip(" .,/-'’")))
            for match in pattern.finditer(text)
            if not any(match.start() < end and start < match.end() for start, end in taken)
        ]
        if kind in (ValueType.TIME, ValueType.NUMBER):
            spans = _with_ranges(text, spans)
        if spans:
            taken += spans
            found[kind] = tuple(spans)
    return found


_RANGE = re.compile(r"(?: ?[-–] ?| (?:to|till|until|a|hasta) )(?:las? )?", re.IGNORECASE)
_BEFORE_CHANGE = re.compile(
    r"\b(?:mov|chang|shift|went|gone|go(?:es|ing)?|rais|rose|risen|increas|cut|drop|reduc|push|subi"
    r"|sube|baj|pas[aoó]|cambi|aument|adelant|retras)\w*(?: \w+){0,3} (?:from|del?(?: las?)?) $",
    re.IGNORECASE,
)
"""Words before a change from one value to another: `they moved it from 3 to 5`."""
_HOUR = re.compile(r"(?:at |a las? )?(?:[01]?\d|2[0-4])(?:[:.]\d\d)?(?: ?[ap]\.?m\.?| ?h)?$", re.I)


def _with_ranges(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, with both hours of a range as one: `from 9 to 5`."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        is_range = (
            bool(found)
            and _RANGE.fullmatch(text, found[-1][1], start) is not None
            and all(_HOUR.match(text[slice(*one)]) for one in (found[-1], (start, end)))
            and not _BEFORE_CHANGE.search(text, 0, found[-1][0])
        )
        found.append((found.pop()[0] if is_range else start, end))
    return found


@lru_cache(maxsize=2000)
def values_of_part(text: str) -> Mapping[ValueType, tuple[tuple[int, int], ...]]:
    """Spans of the typed values of a part of a sentence. A capital at its beginning makes a name,
    as it does not at the beginning of a sentence; that of a word of function (`We`) does not."""
    mark = "· "
    values = {
        kind: tuple((start - len(mark), end - len(mark)) for start, end in spans)
        for kind, spans in typed_values(mark + text).items()
    }
    names = values.pop(ValueType.NAME, ())
    # "A Ana le gusta": the preposition is no part of the name.
    names = tuple(
        (start + len("A ") if text[max(start, 0) : end].startswith("A ") else start, end)
        for start, end in names
    )
    if names := tuple(one for one in names if one[0] > 0 or not _is_stop(text[slice(*one)])):
        values[ValueType.NAME] = names
    return values


def _is_stop(word: str) -> bool:
    """Check whether a word is one of function, maybe with a verb: `They`, `They've`."""
    return re.split("['’]", word.lower())[0] in STOP


@lru_cache(maxsize=2000)
def phrase_concepts(text: str) -> frozenset[str]:
    """Concepts of the expressions of several words of a text."""
    return frozenset().union(*(found for one, found in _phrases() if one.search(text)))


@lru_cache(maxsize=1000)
def concepts_of(text: str) -> frozenset[str]:
    """Concepts of a text, and stems of its words that have none: `I live in Rome` gives `home` and
    a stem of `rome`. Words of function (STOP) give none. Takes about two milliseconds for 1000
    characters; cached, since several rules ask for those of one message."""
    return phrase_concepts(_QUOTED.sub(" ", text)) | word_concepts(text)


@lru_cache(maxsize=1000)
def word_concepts(text: str) -> frozenset[str]:
    """The same without those of expressions of several words, which take most of the time."""
    text = _IDIOM.sub(" ", _NO_WORD.sub("", _QUOTED.sub(" ", text)))
    found: set[str] = set()
    before = ""
    for word in split_words(text):
        folded = strip_accents(word)
        found |= _concepts_of_word(folded, is_definite=before in _DEFINITE)
        before = folded
    return frozenset(found)


@lru_cache(maxsize=2000)
def stems_of(text: str) -> frozenset[str]:
    """Stems of the words of a text, without those of function: words that share a concept
    (`asthma`, `depression`) are told apart by them."""
    folded = map(strip_accents, split_words(text))
    return frozenset(_stem(word) for word in folded if len(word) > 1 and word not in STOP)


@lru_cache(maxsize=5000)
def _concepts_of_word(word: str, *, is_definite: bool) -> frozenset[str]:
    known = _table().concepts.get(word) or _inflected(word)
    if known is None:
        known = _typo(word)
        if known is not None:
            return known
        is_empty = word in STOP or word.isspace() or (len(word) == 1 and not word.isdigit())
        return frozenset() if is_empty else frozenset({_stem(word)})
    if word in STOP:
        return known
    if is_definite:
        # "My barber" says nothing about a profession, "a barber" does.
        known -= {"profession"}
    # "Milk" is food, but tells more than that.
    return known | {_stem(word)} if known <= _table().classes else known


_QUOTED = re.compile(r"«(?:[^\s«»]+\s+){3}[^«»]*»|“(?:[^\s“”]+\s+){3}[^“”]*”")
"""A quoted sentence of more than three words: others say it. A shorter quotation is a title or a
name."""
_NO_WORD = re.compile(
    r"(?<=\bwi)-(?=fi\b)|(?<=\bstep)[- ](?=\w{3})|(?<=\w)[- ](?=in[- ]law\b)"
    r"|(?<=[- ]in)[- ](?=law\b)"
    r"|(?<!\bto )(?<!\band )(?<!\bor )(?<!\bof )(?<!\bwith )(?<!\beat )\bsoy (?!milk|sauce|bean"
    r"|protein|yog|latte|allerg|flour|oil|free|products?\b)"
    r"|(?<!\bun )(?<!\bel )(?<!\bde )(?<!\bal )(?<!\bmi )\bte (?=\w)"
    r"|\bson (?=\d|mis?\b|l[oa]s\b|un[oa]s\b|el\b|de\b)|(?<=[aeo]s )son\b|(?<=\bno )son\b"
    r"|\b(?:as an?|when i was an?|de|desde|cuando era) (?:little |young |small )?(?:kid|child|boy"
    r"|girl|lad|lass"
    r"|teenager|ni[ñn][oa]|chic[oa]|peque[ñn][oa]|joven|cr[ií][oa])\b",
    re.IGNORECASE,
)
"""What stands between the parts of a single word (`wi-fi`, `mother-in-law`), Spanish words that
look like English ones or, without accents, like others (`son`, `soy`, `te`), and the speaker's
childhood, which is no child's."""
_IDIOM = re.compile(
    r"\b(?:for a living|set off by|r[au]n(?:s|ning)? out|get along|got along|up to|ended up"
    r"|put me on|(?:(?<=['’]s)|\b(?:is|was|are|were|be|been|came|come|comes|got|get|back"
    r"|go|goes|going|went|gone|stay\w*))(?: now| back| all)? home(?! of\b| address\b)"
    r"|look(?:s|ed)? after|se casan?|pa(?= (?:el|la|los|las|que|(?-i:[A-ZÁÉÍÓÚÑ]))))\b",
    re.IGNORECASE,
)
"""Expressions whose words mean something else by themselves."""
_DEFINITE = frozenset("my our your the mi mis tu tus nuestro nuestra el la al del".split())

_ENDING = re.compile(r"(?<=\w{4})[aeo]s?$")
STEM = "~"
"""Mark of a stem, which has the same letters as some concept."""


@lru_cache(maxsize=5000)
def _stem(word: str) -> str:
    """The stem, the same for both genders and numbers of a Spanish noun."""
    return STEM + _ENDING.sub("", stem_word(word, ENGLISH))


_ENDINGS = (
    # English: plural, third person, past, participle.
    *(("ies", "y"), ("ied", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e")),
    # Spanish nouns: plural, gender, diminutive.
    *(("as", "o"), ("a", "o"), ("ces", "z"), ("citos", ""), ("citas", ""), ("cito", ""), ("cita", "")),
    *((f"{one}{gender}{number}", gender) for one in ("it", "ill") for gender in "oa" for number in ("", "s")),
    *((f"ita{number}", "o") for number in ("", "s")),
    # Spanish verbs, from their infinitive; with a pronoun behind it.
    *((ending, "ar") for ending in "o as a amos ais an e aste asteis aron aba abas abamos aban are ara ado ando".split()),
    *((ending, infinitive) for infinitive in ("er", "ir") for ending in "o es e emos imos eis en i iste io ieron ia ias iamos ian ere era ido iendo".split()),
    *((f"{infinitive}{pronoun}", infinitive) for infinitive in ("ar", "er", "ir") for pronoun in ("me", "te", "se", "nos", "lo", "la", "le", "los", "las", "les")),
)  # fmt: skip
"""Endings of inflected words, and those of the forms in the table."""
_MIN_BASE_CHARS = 3


@lru_cache(maxsize=5000)
def _inflected(word: str) -> frozenset[str] | None:
    """Concepts of the word of which this is another form, if the table has that: `biked`."""
    if len(word) <= _MIN_BASE_CHARS or word in STOP:
        return None
    concepts = _table().concepts
    for ending, base_ending in _ENDINGS:
        base = word.removesuffix(ending)
        if len(base) < _MIN_BASE_CHARS or base == word:
            continue
        if found := concepts.get(base + base_ending):
            return found
        # "Jogging": the consonant is doubled.
        is_doubled = len(base) > _MIN_BASE_CHARS and base[-1] == base[-2]
        if ending in ("ed", "ing") and is_doubled and (found := concepts.get(base[:-1])):
            return found
    return None


def _typo(word: str) -> frozenset[str] | None:
    """Concepts of the word that was meant, if one letter is missing, wrong or too many."""
    if len(word) < MIN_TYPO_CHARS - 1 or word in STOP:
        return None
    if found := _typos().get(word):
        return found
    concepts = _table().concepts
    shorter = (word[:at] + word[at + 1 :] for at in range(1, len(word)))
    return next(
        (concepts[one] for one in shorter if len(one) >= MIN_TYPO_CHARS and one in concepts), None
    )


@lru_cache(maxsize=2000)
def value_key(text: str) -> frozenset[str]:
    """Words of a value, for comparison: without case, accents, articles and prepositions. Cached,
    since statements are compared again and again."""
    return frozenset(
        folded
        for word in split_words(text)
        if (folded := strip_accents(word)) not in {"at", "the", "a", "las", "la", "el", "of", "de"}
    )


def words_of(concepts: frozenset[str]) -> list[str]:
    """The usual words of these concepts, at most _SHOWN_WORDS of each; stems have none."""
    words = _table().words
    return [word for name in sorted(concepts & words.keys()) for word in words[name][:_SHOWN_WORDS]]
