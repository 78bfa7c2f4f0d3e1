"""Fact rules: patterns of statements in English and Spanish, and their templates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from spade_llm.search.memory_query import Category

_AM = r"i(?:['’]m| am) "
_VERY = r"(?:(?:really|also|absolutely|just|generally|still) )*"
_KIN = (
    r"(?P<y>wife|husband|partner|girlfriend|boyfriend|boss|mother|father|mom|mum|dad|fiancée?"
    r"|cat|dog|son|daughter|brother|sister)"
)
_KIN_ES = (
    r"(?P<y>mujer|esposa|marido|esposo|pareja|novia|novio|jefe|jefa|madre|padre|gato|gata|perro|perra"
    r"|hijo|hija|hermano|hermana)"
)
_DIETS = ("vegetarian", "vegan", "pescatarian")
_DIETS_ES = (
    *("vegetariano", "vegetariana", "vegano", "vegana"),
    *("pescetariano", "pescetariana"),
)
_CONDITION = r"(?P<x>coeliac|celiac|lactose intolerant|diabetic)"
"""Medical conditions; they do not exclude a diet or each other."""
_CONDITION_ES = r"(?P<x>cel[ií]ac[oa]|intolerante a la lactosa|diab[eé]tic[oa])"
_MARITAL = ("single", "married", "engaged", "separated", "divorced", "widowed")
_MARITAL_ES = (
    *("soltero", "soltera", "casado", "casada", "prometido", "prometida"),
    *("separado", "separada", "divorciado", "divorciada", "viudo", "viuda"),
)
_TO_ME = r"(?:a m[ií] )?"
_PREFERENCE = Category.PREFERENCE

_NO_ARTICLE = r"(?!(?:the|your|this|that|my|its?|el|la|los|las|una?|tus?|est[ea]|lo) )"
"""Exclusion of articles: `I study the proposal` is a current activity."""

LIKE_TEMPLATES = frozenset({"{who} likes {x}", "{who}: le {y} {x}", "{who} adora {x}"})
"""Of the templates of TASTE; the others say the contrary."""

DEFAULT_SPEAKER_NAMES = {"en": "The user", "es": "El usuario"}
"""Who, where no name is known."""


class ExclusiveFact(StrEnum):
    """Slot that holds a single value at a time; a new fact ends the validity of the old one."""

    NAME = "name"
    CALLED = "called"
    HOME = "home"
    ORIGIN = "origin"
    BIRTHPLACE = "birthplace"
    WORK = "work"
    ROLE = "role"
    BIRTHDAY = "birthday"
    AGE = "age"
    MARRIED = "married"
    DIET = "diet"
    LANGUAGE = "language of answers"
    KIN = "kin"
    """Single value for each `y`: wife, boss …"""
    FAVOURITE = "favourite"
    """Single value for each `y`."""
    TASTE = "taste"
    """Single value for each `x`: liked or disliked."""
    CHOICE = "choice"
    """Single value for each pair: x rather than y."""


class ValueForm(StrEnum):
    """Form that `x` must have."""

    NAME = "name"
    PLACE = "place"
    DATE = "date"
    THING = "thing"
    LANGUAGE = "tongue"
    HABIT = "habit"
    WORK = "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRule:
    """Pattern of a sentence that states a fact."""

    pattern: re.Pattern[str]
    """The whole clause."""
    template: str
    category: Category
    form: ValueForm
    slot: ExclusiveFact | None = None
    """Exclusive slot of the fact. None: there may be any number of such facts."""
    language: str
    """`en` or `es`."""
    values: tuple[str, ...] = ()
    """Allowed values of `x`, for templates that are too general (`… is {x}`); empty: any value."""


def _rule(
    language: str,
    pattern: str,
    template: str,
    form: ValueForm,
    slot: ExclusiveFact | None = None,
    category: Category = Category.FACT,
    values: tuple[str, ...] = (),
) -> FactRule:
    end = r"(?:,? (?:please|por favor))?[\s.!…)]*"
    return FactRule(
        pattern=re.compile(pattern + end, re.IGNORECASE),
        template=template,
        category=category,
        form=form,
        slot=slot,
        language=language,
        values=values,
    )


def _any_of(values: tuple[str, ...]) -> str:
    return rf"(?P<x>{'|'.join(values)})"


ENGLISH = (
    _rule(
        "en",
        r"my (?:full |first )?name(?:['’]s| is) (?P<x>.+)",
        "{who}'s name is {x}",
        ValueForm.NAME,
        ExclusiveFact.NAME,
    ),
    _rule(
        "en", _AM + r"called (?P<x>.+)", "{who}'s name is {x}", ValueForm.NAME, ExclusiveFact.NAME
    ),
    _rule(
        "en",
        r"(?:you can |just )?call me (?P<x>.+)",
        "{who} wants to be called {x}",
        ValueForm.NAME,
        ExclusiveFact.CALLED,
        _PREFERENCE,
    ),
    _rule(
        "en",
        r"i (?:currently |now )?live in (?P<x>.+)",
        "{who} lives in {x}",
        ValueForm.PLACE,
        ExclusiveFact.HOME,
    ),
    _rule(
        "en",
        _AM + r"(?:(?:currently|now) )?(?:living|based) in (?P<x>.+)",
        "{who} lives in {x}",
        ValueForm.PLACE,
        ExclusiveFact.HOME,
    ),
    _rule(
        "en",
        r"i(?:['’]ve| have)?(?: just| recently)? moved (?:from .{1,40}? )?to (?P<x>.+)",
        "{who} lives in {x}",
        ValueForm.PLACE,
        ExclusiveFact.HOME,
    ),
    _rule(
        "en",
        r"(?:i(?:['’]m| am) (?:originally )?|i come )from (?P<x>.+)",
        "{who} is from {x}",
        ValueForm.PLACE,
        ExclusiveFact.ORIGIN,
    ),
    _rule(
        "en",
        r"i was born in (?P<x>.+)",
        "{who} was born in {x}",
        ValueForm.PLACE,
        ExclusiveFact.BIRTHPLACE,
    ),
    _rule(
        "en",
        r"(?:my birthday(?:['’]s| is)|i was born)(?: on| in)? (?P<x>.+)",
        "{who}'s birthday is {x}",
        ValueForm.DATE,
        ExclusiveFact.BIRTHDAY,
    ),
    _rule(
        "en",
        _AM + r"(?P<x>\d{1,3}) years old",
        "{who} is {x} years old",
        ValueForm.THING,
        ExclusiveFact.AGE,
    ),
    _rule(
        "en",
        r"i (?:currently |now )?work (?:at|for) (?P<x>.+)",
        "{who} works at {x}",
        ValueForm.WORK,
        ExclusiveFact.WORK,
    ),
    _rule(
        "en",
        r"i (?:currently |now )?work as (?P<x>an? (?!team|group|unit|slave|dog|horse|charm).+)",
        "{who} works as {x}",
        ValueForm.WORK,
        ExclusiveFact.ROLE,
    ),
    _rule(
        "en",
        r"i(?: study| am studying|['’]m studying) (?P<x>" + _NO_ARTICLE + r".+)",
        "{who} studies {x}",
        ValueForm.THING,
    ),
    _rule("en", r"i speak (?P<x>.+)", "{who} speaks {x}", ValueForm.LANGUAGE),
    _rule(
        "en",
        _AM + r"(?:severely )?allergic to (?P<x>.+)",
        "{who} is allergic to {x}",
        ValueForm.THING,
    ),
    _rule(
        "en",
        _AM + r"(?:an? )?" + _any_of(_DIETS),
        "{who} is {x}",
        ValueForm.THING,
        ExclusiveFact.DIET,
        values=_DIETS,
    ),
    _rule("en", _AM + r"(?:an? )?" + _CONDITION, "{who} is {x}", ValueForm.THING),
    _rule(
        "en",
        _AM + _any_of(_MARITAL),
        "{who} is {x}",
        ValueForm.THING,
        ExclusiveFact.MARRIED,
        values=_MARITAL,
    ),
    _rule(
        "en",
        "my " + _KIN + r"(?:['’]s name is| is called| is named) (?P<x>.+)",
        "{who}'s {y} is called {x}",
        ValueForm.NAME,
        ExclusiveFact.KIN,
    ),
    _rule(
        "en",
        r"i have (?P<x>(?:an?|one|two|three|four|five|\d+)"
        r" (?:dog|cat|son|daughter|child|kid|brother|sister|horse|rabbit|children)s?"
        r"(?:,? (?:named|called|and|who|aged)\b[^,;]*)?)",
        "{who} has {x}",
        ValueForm.THING,
    ),
    _rule(
        "en",
        r"my favou?rite (?P<y>[\w -]{2,30}) is (?P<x>.+)",
        "{who}'s favourite {y} is {x}",
        ValueForm.THING,
        ExclusiveFact.FAVOURITE,
        _PREFERENCE,
    ),
    _rule(
        "en",
        "i " + _VERY + r"prefer (?P<x>(?!to |\w+ing to ).+?)"
        r" (?:over|to|rather than|instead of) (?P<y>.+)",
        "{who} prefers {x} over {y}",
        ValueForm.THING,
        ExclusiveFact.CHOICE,
        _PREFERENCE,
    ),
    _rule(
        "en",
        "i " + _VERY + r"prefer (?P<x>.+)",
        "{who} prefers {x}",
        ValueForm.THING,
        None,
        _PREFERENCE,
    ),
    _rule(
        "en",
        "i " + _VERY + r"(?:like|love|enjoy|adore) (?P<x>.+)",
        "{who} likes {x}",
        ValueForm.THING,
        ExclusiveFact.TASTE,
        _PREFERENCE,
    ),
    _rule(
        "en",
        "i " + _VERY + r"(?:hate|dislike|can(?:['’]t|not) stand|detest"
        r"|don['’]?t (?:really )?like|do not like) (?P<x>(?!to ).+)",
        "{who} dislikes {x}",
        ValueForm.THING,
        ExclusiveFact.TASTE,
        _PREFERENCE,
    ),
    _rule(
        "en",
        r"i (?:usually|normally|always|often) (?P<x>.+)",
        "{who} usually {x}",
        ValueForm.HABIT,
        None,
        Category.PATTERN,
    ),
    _rule(
        "en",
        r"(?:always|from now on,?) "
        r"(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? in (?P<x>"
        r"[^\W\d_]+)",
        "{who} wants answers in {x}",
        ValueForm.LANGUAGE,
        ExclusiveFact.LANGUAGE,
        _PREFERENCE,
    ),
)

SPANISH = (
    _rule(
        "es",
        r"(?:yo )?(?:me llamo|mi nombre es) (?P<x>.+)",
        "{who} se llama {x}",
        ValueForm.NAME,
        ExclusiveFact.NAME,
    ),
    _rule(
        "es",
        r"(?:puedes )?ll[aá]ma(?:me|rme) (?P<x>.+)",
        "{who} quiere que le llamen {x}",
        ValueForm.NAME,
        ExclusiveFact.CALLED,
        _PREFERENCE,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:ahora |actualmente )?vivo (?:ahora |actualmente )?en (?P<x>.+)",
        "{who} vive en {x}",
        ValueForm.PLACE,
        ExclusiveFact.HOME,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:ya )?me (?:he mudado|mud[eé]|acabo de mudar)"
        r" (?:de .{1,40}? )?a (?P<x>.+)",
        "{who} vive en {x}",
        ValueForm.PLACE,
        ExclusiveFact.HOME,
    ),
    _rule(
        "es", r"(?:yo )?soy de (?P<x>.+)", "{who} es de {x}", ValueForm.PLACE, ExclusiveFact.ORIGIN
    ),
    _rule(
        "es",
        r"(?:yo )?nac[ií] en (?P<x>.+)",
        "{who} nació en {x}",
        ValueForm.PLACE,
        ExclusiveFact.BIRTHPLACE,
    ),
    _rule(
        "es",
        r"(?:mi cumplea[ñn]os es|nac[ií])(?: el| en)? (?P<x>.+)",
        "{who}: su cumpleaños es {x}",
        ValueForm.DATE,
        ExclusiveFact.BIRTHDAY,
    ),
    _rule(
        "es",
        r"(?:yo )?tengo (?P<x>\d{1,3}) a[ñn]os",
        "{who} tiene {x} años",
        ValueForm.THING,
        ExclusiveFact.AGE,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:ahora )?trabajo (?:en|para) (?P<x>.+)",
        "{who} trabaja en {x}",
        ValueForm.WORK,
        ExclusiveFact.WORK,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:ahora )?trabajo (?:de|como) (?P<x>.+)",
        "{who} trabaja como {x}",
        ValueForm.WORK,
        ExclusiveFact.ROLE,
    ),
    _rule(
        "es", r"(?:yo )?estudio (?P<x>" + _NO_ARTICLE + r".+)", "{who} estudia {x}", ValueForm.THING
    ),
    _rule("es", r"(?:yo )?hablo (?P<x>.+)", "{who} habla {x}", ValueForm.LANGUAGE),
    _rule(
        "es",
        r"(?:yo )?(?:soy al[eé]rgic[oa]|tengo alergia) (?P<x>al? .+)",
        "{who} tiene alergia {x}",
        ValueForm.THING,
    ),
    _rule(
        "es",
        r"(?:yo )?soy " + _any_of(_DIETS_ES),
        "{who} es {x}",
        ValueForm.THING,
        ExclusiveFact.DIET,
        values=_DIETS_ES,
    ),
    _rule("es", r"(?:yo )?soy " + _CONDITION_ES, "{who} es {x}", ValueForm.THING),
    _rule(
        "es",
        r"(?:yo )?(?:estoy|soy) " + _any_of(_MARITAL_ES),
        "{who} está {x}",
        ValueForm.THING,
        ExclusiveFact.MARRIED,
        values=_MARITAL_ES,
    ),
    _rule(
        "es",
        "mi " + _KIN_ES + r" se llama (?P<x>.+)",
        "{who}: su {y} se llama {x}",
        ValueForm.NAME,
        ExclusiveFact.KIN,
    ),
    _rule(
        "es",
        r"(?:yo )?tengo (?P<x>(?:una?|dos|tres|cuatro|cinco|\d+)"
        r" (?:perr|gat|hij|herman|caball|conej)[oa]s?"
        r"(?:,? (?:llamad[oa]s?|que se llaman?|y|de \d)\b[^,;]*)?)",
        "{who} tiene {x}",
        ValueForm.THING,
    ),
    _rule(
        "es",
        r"mi (?P<y>[\w -]{2,30}? (?:favorit|preferid)[oa]) es (?P<x>.+)",
        "{who}: su {y} es {x}",
        ValueForm.THING,
        ExclusiveFact.FAVOURITE,
        _PREFERENCE,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:siempre )?prefiero (?P<x>(?!\w*[aei]r(?:me|se)? a ).+?)"
        r" (?:al?|antes que|en vez de|en lugar de) (?P<y>.+)",
        "{who} prefiere {x} antes que {y}",
        ValueForm.THING,
        ExclusiveFact.CHOICE,
        _PREFERENCE,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:siempre )?prefiero (?P<x>.+)",
        "{who} prefiere {x}",
        ValueForm.THING,
        None,
        _PREFERENCE,
    ),
    _rule(
        "es",
        _TO_ME + r"me (?P<y>gustan?|encantan?)(?: mucho| bastante)? (?P<x>.+)",
        "{who}: le {y} {x}",
        ValueForm.THING,
        ExclusiveFact.TASTE,
        _PREFERENCE,
    ),
    _rule(
        "es",
        _TO_ME + r"no me (?P<y>gustan?|encantan?)(?: nada| mucho)? (?P<x>.+)",
        "{who}: no le {y} {x}",
        ValueForm.THING,
        ExclusiveFact.TASTE,
        _PREFERENCE,
    ),
    _rule(
        "es",
        r"(?:yo )?adoro (?P<x>.+)",
        "{who} adora {x}",
        ValueForm.THING,
        ExclusiveFact.TASTE,
        _PREFERENCE,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:odio|detesto|no soporto) (?P<x>(?!\w+[aei]r(?:l[oa]s?|[mt]e)?\b).+)",
        "{who} detesta {x}",
        ValueForm.THING,
        ExclusiveFact.TASTE,
        _PREFERENCE,
    ),
    _rule(
        "es",
        r"(?:yo )?suelo (?P<x>(?!decir|pensar|creer).+)",
        "{who} suele {x}",
        ValueForm.THING,
        None,
        Category.PATTERN,
    ),
    _rule(
        "es",
        r"(?:siempre |a partir de ahora,? )?(?:responde|contesta|h[aá]bla|escribe)(?:me)?"
        r"(?: siempre)? en (?P<x>[^\W\d_]+)",
        "{who} quiere respuestas en {x}",
        ValueForm.LANGUAGE,
        ExclusiveFact.LANGUAGE,
        _PREFERENCE,
    ),
)

RULES = (*ENGLISH, *SPANISH)
