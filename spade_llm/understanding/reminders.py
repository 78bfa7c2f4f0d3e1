"""Requests to be reminded (`remind me to call Ana`), read as what the person has to do."""

from __future__ import annotations

import re

from spade_llm.core.text import LazyPattern

_I = re.IGNORECASE

_START = r"(?P<start>^|, (?:and |so |but |y |as[ií] que )?)"
_ASKING = (
    r"(?:(?:please|pls|can you|could you|would you|will you|i (?:want|need) you to"
    r"|por favor|porfa|puedes|podr[ií]as|quiero que|necesito que|me),? )*"
)
_WHEN = r"(?P<when>(?: (?!to\b|that\b|que\b)[\w:'’]+){0,5}?)"
_REMINDER = LazyPattern(
    rf"{_START}{_ASKING}(?:remind me|don['’]t let me forget){_WHEN} to (?!tell you\b|ask you\b)"
    r"(?P<task>\w.+)$",
    _I,
)
_REMEMBER = LazyPattern(
    rf"{_START}{_ASKING}(?:don['’]t forget|remember){_WHEN} to "
    r"(?!(?:\w+ )?(?:answer|reply|respond|speak|write|talk|use|call me|tell|remind|say|be|ask|let"
    r"|keep|translate)\b)(?P<task>\w.+)$",
    _I,
)
"""The assistant may be meant as well: `remember to answer in Spanish`."""
_SPANISH = LazyPattern(
    rf"{_START}{_ASKING}(?:(?P<me>(?:recu[eé]rda|acu[eé]rda|recordar)me|que no se me olvide"
    r"|no me dejes olvidar)|recu[eé]rda|recordar|no (?:te )?olvid(?:es|e))(?: de)?"
    r"(?P<when>(?: (?!que\b)[^\W_]+){0,4}?) "
    r"(?:(?!(?:contest|respond|habl|escrib|us|dec|llamarme|ser\b)\w*)"
    r"(?P<infinitive>[^\W\d_]{2,}[aeií]r(?:me|l[aeo]s?|nos)*)"
    r"|que (?P<clitic>(?:me|les?|l[ao]s?|nos) )?(?P<verb>[^\W\d_]+))(?P<rest>(?: .+)?)$",
    _I,
)
_TIME = LazyPattern(
    r" (?:on|at|in|by|next|this|tomorrow|tonight|today|later|every|\w+day|again"
    r"|el|la|los|las|a|en|ma[ñn]ana|hoy|luego|esta|este|pasado|antes|cada)\b",
    _I,
)
"""Words with which the time of a reminder begins."""
_IRREGULAR = {
    "haga": "hacer", "vaya": "ir", "ponga": "poner", "traiga": "traer", "pida": "pedir",
    "diga": "decir", "vea": "ver", "lea": "leer", "salga": "salir", "escriba": "escribir",
    "venda": "vender", "recoja": "recoger", "coja": "coger", "devuelva": "devolver",
    "vuelva": "volver", "mueva": "mover", "renueve": "renovar", "riegue": "regar",
    "cierre": "cerrar", "empiece": "empezar", "pruebe": "probar", "encienda": "encender",
    "suba": "subir", "corra": "correr", "beba": "beber", "coma": "comer", "meta": "meter",
    "responda": "responder", "imprima": "imprimir", "envíe": "enviar", "venga": "venir",
    "siga": "seguir", "duerma": "dormir", "tienda": "tender", "acueste": "acostar",
    "friegue": "fregar", "cuente": "contar", "cuelgue": "colgar", "despierte": "despertar",
    "atienda": "atender", "lleve": "llevar",
}  # fmt: skip
"""Infinitives of common verbs in the subjunctive that the endings do not tell."""
_ENDINGS = (("gue", "gar"), ("que", "car"), ("ce", "zar"), ("e", "ar"))
_INDICATIVE = frozenset({
    "tiene", "viene", "hace", "debe", "puede", "sale", "vence", "vive", "come", "bebe", "duerme",
    "quiere", "duele", "parece", "pone", "sabe", "ese", "este",
})  # fmt: skip
"""Words that end as a subjunctive does: `recuérdame que viene Ana` tells something."""
_MARKS = ("remind", "forget", "rememb", "record", "recu", "acu", "olvid")
"""Parts of all words that ask to remember."""


def as_task(text: str) -> str:
    """The text with what the person has to do (`I have to call Ana`, `tengo que llamar a Ana`) in
    the place of a request to be reminded of it; as it is if it has none."""
    lower = text.lower()
    if not any(mark in lower for mark in _MARKS):
        return text
    for pattern in (_REMINDER, _REMEMBER):
        if (found := pattern.search(text)) and _is_time(found["when"]):
            return _joined(text, found, f"I have to {found['task']}")
    found = _SPANISH.search(text)
    if found and _is_time(found["when"]) and (infinitive := _infinitive(found)):
        return _joined(text, found, f"tengo que {infinitive}{found['rest']}")
    return text


def _is_time(when: str) -> bool:
    return not when or bool(_TIME.match(when))


def _joined(text: str, found: re.Match[str], task: str) -> str:
    """Text before the request, the task and its time. A question mark asks nothing here."""
    task = task.rstrip(" ?!.")
    return f"{text[: found.start()]}{found['start']}{task}{found['when']}"


def _infinitive(found: re.Match[str]) -> str:
    """The infinitive with its pronoun; empty if the verb is none in the subjunctive."""
    if found["infinitive"]:
        return str(found["infinitive"])
    if not found["me"]:
        return ""
    verb = found["verb"].lower()
    infinitive = _IRREGULAR.get(verb, "")
    if not infinitive and verb not in _INDICATIVE:
        endings = (pair for pair in _ENDINGS if verb.endswith(pair[0]) and len(verb) > len(pair[0]))
        ending = next(endings, None)
        infinitive = verb.removesuffix(ending[0]) + ending[1] if ending else ""
    return f"{infinitive}{(found['clitic'] or '').strip()}" if infinitive else ""
