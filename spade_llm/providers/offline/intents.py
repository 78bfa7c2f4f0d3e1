"""Reading of an offline turn: latest message, quoted context, its intent, time zones of cities."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from spade_llm.core.text import LazyPattern
from spade_llm.providers.quoted_context import (
    CONTEXT_NAME,
    QuotedContext,
    read_context,
    read_earlier,
)
from spade_llm.search.language import fold_accents, key_words, language_of
from spade_llm.understanding.answers import is_about_speaker
from spade_llm.understanding.spelling import plain_spanish
from spade_llm.understanding.vocabulary import MONTHS
from spade_llm.understanding.wording import uses_ustedes

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage
    from spade_llm.providers.quoted_context import QuotedPassage

MAX_PASSAGES = 2
EXCERPT_CHARS = 600
CLOSE_SCORE = 0.5
"""A passage that shares no word with the question is taken only if it scored this much."""


def relevant_passages(passages: Sequence[QuotedPassage], question: str) -> list[QuotedPassage]:
    """The best ones, in the order in which they were retrieved: those that share more than half as
    many words with the question as the closest one."""
    wanted = key_words(question)
    shared = [len(wanted & key_words(one.text)) for one in passages]
    least = max(shared, default=0) / 2
    chosen = [
        one
        for one, count in zip(passages, shared, strict=True)
        if count > least or one.score >= CLOSE_SCORE
    ]
    return chosen[:MAX_PASSAGES]


def excerpt(text: str, question: str) -> str:
    """Return an excerpt that starts at the paragraph with most words of the question, cut at a
    word."""
    wanted = key_words(question)
    paragraphs = re.split(r"\n\s*\n", text.strip())
    best = max(range(len(paragraphs)), key=lambda i: len(wanted & key_words(paragraphs[i])))
    rest = "\n\n".join(paragraphs[best:])
    if len(rest) <= EXCERPT_CHARS:
        return rest
    return rest[:EXCERPT_CHARS].rsplit(maxsplit=1)[0] + " …"


LANGUAGE_MESSAGES = 10
"""Maximum number of the person's messages that decide the language, if the latest does not."""


MAX_EARLIER_MESSAGES = 100
"""Maximum number of the person's earlier messages that are read: each statement is compared with
all others. Those before them are in memory, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineTurn:
    """The person's latest message and what came with it."""

    question: str
    earlier: tuple[str, ...]
    """The same person's messages before it, oldest first, at most MAX_EARLIER_MESSAGES. In a room,
    what other occupants said is not theirs."""
    context: QuotedContext
    results: tuple[str, ...]
    """Results of the tools that were called for this question, in order."""
    answered: tuple[str, ...]
    """What has been answered in this conversation, oldest first."""
    language: str
    uses_ustedes: bool
    """The person writes the Spanish of America."""


def read_turn(messages: Sequence[ContextMessage]) -> OfflineTurn:
    asked = [
        i
        for i, message in enumerate(messages)
        if message["role"] == "user" and message.get("name") != CONTEXT_NAME
    ]
    at = asked[-1] if asked else len(messages)
    said = [plain_spanish(_content(messages[i])) for i in reversed(asked[-LANGUAGE_MESSAGES:])]
    context = _context_before(messages, at)
    earlier = _said_before(messages, asked)
    own = [_content(messages[i]) for i in asked[-1:]]
    return OfflineTurn(
        question=said[0] if said else "",
        earlier=tuple(map(plain_spanish, earlier)),
        context=context,
        uses_ustedes=uses_ustedes([*own, *earlier, *(one.text for one in context.memories)]),
        results=tuple(_content(m) for m in messages[at:] if m["role"] == "tool"),
        answered=tuple(m["content"] for m in messages if m["role"] == "assistant" and m["content"]),
        language=language_of(*said),
    )


def _said_before(messages: Sequence[ContextMessage], asked: Sequence[int]) -> list[str]:
    """What the author of the last of the messages `asked` said before it."""
    if not asked:
        return []
    author = messages[asked[-1]].get("name")
    # What a context strategy quotes from earlier in the conversation.
    begins = f"- {author or 'user'}: "
    own = [
        line.removeprefix(begins)
        for one in messages[max(asked[-1] - 2, 0) : asked[-1]]
        if one.get("name") == CONTEXT_NAME
        for line in read_earlier(_content(one))
        if line.startswith(begins)
    ]
    own += [_content(messages[i]) for i in asked[:-1] if messages[i].get("name") == author]
    return own[-MAX_EARLIER_MESSAGES:]


