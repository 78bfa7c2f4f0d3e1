"""Vocabulary: concepts of everyday facts (synonyms in English and Spanish) and typed values."""

# Patterns and lists of words are read best on long lines.
# ruff: noqa: E501, SIM905

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import ENGLISH, STOP_WORDS, split_words, stem_word, strip_accents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    names: Mapping[str, str]
    """The sex of first names."""
    general: frozenset[str]
    classes: frozenset[str]
    things: frozenset[str]
    apart: frozenset[str]
    """Words that only look like a typo or another form of a word of the table."""


def read_table(name: str) -> dict[str, Any]:
    """The contents of a TOML file of this package."""
    # Imported here: importing the package must stay fast.
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))


@cache
def _table() -> _Table:
    read = read_table("concepts.toml")
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
        names={
            name: sex for sex in ("female", "male") for name in read[f"{sex.upper()}_NAMES"].split()
        },
        general=frozenset(read["GENERAL"]),
        classes=frozenset(read["classes"]),
        things=frozenset(read["things"]),
        apart=frozenset(read["APART"].split()),
    )


def kin() -> frozenset[str]:
    """Concepts that name another being: a statement about one is not about the speaker."""
    return _table().kin


@cache
def relatives() -> frozenset[str]:
    """Concepts of beings of which no other takes the place, as of a sister or a cousin."""
    return _table().kin - _table().replaceable


