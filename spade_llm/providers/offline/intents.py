"""Reading of an offline turn: latest message, quoted context, its intent, time zones of cities."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from itertools import compress
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
from spade_llm.search.terms import (
    ENGLISH,
    SPANISH,
    query_words,
    split_words,
    stem_hash,
)
from spade_llm.understanding.questions import is_about_speaker
from spade_llm.understanding.spelling import plain_spanish
from spade_llm.understanding.vocabulary import MONTHS
from spade_llm.understanding.wording import uses_ustedes

if TYPE_CHECKING:
    from spade_llm.providers.model import ContextMessage
    from spade_llm.providers.quoted_context import QuotedPassage

MAX_PASSAGES = 2
EXCERPT_CHARS = 600
CLOSE_SCORE = 0.45
"""Minimum score of a passage that has none or a single one of the question's words. Not in Spanish:
the local embedder, an English model, finds all Spanish texts close."""
VERY_CLOSE_SCORE = 0.8
"""Score that a passage with all words of a question reaches only if its meaning is close, too."""

_GENERIC_WORDS = """
many much more most long old far tall big often soon early late best better good bad great new
first last next other same day time hour minute week month year name number people person thing
kind way cost price get make give take use go come find want need like tell know say mean happen
look work live be let put keep back mine yours ok cuantos cuantas cuanta mejor peor bueno buena
mucho mucha dia hora tiempo minuto semana mes ano numero nombre gente persona cosa tipo forma
precio cuesta vale hay hace hacer hago haces haga hecho tener tenemos tienen tenia puedo puede
puedes poder debo debe deber quiero quiere necesito llama llamas llamo dice decir lleva llevar va
voy vas ir ver dar dime sabe saber sabes cuenta cuentame esta estan estamos mejores siempre vivo
vives gusta gustan trabajo trabajas
"""
"""Words in many texts, which do not show what a passage is about."""
_TOPIC = LazyPattern(
    r"\b(?:(?P<the>the|el|las?|los|al|del)|an?|my|your|our|of|in|una?|de|en|mis?|tus?|sus?"
    r"|nuestr[oa]s?) (?P<noun>[^\W\d_]+)"
)
_NAME = LazyPattern(r"(?<=[^\W\d_] )[A-ZÀ-Þ][^\W\d_]+")
"""Subjects of a question: `the supermarket`, `Paris`."""
_FOR_VALUE = LazyPattern(
    r"[¿\s]*(?:how (?:much|many|long|old|far|often)|when|where|what time|cu[aá]nt[oa]s?|cu[aá]ndo"
    r"|d[oó]nde|a qu[eé] hora)\b",
    re.IGNORECASE,
)
"""A question for a value, of which a single word may say all: `How much is a ticket?`."""
_OF_ANYONE = LazyPattern(
    r"\b(?:how (?:do|can|should|could|much|many|long)|can|could|may|should|must"
    r"|(?:where|when|who) (?:do|can)|(?:do|does) \w+ (?:need|have to)|what (?:do|should|can)"
    r"|c[oó]mo (?!se llama|est[aá])\w+|cu[aá]nt[oa]s?(?! a[ñn]os)|puedo|podemos|debo|debemos"
    r"|tengo que|tenemos que|hay que|necesito|(?:cu[aá]ndo|d[oó]nde) (?!tengo\b)\w+o"
    r"|(?:tell|show) me|dime)\b",
    re.IGNORECASE,
)
"""A question of the speaker about what holds for anyone: `how much holiday do I have?`."""


def relevant_passages(passages: Sequence[QuotedPassage], question: str) -> list[QuotedPassage]:
    """The best ones, in the order in which they were retrieved."""
    return list(compress(passages, are_relevant(passages, question)))[:MAX_PASSAGES]


def are_relevant(passages: Sequence[QuotedPassage], question: str) -> list[bool]:
    """Check which passages are about what the question is about, and have more than half as many of
    its words as the closest one. All are, if it has no words (`How?`)."""
    if not query_words(question):
        return [True] * len(passages)
    topic = _Topic(question)
    shared = [topic.shared_with(one) for one in passages]
    least = max(map(len, shared), default=0) / 2
    return [
        (len(words) > least or not least) and topic.is_met_by(words, one)
        for one, words in zip(passages, shared, strict=True)
    ]


class _Topic:
    """Words of a question that say what it is about."""

    def __init__(self, question: str) -> None:
        self._language = language_of(question)
        self._words = {
            word.text: frozenset(word.terms)
            for word in query_words(question)
            if _generic_terms().isdisjoint(word.terms)
        }
        found = list(_TOPIC.finditer(question.casefold()))
        self._nouns = {one["noun"] for one in found} | {
            one[0].casefold() for one in _NAME.finditer(question)
        }
        self._known = {one["noun"] for one in found if one["the"]}
        self._is_for_value = bool(_FOR_VALUE.match(question))
        self._is_of_speaker = is_about_speaker(question) and not _OF_ANYONE.search(question)

    def shared_with(self, passage: QuotedPassage) -> frozenset[str]:
        """Its words that a passage or its source has."""
        words = split_words(f"{passage.source} {passage.text}")
        terms = {stem_hash(word, one) for word in words for one in (ENGLISH, SPANISH)}
        return frozenset(word for word, own in self._words.items() if own & terms)

    def is_met_by(self, shared: frozenset[str], passage: QuotedPassage) -> bool:
        """Check whether a passage with these words of the question may answer it."""
        is_english = self._language == language_of(passage.text) == "en"
        is_close = is_english and passage.score >= CLOSE_SCORE
        missing = self._words.keys() - shared
        if len(shared) < 2 and self._is_of_speaker:
            # A doctor's note shares a word with "Who is my doctor?", enough for a high score.
            # If other words are missing, a high score comes from the meaning.
            return (
                bool(shared) and is_close and (bool(missing) or passage.score >= VERY_CLOSE_SCORE)
            )
        if not shared:
            return is_close and bool(self._words)
        if len(missing) >= len(shared) and (missing & self._nouns or len(missing) > len(shared)):
            return False
        is_whole = self._is_for_value and not missing
        is_named = len(shared) > 1 or is_whole or bool(shared & self._known)
        return is_named or is_close or not is_english


@cache
def _generic_terms() -> frozenset[int]:
    return frozenset(
        stem_hash(word, one) for word in _GENERIC_WORDS.split() for one in (ENGLISH, SPANISH)
    )


def excerpt(text: str, question: str) -> str:
    """Return the section of a text from the paragraph with most words of the question on, cut at a
    word; the beginning, if its title has all of them."""
    wanted = key_words(question)
    paragraphs = re.split(r"\n\s*\n", text.strip())
    shared = [wanted & key_words(one) for one in paragraphs]
    best = max(range(len(paragraphs)), key=lambda i: (len(shared[i]), not _is_title(paragraphs[i])))
    section = paragraphs[best:]
    if _is_title(paragraphs[0]) and shared[0] == wanted:
        section = paragraphs
    else:
        ends = (i for i in range(1, len(section)) if section[i].startswith("#"))
        end = next((i for i in ends if not _is_title(section[i - 1])), len(section))
        section = section[:end]
    rest = "\n\n".join(section)
    if len(rest) <= EXCERPT_CHARS:
        return rest
    return rest[:EXCERPT_CHARS].rsplit(maxsplit=1)[0] + " …"


def _is_title(paragraph: str) -> bool:
    return paragraph.startswith("#") and "\n" not in paragraph


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
    """Everything answered in this conversation, oldest first."""
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
    PRESENCE = "here"
    DOUBT = "sure"
    SORROW = "sorry"
    JOY = "glad"
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
    r"|qu[eé] horas?\b|dime la (?:hora|fecha)|(?<!y )qu[eé] (?:d[ií]a|fecha)\b(?! son\b)"
    r"|cu[aá]l es la (?:hora"
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
    r"|recuerdas (?P<recuerdas>.+)|h[aá]blame de (?P<hablame>.+)"
    r"|who(?:['’]s| is| are) in (?P<members>(?:my|our) family)"
    r"|what (?:are (?P<things>(?:my|our) (?:plans|hobbies|pets))|(?P<plans>plans) do i have)"
    r"|(?:qui[eé]n(?:es)? (?:hay|est[aá]n?) en|qui[eé]nes (?:son|forman)) (?P<miembros>mi familia)"
    r"|(?:cu[aá]les|qu[eé]) son (?P<cosas>mis (?:planes|aficiones))"
    r"|qu[eé] (?P<planes>planes) tengo",
    _I,
)
_PLEASE = re.compile(r",? (?:please|pls|thanks|por favor|porfa|gracias)$", _I)
_SELF = re.compile(r"^(?:me|myself|m[ií]|m[ií] mismo|my self|i)$", _I)

_HELLO = (
    r"(?:hi|hello|hey|hiya|yo|(?:good )?(?:morning|afternoon|evening)|(?:muy )?buen[oa]s"
    r"(?: d[ií]as| tardes| noches)?|(?:hola|ey)(?: (?:che|buenas|t[ií][oa]))?)"
)
_GREETED = LazyPattern(rf"^(?:(?:{_HELLO}|oye|y|pero|bueno|che)[\s,!.¡¿]+)+", _I)
_MOOD = (
    r"(?:(?:i(?:['’]?m| am)?|estoy|me siento)(?: feeling| feel)?|feeling)(?: (?:so|very|really"
    r"|quite|a"
    r" (?:bit|little)|pretty|rather|just|too|still|also|not|muy|tan|un poco|bastante|algo|hoy))*"
)
_NOW_OR_AGAIN = r"(?:,? (?:today|now|right now|tonight|again|this (?:morning|evening)|hoy|ahora))*"
_SMALL_TALK = tuple(
    (
        kind,
        LazyPattern(rf"(?:{_HELLO}(?: there)?[\s,!.¡¿]+)?(?:{pattern})[\s!.,?¡¿:()]*$", _I),
    )
    for kind, pattern in (
        (SmallTalk.GREETING, rf"{_HELLO}(?: there| again| otra vez| de nuevo| a todos)?"),
        (
            SmallTalk.ABILITIES,
            r"help(?: me)?|ay[uú]da(?:me)?|what (?:can|do) you do|what are you (?:able to do|good"
            r" for)"
            r"|men[uú]|start|commands?|instructions|empezar|comandos|instrucciones"
            r"|how (?:do i use (?:this|you|it)|(?:does|do) (?:this|it|you) work)|(?:so )?what now"
            r"|c[oó]mo (?:se usa|funciona)s?(?: esto)?|(?:y )?(?:ahora )?qu[eé](?: hago)? ahora"
            r"|y ahora qu[eé](?: hago)?"
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
            r"|eres (?:una? )?(?:ia|bot|robot|humano|persona|m[aá]quina|modelo)"
            r"|how old are you|where (?:are you from|do you live)|who (?:made|created|built"
            r"|wrote) you"
            r"|are you (?:alive|real|happy|sad|married|conscious|smart|intelligent|sentient)"
            r"|what (?:do|are) you (?:think|thinking|feel|like|want)(?: (?:of|about) (?:me|life"
            r"|it))?"
            r"|do you (?:(?:really )?(?:like|love|hate|enjoy|sleep|dream|feel|eat|drink)(?!.*"
            r" (?:my|our)"
            r" )|have (?:feelings|friends|a family|a name))(?: [^?]{1,40})?"
            r"|how (?:do you feel|are you feeling)(?: today| now)?"
            r"|i (?:really |do )*(?:love|like|hate|miss|adore) you(?: (?:so|very) much| a lot)?"
            r"|cu[aá]ntos a[ñn]os tienes|qu[eé] edad tienes|de d[oó]nde eres|d[oó]nde vives"
            r"|qui[eé]n te (?:ha )?(?:hecho|creado|hizo|cre[oó]|program[oó]|programado)"
            r"|eres (?:feliz|real|inteligente|list[oa]|de verdad)|qu[eé] (?:piensas|opinas|sientes)"
            r"|(?:a ti )?te gustan? (?!.*\b(?:mis?|nuestr[oa]s?) )[^?]{1,40}|(?:t[uú] )?me quieres"
            r"|tienes (?:hambre|sue[ñn]o|novi[oa]|hijos|sentimientos|amigos|familia|alma)"
            r"|te (?:quiero|amo|odio|adoro)(?: mucho)?|(?:t[uú] )?qu[eé] haces",
        ),
        (
            SmallTalk.PRESENCE,
            r"are you (?:still |even )?(?:there|here|awake|online|working|listening)"
            r"|can you (?:hear|see|read) me|do you (?:hear|read) me|(?:is )?any(?:one|body)"
            r" (?:there|here)"
            r"|(?:sigues|est[aá]s)(?: t[uú])? (?:ah[ií]|aqu[ií]|despiert[oa]|escuchando)"
            r"|me (?:oyes|lees|escuchas|ves)|hay alguien(?: ah[ií]| aqu[ií])?",
        ),
        (
            SmallTalk.DOUBT,
            r"(?:oh,? |but )*(?:really|seriously|for real|why(?: not)?|how (?:so|come)|are you sure"
            r"|how do you know(?: that)?)|(?:pero |y )*(?:de verdad|en serio|por ?qu[eé](?: no)?"
            r"|(?:est[aá]s )?segur[oa]|c[oó]mo (?:lo sabes|es eso))",
        ),
        (
            SmallTalk.SORROW,
            rf"{_MOOD} (?:sad|tired|bored|lonely|ill|sick|unwell|stressed|anxious|angry|upset"
            rf"|worried"
            r"|exhausted|depressed|nervous|heartbroken|down|low|miserable|scared|awful|terrible|bad"
            r"|not (?:well|good|great)|fatal|mal|triste|cansad[oa]|aburrid[oa]|sol[oa]|enferm[oa]"
            r"|estresad[oa]|enfadad[oa]|preocupad[oa]|agotad[oa]|deprimid[oa]|nervios[oa]"
            r"|asustad[oa]"
            rf"|hech[oa] polvo){_NOW_OR_AGAIN}|me aburro(?: mucho)?",
        ),
        (
            SmallTalk.JOY,
            rf"(?!.*\b(?:not?)\b){_MOOD} (?:happy|great|fine|good|well|ok(?:ay)?|excited|delighted"
            r"|wonderful|fantastic|amazing|better|over the moon|feliz|content[oa]|genial|bien|mejor"
            rf"|encantad[oa]|ilusionad[oa]){_NOW_OR_AGAIN}(?:,? (?:thanks?|thank you|gracias))?",
        ),
        (
            SmallTalk.WELL_BEING,
            r"what(?:['’]s| is) new|(?:and )?how(?:['’]?s| is| are) (?:you|it going|things|life"
            r"|everything)"
            r"(?: doing| today| keeping)*|what['’]?s up|you (?:ok|all ?right)"
            r"|qu[eé] (?:hay|hay de nuevo|te cuentas)|(?:y )?(?:t[uú] )?(?:qu[eé] tal(?: est[aá]s"
            r"| va(?: todo)?| todo)?"
            r"|c[oó]mo (?:est[aá]s?|va(?: todo| eso)?|(?:te|le|os) va|andas|and[aá]s))(?: hoy)?",
        ),
        (
            SmallTalk.JOKE,
            r"(?:(?:can|could) you )?tell me (?:a|another) (?:\w+ )?joke|(?:do you )?know any"
            r" (?:\w+ )?jokes|(?:te )?sabes (?:alg[uú]n|un) chiste|cu[eé]ntame (?:(?:un|otro)"
            r" (?:chiste"
            r"|cuento)|algo|una historia)|h[aá]blame|(?:talk|sing) to me|let['’]?s (?:talk|chat)",
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