def _content(message: ContextMessage) -> str:
    return message["content"] or ""


def _context_before(messages: Sequence[ContextMessage], at: int) -> QuotedContext:
    before = messages[at - 1] if 0 < at <= len(messages) else None
    if before and before["role"] == "user" and before.get("name") == CONTEXT_NAME:
        return read_context(before["content"])
    return QuotedContext()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallIntent:
    """Request for everything that is known about a topic."""

    topic: str
    """Words to look for; empty: everything about the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeIntent:
    place: str
    """A city, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalculateIntent:
    expression: str


class SmallTalk(StrEnum):
    """Kind of a message that is said for company; the name of the phrase that replies to it."""

    GREETING = "greeting"
    ABILITIES = "abilities"
    IDENTITY = "identity"
    WELL_BEING = "well"
    JOKE = "cannot"
    FAREWELL = "farewell"
    THANKS = "welcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallTalkIntent:
    kind: SmallTalk


Intent = RecallIntent | TimeIntent | CalculateIntent | SmallTalkIntent


def recognise_intent(text: str) -> Intent | None:
    """The first rule that applies. None: the message tells or asks something of its own
    (spade_llm/understanding)."""
    text = plain_spanish(" ".join(text[:MAX_MESSAGE_CHARS].split()))
    for rule in (_time, _calculation, _small_talk, _recall):
        if intent := rule(text):
            return intent
    return None


MAX_MESSAGE_CHARS = 4000
"""Maximum length of a message in characters for the rules; the rest is ignored."""

_I = re.IGNORECASE
_POLITE = r"^(?:(?:please|por favor|hi|hello|hey|hola|ok|and|y)\b[\s,.!]*)*"

_TIME = re.compile(
    r"\b(?:what(?:['’]?s| is)? (?:the )?(?:current |local )?(?:time|date|day)\b(?: of the week)?"
    r"|tell me the (?:time|date)|current (?:time|date)\b|which day\b|today['’]?s date|date today"
    r"|qu[eé] horas?\b|dime la (?:hora|fecha)|qu[eé] (?:d[ií]a|fecha)\b|cu[aá]l es la (?:hora"
    r"|fecha))",
    _I,
)
_NOW = re.compile(
    r"(?:[\s,]*(?:is|it|es|son|tenemos|estamos|right now|now|today|please|ahora(?: mismo)?|hoy"
    r"|por favor|de la semana|de hoy|over there|all[ií])\b)*(?:\s*(?:in|at"
    r"|en)\s[^?!]+)?[\s?!.,;:]*",
    _I,
)
"""What may stand behind that: `what time is my train?` does not ask for the present time."""
_OF_EVENT = LazyPattern(
    r"[¿\s]*(?:(?:and|y),? )?(?:on|at|en|a|and|y) (?:which|what|qu[eé]) (?:d\w+|time|hora)[\s?]*$",
    _I,
)
"""It asks for the day of what was spoken of: `and on which day?`."""
_PLACE = re.compile(r"\b(?:in|at|en)\s+(?:the city of |la ciudad de )?(?P<place>[^?!]+)", _I)
_MONTH = LazyPattern(rf"(?:{MONTHS})\b", _I)
_NOT_PLACE = re.compile(
    r"\b(?:right now|now|today|please|ahora(?: mismo)?|hoy|por favor)\b|[.,;:\s]+$", _I
)

_SUM = re.compile(
    _POLITE + r"[¿\s]*(?:what(?:'s| is| are)|how much (?:is|are)|calculate|compute"
    r"|cu[aá]nto (?:es|son|da)|cu[aá]ntos? (?:es|son)|calcula|qu[eé] (?:es|da))?"
    r"[:\s]*(?P<sum>[^?¿!]+?)[\s.=?!]*$",
    _I,
)
_OPERATORS = (
    (r"(\d)\s*%\s*(?:of|de)\s+", r"\1/100*"),
    (r"\b(?:plus|m[aá]s)\b", "+"),
    (r"\b(?:minus|menos)\b", "-"),
    (r"\b(?:times|multiplied by|multiplicado por|por)\b", "*"),
    (r"\b(?:divided by|over|dividido (?:por|entre)|entre)\b", "/"),
    (r"(?:\bto the power of\b|\belevado a\b|\^)", "**"),
    (r"(?<=\d)\s*[x×]\s*(?=\d|\()", "*"),
    (r"÷", "/"),
    # Thousands separators before decimal commas: 1,000 is a thousand.
    (r"(?<=\d),(?=\d{3}(?!\d))", ""),
    (r"(?<=\d),(?=\d)", "."),
)
_ARITHMETIC = re.compile(r"(?:[\d\s.+*/()-]|\b(?:sqrt|abs|round|sin|cos|tan|log|exp|pi)\b)+")
_HAS_OPERATION = re.compile(r"\d\s*\)*\s*[+*/-]+\s*[\d(-]|\w\(")
_LOOKS_LIKE_A_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?/\d\d?/\d{2,4}")

