"""What the rules look for in a statement, and how each writes it down. Data, and no more.

`{who}` is the person; `x` and `y` are what was found. The same template writes a fact and reads it
again, when another may contradict it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from spade_llm.memory.store import Category


class Slot(StrEnum):
    """Of what there is one at a time; a new one closes the old."""

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
    """One for each `y`: wife, boss …"""
    FAVOURITE = "favourite"
    """One for each `y`."""
    TASTE = "taste"
    """One for each `x`: liked or disliked."""
    CHOICE = "choice"
    """One for each pair: x rather than y."""


class Form(StrEnum):
    """What `x` must look like."""

    NAME = "name"
    PLACE = "place"
    DATE = "date"
    THING = "thing"
    TONGUE = "tongue"
    HABIT = "habit"
    WORK = "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRule:
    said: re.Pattern[str]
    """The whole clause."""
    template: str
    category: Category
    form: Form
    slot: Slot | None = None
    """None: there may be any number of them."""
    language: str
    """`en` or `es`."""
    values: tuple[str, ...] = ()
    """All that `x` may be, where the template alone says too little (`{who} is {x}`); else any."""


def _rule(
    language: str,
    said: str,
    template: str,
    form: Form,
    slot: Slot | None = None,
    category: Category = Category.FACT,
    values: tuple[str, ...] = (),
) -> FactRule:
    end = r"(?:,? (?:please|por favor))?[\s.!…)]*"
    return FactRule(
        said=re.compile(said + end, re.IGNORECASE),
        template=template,
        category=category,
        form=form,
        slot=slot,
        language=language,
        values=values,
    )


def _one_of(values: tuple[str, ...]) -> str:
    return rf"(?P<x>{'|'.join(values)})"


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
"""What people have beside any diet, and beside each other."""
_CONDITION_ES = r"(?P<x>cel[ií]ac[oa]|intolerante a la lactosa|diab[eé]tic[oa])"
_MARITAL = ("single", "married", "engaged", "separated", "divorced", "widowed")
_MARITAL_ES = (
    *("soltero", "soltera", "casado", "casada", "prometido", "prometida"),
    *("separado", "separada", "divorciado", "divorciada", "viudo", "viuda"),
)
_TO_ME = r"(?:a m[ií] )?"
_P = Category.PREFERENCE

_NO_ARTICLE = r"(?!(?:the|your|this|that|my|its?|el|la|los|las|una?|tus?|est[ea]|lo) )"
"""`I study the proposal` is what somebody does just now."""
ENGLISH = (
    _rule(
        "en",
        r"my (?:full |first )?name(?:['’]s| is) (?P<x>.+)",
        "{who}'s name is {x}",
        Form.NAME,
        Slot.NAME,
    ),
    _rule("en", _AM + r"called (?P<x>.+)", "{who}'s name is {x}", Form.NAME, Slot.NAME),
    _rule(
        "en",
        r"(?:you can |just )?call me (?P<x>.+)",
        "{who} wants to be called {x}",
        Form.NAME,
        Slot.CALLED,
        _P,
    ),
    _rule(
        "en",
        r"i (?:currently |now )?live in (?P<x>.+)",
        "{who} lives in {x}",
        Form.PLACE,
        Slot.HOME,
    ),
    _rule(
        "en",
        _AM + r"(?:(?:currently|now) )?(?:living|based) in (?P<x>.+)",
        "{who} lives in {x}",
        Form.PLACE,
        Slot.HOME,
    ),
    _rule(
        "en",
        r"i(?:['’]ve| have)?(?: just| recently)? moved (?:from .{1,40}? )?to (?P<x>.+)",
        "{who} lives in {x}",
        Form.PLACE,
        Slot.HOME,
    ),
    _rule(
        "en",
        r"(?:i(?:['’]m| am) (?:originally )?|i come )from (?P<x>.+)",
        "{who} is from {x}",
        Form.PLACE,
        Slot.ORIGIN,
    ),
    _rule("en", r"i was born in (?P<x>.+)", "{who} was born in {x}", Form.PLACE, Slot.BIRTHPLACE),
    _rule(
        "en",
        r"(?:my birthday(?:['’]s| is)|i was born)(?: on| in)? (?P<x>.+)",
        "{who}'s birthday is {x}",
        Form.DATE,
        Slot.BIRTHDAY,
    ),
    _rule("en", _AM + r"(?P<x>\d{1,3}) years old", "{who} is {x} years old", Form.THING, Slot.AGE),
    _rule(
        "en",
        r"i (?:currently |now )?work (?:at|for) (?P<x>.+)",
        "{who} works at {x}",
        Form.WORK,
        Slot.WORK,
    ),
    _rule(
        "en",
        r"i (?:currently |now )?work as (?P<x>an? (?!team|group|unit|slave|dog|horse|charm).+)",
        "{who} works as {x}",
        Form.WORK,
        Slot.ROLE,
    ),
    _rule(
        "en",
        r"i(?: study| am studying|['’]m studying) (?P<x>" + _NO_ARTICLE + r".+)",
        "{who} studies {x}",
        Form.THING,
    ),
    _rule("en", r"i speak (?P<x>.+)", "{who} speaks {x}", Form.TONGUE),
    _rule(
        "en", _AM + r"(?:severely )?allergic to (?P<x>.+)", "{who} is allergic to {x}", Form.THING
    ),
    _rule(
        "en",
        _AM + r"(?:an? )?" + _one_of(_DIETS),
        "{who} is {x}",
        Form.THING,
        Slot.DIET,
        values=_DIETS,
    ),
    _rule("en", _AM + r"(?:an? )?" + _CONDITION, "{who} is {x}", Form.THING),
    _rule(
        "en",
        _AM + _one_of(_MARITAL),
        "{who} is {x}",
        Form.THING,
        Slot.MARRIED,
        values=_MARITAL,
    ),
    _rule(
        "en",
        "my " + _KIN + r"(?:['’]s name is| is called| is named) (?P<x>.+)",
        "{who}'s {y} is called {x}",
        Form.NAME,
        Slot.KIN,
    ),
    _rule(
        "en",
        r"i have (?P<x>(?:an?|one|two|three|four|five|\d+)"
        r" (?:dog|cat|son|daughter|child|kid|brother|sister|horse|rabbit|children)s?"
        r"(?:,? (?:named|called|and|who|aged)\b[^,;]*)?)",
        "{who} has {x}",
        Form.THING,
    ),
    _rule(
        "en",
        r"my favou?rite (?P<y>[\w -]{2,30}) is (?P<x>.+)",
        "{who}'s favourite {y} is {x}",
        Form.THING,
        Slot.FAVOURITE,
        _P,
    ),
    _rule(
        "en",
        "i " + _VERY + r"prefer (?P<x>(?!to |\w+ing to ).+?)"
        r" (?:over|to|rather than|instead of) (?P<y>.+)",
        "{who} prefers {x} over {y}",
        Form.THING,
        Slot.CHOICE,
        _P,
    ),
    _rule("en", "i " + _VERY + r"prefer (?P<x>.+)", "{who} prefers {x}", Form.THING, None, _P),
    _rule(
        "en",
        "i " + _VERY + r"(?:like|love|enjoy|adore) (?P<x>.+)",
        "{who} likes {x}",
        Form.THING,
        Slot.TASTE,
        _P,
    ),
    _rule(
        "en",
        "i " + _VERY + r"(?:hate|dislike|can(?:['’]t|not) stand|detest"
        r"|don['’]?t (?:really )?like|do not like) (?P<x>(?!to ).+)",
        "{who} dislikes {x}",
        Form.THING,
        Slot.TASTE,
        _P,
    ),
    _rule(
        "en",
        r"i (?:usually|normally|always|often) (?P<x>.+)",
        "{who} usually {x}",
        Form.HABIT,
        None,
        Category.PATTERN,
    ),
    _rule(
        "en",
        r"(?:always|from now on,?) "
        r"(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? in (?P<x>"
        r"[^\W\d_]+)",
        "{who} wants answers in {x}",
        Form.TONGUE,
        Slot.LANGUAGE,
        _P,
    ),
)

SPANISH = (
    _rule(
        "es",
        r"(?:yo )?(?:me llamo|mi nombre es) (?P<x>.+)",
        "{who} se llama {x}",
        Form.NAME,
        Slot.NAME,
    ),
    _rule(
        "es",
        r"(?:puedes )?ll[aá]ma(?:me|rme) (?P<x>.+)",
        "{who} quiere que le llamen {x}",
        Form.NAME,
        Slot.CALLED,
        _P,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:ahora |actualmente )?vivo (?:ahora |actualmente )?en (?P<x>.+)",
        "{who} vive en {x}",
        Form.PLACE,
        Slot.HOME,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:ya )?me (?:he mudado|mud[eé]|acabo de mudar)"
        r" (?:de .{1,40}? )?a (?P<x>.+)",
        "{who} vive en {x}",
        Form.PLACE,
        Slot.HOME,
    ),
    _rule("es", r"(?:yo )?soy de (?P<x>.+)", "{who} es de {x}", Form.PLACE, Slot.ORIGIN),
    _rule("es", r"(?:yo )?nac[ií] en (?P<x>.+)", "{who} nació en {x}", Form.PLACE, Slot.BIRTHPLACE),
    _rule(
        "es",
        r"(?:mi cumplea[ñn]os es|nac[ií])(?: el| en)? (?P<x>.+)",
        "{who}: su cumpleaños es {x}",
        Form.DATE,
        Slot.BIRTHDAY,
    ),
    _rule(
        "es", r"(?:yo )?tengo (?P<x>\d{1,3}) a[ñn]os", "{who} tiene {x} años", Form.THING, Slot.AGE
    ),
    _rule(
        "es",
        r"(?:yo )?(?:ahora )?trabajo (?:en|para) (?P<x>.+)",
        "{who} trabaja en {x}",
        Form.WORK,
        Slot.WORK,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:ahora )?trabajo (?:de|como) (?P<x>.+)",
        "{who} trabaja como {x}",
        Form.WORK,
        Slot.ROLE,
    ),
    _rule("es", r"(?:yo )?estudio (?P<x>" + _NO_ARTICLE + r".+)", "{who} estudia {x}", Form.THING),
    _rule("es", r"(?:yo )?hablo (?P<x>.+)", "{who} habla {x}", Form.TONGUE),
    _rule(
        "es",
        r"(?:yo )?(?:soy al[eé]rgic[oa]|tengo alergia) (?P<x>al? .+)",
        "{who} tiene alergia {x}",
        Form.THING,
    ),
    _rule(
        "es",
        r"(?:yo )?soy " + _one_of(_DIETS_ES),
        "{who} es {x}",
        Form.THING,
        Slot.DIET,
        values=_DIETS_ES,
    ),
    _rule("es", r"(?:yo )?soy " + _CONDITION_ES, "{who} es {x}", Form.THING),
    _rule(
        "es",
        r"(?:yo )?(?:estoy|soy) " + _one_of(_MARITAL_ES),
        "{who} está {x}",
        Form.THING,
        Slot.MARRIED,
        values=_MARITAL_ES,
    ),
    _rule(
        "es",
        "mi " + _KIN_ES + r" se llama (?P<x>.+)",
        "{who}: su {y} se llama {x}",
        Form.NAME,
        Slot.KIN,
    ),
    _rule(
        "es",
        r"(?:yo )?tengo (?P<x>(?:una?|dos|tres|cuatro|cinco|\d+)"
        r" (?:perr|gat|hij|herman|caball|conej)[oa]s?"
        r"(?:,? (?:llamad[oa]s?|que se llaman?|y|de \d)\b[^,;]*)?)",
        "{who} tiene {x}",
        Form.THING,
    ),
    _rule(
        "es",
        r"mi (?P<y>[\w -]{2,30}? (?:favorit|preferid)[oa]) es (?P<x>.+)",
        "{who}: su {y} es {x}",
        Form.THING,
        Slot.FAVOURITE,
        _P,
    ),
    _rule(
        "es",
        r"(?:yo )?(?:siempre )?prefiero (?P<x>(?!\w*[aei]r(?:me|se)? a ).+?)"
        r" (?:al?|antes que|en vez de|en lugar de) (?P<y>.+)",
        "{who} prefiere {x} antes que {y}",
        Form.THING,
        Slot.CHOICE,
        _P,
    ),
    _rule(
        "es", r"(?:yo )?(?:siempre )?prefiero (?P<x>.+)", "{who} prefiere {x}", Form.THING, None, _P
    ),
    _rule(
        "es",
        _TO_ME + r"me (?P<y>gustan?|encantan?)(?: mucho| bastante)? (?P<x>.+)",
        "{who}: le {y} {x}",
        Form.THING,
        Slot.TASTE,
        _P,
    ),
    _rule(
        "es",
        _TO_ME + r"no me (?P<y>gustan?|encantan?)(?: nada| mucho)? (?P<x>.+)",
        "{who}: no le {y} {x}",
        Form.THING,
        Slot.TASTE,
        _P,
    ),
    _rule("es", r"(?:yo )?adoro (?P<x>.+)", "{who} adora {x}", Form.THING, Slot.TASTE, _P),
    _rule(
        "es",
        r"(?:yo )?(?:odio|detesto|no soporto) (?P<x>(?!\w+[aei]r(?:l[oa]s?|[mt]e)?\b).+)",
        "{who} detesta {x}",
        Form.THING,
        Slot.TASTE,
        _P,
    ),
    _rule(
        "es",
        r"(?:yo )?suelo (?P<x>(?!decir|pensar|creer).+)",
        "{who} suele {x}",
        Form.THING,
        None,
        Category.PATTERN,
    ),
    _rule(
        "es",
        r"(?:siempre |a partir de ahora,? )?(?:responde|contesta|h[aá]bla|escribe)(?:me)?"
        r"(?: siempre)? en (?P<x>[^\W\d_]+)",
        "{who} quiere respuestas en {x}",
        Form.TONGUE,
        Slot.LANGUAGE,
        _P,
    ),
)

RULES = (*ENGLISH, *SPANISH)

LIKES = frozenset({"{who} likes {x}", "{who}: le {y} {x}", "{who} adora {x}"})
"""Of the templates of TASTE; the others say the contrary."""

UNNAMED = {"en": "The user", "es": "El usuario"}
"""Who, where no name is known."""
