"""Substitution: an earlier statement with a new value in the place of one of its own.

A typed value (a day, a number, a name) gives way to one of the same type only; a word of a class (a
drink, a sport) to another one of that class.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from os.path import commonprefix
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import split_words, strip_accents
from spade_llm.understanding.clause_kinds import FINITE, THIRD_SPANISH
from spade_llm.understanding.features import Statement, features
from spade_llm.understanding.pronouns import leading_noun
from spade_llm.understanding.replacement import (
    HABIT,
    MIN_PHONE_DIGITS,
    OWNER_FIRST,
    STEM_CHARS,
    have_different_owners,
    measures_otherwise,
    names_other_medicine,
)
from spade_llm.understanding.spelling import has_respelt_word
from spade_llm.understanding.things import COPULA
from spade_llm.understanding.vocabulary import (
    MONTHS,
    TYPED,
    WEEKDAYS,
    ValueType,
    concepts_of,
    has_count,
    is_function_word,
    kin,
    light,
    stems_of,
    typed_values,
    value_key,
    values_of_part,
)
from spade_llm.understanding.wording import SPANISH_FIRST_PERSON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    _Values = tuple[tuple[int, int], ...]
    Spans = Mapping[ValueType, _Values]
    """Typed values of a text: begin and end of each, in characters."""

_I = re.IGNORECASE

_WITH_PLACE = frozenset({"home", "origin", "work", "study", "trip", "visit", "holiday", "wedding"})
DATED = frozenset({ValueType.DAY, ValueType.TIME})
LABELLED = LazyPattern(
    r"\b(?!at\b|on\b|in\b|to\b|by\b|for\b|is\b|are\b|am\b|a\b|las?\b|el\b|los\b|en\b|de\b"
    rf"|es\b|son\b|now\b|the\b|(?:{MONTHS})\b)(?P<noun>[^\W\d_]{{3,}})"
    r" (?P<number>#?[A-Z]?\d+[A-Z]?)\b(?!:| (?:to|till|until|a|hasta) \d)",
    _I,
)
"""A number with the noun that says what it numbers."""
_AT_PLACE = LazyPattern(
    r"\b(?:in|at|en|(?:moved|went|gone|go|goes|going|back|off|flew) to|(?:mudad\w|mud[oó]|fue"
    r"|ido|vuelto"
    r"|volvi[oó]|march\w+|traslad\w+) a) (?:the |el |la )?$",
    _I,
)
_NOUN_BEFORE_NAME = LazyPattern(
    r"\b(?:called|named|llaman?|llamad[oa]s?|dra?\.?|mrs?\.?|ms\.?) $"
    r"|(?P<noun>[\w-]+?)(?:['’]s| is| es)?,? $",
    _I,
)
_UNIT = LazyPattern(r" ?(?P<unit>[^\W\d_]{1,12})\b")
_UNITS = {
    spelling: spellings.split()[0]
    for spellings in (
        "kg kgs kilo kilos kilogram kilograms kilogramo kilogramos", "g gr gram grams gramo gramos",
        # Of money and of weight: which one, the topic tells.
        "lb lbs pound pounds libra libras £ quid gbp",
        "mg milligram milligrams miligramo miligramos",
        "mcg µg microgram micrograms microgramo microgramos",
        "km kms kilometre kilometres kilometer kilometers kilómetro kilómetros",
        "cm centimetre centimetres centimeter centimeters centímetro centímetros",
        "m metre metres meter meters metro metros", "mile mi miles milla millas",
        "l litre litres liter liters litro litros", "ml millilitre millilitres mililitros",
        "h hr hrs hour hours hora horas", "min mins minute minutes minuto minutos",
        "€ eur euro euros", "$ dollar dollars dólar dólares", "peso pesos",
        "kwh", "gb", "stone st",
    )
    for spelling in spellings.split()
}  # fmt: skip
"""Units of measure by their spellings."""
_DURATION = LazyPattern(
    r"\b(?:for|hace|llevo|llevamos|lleva|durante) (?:about |casi |over |m[aá]s de )?"
    r"(?P<number>\w+) (?:days?|weeks?|months?|years?|d[ií]as?|semanas?|mes(?:es)?|a[ñn]os?)\b",
    _I,
)
_JUST_THE_DAY = LazyPattern(r"^el (?:d[ií]a )?(?P<day>\d{1,2})$", _I)
_DAY_NUMBER = re.compile(r"\b\d{1,2}\b")
_DAY_OF_MONTH = LazyPattern(r"(?:the )?\b(?P<day>\d{1,2})(?:st|nd|rd|th)?\b", _I)
_TITLED = re.compile(
    r"(?:\b(?:el|la) )?\b(?:[Dd]octora?|[Dd]ra?\.?|[Mm]r?s?\.?|[Dd]on|[Dd]oña"
    r"|[Ll]icenciad[oa]|[Ii]ngenier[oa]|[Pp]rofesora?|[Pp]rofe|[Mm]aestr[oa]|[Ss]eñora?) "
)
_GLUED_UNIT = LazyPattern(r"(?<=\d)(?P<unit>[^\W\d_]+)$")
DOSE = LazyPattern(r",? ?(?:de )?(?<!\d)\d[\d.,]* ?(?:mg|mcg|µg|g|ml|units?|iu|ui|unidades)\b", _I)
_MEASURE = LazyPattern(r"\d ?(?P<unit>[^\W\d_]{1,12})\b")
_MEASURED = LazyPattern(r"(?P<thing>[^\W\d_][\w-]{3,}),? \d[\d.,]* ?[^\W\d_]{1,12}\b", _I)
"""A thing and its amount: `ramipril, 5 mg`."""
_PER = LazyPattern(r"/ ?[a-z]+$", _I)
_MONEY = LazyPattern(r" (?:pounds?|quid|euros?|dollars?|libras?|d[oó]lares)\b", _I)
TOKEN = LazyPattern(r"[\w'’-]+|[^\w'’-]+")
_PREPOSITIONS = frozenset({"with", "to", "from", "at", "in", "by", "con", "en", "de", "desde"})
_CONJUNCTION = LazyPattern(r"\s*(?:[,&/]\s*)?(?:(?:and|or|y|e|o|u)\s+)?(?:(?:on|el|los)\s+)?$", _I)
_VERB_ENDS = LazyPattern(
    r"^(?:i|we|he|she|they|(?:my|our) [\w-]+)(?: \w+ly| usually| always| often)? [\w-]+$"
    r"|^[^\W\d_]+(?:o|amos|emos|imos)$",
    _I,
)
"""The beginning of a statement up to its verb."""
_BEFORE_OBJECT = LazyPattern(r"(?:an?|the|my|some|al?|el|la|los|las|un|una|mi|much[oa])$", _I)
CLASSES = frozenset({
    "animal", "dance", "drink", "exercise", "food", "instrument", "pet", "profession", "religion",
    "school", "speak", "sport", "subject", "transport",
})  # fmt: skip
"""Concepts of words of which one takes the place of another."""
_DATE = LazyPattern(rf"\d|\b(?:{MONTHS})\b", _I)
_PHONE = "phone"
MAX_BARE_WORDS = 8
"""Maximum length in words of a text of which a number without a noun may replace any other one."""
MIN_WORD_CHARS = 4
"""Minimum length of a word of which a repetition tells that a new value does not fit."""
MAX_NAMES = 2
"""Names of a statement of which one may give way to another."""
_DETAIL = LazyPattern(
    r",? \(?(?:(?:(?:his|her|its|their|the) )?"
    r"(?:reg\w*|plate|tel|phone|mobile|e-?mail|number|no\.)\b[^,;]*"
    r"|[\w.+-]+@[\w.-]+\w|\+?\d[\d ]{6,}\d)\)?",
    _I,
)
"""Number plate, telephone or address behind the name of what has it."""
_BEFORE_DAY = LazyPattern(r"(?:the|el) ", _I)
_BEFORE_TIME = LazyPattern(r"(?:at|a las?) ", _I)
_BARE_TIME = LazyPattern(r"\d[\d:.]*(?: ?[ap]\.?m\.?| ?h)?$", _I)
_JOINT = LazyPattern(
    r"\b(?P<word>[^\W\d_][\w'’]*) (?P=word)\b|\d,? (?!\d{1,2}[:.]\d)\d"
    rf"|\d de (?:{WEEKDAYS})\b",
    _I,
)
"""Words that seldom stand beside each other: `Dr Dr`, `52 14`."""
_CAPITAL = LazyPattern(r"\b[A-ZÀ-Þ][\w-]+")
_CODE = LazyPattern(r"\d[ -]?(?P<behind>[A-Z]{1,4})\b|\b(?P<before>[A-Z]{1,4})[ -]?\d")
"""Letters of a number plate or the like, which are no name: `4521 KLM`."""
_IN_STREET = LazyPattern(r"\b(?:calle|avenida|plaza|paseo|camino|carrer|r[uú]a) (?:\w+ ){0,2}$", _I)
"""The beginning of a street's name, up to the name itself."""
_TWO_WITH = LazyPattern(r"\b(?P<with>with|con) (?:[\w'’-]+ ){1,3}(?P=with) ", _I)
"""An addition beside another one: `with sweetener with two sugars`."""
_WITH_DRINK = LazyPattern(
    r"\b(?:coffee|tea|caf[eé]|t[eé]|cortado|mate|latte) (?:with|con) (?:an? |una? )?(?:\w+ )?$", _I
)
"""The beginning of a drink, up to what is added to it."""
_ADDED_TO_DRINK = LazyPattern(
    r"\b(?:milk|cream|sugar|honey|oat|soya?|lemon|ice|leche|nata|az[uú]car|miel|avena|soja|lim[oó]n"
    r"|hielo)\b",
    _I,
)
_DIGIT = re.compile(r"\d")
_CALLED = LazyPattern(r"(?:\b(?:is|are|called|es|son|llaman?)|['’]s) $", _I)
"""The beginning of a statement up to a name or value."""
_ASIDE = LazyPattern(rf",(?!.*\b{FINITE}\b)[^;]+$", _I)
_COLOURED = LazyPattern(rf" {TYPED[ValueType.COLOUR].pattern}", _I)
_FLOOR = LazyPattern(r", (?:flat |piso )?\d[\wºª]*(?: [A-Z]\b)?", _I)
_ARTICLES = frozenset({"the", "a", "an", "el", "la", "los", "las", "un", "una"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Difference of two texts: numbers of characters before it and behind it that both have."""

    start: int
    behind: int


def _is_of_other_kind(value: str, over: str, *, behind: str) -> bool:
    """Check whether a value cannot stand where another one (`over`) stood, behind these words."""
    has_number = bool(_DIGIT.search(value)) or has_count(value)
    # "Café con té verde" for "café con leche".
    is_drink = bool(_WITH_DRINK.search(behind)) and "drink" in concepts_of(value)
    return (
        (is_drink and not _ADDED_TO_DRINK.search(value))
        or (over.isdigit() and not has_number)
        # "I moved to Leeds" names no other street.
        or (bool(_IN_STREET.search(behind)) and not _DIGIT.search(value))
        # "Mi novio se llama ando con Beto".
        or (bool(_CALLED.search(behind)) and value.split()[0].lower() in SPANISH_FIRST_PERSON)
    )


def _repeats_word(new: Statement) -> bool:
    """Check whether a substitution doubled a word of the statement that it replaces: `clases de
    pilates a clases de bachata`."""
    if _TWO_WITH.search(new.text) and not _TWO_WITH.search(new.replaced):
        # "Coffee with sweetener with two sugars".
        return True
    old = Counter(split_words(new.replaced))
    return any(
        count > 1 == old[word] and not is_function_word(strip_accents(word))
        for word, count in Counter(split_words(new.text)).items()
        if len(word) >= MIN_WORD_CHARS
    )


def inserted(old: str, new: str) -> _Place:
    """The words by which two texts differ."""
    before, after = ([one[0] for one in TOKEN.finditer(text)] for text in (old, new))
    start = len(commonprefix([before, after]))
    behind = len(commonprefix([before[start:][::-1], after[start:][::-1]]))
    return _Place(
        start=len("".join(before[:start])), behind=len("".join(before[len(before) - behind :]))
    )


def is_clean(new: Statement) -> bool:
    """Check that a new value fits into the words of the statement that it corrects, as far as that
    can be seen: not `Dr Dr Ana`, not `Ana's flat is at Ana's`, not a part of a title or of an
    address, and no other medicine with the dose of the former one."""
    if not new.replaced or has_respelt_word(new.text, new.replaced):
        return True
    place = inserted(new.replaced, new.text)
    end = len(new.replaced) - place.behind
    value = new.text[place.start : len(new.text) - place.behind]
    over, kept = new.replaced[place.start : end], new.replaced[: place.start] + new.replaced[end:]
    if _repeats_word(new) or new.text.count("(") != new.text.count(")"):
        return False
    if not value or not over or not (place.start or place.behind):
        return True
    if _is_of_other_kind(value, over, behind=new.replaced[: place.start]):
        return False
    if _JOINT.search(new.text) and not _JOINT.search(new.replaced):
        return False
    handles = typed_values(new.replaced).get(ValueType.HANDLE, ())
    if any(first <= place.start and end <= last for first, last in handles):
        return new.is_correction or (place.start, end) in handles
    if "medicine" in concepts_of(over) and DOSE.search(kept):
        return False
    names = {one[0] for one in _CAPITAL.finditer(value)}
    is_title = over.lower() in _ARTICLES and bool(place.behind)
    return not is_title and not names & set(re.findall(r"[\w-]+", kept))


def without_former_dose(new: Statement) -> Statement:
    """The statement without the dose of the medicine that another one replaces."""
    place = inserted(new.replaced, new.text)
    end = len(new.replaced) - place.behind
    dose = DOSE.match(new.replaced[end:])
    if not dose or "medicine" not in concepts_of(new.replaced[place.start : end]):
        return new
    value = new.text[: len(new.text) - place.behind]
    return replace(new, text=value + new.replaced[end + dose.end() :])


def has_details(new: Statement) -> bool:
    """Check whether a statement tells more of the thing of which only the name was replaced: its
    colour, or numbers behind a comma (`a blue Golf, plate 4471 KLM`)."""
    place = inserted(new.replaced, new.text)
    end = len(new.replaced) - place.behind
    rest = new.replaced[end:]
    is_name = any(
        place.start <= start and last <= end
        for start, last in typed_values(new.replaced).get(ValueType.NAME, ())
    )
    aside = _ASIDE.match(rest)
    is_numbered = aside and typed_values(aside[0]).keys() & {ValueType.NUMBER, ValueType.HANDLE}
    return is_name and bool(_COLOURED.match(rest) or is_numbered)


def values_in_place_of(text: str, types: Spans, earlier: str) -> Spans:
    """The typed values of an earlier statement that those of a text may replace: a place does not
    replace a person."""
    found = _with_days_joined(earlier)
    if numbers := _numbers_in_place_of(text, found.pop(ValueType.NUMBER, ()), earlier):
        found[ValueType.NUMBER] = numbers
    codes = [one.span(one.lastgroup or 0) for one in _CODE.finditer(earlier)]
    if names := [span for span in found.pop(ValueType.NAME, ()) if span not in codes]:
        found[ValueType.NAME] = _owned_names(names, earlier)
    for of, kind_of in _KINDS:
        if of not in types or of not in found:
            continue
        is_of_many = of is ValueType.NAME and len(found[of]) > MAX_NAMES
        if is_of_many or _tells_only_age(of, text, earlier):
            # Of several beings, none is known to be meant.
            del found[of]
            continue
        kinds = {kind_of(text, span) for span in types[of]} - {""}
        same = tuple(span for span in found[of] if kind_of(earlier, span) in kinds)
        if same and of is not ValueType.NAME:
            found[of] = same
            continue
        # "Ann moved to Spain": only a place gives way, or what tells of a home.
        is_of_place = features(earlier).topic & _WITH_PLACE and not _names_being(earlier)
        is_move = kinds == {"place"} and not is_of_place
        is_only = is_move or kinds == {_PHONE} or _counts_no_years(of, kinds, text, earlier)
        allowed = kinds if is_only else {*kinds, ""}
        # "De 8 a 15" is not the number of "planta 5".
        is_any = not kinds and (of is not ValueType.NUMBER or len(text.split()) <= MAX_BARE_WORDS)
        fitting = tuple(
            span
            for span in found.pop(of)
            if (kind := kind_of(earlier, span)) in allowed or (is_any and kind != _PHONE)
        )
        if fitting:
            found[of] = fitting
    return found


def _counts_no_years(of: ValueType, kinds: Set[str], text: str, earlier: str) -> bool:
    """Check whether a text numbers something else than the age that an earlier statement tells:
    `Tim was in lane 3`."""
    if of is not ValueType.NUMBER or not kinds:
        return False
    return "age" in features(earlier).concepts and not (
        "age" in features(text).concepts or _TURNS.search(text)
    )


def _tells_only_age(of: ValueType, text: str, earlier: str) -> bool:
    """Check whether a text tells an age, and an earlier statement another number: `Kim is 34`, `Kim
    wears size 6`."""
    is_age = of is ValueType.NUMBER and "age" in features(text).concepts
    return is_age and "age" not in features(earlier).concepts


_TURNS = LazyPattern(r"\b(?:turn\w*|hit|reached|cumpl\w+|hace|hizo)\b", _I)


def _names_being(statement: str) -> bool:
    """Check whether a statement tells who a being is: `my friend from uni is Ann`."""
    subject = leading_noun(statement)
    return subject is not None and subject.is_being and COPULA.match(statement) is not None


def _owned_names(names: Sequence[tuple[int, int]], earlier: str) -> _Values:
    """The names of a statement without that of the owner of what it tells, if that has a name, too:
    `Chloe's surname is Baxter`."""
    tail = COPULA.match(earlier)
    values = tuple(one for one in names if tail and one[0] >= tail.start("tail"))
    is_owned = any(earlier[slice(*one)].endswith(("'s", "’s")) for one in names)
    return values if is_owned and values else tuple(names)


def _with_days_joined(text: str) -> dict[ValueType, _Values]:
    """The typed values of a text, with the days of a list as one."""
    found = dict(typed_values(text))
    days = found.pop(ValueType.DAY, ())
    return {**found, ValueType.DAY: _joined(text, ValueType.DAY, days)} if days else found


def _numbers_in_place_of(text: str, spans: _Values, earlier: str) -> _Values:
    """The numbers of an earlier statement that those of a text may replace."""
    # "Leo is 7" tells nothing of "two kids", and a price nothing of "vegan for two years".
    is_of_being = _begins_with_being(text, earlier)
    lasting = [one.span("number") for one in _DURATION.finditer(earlier)]
    if not _SHORT_DURATION.search(text):
        lasting += [one.span() for one in _SHORT_DURATION.finditer(earlier)]
    if _DURATION.search(text) or _ONLY_DURATION.match(text):
        lasting = []
    return tuple(
        one
        for one in spans
        if one not in lasting and not (is_of_being and _counts_beings(earlier, one))
    )


_SHORT_DURATION = LazyPattern(r"\b\w+(?= (?:seconds?|minutes?|segundos?|minutos?)\b)", _I)
"""The number of `30 seconds`, which a code does not replace."""
_ONLY_DURATION = LazyPattern(
    r"^(?:it['’]?s |es |son )?[\w.,]+ (?:years?|months?|weeks?|days?|hours?|a[ñn]os?|mes(?:es)?"
    r"|semanas?|d[ií]as?|horas?)$",
    _I,
)


def _kind_of_day(text: str, span: tuple[int, int]) -> str:
    """`habit` for days that come again and again, `date` for one with its number or month."""
    day = text[max(span[0], 0) : span[1]]
    if any(span[0] < found.end() <= span[1] for found in HABIT.finditer(text)):
        return "habit"
    return "date" if _DATE.search(day) else ""


def _kind_of_number(text: str, span: tuple[int, int]) -> str:
    """The noun that a number counts or that it numbers: `mg`, `chapter`; empty if there is none."""
    if sum(map(str.isdigit, text[slice(*span)])) >= MIN_PHONE_DIGITS:
        return _PHONE
    if span[0] > 0 and text[span[0] - 1] in "£$€":
        return _UNITS[text[span[0] - 1]]
    unit = _UNIT.match(text, max(span[1], 0))
    glued = _GLUED_UNIT.search(text[max(span[0], 0) : span[1]])
    if glued and glued["unit"].lower() in _UNITS:
        unit = glued
    word = unit["unit"].lower() if unit else ""
    if word and not is_function_word(strip_accents(word)):
        return _UNITS.get(word, word[:STEM_CHARS])
    label = LABELLED.search(text, max(0, span[0] - 15), max(span[1], 0))
    return str(label["noun"][:STEM_CHARS].lower()) if label else ""


def _begins_with_being(text: str, earlier: str) -> bool:
    subject = leading_noun(text)
    name = _CAPITAL.match(text)
    # What has a capital inside a sentence is a name.
    return bool(subject and subject.is_being) or bool(name and f" {name[0]}" in earlier)


def _counts_beings(text: str, span: tuple[int, int]) -> bool:
    unit = _UNIT.match(text, max(span[1], 0))
    return bool(unit and concepts_of(unit["unit"]) & kin())


def units_of(text: str) -> frozenset[str]:
    """The units of measure of the amounts of a text, each in one spelling: `kg` for `kilos`."""
    ends = (end for _, end in typed_values(text).get(ValueType.NUMBER, ()))
    in_words = (one for end in ends if (one := _UNIT.match(text, end)))
    words = (one["unit"].lower() for one in chain(_MEASURE.finditer(text), in_words))
    return frozenset(_UNITS[word] for word in words if word in _UNITS)


def _with_units(
    new: str, span: tuple[int, int], earlier: str, start: int, end: int
) -> tuple[str, int]:
    """A new number, and the end of the one that it replaces; both with their units, if they
    have one in common: `72 kg` instead of `74 kilos`."""
    ends = [span[1], end]
    if any(text[at - 1 : at] in "£$€" for text, at in ((new, span[0]), (earlier, start)) if at):
        # "£7" instead of "6 pounds": the unit stays where it is.
        return new[span[0] : span[1]], end
    glued = _GLUED_UNIT.search(earlier[start:end])
    if glued and glued["unit"].lower() in _UNITS and not units_of(new):
        # "10" instead of "20mg".
        return new[span[0] : span[1]], end - len(glued["unit"])
    if units_of(new) & units_of(earlier):
        ends = [_end_of_unit(*one) for one in zip((new, earlier), ends, strict=True)]
    return new[span[0] : ends[0]], ends[1]


def _end_of_unit(text: str, end: int) -> int:
    unit = _UNIT.match(text, end)
    return unit.end() if unit and unit["unit"].lower() in _UNITS else end


def _kind_of_name(text: str, span: tuple[int, int]) -> str:
    """`place`, `origin`, `being` or `thing` for a name of which the words before it say so,
    `language`, or nothing."""
    if "speak" in concepts_of(text[slice(*span)]):
        return "language"
    before = text[: max(span[0], 0)]
    if _AT_PLACE.search(before):
        return "place"
    if _FROM_BEFORE.search(before):
        return "origin"
    noun = _NOUN_BEFORE_NAME.search(before)
    is_being = noun and (not noun["noun"] or concepts_of(noun["noun"]) & kin())
    if is_being:
        return "being"
    return "thing" if _INDEFINITE_BEFORE.search(before) else ""


_FROM_BEFORE = LazyPattern(r"(?:\b(?:is|am|are|es|soy|somos)|['’](?:m|s|re)) (?:from|de) $", _I)
_INDEFINITE_BEFORE = LazyPattern(
    r"\b(?:an|una?|(?:bought|got|has|have|had|drives?|drove|owns?|chose|wants?|gets?) a) $", _I
)
"""`A Golf` is neither a place nor a person."""


_KINDS = (
    (ValueType.NAME, _kind_of_name),
    (ValueType.NUMBER, _kind_of_number),
    (ValueType.DAY, _kind_of_day),
)
"""Types of which a value gives way only to one of the same kind."""


_OF_OWNER = LazyPattern(r"['’]s$")


def with_typed_value(earlier: str, old: str, value: str) -> Statement | None:
    """The earlier statement with the new value in the place of one of the same type that `old`
    names; None if it has no such value."""
    types = without_known(value, values_of_part(value), earlier)
    # A number that is named needs no unit in common.
    of_kind: Spans = {kind: spans for kind, spans in types.items() if kind != ValueType.NUMBER}
    fitting = values_in_place_of(value, of_kind, earlier)
    subject = leading_noun(earlier)
    subject_end = len(subject.text) if subject else 0
    for kind in types.keys() & fitting.keys():
        # The last one: a statement begins with what it is about.
        for start, end in reversed(fitting[kind]):
            is_subject = start < max(subject_end, MAX_ARTICLE)
            if len(fitting[kind]) > 1 and is_subject and _NO_SUBJECT.match(value):
                # "Now she goes to Park Academy": the one who goes there stays.
                continue
            is_whole = kind is not ValueType.HANDLE and _has_words(earlier[start:end], old)
            # "She sold the Fiesta": the Ford Fiesta.
            is_last = kind is ValueType.NAME and not is_subject
            is_whole = is_whole or (is_last and earlier[start:end].split()[-1] in old.split())
            # "The hotmail one" names the whole address.
            if is_whole or (kind is ValueType.HANDLE and _has_a_word(earlier[start:end], old)):
                new = _part(value, types[kind])
                if kind is ValueType.NAME and not _OF_OWNER.search(earlier[start:end]):
                    # "Kit's got her room now": no owner.
                    new = _OF_OWNER.sub("", new)
                return with_part(earlier, start, end, new)
    return None


MAX_ARTICLE = 4
"""Maximum length in characters of an article before the name that a sentence begins with."""
_NO_SUBJECT = LazyPattern(
    rf"\s*(?:(?:ahora|ya|now),? )?(?:(?:se (?:ha )?|ha )?(?:s?he|they|{THIRD_SPANISH}"
    r"|[^\W\d_]{3,}(?:ó|ado|ido))|got|bought|joined|started)\b",
    _I,
)
"""A clause about the same subject as the one before it."""


def _has_a_word(value: str, text: str) -> bool:
    return any(len(word) > 3 for word in set(split_words(value)) & set(split_words(text)))


def _has_words(value: str, text: str) -> bool:
    words = set(map(strip_accents, split_words(text)))
    of_value = [strip_accents(word) for word in split_words(value)]
    # "Dos" is a function word, but also a number: it has to be there.
    is_there = any(one in words for one in of_value)
    return is_there and all(one in words or is_function_word(one) for one in of_value)


def without_known(text: str, types: Spans, earlier: str) -> Spans:
    """The typed values that the earlier statement does not have: those that it has (`Maisie` in
    `Maisie is 7 now`) say which of its values is meant."""
    new = {
        kind: tuple(
            span
            # Of "Mondays and Fridays", neither is meant alone.
            for span in (_joined(text, kind, spans) if kind is ValueType.DAY else spans)
            if not _is_in(_OF_OWNER.sub("", text[span[0] : span[1]]), earlier)
        )
        for kind, spans in types.items()
    }
    return {kind: spans for kind, spans in new.items() if spans}


def _is_in(value: str, text: str) -> bool:
    """Check whether a text has a value: 7 is no part of 07911, as a name is of a longer word."""
    if not value[:1].isdigit() or value not in text:
        return value.lower() in text.lower()
    return bool(re.search(rf"(?<![\w.]){re.escape(value)}(?![\w]|\.\d)", text, _I))


def with_types(
    earlier: str, new: str, types: Spans, *, anchor: frozenset[str] = frozenset()
) -> Statement | None:
    """The earlier statement with the new typed values; of several of one type that behind the
    words of `anchor` is replaced."""
    if have_different_owners(new, earlier) or names_other_medicine(new, earlier):
        return None
    if (address := _address(new, types)) and (known := _address(earlier, typed_values(earlier))):
        return with_part(earlier, *known, new[slice(*address)])
    types = _without_start(new, _without_owner(new, types))
    types = _measured_alike(new, earlier, types)
    types = {kind: _joined(new, kind, spans) for kind, spans in types.items()}
    before = {
        kind: _unshared(_joined(earlier, kind, spans), earlier, new)
        for kind, spans in values_in_place_of(new, types, earlier).items()
        if kind != ValueType.NAME or not _is_about(new, earlier, spans)
    }
    before |= _names_behind_same_word(earlier, before, new, types)
    text = earlier
    if not types.keys() & before.keys():
        return None
    if not before.keys() & DATED:
        # "He turned 7 on Friday" says when, which "he is 6" does not.
        types = {kind: spans for kind, spans in types.items() if kind not in DATED}
    extra = types.keys() - before.keys()
    shared = types.keys() & before.keys()
    if ValueType.NUMBER in extra and (shared <= DATED or _is_before_names(types, shared)):
        # "Mia turns 10 on Sunday" tells nothing of "Mia swims on Mondays", and "I pay 17 for
        # Netflix" nothing of "my wife is called Ann".
        return None
    if extra:
        # "Friday at 11" instead of "Wednesday": the whole expression takes the place.
        first = min(start for spans in types.values() for start, _ in spans)
        last = max(end for spans in types.values() for _, end in spans)
        kind = next(one for one in types if one in before)
        text = _with_expression(earlier, new[first:last], _nearest(earlier, before[kind], anchor))
    else:
        before = {
            kind: _beside_same_noun(
                earlier,
                _alike(earlier, spans, new, types[kind]) if kind is ValueType.NUMBER else spans,
                new,
            )
            for kind, spans in before.items()
            if kind in types
        }
        places = {kind: _nearest(earlier, before[kind], anchor) for kind in types}
        text = _with_each(earlier, new, types, places)
    if text == earlier:
        return None
    return Statement(text=text, is_change=True, replaced=earlier)


def _alike(earlier: str, spans: _Values, new: str, values: _Values) -> _Values:
    """Those of several values of an earlier statement that have the form of the new one: rather
    `9B` than `4` for `2D`."""
    forms = {_form(new[slice(*one)]) for one in values}
    return tuple(one for one in spans if _form(earlier[slice(*one)]) in forms) or spans


def _beside_same_noun(earlier: str, spans: _Values, new: str) -> _Values:
    """Those of several values of an earlier statement in the part of it that has most words of the
    new text: of a dog and a cat with a name each, that of the cat."""
    if len(spans) == 1:
        return spans
    borders = [0, *(one.end() for one in _AND.finditer(earlier)), len(earlier)]
    said = stems_of(new) - light()
    shared = {
        span: len(said & stems_of(earlier[start:end]))
        for span in spans
        for start, end in pairwise(borders)
        if start <= span[0] < end
    }
    best = max(shared.values(), default=0)
    return tuple(one for one in spans if shared.get(one) == best) or spans


_AND = LazyPattern(r"[,;] | (?:and|y|e) ", _I)


def _form(value: str) -> str:
    """The kinds of characters of a value, one for each run: `9A` for `23b`."""
    return re.sub(r"[^\W\d_]+", "A", re.sub(r"\d+", "9", value))


def _measured_alike(text: str, earlier: str, types: Spans) -> Spans:
    """The values without numbers, if those of an earlier statement are of another kind."""
    if ValueType.NUMBER not in types or not measures_otherwise(text, earlier):
        return types
    return {kind: spans for kind, spans in types.items() if kind != ValueType.NUMBER}


def _is_before_names(types: Spans, shared: Set[ValueType]) -> bool:
    """Check whether names are all that would be replaced, and a number stands before them."""
    return shared == {ValueType.NAME} and types[ValueType.NUMBER] < types[ValueType.NAME]


def _names_behind_same_word(earlier: str, before: Spans, new: str, types: Spans) -> Spans:
    """The names of the earlier statement behind the preposition of the new one: `with Emirates`
    takes the place of `with Air India`, not of `to Delhi`. Empty if there are none."""
    if ValueType.NAME not in types.keys() & before.keys():
        return {}
    words = new[: types[ValueType.NAME][0][0]].lower().split()
    names = before[ValueType.NAME]
    if not words or words[-1] not in _PREPOSITIONS:
        return {}
    same = tuple(one for one in names if earlier[: one[0]].lower().endswith(f" {words[-1]} "))
    return {ValueType.NAME: same} if same else {}


def _with_expression(earlier: str, value: str, place: tuple[int, int]) -> str:
    """The text with an expression in a place; unchanged if that names what the text is about
    (`Sky now for the broadband, £29`)."""
    of_other = concepts_of(outside(value, values_of_part(value)))
    is_repeated = bool(of_other & concepts_of(earlier))
    return earlier if is_repeated else earlier[: place[0]] + value + earlier[place[1] :]


def _with_each(
    earlier: str, new: str, types: Spans, places: Mapping[ValueType, tuple[int, int]]
) -> str:
    """The earlier text with each new typed value in the place of the one of its type."""
    text = earlier
    for kind, (start, end) in sorted(places.items(), key=lambda one: one[1], reverse=True):
        part = _part(new, types[kind])
        if kind is ValueType.DAY:
            part, start, end = _with_day(part, text, start, end)
        if kind is ValueType.NUMBER:
            part, end = _with_units(new, types[kind][-1], earlier, start, end)
            if (unit := _PER.search(text[start:end])) and "/" not in part:
                # "12.80" instead of "12.20/h".
                end -= len(unit[0])
        # "It was moved to 5": the time stands without its preposition.
        is_bare = _BARE_TIME.match(part)
        preposition = _BEFORE_TIME.match(earlier[start:end]) if is_bare else None
        part = (preposition[0] if preposition else "") + part
        part = _with_kept(text[start:end], part) if kind is ValueType.NAME else part
        if (has_one := _BEFORE_TIME.match(part)) and text[:start].endswith(has_one[0]):
            part = part[has_one.end() :]
        text = text[:start] + part + text[end:]
    return text


def _with_day(part: str, text: str, start: int, end: int) -> tuple[str, int, int]:
    """A new day with what it leaves out, and the span of what it replaces."""
    # "To the 25th" says nothing of the month, which is the same one.
    part = _day_of_month(part, text[start:end]) or part
    if day := _DAY_NUMBER.search(text, start, end):
        # Neither does "el 21".
        part = _JUST_THE_DAY.sub(r"\g<day>", part)
        if part.isdigit():
            return part, *day.span()
    article = _BEFORE_DAY.match(text[start:end])
    if article and _DATE.search(part) and " " in part:
        # "27 de marzo" instead of "el 3 de abril".
        part = article[0] + _BEFORE_DAY.sub("", part)
    return part, start, end


def _day_of_month(new: str, old: str) -> str:
    """A date with a later day of its month: `the 21st of March` for `the 21st` and `the 14th of
    March`; empty for an earlier day, which may be one of the next month."""
    after, before = _DAY_OF_MONTH.match(new), _DAY_OF_MONTH.search(old)
    if after and after.end() < len(new):
        return ""
    if not after or not before or not re.search(MONTHS, old, _I):
        return ""
    if int(after["day"]) <= int(before["day"]):
        return ""
    day = after[0] if before[0].lower().startswith("the ") else after[0].removeprefix("the ")
    return old[: before.start()] + day + old[before.end() :]


def _without_owner(text: str, types: Spans) -> Spans:
    """The typed values without names that are no new value: of the owner or subject that a clause
    begins with (`Maya's moved to Friday`), an indirect object, or a destination."""
    is_owner_first = OWNER_FIRST.match(text) is not None
    found = {
        kind: tuple(
            (start, end)
            for start, end in spans
            if kind is not ValueType.NAME
            or not ((is_owner_first and not start) or _NO_VALUE.search(text[: max(start, 0)]))
        )
        for kind, spans in types.items()
    }
    return {kind: spans for kind, spans in found.items() if spans}


_NO_VALUE = LazyPattern(
    r"(?<!\w)les? (?!(?:llam|dic|dec))\w+(?: \w+){0,4} a $"
    r"|^(?!i\b|we\b|i['’])\S.*\b(?:promoted|transferred|relocated|packed .* and went|shifted) to $",
    _I,
)
"""Text before a name that is no new value: an indirect object (`le he pagado a Iker`), or a
destination of another person (`Bea's been promoted to Leeds`)."""


def _without_start(text: str, types: Spans) -> Spans:
    """The typed values without the day from which another one is so: `Wednesdays from January`."""
    days = types.get(ValueType.DAY, ())
    apart = tuple(span for span in days if not _FROM.search(text[: max(span[0], 0)]))
    return {**types, ValueType.DAY: apart} if apart and apart != days else types


_FROM = LazyPattern(r"\b(?:from|since|starting|as of|beginning|desde|a partir de) $", _I)


def _address(text: str, types: Spans) -> tuple[int, int] | None:
    """Span of a street with its number, whatever stands first, and of the floor behind it: `3 Oak
    Lane`, `Olmo 14, 3º B`."""
    parts = sorted(
        one for kind in (ValueType.NAME, ValueType.NUMBER) for one in types.get(kind, ())
    )
    for first, second in zip(parts, parts[1:], strict=False):
        if text[first[1] : second[0]] == " ":
            floor = _FLOOR.match(text, second[1])
            return first[0], floor.end() if floor else second[1]
    return None


def _joined(text: str, kind: ValueType, spans: _Values) -> _Values:
    """The spans, with those between which only a conjunction stands as one (`lunes y martes`);
    names stay apart, since each may be another being's."""
    if kind is ValueType.NAME:
        return spans
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        # "4B, 25 children": the number of a class is no part of a list with a count.
        is_list = not found or text[slice(*found[-1])].isdigit() == text[start:end].isdigit()
        if found and is_list and _CONJUNCTION.match(text, found[-1][1], start):
            start = found.pop()[0]
        found.append((start, end))
    return tuple(found)


def _unshared(spans: _Values, earlier: str, new: str) -> _Values:
    """The spans without those that both texts name (`Maisie`), which are not replaced; all, if
    there are no others."""
    return tuple(span for span in spans if not _has_words(earlier[slice(*span)], new)) or spans


def _is_about(text: str, earlier: str, names: Sequence[tuple[int, int]]) -> bool:
    """Check whether the names are only the one that a clause begins with: `Ann moved to Leeds`
    tells of Ann."""
    subject = leading_noun(text)
    return subject is not None and all(
        subject.is_named and _has_words(earlier[slice(*one)], subject.text) for one in names
    )


def _part(text: str, spans: Sequence[tuple[int, int]]) -> str:
    start, end = spans[-1]
    return text[start:end]


def _nearest(
    text: str, spans: Sequence[tuple[int, int]], anchor: frozenset[str]
) -> tuple[int, int]:
    """The span that follows a word of the anchor most closely; the last one if none follows any."""
    if len(spans) == 1:
        return spans[0]
    words = [
        found.start()
        for found in TOKEN.finditer(text)
        if found[0][0].isalnum() and concepts_of(found[0]) & anchor
    ]
    near = [
        (min(span[0] - at for at in words if at <= span[0]), span)
        for span in spans
        if any(at <= span[0] for at in words)
    ]
    return min(near)[1] if near else spans[-1]


def outside(text: str, types: Spans) -> str:
    """The text without its typed values, and without the currency of an amount."""
    for start, end in sorted((one for spans in types.values() for one in spans), reverse=True):
        if money := _MONEY.match(text, max(end, 0)):
            end = money.end()
        text = f"{text[:start]} {text[end:]}"
    return text


def with_class(earlier: str, new: str, classes: frozenset[str]) -> Statement | None:
    """The statement with new words in the place of the last ones of these classes, or of the object
    of a verb of such a class: `drink`."""
    words = list(re.finditer(r"[\w'’-]+", earlier))
    doses = [one.span() for one in DOSE.finditer(earlier)]
    place = [
        number
        for number, one in enumerate(words)
        if number
        and concepts_of(one[0]) & classes
        and not any(start < one.end() <= end for start, end in doses)
    ]
    if not place or value_key(new) <= value_key(earlier):
        return None
    first = last = place[-1]
    if _VERB_ENDS.search(earlier[: words[first].end()]):
        first = last = first + 1
        while first < len(words) and _BEFORE_OBJECT.match(words[first][0]):
            first = last = first + 1
        if first >= len(words):
            return None
    if value_key(words[first][0]) & value_key(new):
        # "Oat milk", "leche de avena": what specifies the old value goes with it.
        first -= first > 1 and not is_function_word(strip_accents(words[first - 1][0].lower()))
        last += 2 * (last + 2 < len(words) and words[last + 1][0] in ("de", "of"))
    elif first > 1 and words[first - 2][0].lower() in _ARTICLES:
        # "The custard cream": what stands between the article and the word is a part of its name.
        first -= not is_function_word(strip_accents(words[first - 1][0].lower()))
    start, end = words[first].start(), words[last].end()
    return with_article(earlier, start, end, new)


def with_article(earlier: str, start: int, end: int, new: str) -> Statement:
    """The earlier statement with another value at this place, and a Spanish article that agrees
    with it: `toco la trompeta` for `toco el piano`, `alergia al pan` for `alergia a las nueces`."""
    old, own = _SPANISH_ARTICLE.search(earlier[:start]), OWN_ARTICLE.match(new)
    if old:
        value = new[own.end() :] if own else new
        article = own["article"] or "el" if own else _article_of(value, old["article"])
        is_contracted = article == "el" and old["to"]
        new = f"al {value}" if is_contracted else f"{old['to'] or ''}{article} {value}"
        start = old.start()
    return Statement(text=earlier[:start] + new + earlier[end:], is_change=True, replaced=earlier)


_SPANISH_ARTICLE = LazyPattern(r"\b(?P<to>a )?(?P<article>el|la|los|las) $", _I)
OWN_ARTICLE = LazyPattern(r"^(?:al|(?:a )?(?P<article>el|la|los|las)) ", _I)


_ARTICLES_BY_ENDING = {"ión": "la", "dad": "la", "as": "las", "os": "los", "a": "la", "o": "el"}


def _article_of(noun: str, former: str) -> str:
    """The Spanish article of a noun by its ending; the former one if that tells nothing."""
    word = noun.split()[0].lower()
    fitting = (article for ending, article in _ARTICLES_BY_ENDING.items() if word.endswith(ending))
    return next(fitting, former)


def with_measured(earlier: str, over: str, new: str) -> Statement | None:
    """The earlier statement with another thing and its amount in the place of the one that a text
    (`over`) names: `I take metoprolol 50 mg at night` after `they stopped the bisoprolol`."""
    after = _MEASURED.search(new)
    for before in _MEASURED.finditer(earlier) if after else ():
        is_same_unit = after and units_of(before[0]) & units_of(after[0])
        if after and is_same_unit and value_key(before["thing"]) <= value_key(over):
            return with_part(earlier, *before.span(), after[0])
    return None


def with_count(earlier: str, new: str) -> Statement | None:
    """The earlier statement with the number that is left in the place of its only one: `I now have
    nine` after `I have eleven pupils`."""
    left = _LEFT.match(new)
    counts = typed_values(earlier).get(ValueType.NUMBER, ())
    if not left or len(counts) != 1 or not has_count(left["number"]):
        return None
    return with_part(earlier, *counts[0], left["number"])


_LEFT = LazyPattern(
    r"(?:(?:so|and|now|y|ya|ahora|as[ií] que) )*(?:(?:i|we)(?:['’](?:ve|m|re)| have| am| are| now"
    r"| only| down| got| to)+|there are(?: now| only)*|(?:me |nos )?quedan(?: solo)?"
    r"|(?:ya |ahora |solo )*(?:tengo|tenemos)(?: solo)?) (?P<number>\w+)(?: now| left)?$",
    _I,
)


def with_title(new: str, found: Statement) -> Statement:
    """The corrected statement with the title, and its article, of the new name: `la doctora Soler`
    in the place of `el doctor Ferrer`."""
    place = inserted(found.replaced, found.text)
    value = found.text[place.start : len(found.text) - place.behind]
    title = re.search(rf"{_TITLED.pattern}(?={re.escape(value)})", new) if value else None
    former = re.search(rf"{_TITLED.pattern}$", found.replaced[: place.start])
    if not title or not former:
        return found
    return with_part(
        found.replaced, former.start(), len(found.replaced) - place.behind, title[0] + value
    )


def with_part(earlier: str, start: int, end: int, value: str) -> Statement:
    """The earlier statement with another value at this place; of another person or thing, the
    number or address behind it does not hold. `at` before an hour, `el` before a date and the title
    of a name stay."""
    value = _with_kept(earlier[start:end], value)
    if earlier[start : start + 1].isupper() and value[:1].isalpha():
        end = found.end() if (found := _DETAIL.match(earlier, end)) else end
    return Statement(text=earlier[:start] + value + earlier[end:], is_change=True, replaced=earlier)


def _with_kept(old: str, new: str) -> str:
    """A new value with what the old one has before it, and the new one leaves out."""
    kept = _KEPT.match(old)
    is_bare = kept and (new[:1].isdigit() if kept["before"] else _ONE_NAME.match(new))
    return f"{kept[0]}{new}" if kept and is_bare else new


_KEPT = LazyPattern(r"(?P<before>(?:at|a las?|el) (?=\d))|(?:Dr|Dra|Doctora?)\b\.? (?=[A-ZÀ-Þ])")
_ONE_NAME = LazyPattern(r"(?!Mrs?\b|Ms\b|Dra?\b)[A-ZÀ-Þ][\w'’-]+$")