_KNOW = re.compile(
    r"(?:what|anything|everything|something|all)?\s*(?:do|can) you"
    r" (?:know|remember|recall|tell me)(?: of| about)? (?P<topic>.+)"
    r"|(?:tell me about|what (?:did|have) i (?:tell|told|say|said)(?: to)?(?: you)? about)"
    r" (?P<about>.+)"
    r"|qu[eé] te (?:he (?:contado|dicho)|cont[eé]|dije) (?:de|sobre) (?P<contado>.+)"
    r"|(?:(?:please|can you|could you) )*(?:tell|remind|show|give|list)(?: me)?(?: of| again)?"
    r" (?:all|everything|whatever|what)(?: that)? you (?:know|remember|have|stored)"
    r" (?:about|on|of) (?P<known>.+)"
    r"|(?:everything|all|whatever)(?: that)? you (?:know|remember|have|stored) (?:about|on|of)"
    r" (?P<every>.+)"
    r"|(?:(?:por favor|puedes|podr[ií]as) )*(?:(?:d[ií]|cu[eé]nta|recu[eé]rda|ens[eé][ñn]a"
    r"|mu[eé]stra)(?:me)?|(?:decir|contar|ense[ñn]ar)me)? ?(?:qu[eé]|algo|todo)?\s*(?:lo que )?"
    r"(?:sabes|recuerdas|te acuerdas)(?: de| sobre| acerca de)+ (?P<de>.+)"
    r"|recuerdas (?P<recuerdas>.+)",
    _I,
)
_PLEASE = re.compile(r",? (?:please|pls|thanks|por favor|porfa|gracias)$", _I)
_SELF = re.compile(r"^(?:me|myself|m[ií]|m[ií] mismo|my self|i)$", _I)

_HELLO = (
    r"(?:hi|hello|hey|hiya|yo|(?:good )?(?:morning|afternoon|evening)|(?:muy )?buen[oa]s"
    r"(?: d[ií]as| tardes| noches)?|(?:hola|ey)(?: (?:che|buenas|t[ií][oa]))?)"
)
_GREETED = LazyPattern(rf"^(?:(?:{_HELLO}|oye|y|pero|bueno|che)[\s,!.¡¿]+)+", _I)
_SMALL_TALK = tuple(
    (kind, LazyPattern(rf"(?:{_HELLO}[\s,!.¡¿]+)?(?:{pattern})[\s!.,?¡¿]*$", _I))
    for kind, pattern in (
        (SmallTalk.GREETING, rf"{_HELLO}(?: there| again| otra vez| de nuevo| a todos)?"),
        (
            SmallTalk.ABILITIES,
            r"help|ayuda|what (?:can|do) you do|what are you (?:able to do|good for)"
            r"|can you (?:remember|help|do)(?: me| stuff| things| something| anything)*"
            r"|puedes (?:recordar|ayudar|hacer)(?:me)?(?: cosas| algo)?"
            r"|what (?:can|could) (?:i|we) (?:talk (?:to you )?about|ask you|tell you)"
            r"|what can you help (?:me )?with"
            r"|(?:(?:y )?t[uú] )?qu[eé] (?:m[aá]s )?(?:puedes|sabes) hacer|(?:para )?qu[eé] sirves"
            r"|(?:de|sobre) qu[eé] (?:puedo|podemos|se puede) hablar(?: contigo)?"
            r"|qu[eé] (?:te puedo|puedo|se puede) (?:preguntar|pedir|contar)(?:te)?"
            r"|en qu[eé] (?:me puedes ayudar|puedes ayudar(?:me)?)",
        ),
        (
            SmallTalk.IDENTITY,
            r"(?:and )?(?:who|what) are you|what(?:['’]s| is) your name"
            r"|are you (?:an? )?(?:real )?(?:ai|bot|robot|human|person|machine|model|computer)"
            r"|(?:y )?(?:t[uú] )?(?:qui[eé]n|qu[eé]) eres|c[oó]mo te llamas"
            r"|eres (?:una? )?(?:ia|bot|robot|humano|persona|m[aá]quina|modelo)",
        ),
        (
            SmallTalk.WELL_BEING,
            r"(?:and )?how(?:['’]?s| is| are) (?:you|it going|things|life|everything)"
            r"(?: doing| today| keeping)*|what['’]?s up|you (?:ok|all ?right)"
            r"|(?:y )?(?:t[uú] )?(?:qu[eé] tal(?: est[aá]s| va(?: todo)?| todo)?"
            r"|c[oó]mo (?:est[aá]s?|va(?: todo| eso)?|(?:te|le|os) va|andas|and[aá]s))(?: hoy)?",
        ),
        (
            SmallTalk.JOKE,
            r"(?:(?:can|could) you )?tell me (?:a|another) (?:\w+ )?joke|(?:do you )?know any"
            r" (?:\w+ )?jokes|(?:te )?sabes (?:alg[uú]n|un) chiste|cu[eé]ntame (?:un|otro) chiste",
        ),
        (
            SmallTalk.FAREWELL,
            r"(?:good ?)?bye(?: bye)?|good ?night|night night|see you(?: \w+)?|talk (?:soon|later)"
            r"|take care|(?:(?:adi[oó]s|hasta (?:luego|ma[ñn]ana|pronto|otra)|cha[ou]|nos vemos"
            r"|un (?:abrazo|beso)|que (?:est[eé]s|tengas|pases) [^,.!]{3,25})[\s,.!]*){1,5}",
        ),
        (SmallTalk.THANKS, r"(?:many )?thanks?(?: you)?|(?:muchas |mil )?gracias"),
    )
)