_SEX_OF_WORD = LazyPattern(
    r"\b\w*(?:(?P<female>daughter|mother|sister|girl|lass|woman|a)|(?P<male>son|father|brother|boy|lad"
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
    word = _TITLE_OF_SEX.search(noun) or (_SEX_OF_WORD.search(noun) if concepts & kin() else None)
    if word:
        return str(word.lastgroup)
    names = (strip_accents(one.lower()) for one in noun.split() if one[0].isupper())
    return next((sex for one in names if (sex := _table().names.get(one))), "")


_TITLE_OF_SEX = LazyPattern(
    r"^(?:(?P<female>mrs|ms|miss|madam|sra|srta|do[ñn]a|señora)|(?P<male>mr|sir|sr|don|señor))\b\.? ",
    re.IGNORECASE,
)
"""`Mr Osgerby`."""


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


def classes() -> frozenset[str]:
    """Concepts of which the words are things of one class: `food`, `profession`."""
    return _table().classes


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


_SPOUSE = r"(?:wife|husband|partner|spouse|missus|hubby|fianc[eé]e?|marido|mujer|espos[oa]|pareja|novi[oa])"
_OFFSPRING = r"(?:son|daughter|boy|girl|lad|eldest|youngest|hij[oa]|ni[ñn][oa])"


@cache
def _relatives() -> tuple[tuple[str, str], ...]:
    """Patterns of relatives that are told by another one (`my wife's dad`, `el padre de mi mujer`),
    each with its concepts."""
    mother = ("mum|mom|mother|mummy", "madre|mam[aá]")
    father = ("dad|father|daddy", "padre|pap[aá]")
    parents = ("parents|folks", "padres|pap[aá]s")
    sister, brother = ("sister", "hermana"), ("brother", "hermano")
    wife, husband = ("wife", "mujer|esposa"), ("husband", "marido|esposo")
    boy, girl = ("son|boy|lad", "hijo|ni[ñn]o|nene"), ("daughter|girl|lass", "hija|ni[ñn]a|nena")
    children = ("kids?|children", "hijos|ni[ñn]os")
    spouse, offspring = (_SPOUSE, _SPOUSE), (_OFFSPRING, _OFFSPRING)
    sibling = (f"(?:{sister[0]}|{brother[0]})", "herman[oa]")
    parent = (f"(?:{mother[0]}|{father[0]})", f"(?:{mother[1]}|{father[1]})")
    of_relation = (
        (spouse, mother, "motherinlaw"),
        (spouse, father, "fatherinlaw"),
        (spouse, parents, "motherinlaw fatherinlaw"),
        (spouse, sister, "sisterinlaw"),
        (spouse, brother, "brotherinlaw"),
        (sibling, wife, "sisterinlaw"),
        (sibling, husband, "brotherinlaw"),
        (offspring, wife, "daughterinlaw"),
        (offspring, husband, "soninlaw"),
        (offspring, boy, "grandchild"),
        (offspring, girl, "grandchild"),
        (offspring, children, "grandchild"),
        (sibling, boy, "nephew"),
        (sibling, girl, "niece"),
        (sibling, children, "nephew niece"),
        (parent, sister, "aunt"),
        (parent, brother, "uncle"),
        (parent, mother, "grandmother"),
        (parent, father, "grandfather"),
        (parent, parents, "grandmother grandfather"),
        (spouse, boy, "stepchild"),
        (spouse, girl, "stepchild"),
        (spouse, children, "stepchild"),
        (mother, husband, "stepfather"),
        (father, wife, "stepmother"),
    )
    return tuple(
        (pattern, concepts)
        for one, other, concepts in of_relation
        for pattern in (
            rf"\b(?:my|our) (?:\w+ )?(?:{one[0]})['’]?s (?:\w+ )?(?:{other[0]})\b",
            rf"\b(?:{other[1]}) de (?:mi|nuestr[oa]) (?:{one[1]})\b",
        )
    )


@cache
def _phrase_table() -> dict[str, Any]:
    return read_table("phrases.toml")


def _with_lists(pattern: str) -> str:
    """The pattern with lists of the table (`{pets}`) put in; `{1,30}` is none."""
    lists = _phrase_table()["lists"]
    return re.sub(r"\{([a-z]+)\}", lambda found: lists[found[1]], pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PhraseGroup:
    """Patterns of expressions with their concepts, and one for all of them, which is faster."""

    any_of: re.Pattern[str]
    """Matches a text in lower case if one of the members may match it."""
    members: tuple[tuple[LazyPattern, frozenset[str]], ...]


_GROUPED = 24
"""Number of patterns in a group."""
_WORD_BEGIN = r"\b"


@cache
def _phrase_groups() -> tuple[_PhraseGroup, ...]:
    table = _phrase_table()["phrases"]
    listed = [(_with_lists(one), concepts) for concepts, found in table.items() for one in found]
    listed += _relatives()
    # Those that begin at a word share the test for its beginning.
    at_words = [one for one in listed if one[0].startswith(_WORD_BEGIN)]
    others = [one for one in listed if not one[0].startswith(_WORD_BEGIN)]
    return tuple(
        _phrase_group(some[start : start + _GROUPED], at_word=at_word)
        for at_word, some in ((True, at_words), (False, others))
        for start in range(0, len(some), _GROUPED)
    )


def _phrase_group(phrases: Sequence[tuple[str, str]], *, at_word: bool) -> _PhraseGroup:
    patterns: dict[str, list[str]] = {}
    for pattern, concepts in phrases:
        patterns.setdefault(concepts, []).append(pattern)
    return _PhraseGroup(
        any_of=_any_of([pattern for pattern, _ in phrases], at_word=at_word),
        members=tuple(
            (LazyPattern("|".join(some), re.IGNORECASE), frozenset(concepts.split()))
            for concepts, some in patterns.items()
        ),
    )


def _any_of(patterns: Sequence[str], *, at_word: bool) -> re.Pattern[str]:
    """Pattern that matches a text in lower case where one of these may match the text."""
    joined = "|".join(one.removeprefix(_WORD_BEGIN) if at_word else one for one in patterns)
    # Capitals are not told apart here; `\W` is no capital.
    lower = re.sub(r"(?<!\\)[A-ZÀ-Þ]", lambda found: found[0].lower(), joined)
    lower = lower.replace("(?-i:", "(?:")
    return re.compile(rf"\b(?:{lower})" if at_word else lower)


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
    "need needs needed put puts putting nuevo nueva nuevos nuevas voy vas va van ir iba hago haces hace hacen hacer doing make makes making da das dan puedo puede"
    " puedes poder quiero quiere quieres estamos estuve all too right good best tal mr mrs ms dr again"
    " after over along until want wants see use uses uso usa says said dice dijo day days year years"
    " month months week weeks dia dias mes meses ano hora horas todo toda fin asi bit must take takes due"
    " taking took brings happened first while mientras"
)
"""Words that tell little of what a text is about; two texts may have nothing else in common."""


@cache
def light() -> frozenset[str]:
    """Stems of words that tell little."""
    return frozenset(map(_stem, _LIGHT_WORDS.split()))


WEEKDAY_CONCEPTS = frozenset({
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
})  # fmt: skip


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
TIME_BEHIND = (
    r"(?: (?:(?:just )?now|yesterday|today|earlier|recently|lately|instead|at last|last night"
    r"|the other (?:day|week)|this (?:morning|afternoon|evening|week|month|year)"
    rf"|last (?:week|month|year|summer|winter|spring|autumn)|(?:on |last )(?:{WEEKDAYS})"
    r"|(?:a|an|one|two|three|a few) (?:days?|weeks?|months?|years?) ago|ahora|ayer|anteayer|hoy"
    r"|anoche|el otro d[ií]a|(?:la semana|el mes|el a[ñn]o) pasad[oa]|hace (?:un |una )?\w+ \w+"
    rf"|esta (?:ma[ñn]ana|tarde|semana)|este (?:mes|a[ñn]o)|el (?:{WEEKDAYS})))+$"
)
"""Expression of time behind what was done: `I got a Mini last week`."""
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
        r"|(?<![\d/-])\d{1,2}[/-]\d{1,2}(?:[/-]\d{2,4})?(?![/-]\d)|\d{4}-\d\d-\d\d|tomorrow|tonight"
        r"|(?<!la )(?<!turno )(?<!turno de )ma[ñn]ana(?!,? (?:y )?(?:noche|tarde))"
        # "7.30" is a time, and so is "at 9.10".
        # And "he's 5.1 now" is a weight.
        r"|(?<!at )(?<!las )(?:0?[1-9]|[12]\d|3[01])\.(?:(?:0?[1-9]|1[0-2])\.\d{2,4}"
        r"|(?:(?<=\bon \d\.)|(?<=\bon \d\d\.)|(?<=\bel \d\.)|(?<=\bel \d\d\.)|(?<=\bby \d\.)"
        r"|(?<=\bby \d\d\.)|(?<=\d\d\.)(?=[01]\d))(?:0?[1-9]|1[0-2])(?!\d))"
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
        rf"|at \d{{1,2}} ?[ap]\.?m\b\.?|at (?:\d{{1,2}}|{_NUMBER_WORDS})\b(?![:.]\d| (?-i:[A-ZÀ-Þ][a-z]))|noon|midnight"
        rf"|(?:(?<=bed by )|(?<=home by )|(?<=up by ))(?:\d{{1,2}}|{_NUMBER_WORDS})\b(?![:.]\d)"
        rf"|a la (?:1\b|una)|a las (?:\d{{1,2}}(?![\d:.]*\d)|{_NUMBER_WORDS})(?: y media| (?:y|menos) (?:cuarto|cinco|diez|veinte|veinticinco))?)",
        re.IGNORECASE,
    ),
    # "Orange" with a capital is a firm.
    ValueType.COLOUR: re.compile(
        rf"\b(?!(?<=\w )(?-i:[A-Z]))(?:(?:dark|light) )?(?:{_COLOURS})\b", re.IGNORECASE
    ),
    ValueType.HANDLE: re.compile(
        r"(?<!\w)@[\w.-]+|\b[\w.+-]+@[\w.-]+\w|(?<![\w@/.-])[a-z]{3,}\w*(?:\.(?!com\b|org\b|net\b)\w{3,}|_\w{2,})\b(?![./@])|\bhttps?://\S+|\bwww\.\S+|(?<![\w-])[a-zA-Z]{3,}(?:[-_][a-zA-Z]+)*[-_]?\d\w*(?:-\w+)*\b(?!-)"
        r"|(?<![\w-])(?=\w{6})[A-Za-z]+\d+[a-z]{2}\w*\b(?!-)"
        # Blood groups.
        r"|(?<=[a-zú·] )(?:AB|A|B|O)(?:[ -](?:positiv[eo]|negativ[eo])\b|[+-](?!\w))"
    ),
    ValueType.NUMBER: re.compile(
        r"\b\d (?:foot|feet|ft) \d{1,2}\b|\b\d{1,2} (?:stone|st) \d{1,2}\b|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b|(?<![\w.])[+#]?\d[\d.,/-]*(?: \d[\d.,/-]*)*(?:[¼½¾](?!\w)|(?: and a half| y medi[oa]"
        r"| mil(?:lones)?(?: y medio)?)\b|[a-z]{0,3}\b)|\b(?!O2\b)(?:[A-Z]{1,3}-(?=\d))?[A-Z]*\d+[A-Z\d]*\b"
        rf"|\b(?:(?!one\b|un[oa]?\b|once (?:an?|in|every|per|i|we|the|he|she|they|upon)\b)(?:{_NUMBER_WORDS}))\b(?: and a half\b)?(?: mil(?:lones)?\b| (?:hundred|thousand)\b)?(?: y medio\b)?"
    ),
    ValueType.NAME: re.compile(
        r"(?<![.!?¿¡]\s)(?<!^)(?<!^[\"“«])\b(?!I\b|I['’]|(?:OK|GP|MOT|TV|Ayer|Hoy|Anoche)\b)[A-ZÀ-Þ][\w'’-]*"
        r"(?: (?:de |del |la |van |von |of |the )?[A-ZÀ-Þ][\w'’-]*)*"
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


def without_counts(text: str) -> str:
    """A text without the words that count: `two of my pupils` and `two cats` share none then."""
    return " ".join(one for one in text.split() if not has_count(one))


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
        if spans and kind is ValueType.DAY:
            spans = [one for one in spans if not _is_name_of_month(text, *one)]
        if spans and kind is ValueType.DAY and _CODE_WORD.search(text):
            # "The PIN is 1948": no year.
            spans = [one for one in spans if not text[slice(*one)].isdigit()]
        if kind in (ValueType.TIME, ValueType.NUMBER):
            spans = _with_ranges(text, spans)
        if kind is ValueType.NUMBER and (hours := [one for one in spans if _is_hour(text, *one)]):
            found[ValueType.TIME] = (*found.get(ValueType.TIME, ()), *hours)
            spans = [one for one in spans if one not in hours]
        if spans:
            taken += spans
            found[kind] = tuple(spans)
    return found


def _is_name_of_month(text: str, start: int, end: int) -> bool:
    """Check whether the word for a month or day is the name of a person: `my niece May`."""
    if text[start:end] not in _NAMED_AS_MONTHS:
        return False
    before = max(0, start - MAX_CHARS_BEFORE)
    return bool(_NAMED_BEFORE.search(text, before, start) or _DOES_BEHIND.match(text, end))


MAX_CHARS_BEFORE = 40
"""Number of characters before a name in which its noun is looked for."""
_NAMED_AS_MONTHS = frozenset({"April", "May", "June", "August", "Abril", "Julio", "Domingo", "Mar"})
_NAMED_BEFORE = re.compile(
    r"(?:\b(?:my|our|his|her|mi|su|nuestr[oa]) [a-zß-ÿ]+|\b(?:called|named|llama|llamad[oa]|does|did"
    r"|has|is|was|and|with|y|con|es|tiene|vive|trabaja|juega|estudia|toca|calza|toma|odia|habla)"
    r"|\b(?:novi[oa]|amig[oa]|hij[oa]|coche|casa|cumpleaños|cumple|boda|tel[eé]fono|n[uú]mero|perr[oa]"
    r"|gat[oa]|herman[oa]|madre|padre|marido|mujer|jef[ea]|trabajo|conejo) de) $",
    re.IGNORECASE,
)
_DOES_BEHIND = re.compile(
    r"['’]s\b| (?:is (?!(?:a|an|the|my|our|too|so|when|here|over|busy) )|was|has|had|does|did|loves"
    r"|likes|hates|lives|works|goes|plays|takes|drives|wears|speaks|studies|gave|quit|moved|sold"
    r"|switched|eats|turned|came|got|broke|es (?!mi |el |un )|vive|est[aá]|tiene|trabaja|juega|toca"
    r"|estudia|odia|calza|toma|habla|naci[oó]|va|se|le|ya|ahora|dej[oó]|vendi[oó]|acaba|cumple)\b",
    re.IGNORECASE,
)
"""What is told of a person, behind the name."""


_CODE_WORD = re.compile(
    r"\b(?:pin|code|password|passcode|c[oó]digo|clave|contraseñ[ao]|combinaci[oó]n|combination)\b",
    re.IGNORECASE,
)


def _is_hour(text: str, start: int, end: int) -> bool:
    """Check whether a number is the hour to which something was moved."""
    is_last = not text[end:] or text[end] in ",;." or text.startswith((" in ", " on "), end)
    return is_last and bool(
        _BARE_HOUR.fullmatch(text, start, end) and _MOVED_TO.search(text, 0, start)
    )


RANGE = re.compile(r"(?: ?[-–] ?| (?:to|till|until|a|hasta) )(?:las? )?", re.IGNORECASE)
"""Words between the two hours of a range."""
_BEFORE_CHANGE = re.compile(
    r"\b(?:mov|chang|shift|went|gone|go(?:es|ing)?|rais|rose|risen|increas|cut|drop|reduc|push|subi"
    r"|sube|baj|pas[aoó]|cambi|aument|adelant|retras)\w*(?: \w+){0,3} (?:from|del?(?: las?)?) $",
    re.IGNORECASE,
)
"""Words before a change from one value to another: `they moved it from 3 to 5`."""
_HOUR = re.compile(
    r"(?:at |a las? )?(?:(?:[01]?\d|2[0-4])(?:[:.]\d\d)?(?: ?[ap]\.?m\.?| ?h)?|one|two|three|four"
    r"|five|six|seven|eight|nine|ten|eleven|twelve|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve"
    r"|diez|once|doce)$",
    re.I,
)


_DIFFERENCE = re.compile(
    r"\b(?:(?:put|go(?:es|ne|ing)?|went|rais\w*|increas\w*|rose|risen|cut|reduc\w*|dropp?\w*|fell"
    r"|fallen|lower\w*|up|down)\b[^,;.]*? by|(?:put|go(?:es|ne)?|went|bump\w*)\b[^,;.]*? (?:up|down)"
    r"|lost|gained|put on|another|an extra"
    r"|(?:sub|baj|aument|reba?j|perd|engord|adelgaz)(?:ido|ado|i[oó]|í|é|[oó]|ieron|aron))"
    r" (?:about |around |some |only |just |otros |unos )?[£$€]?$",
    re.IGNORECASE,
)
"""Words before the amount by which something becomes more or less."""
_BARE_HOUR = re.compile(r"1?\d|2[0-4]")
_MOVED_TO = re.compile(
    r"\b(?:mov(?:ed|ing)|brought|pushed|shifted|put|rescheduled|it['’]?s)\b"
    r"(?: (?!up\b|prices?\b|rents?\b|fees?\b|limit\b)[\w'’-]+){0,5} (?:back |forward )?to $",
    re.IGNORECASE,
)
"""Words before the hour to which something was moved: `they've moved the meeting to 11`."""


def _with_ranges(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, with both hours of a range as one: `from 9 to 5`."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        is_range = (
            bool(found)
            and RANGE.fullmatch(text, found[-1][1], start) is not None
            and all(_HOUR.match(text[slice(*one)]) for one in (found[-1], (start, end)))
            and not _BEFORE_CHANGE.search(text, 0, found[-1][0])
        )
        found.append((found.pop()[0] if is_range else start, end))
    return found


@lru_cache(maxsize=2000)
def values_of_part(text: str) -> Mapping[ValueType, tuple[tuple[int, int], ...]]:
    """Spans of the typed values of a part of a sentence. A capital at its beginning makes a name,
    as it does not at the beginning of a sentence; that of a word of function (`We`) does not. The
    amount by which something changes is none: `they put it up by 50`."""
    mark = "· "
    values = {
        kind: tuple((start - len(mark), end - len(mark)) for start, end in spans)
        for kind, spans in typed_values(mark + text).items()
    }
    if numbers := values.pop(ValueType.NUMBER, ()):
        kept = tuple(one for one in numbers if not _DIFFERENCE.search(text[: max(one[0], 0)]))
        values |= {ValueType.NUMBER: kept} if kept else {}
    names = values.pop(ValueType.NAME, ())
    # "A Ana le gusta": the preposition is no part of the name.
    names = tuple(
        (start + len("A ") if _AT_NAME.match(text, max(start, 0), end) else start, end)
        for start, end in names
    )
    if names := tuple(one for one in names if one[0] > 0 or not _is_stop(text[slice(*one)])):
        values[ValueType.NAME] = names
    return values


_AT_NAME = re.compile(r"A (?=[A-ZÀ-Þ])")


def tells_difference(text: str) -> bool:
    """Check whether a text tells by how much something has changed, and not to what: `they put it
    up by 50`, `I've lost 3 kilos`."""
    return ValueType.NUMBER in typed_values(text) and ValueType.NUMBER not in values_of_part(text)


def _is_stop(word: str) -> bool:
    """Check whether a word is one of function, maybe with a verb: `They`, `They've`."""
    return re.split("['’]", word.lower())[0] in STOP


@lru_cache(maxsize=2000)
def phrase_concepts(text: str) -> frozenset[str]:
    """Concepts of the expressions of several words of a text."""
    lower = text.lower()
    return frozenset().union(
        *(
            found
            for group in _phrase_groups()
            if group.any_of.search(lower)
            for one, found in group.members
            if one.search(text)
        )
    )


@lru_cache(maxsize=5000)
def concepts_of(text: str) -> frozenset[str]:
    """Concepts of a text, and stems of its words that have none: `I live in Rome` gives `home` and
    a stem of `rome`. Words of function (STOP) give none. Takes about two milliseconds for 1000
    characters; cached, since several rules ask for those of one message."""
    return phrase_concepts(_QUOTED.sub(" ", text)) | word_concepts(text)


@lru_cache(maxsize=5000)
def word_concepts(text: str) -> frozenset[str]:
    """The same without those of expressions of several words, which take most of the time."""
    text = _idioms().sub(" ", _without_relatives(_NO_WORD.sub("", _QUOTED.sub(" ", text))))
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
    if known is None and _MEDICINE.fullmatch(word):
        known = frozenset({"medicine"})
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


_MEDICINE = re.compile(
    r"(?!april)\w+(?:pril|sartan|[zx]epam|zolam|prazole?|[aou]?statin[ae]?|olol|coxibe?|proxeno?|cilina|cillin|micina"
    r"|mycin|profen[oe]?|floxacin[oe]?|gliptina?|dipin[oe]|oxetin[ae]|semid[ae]|formina?|clamid[ae]"
    r"|latonin[ae]?|amol|spirin[ae]?|insulin[ae]?|butamol|prednison[ae]|tiroxina|thyroxine)"
)
"""Endings of the names of medicines, without accents."""
_QUOTED = re.compile(
    r"«(?:[^\s«»]+\s+){3}[^«»]*»|“(?:[^\s“”]+\s+){3}[^“”]*”|\"(?:[^\s\"]+\s+){3}[^\"]*\""
)
"""A quoted sentence of more than three words: others say it. A shorter quotation is a title or a
name."""
_NO_WORD = re.compile(
    r"(?<=\bwi)-(?=fi\b)|(?<=\bstep)[- ](?=\w{3})|(?<=\w)[- ](?=in[- ]law\b)"
    r"|(?<=[- ]in)[- ](?=law\b)"
    r"|(?<!\bto )(?<!\band )(?<!\bor )(?<!\bof )(?<!\bwith )(?<!\beat )\bsoy (?!milk|sauce|bean"
    r"|protein|yog|latte|allerg|flour|oil|free|products?\b)"
    r"|(?<!\bun )(?<!\bel )(?<!\bde )(?<!\bal )(?<!\bmi )\bte (?=\w)"
    r"|\bson (?= *(?:\d|mis?\b|l[oa]s\b|un[oa]s\b|el\b|de\b|al? l[ao]s?\b|ahora\b|en\b|por\b))"
    r"|(?<=[aeo]s )son\b|(?<=\bno )son\b|(?<=\bya )son\b"
    r"|\b(?:as an?|when i was an?|de|desde|cuando era) (?:little |young |small )?(?:kid|child|boy"
    r"|girl|lad|lass"
    r"|teenager|cham[oa]|chav[oa]|pib[ea]|ni[ñn][oa]|chic[oa]|peque[ñn][oa]|joven|cr[ií][oa])\b",
    re.IGNORECASE,
)
"""What stands between the parts of a single word (`wi-fi`, `mother-in-law`), Spanish words that
look like English ones or, without accents, like others (`son`, `soy`, `te`), and the speaker's
childhood, which is no child's."""


@cache
def _idioms() -> re.Pattern[str]:
    """Expressions of words that mean something else by themselves."""
    joined = "|".join(map(_with_lists, _phrase_table()["idioms"]))
    return re.compile(rf"\b(?:{joined})\b", re.IGNORECASE)


_BY_RELATIVE = re.compile(r"['’]s? | de (?:mi|nuestr[oa]) ", re.IGNORECASE)


@cache
def _relatives_of_relatives() -> re.Pattern[str]:
    return re.compile("|".join(pattern for pattern, _ in _relatives()), re.IGNORECASE)


def _without_relatives(text: str) -> str:
    """The text without the relatives that are told by another one, whose words by themselves would
    mean that one, or a relative of the speaker: `my wife's dad` is neither my wife nor my dad."""
    return _relatives_of_relatives().sub(" ", text) if _BY_RELATIVE.search(text) else text


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
    if len(word) <= _MIN_BASE_CHARS or word in STOP or word in _table().apart:
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
    if len(word) < MIN_TYPO_CHARS - 1 or word in STOP or word in _table().apart:
        return None
    if word.endswith("eria"):
        # "Panadería" is not "panadera".
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
    """Words of a value, for comparison: without case, accents, articles, prepositions and `'s`.
    Cached, since statements are compared again and again."""
    return frozenset(
        folded
        for word in split_words(_APOSTROPHE_S.sub("", text))
        if (folded := strip_accents(word)) not in {"at", "the", "a", "las", "la", "el", "of", "de"}
    )


_APOSTROPHE_S = re.compile(r"(?<=\w)['’]s\b", re.IGNORECASE)


def words_of(concepts: frozenset[str]) -> list[str]:
    """The usual words of these concepts, at most _SHOWN_WORDS of each; stems have none."""
    words = _table().words
    return [word for name in sorted(concepts & words.keys()) for word in words[name][:_SHOWN_WORDS]]
