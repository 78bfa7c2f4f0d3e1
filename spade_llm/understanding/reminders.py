"""Tasks and lists of the person: requests to be reminded (`remind me to call Ana`), what is done,
and items of lists (`shopping list: milk, eggs`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spade_llm.core.text import LazyPattern
from spade_llm.search.terms import strip_accents
from spade_llm.understanding.features import Statement, is_changed
from spade_llm.understanding.vocabulary import stems_of

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


VERB_CHARS = 3
"""Letters by which forms of a verb are recognized: `pagar`, `pagué`."""
_TASK = LazyPattern(
    r"^(?:(?:i|we)(?: (?:have|need|ought) to|['’]ve got to| must| should)"
    r"|(?:ten(?:go|emos)|hay) que(?: acordar(?:me|nos) de)?|debo|debemos) "
    # "I should eat less sugar" is never done.
    r"(?P<verb>[^\W\d_]{2,}) (?P<rest>(?!(?:less|more|fewer|menos|m[aá]s)\b).+)$",
    _I,
)
_PAST = (
    r"(?:\w+ed|paid|bought|sent|got|did|made|took|rang|wrote|found|gave|brought|sold|told|went|saw"
    r"|read|put|met)"
)
_PARTICIPLE = (
    r"(?:\w+ed|paid|bought|sent|done|made|taken|written|sold|\w+[ai]d[oa]s?|hech[oa]s?|escrit[oa]s?"
    r"|puest[oa]s?|devuelt[oa]s?|abiert[oa]s?)"
)
_DONE = LazyPattern(
    r"^(?:(?:all )?done[,.!:]?(?: (?:i|we)(?:['’]ve)?)?|(?:i['’]ve done|ya lo he hecho):"
    r"|(?:i|we)(?:['’]ve| have)(?: already| just)*"
    rf"|(?:(?:i|we)(?: already| just| finally)*|just)(?= {_PAST}\b)"
    r"|(?:ya )?(?:l[ao]s? )?(?:he|hemos)|ya(?: l[ao]s?)?(?= \w+[éí]\b))"
    r" (?P<verb>[^\W\d_]{2,}) (?P<rest>.+)$"
    r"|^(?P<past>[^\W\d_]{2,}[éí]|hice|puse|traje|fui)"
    r" (?P<rest2>(?:el|la|los|las|un|una|mi|mis|al?|con) .+)$",
    _I,
)
_IS_DONE = LazyPattern(
    r"^(?P<rest>(?:(?:the|my|our|el|la|los|las|mis?|nuestr[oa]s?) )?[^\W\d_][\w-]*"
    r"(?: (?!is\b|are\b|est[aá]n?\b)[\w-]+){0,3}?)"
    r"(?: (?:is|are|has been|have been|(?:ya )?(?:est[aá]n?|han? sido)))?"
    rf"(?: (?:already|now|all|finally|ya))* (?P<verb>{_PARTICIPLE})(?: (?:now|already|ya))*$"
    rf"|^ya (?:est[aá]n?) (?P<verb2>{_PARTICIPLE}) (?P<rest2>(?:el|la|los|las|mis?) .+)$",
    _I,
)
"""`The rent is paid`, `leche comprada`."""
_IRREGULAR_PAST = {
    "paid": "pay", "bought": "buy", "sent": "send", "got": "get", "did": "do", "made": "make",
    "took": "take", "taken": "take", "rang": "ring", "wrote": "write", "written": "write",
    "found": "find", "gave": "give", "brought": "bring", "sold": "sell", "told": "tell",
    "done": "do", "went": "go", "saw": "see", "met": "meet", "hecho": "hacer", "hice": "hacer",
    "puesto": "poner", "puse": "poner", "traje": "traer", "ido": "ir", "fui": "ir",
}  # fmt: skip
_DUE = LazyPattern(r"^(?:(?:my|our|the) )?(?P<rest>.+?)(?:['’]s| is| are) due\b", _I)
_HANDED_IN = LazyPattern(r"(?:filed|submitted|paid|sent|handed|returned|posted|settled)$", _I)
_ALL_DONE = LazyPattern(
    r"^(?:(?:ok(?:ay)?|yes|yep|right|all|that['’]?s|that is|it['’]?s|it is|i['’]?m|just|already"
    r"|vale"
    r"|s[ií]|bueno|ya)[, ]+)*(?:(?:done|finished)(?: it| that)?"
    r"|(?:i|we)(?:['’]ve| have)? (?:just |already |finally )*(?:done|did|finished|completed)"
    r" (?:it|that|this|so)|hech[oa]s?|list[oa]|est[aá]|terminad[oa]|acabad[oa]"
    r"|l[ao]s? (?:he hecho|hice|he terminado|termin[eé]))(?: now| already| today| ya)*[.!]*$",
    _I,
)
"""It says that something is done, but not what: `done!`, `ya lo hice`."""
_IT_IS_DONE = LazyPattern(
    r"^(?P<before>(?:i|we)(?:['’]ve| have)? (?:just |already |finally )*(?P<verb>[^\W\d_]+)) "
    r"(?:it|them|that)$|^(?P<ya>ya )?l[ao]s? (?P<before2>(?:he |hemos )?(?P<verb2>[^\W\d_]{3,}))$",
    _I,
)
"""`I've renewed it`, `ya lo he renovado`."""
_DATE = LazyPattern(
    r",? (?:on|at|by|before|until|tomorrow|today|tonight|this|next|el (?:lunes|martes|mi[eé]rcoles"
    r"|jueves|viernes|s[aá]bado|domingo|\d)|a las?|antes|hoy|ma[ñn]ana|este|esta)\b.*$",
    _I,
)


def says_done(text: str, task: str) -> bool:
    """Check whether a statement says that a task is done: `I've paid the gas` after `I have to pay
    the gas bill on Friday`."""
    todo, due = _TASK.match(task), _DUE.match(task)
    verb, rest = _what_is_done(text) if todo or due else ("", "")
    if due and _HANDED_IN.match(verb):
        return bool(stems_of(due["rest"]) & stems_of(rest))
    if not (todo and verb) or is_changed(todo["rest"]):
        return False
    return _is_same_verb(verb, todo["verb"]) and bool(stems_of(todo["rest"]) & stems_of(rest))


def says_other_done(text: str, task: str) -> bool:
    """Check whether a statement says that something else was done with the verb of a task: `I paid
    the gas` after `I have to pay the rent`."""
    todo = _TASK.match(task)
    is_same = todo is not None and is_done_with(text, todo["verb"])
    return is_same and not says_done(text, task)


def _what_is_done(text: str) -> tuple[str, str]:
    """The verb and the object of a statement that something is done; empty if it says no such
    thing."""
    found = _DONE.match(text)
    if found:
        return found["verb"] or found["past"], found["rest"] or found["rest2"]
    found = _IS_DONE.match(text)
    return (found["verb"] or found["verb2"], found["rest"] or found["rest2"]) if found else ("", "")


def _is_same_verb(done: str, todo: str) -> bool:
    done, todo = done.lower(), todo.lower()
    verbs = (strip_accents(one) for one in (todo, _IRREGULAR_PAST.get(done, done)))
    return len({one[:VERB_CHARS] for one in verbs}) == 1


def may_say_done(text: str) -> bool:
    """Check whether a text has the form of one that says that a task is done."""
    return any(one.match(text) for one in (_ALL_DONE, _IT_IS_DONE, _IS_DONE))


def with_done_task(text: str, known: Sequence[str], *, last: str) -> str:
    """A text that says that a task is done, as a sentence about it: `I've renewed it`, `rent paid`
    and `done!` become `I've renewed my passport`, `I've paid the rent` and `I've done: clean the
    kitchen`; empty if it says nothing of the kind.

    `known`: statements that hold, oldest first; `last`: the one that is meant without a verb.
    """
    if _ALL_DONE.match(text):
        todo = _TASK.match(last)
        begin = "I've done" if _is_english(last) else "Ya lo he hecho"
        return f"{begin}: {todo['verb']} {_object(todo)}" if todo else ""
    verb = before = ""
    if found := _IT_IS_DONE.match(text):
        before = found["before"] or f"{found['ya'] or ''}{found['before2']}"
        verb = before.split()[-1]
    elif found := _IS_DONE.match(text):
        verb = found["verb"] or found["verb2"]
    tasks = (one for one in reversed(known) if verb and (before or says_done(text, one)))
    for task in tasks:
        todo = _TASK.match(task)
        if todo and _is_same_verb(verb, todo["verb"]):
            masculine = _ENDING.sub("o", verb)
            said = f"I've {verb}" if _is_english(task) else f"Ya he {masculine}"
            return f"{before or said} {_object(todo)}"
    return ""


_ENDING = LazyPattern(r"[oa]s?$", _I)


def _is_english(task: str) -> bool:
    return task[:1].lower() in ("i", "w")


def _object(todo: re.Match[str]) -> str:
    """Whatever a task is about, without its date."""
    return _DATE.sub("", todo["rest"])


def asked_task_verb(question: str) -> str:
    """The verb of a question for tasks of one kind: `what do I have to pay?`; empty for others."""
    found = _TASKS_OF_VERB.match(question)
    return str(found["verb"] or found["verb2"]) if found else ""


_TASKS_OF_VERB = LazyPattern(
    r"^[¿\s]*(?:(?:and|y) )?(?:(?:who|what|which \w+)(?: else)? (?:do (?:i|we) (?:still )?(?:have"
    r"|need)"
    r" to|must (?:i|we)) (?!do\b|know\b|be\b)(?P<verb>[^\W\d_]{2,})"
    r"|(?:a )?qu(?:[eé]|i[eé]n) (?:m[aá]s )?(?:(?:tengo|tenemos) que|me (?:falta|queda) por|debo) "
    r"(?!hacer\b|saber\b)(?P<verb2>[^\W\d_]{2,}r))[\s?]*$",
    _I,
)


def is_task_of(text: str, verb: str) -> bool:
    """Check whether a statement is a task with this verb."""
    found = _TASK.match(text)
    return found is not None and _is_same_verb(verb, found["verb"])


def is_done_with(text: str, verb: str) -> bool:
    """Check whether a statement says that something was done, with this verb."""
    done, _ = _what_is_done(text)
    return bool(done) and _is_same_verb(done, verb)


MAX_ITEMS = 50
"""Maximum number of items of a list; further ones are ignored."""
MAX_BACK = 3
"""Number of earlier statements in which a list is looked for that is not named (`add butter`)."""
_NAME = (
    r"(?:[\w'’-]+ )?list\b(?: (?:of|for) \w+)?|(?:shopping|groceries|packing|to[ -]?do)"
    r"(?: for \w+)?"
    r"|lista\b(?: (?:de|del|para) (?:(?:la|el|los|las|mi) )?\w+)?|compra\b(?: (?:de|del|para) \w+)?"
)
_LIST = LazyPattern(
    rf"^(?:(?:my|the|our|mi|la|nuestra) )?(?P<name>{_NAME})(?: is| has| es| tiene)?:\s*"
    r"(?P<items>.+)$",
    _I,
)
_TO_GET = LazyPattern(
    r"^(?P<name>(?:i|we) (?:(?:have|need) to (?:buy|get|pick up|pack)"
    r"|(?:must|should) (?:buy|pick up))"
    r"|(?:(?:tengo|tenemos|hay) que|necesito) (?:comprar|coger|meter)) "
    r"(?P<items>[^,.:;]+(?:(?:, [^,.:;]+)*(?:,? (?:and|y|e) [^,.:;]+|, [^,.:;]+))|\w+(?: \w+)?)$",
    _I,
)
"""Things that have to be got, or the rest of them: `I have to buy …`."""
_BEHIND = (
    r"(?: (?:to|on|onto|off|from|a|en|de) (?:the|my|our|la|mi|nuestra|tu)"
    rf" (?P<name>{_NAME}))?(?:,? (?:please|por favor|too|también))?$"
)
_ADD = LazyPattern(
    r"^(?:(?:please|can you|could you|and|also|y|también|puedes) )*"
    r"(?:add|put|(?:a[ñn]ad|apunt|agreg|mete|pon)\w*) (?P<items>.+?)" + _BEHIND,
    _I,
)
_ALSO = LazyPattern(
    r"^(?:(?:i|we) (?:also )?need (?P<en>[^,.]+?),? (?:too|also|as well)"
    r"|(?:tambi[eé]n (?:necesito|necesitamos|(?:me |nos )?(?:hace )?falta|hacen falta|faltan)"
    r" (?P<es>[^,.]+)))$",
    _I,
)
_TAKE = LazyPattern(
    r"^(?:(?:please|can you|could you|and|also|y|ya|puedes|i|we|i['’]ve|we['’]ve|i have|we have"
    r"|just|already|he|hemos) )*"
    r"(?:got|bought|picked up|grabbed|packed|remove|delete|take|cross(?: off| out)?|tick(?: off)?"
    r"|compr(?:é|ado|amos)|cog(?:í|ido|imos)|met(?:í|ido|imos)|quita\w*|borra\w*|tacha\w*|tengo)"
    r" (?P<items>.+?)" + _BEHIND,
    _I,
)
_BETWEEN = LazyPattern(r"\s*,\s*(?:and |y )?|\s+(?:and|y|e)\s+", _I)
_ARTICLE = LazyPattern(r"^(?:the|some|an?|my|el|la|los|las|un|una|unos|unas|off|up)\s+", _I)


def change_of_list(text: str, every: Sequence[str]) -> Statement | None:
    """The list that a clause tells or changes, in the place of its earlier state; None if it does
    neither. `every`: earlier statements of the person, oldest first."""
    if told := _LIST.match(text):
        return _changed(told, _items(told["items"]), _latest(every, told["name"]))
    if also := _ALSO.match(text):
        return _added(also["en"] or also["es"], _latest(every[-MAX_BACK:]))
    if found := _ADD.match(text):
        name = found["name"]
        changed = _added(
            found["items"], _latest(every, name) if name else _latest(every[-MAX_BACK:])
        )
        if changed:
            return changed
    if found := _TAKE.match(text):
        # What is got or bought need not be on the list that was spoken of last.
        name = found["name"] or ""
        return _taken(
            text, found["items"], (not name and _latest(every[-MAX_BACK:])) or _latest(every, name)
        )
    return None


def _added(items: str, earlier: str) -> Statement | None:
    if not (known := _match(earlier)):
        return None
    old = _items(known["items"])
    new = [one for one in _items(items) if not any(_is_same(one, other) for other in old)]
    return _changed(known, [*old, *new], earlier)


def _taken(text: str, items: str, earlier: str) -> Statement | None:
    if not (known := _match(earlier)):
        return None
    old, named = _items(known["items"]), _items(items)
    rest = [one for one in old if not any(_is_same(one, other) for other in named)]
    if not rest and _TO_GET.match(earlier):
        # Nothing is left to be done: what was done is the news.
        return Statement(text=f"{text[:1].upper()}{text[1:]}", is_change=True, replaced=earlier)
    return _changed(known, rest, earlier) if len(rest) < len(old) else None


def _match(statement: str) -> re.Match[str] | None:
    """The name and the items of a list, or of what has to be got."""
    return _LIST.match(statement) or _TO_GET.match(statement)


def may_change_list(text: str) -> bool:
    """Check whether a clause has the form of one that changes the items of a list."""
    return any(one.match(text) for one in (_LIST, _ADD, _TAKE))


def _latest(every: Sequence[str], name: str = "") -> str:
    """The latest list, of this name if there is one; empty: none."""
    lists = [(one, found["name"]) for one in reversed(every) if (found := _match(one))]
    named = stems_of(name) - stems_of("list lista")
    same = (one for one, other in lists if named <= stems_of(other))
    return next(same, "")


def _changed(known: re.Match[str], items: Sequence[str], earlier: str) -> Statement:
    name = known["name"]
    is_spanish = name.lower().startswith(("lista", "compra"))
    told = ", ".join(items[:MAX_ITEMS]) or ("vacía" if is_spanish else "empty")
    # "Shopping list: milk", "I have to buy milk": a colon stands behind a name only.
    colon = ":" if _LIST.match(known[0]) else ""
    text = f"{name[:1].upper()}{name[1:]}{colon} {told}"
    return Statement(text=text, is_change=bool(earlier), replaced=earlier)


def _items(text: str) -> list[str]:
    items = (_ARTICLE.sub("", one).strip(" .!") for one in _BETWEEN.split(text))
    return [one for one in items if one and one not in ("empty", "vacía")]


def _is_same(one: str, other: str) -> bool:
    """Check whether two items are the same thing: `eggs`, `a dozen eggs`."""
    return bool(stems_of(one) & stems_of(other))