def _time(text: str) -> TimeIntent | None:
    found = _TIME.search(text)
    if not found or not _NOW.fullmatch(text[found.end() :]):
        return None
    if _OF_EVENT.match(text) or is_about_speaker(text[: found.start()]):
        # "When is my exam, what day?"
        return None
    place = _PLACE.search(text[found.end() :])
    if not place:
        return TimeIntent(place="")
    if _MONTH.match(place["place"]):
        # "What date in June are the shearers coming?"
        return None
    name = place["place"]
    # Each removal may uncover another such word at the end.
    while (shorter := _NOT_PLACE.sub("", name).strip()) != name:
        name = shorter
    return TimeIntent(place=name)


def _calculation(text: str) -> CalculateIntent | None:
    found = _SUM.match(text)
    if not found or _LOOKS_LIKE_A_DATE.search(text):
        return None
    expression = found["sum"].strip()
    for pattern, operator in _OPERATORS:
        expression = re.sub(pattern, operator, expression, flags=_I)
    if _ARITHMETIC.fullmatch(expression) and _HAS_OPERATION.search(expression):
        return CalculateIntent(expression="".join(expression.split()))
    return None


def _small_talk(text: str) -> SmallTalkIntent | None:
    text = text.lstrip(" ¡¿")
    kind = next((kind for kind, pattern in _SMALL_TALK if pattern.match(text)), None)
    return SmallTalkIntent(kind=kind) if kind else None


def _recall(text: str) -> RecallIntent | None:
    text = _GREETED.sub("", text.strip(" ¿?!."))
    found = _KNOW.fullmatch(_PLEASE.sub("", text))
    if not found:
        return None
    topic = next(filter(None, found.groups())).strip()
    return RecallIntent(topic="" if _SELF.match(topic) else topic)


AREAS = frozenset(
    ["Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe"]
    + ["Indian", "Pacific"]
)


def time_zone_of(city: str) -> str | None:
    """The IANA name of the zone where this city lies. The first call reads the zone files."""
    zones = _zones()
    whole = fold_accents(city)
    return zones.get(whole) or zones.get(whole.partition(",")[0].strip())


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    """The table of cities wins; among zones of the same city the shortest name, then the last."""
    zones: dict[str, str] = {}
    for name in sorted(available_timezones(), key=lambda n: (-len(n), n)):
        if name.partition("/")[0] in AREAS:
            zones[fold_accents(name)] = zones[fold_accents(name.rpartition("/")[2])] = name
    table = Path(__file__).with_name("cities.toml").read_text(encoding="utf-8")
    for zone, cities in tomllib.loads(table).items():
        zones |= dict.fromkeys(cities, zone)
    return zones
