"""The words by which a person asks for a thing, or for how it is to be said. English and Spanish.

Data; knows no conversation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_I = re.IGNORECASE

LANGUAGES: Mapping[str, str] = {
    "english": "English", "inglés": "English", "ingles": "English",
    "spanish": "Spanish", "español": "Spanish", "espanol": "Spanish", "castellano": "Spanish",
    "french": "French", "francés": "French", "frances": "French",
    "german": "German", "alemán": "German", "aleman": "German",
    "italian": "Italian", "italiano": "Italian",
    "portuguese": "Portuguese", "portugués": "Portuguese", "portugues": "Portuguese",
    "catalan": "Catalan", "catalán": "Catalan", "valenciano": "Valencian",
    "basque": "Basque", "euskera": "Basque", "galician": "Galician", "gallego": "Galician",
    "dutch": "Dutch", "polish": "Polish", "russian": "Russian", "ruso": "Russian",
    "chinese": "Chinese", "chino": "Chinese", "japanese": "Japanese", "japonés": "Japanese",
}  # fmt: skip

_LANGUAGE = "|".join(sorted(LANGUAGES, key=len, reverse=True))

STYLES: Mapping[str, re.Pattern[str]] = {
    "short answers": re.compile(
        r"\b(?:keep it short|be brief|briefly|in (?:a )?few words|in one sentence|in short"
        r"|short(?:er)? (?:answer|version|summary)|sé breve|se breve|brevemente|en pocas palabras"
        r"|en una frase|respuesta corta|más corto)\b",
        _I,
    ),
    "detailed answers": re.compile(
        r"\b(?:in (?:more |full |great )?detail|more details|con (?:más |todo )?detalle"
        r"|más detalles|detalladamente)\b",
        _I,
    ),
    "explanations step by step": re.compile(r"\b(?:step[ -]by[ -]step|paso a paso)\b", _I),
    "examples": re.compile(
        r"\b(?:with (?:an? |some )?examples?|(?:give|show) me (?:an? |some )?examples?"
        r"|for example\?|con (?:un |algún |unos )?ejemplos?"
        r"|(?:dame|ponme) (?:un |unos |algún )?ejemplos?)\b",
        _I,
    ),
    "answers as a list": re.compile(
        r"\b(?:as a list|in a list|bullet points?|bulleted list|en una lista|como lista"
        r"|en forma de lista|con viñetas)\b",
        _I,
    ),
    "answers as a table": re.compile(
        r"\b(?:(?:as|in) a table|en una tabla|como tabla|en forma de tabla)\b", _I
    ),
    "simple words": re.compile(
        r"\b(?:in (?:simple|plain|easy) (?:words|terms|language)|explain it simply"
        r"|en palabras sencillas|en términos sencillos|de forma sencilla)\b",
        _I,
    ),
}
"""What a person asks for, by what is said of it: `The user often asks for …`."""

ANSWER_IN = re.compile(
    rf"\b(?:answer|reply|respond|speak|write(?: to me)?|responde|contesta|contéstame|respóndeme"
    rf"|escribe|escríbeme|háblame)(?: me)?(?: only)? (?:in|en) ({_LANGUAGE})\b",
    _I,
)

TRANSLATE_INTO = re.compile(
    rf"\b(?:translat\w+|tradu\w+)\b[^.!?\n]{{0,80}}?\b(?:into|to|al|a) ({_LANGUAGE})\b", _I
)

BEGINNING = re.compile(
    r"(?:^|[.!?\n]\s*|\bplease,? |\b(?:can|could|would|will) you(?: please| kindly)? "
    r"|\bi(?:'d| would) like you to |\b(?:i )?need you to |\bhelp me(?: to)? |\bpor favor,? "
    r"|\b(?:puedes|podrías|podrias|me puedes|me podrías) |\bayúdame a |\bnecesito que (?:me )?)",
    _I,
)
"""What stands before a request; also the begin of a sentence."""

REQUESTS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"(?:{words})\b", _I)
    for name, words in {
        "translate": r"translate|traduce|traduzcas|traducir(?:me)?|tradúceme",
        "summarise": r"summari[sz]e|sum up|resume|resumir(?:me)?|resumas|resúmeme",
        "correct a text": r"proofread|correct (?:this|the|my)|fix (?:the|my) (?:grammar|spelling)"
        r"|corrige|corregir(?:me)?|corrijas",
        "rewrite a text": r"rewrite|rephrase|paraphrase|reescribe|reescribir|reescribas",
        "explain": r"explain|explica|explicar(?:me)?|expliques|explícame",
        "compare": r"compare|compara|comparar|compares",
        "recommend": r"recommend|suggest|recomienda|recomiéndame|recomendar(?:me)?|sugiere",
        "remind them": r"remind me|recuérdame|recordarme|recuerdes",
        "plan": r"plan (?:my|a|the|our)|make a plan|organi[sz]e|planifica|planificar"
        r"|organiza|organizar",
        "calculate": r"calculate|compute|calcula|calcular|calcules",
        "write": r"write(?: me)?(?: an?| the)|draft|compose|redacta|redactar|escríbeme|redactes",
    }.items()
}
"""`The user often asks to …`; each stands right behind a BEGINNING."""

_EVERYDAY = """
able actually already also always another answer anything around ask back because before best
better both bring call cannot change come could day days different does doing done down each easy
else enough even ever every everything example fact find fine first friend friends getting give
given going good got great guess happy hear hello help here home hope hour hours idea just keep
kind know last later least leave left less let life like little long look looking lot made make
making many maybe mean might mind minute minutes moment month months more morning most much must
name need never new next nice night nothing number often okay once only open other part people
person place please point possible pretty probably problem question quite read really right said
same say second see seem send set shall should show since small some someone something soon sorry
start still stop stuff such sure take talk tell text thank thanks then thing things think this
those though thought through time times today together told tomorrow tonight too try trying turn
two understand until use used using very wait want wanted way week weeks well what when where
while whole work working world would write wrong year years yes yesterday yet ahora algo alguien
alguna algunas alguno algunos antes año años aquí así aunque ayer bien bueno buena buenas buenos
cada casa casi claro cosa cosas cuando cuenta dame decir después dice dicho día días donde
entonces estaba estar estoy favor forma fuera gente gracias gusta hace hacer hacia hasta haya
hecho hola hora horas hoy igual luego mañana manera mejor menos mensaje mes meses mientras mismo
momento mucha mucho muchas muchos nada necesito noche nombre nosotros nuestro nueva nuevo nunca
otra otro para parece parte pasa pero persona poco poder porque pregunta primero puede puedes
puedo pues querer quería quiero quizás saber sabes sale semana semanas siempre siguiente sino
sobre sólo solo también tampoco tanto tarde tengo texto tiempo tiene tienes toda todas todavía
todo todos trabajo vale vamos vece veces verdad vida
"""

_DATES = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june
july august september october november december lunes martes miércoles jueves viernes sábado
domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
"""

DENIED = re.compile(
    r"\b(?:not|no|never|don['’]?t|doesn['’]?t|without|stop|instead of|nunca|sin|tampoco"
    r"|en vez de|en lugar de)\b[^.!?\n,;]{0,30}$",
    _I,
)
"""Right before it: the opposite is meant."""

EVERYDAY = frozenset(_EVERYDAY.split())
"""Words of every conversation: no topic."""

DATES = frozenset(_DATES.split())
