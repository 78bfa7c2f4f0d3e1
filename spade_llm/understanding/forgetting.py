"""Requests to forget, in words: what is meant, and which statements it matches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.understanding.clauses import lead_in_end
from spade_llm.understanding.features import features
from spade_llm.understanding.replacement import Statement, replaces
from spade_llm.understanding.statements import read_message
from spade_llm.understanding.vocabulary import concepts_of, general

if TYPE_CHECKING:
    from collections.abc import Sequence

_I = re.IGNORECASE

MAX_CHARS = 500
"""Maximum length of a request; the rest is ignored."""
MIN_COVERAGE = 0.6
"""Minimum share of the request's concepts that a statement has."""
MIN_MENTIONED = 0.8
"""Minimum share of a statement's concepts that a text has that says the same."""
MIN_REPEATED = 0.6
"""The same for messages, which may correct a part of it only."""
MAX_MESSAGE_CHARS = 1500
"""Maximum length of a message whose statements are compared; a longer one is more likely pasted."""

_REQUEST = re.compile(
    r"^(?:please |actually,? |can you |could you |would you |you (?:can|should|may|could) "
    r"|i(?:['’]d| would)? "
    r"(?:want|like|prefer|need|rather)(?: not)? (?:you to |that you |you )?|let['’]?s |por favor,? "
    r"|puedes |podr[ií]as "
    r"|(?:quiero|prefiero|necesito|me gustar[ií]a) que |mejor |ya )*"
    r"(?:forget|delete|erase|remove|drop|wipe|get rid of|clear|do(?:n['’]t| not) (?:remember"
    r"|store|keep|save|know)"
    r"|stop remembering|(?:i )?do(?:n['’]t| not) want you to (?:know|remember|keep|store)"
    r"|scratch|strike|unlearn"
    r"|(?:que )?(?:te )?olvid(?:a|e|es|ar|arte|aras)(?:te)?(?: de)?|(?:que )?borr(?:a|e|es|ar|aras)"
    r"|(?:que )?elimin(?:a|e|es|ar)|quita|no (?:quiero que )?(?:recuerdes|guardes|sepas"
    r"|te acuerdes de)"
    r"|deja de recordar|(?:ya )?no (?:hace falta que|tienes que|necesitas) (?:recuerdes"
    r"|recordar|guardar))\b"
    r"(?P<rest>.*)$",
    _I,
)
_EXPLICIT = re.compile(
    r"\b(?:forget|remember\w*|unlearn|memor(?:y|ia)|(?:you|i) (?:know|told|said)|want you to"
    r"|olvid\w+|recuerd\w+"
    r"|recordar|sab[eé]s|sepas|dije|cont[eé])\b",
    _I,
)
_NEVER_SAID = re.compile(
    r"^(?:scratch|strike|ignore|disregard|ignora|olvida)(?: (?:that|this|it|eso"
    r"|lo))?,? (?:i (?:never|didn['’]t)|no (?:he dicho|dije)|yo no)\b",
    _I,
)
_ALL_ABOUT = re.compile(
    r"^ *(?:all|everything|anything|whatever|todo)\b"
    r"|^ *(?:that )?i (?:ever )?(?:said|mentioned|told you about|brought up)\b"
    r"|^ *que te (?:he hablado|hablé|he mencionado|mencioné) de\b"
    r"|^ *(?:about|what(?:ever)? (?:i|you)\b.*\babout|lo (?:de|que te (?:dije|cont[eé]"
    r"|he (?:dicho|contado)) (?:de|sobre))|the (?:thing|stuff)s? (?:i (?:said|told you) )?about)\b",
    _I,
)
_INTRODUCTION = re.compile(
    r"^ *(?:(?:all|everything|anything|whatever|todo|what|the (?:fact|part|thing|stuff|bit)s?"
    r"|lo|eso|that|this|i|you|me|know|knew|said|told|mentioned|brought|up|hablado|hablé"
    r"|mencionado|mencioné|nada|was"
    r"|just|have|['’]ve|ever|about|of|que|de|sobre|te|he|dicho|dije|cont[eé]|contado|sabes"
    r"|acabo|decir|me|from your memory|de tu memoria)\b[ ,:]*)+",
    _I,
)
_LAST = re.compile(
    r"^ *(?:(?:all|everything|what|that|this|it|lo|eso|esto|lo que|la|las|los|i|you|just|now"
    r"|last|thing|message|said|told|acabo de|decir|decirte|he dicho"
    r"|[uú]ltimo|please|por favor|about|de|me|que|te|dije|now|ahora|anything)\b[ ,.!]*)*[.!]*$",
    _I,
)
_REASON = re.compile(
    r"(?:,| because| since| as i| que es| it['’]s| porque| ya que)(?: .*)?$|(?: please| por favor"
    r"| from your memory| de tu memoria| for me)$",
    _I,
)
_IT = re.compile(r"^(?:it|that|this|eso|esto|about it|eso da igual)?(?: (?:please|now))?$", _I)
_IDIOM = re.compile(r"^(?:about )?(?:it)?$|^eso da igual$", _I)
"""`Forget it` is not about memory."""
_JUDGEMENT = re.compile(r"\b(?:was|is|were|era|es|fue)\b.*$", _I)
_THAT = re.compile(r"^(?: *(?:that|que|about|the|lo de(?: que)?|de que)\b)+ *", _I)
_EVERYTHING = re.compile(r"(?:all|everything|anything|todo)\b", _I)
_PARTS = re.compile(r"(?<=[.!?;])\s+|,\s+")
_PRETEND = re.compile(
    r"^(?:act|pretend|behave|haz|act[uú]a|finge)\b.{0,20}?\b(?:never|not|no|nunca"
    r"|[\w]+n['’]t)\b.{0,30}?"
    r"\b(?:told|said|mentioned|dicho|contado|mencionado|hablado)(?: (?:you|te))?(?: (?:anything"
    r"|nada))?"
    r"(?: (?:about|of|de|sobre))? (?P<topic>.+)$",
    _I,
)
_NAMED = re.compile(r"\b(?i:my|our|mi|nuestr[oa]) (?P<name>\w+ [A-ZÁÉÍÓÚÑ]\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """Request of a message to forget something."""

    topic: str
    """Words of what is to be forgotten; empty: what was said last."""
    is_all: bool
    """Everything that matches, instead of one thing."""
    is_everything: bool = False
    """It says so: `everything about …`."""
    is_explicit: bool = True
    """It can only mean the memory; `delete my last email` may also be meant for a tool."""


def read_forget_request(text: str) -> ForgetRequest | None:
    """The request that a message makes; None if it makes none, like `don't forget that …`."""
    text = " ".join(text[:MAX_CHARS].split()).strip(" .!")
    if text.endswith("?") and not re.match(r"can|could|puedes", text, _I):
        return None
    if _NEVER_SAID.match(text[lead_in_end(text) :]):
        return ForgetRequest(topic="", is_all=True)
    if found := _PRETEND.match(text[lead_in_end(text) :]):
        return ForgetRequest(topic=found["topic"], is_all=True)
    parts = _PARTS.split(text)
    for number, part in enumerate(parts):
        bare = part[lead_in_end(part) :]
        if found := _REQUEST.match(bare):
            rest = ", ".join([found["rest"], *parts[number + 1 :]])
            before = ", ".join(parts[:number])
            return _request(rest.strip(" .!?,"), before, is_explicit=bool(_EXPLICIT.search(text)))
    return None


def _request(rest: str, before: str, *, is_explicit: bool) -> ForgetRequest | None:
    """The request with the words behind its verb, and those of the sentences before it."""
    rest = _REASON.sub("", rest)
    if _IT.match(rest) and before:
        # "That about Kate was confidential, please wipe it".
        topic = _JUDGEMENT.sub("", _INTRODUCTION.sub("", before)).strip()
        return ForgetRequest(topic=topic, is_all=True, is_explicit=is_explicit)
    if _IDIOM.match(rest):
        return None
    if _LAST.match(rest):
        return ForgetRequest(topic="", is_all=True)
    is_all = bool(_ALL_ABOUT.match(rest))
    topic = _INTRODUCTION.sub("", rest) if is_all else _THAT.sub("", rest)
    return ForgetRequest(
        topic=topic.strip() or rest,
        is_all=is_all,
        is_everything=bool(_EVERYTHING.match(rest)),
        is_explicit=is_explicit,
    )


def matching(topic: str, statements: Sequence[str]) -> list[int]:
    """Indices of the statements that the topic means, the closest only."""
    wanted = concepts_of(topic)
    specific = wanted - general() or wanted
    if not wanted:
        return []
    beings = features(topic).beings
    covered = [
        (len(specific & features(one).concepts) / len(specific), number)
        for number, one in enumerate(statements)
        if beings <= features(one).beings | features(one).concepts
    ]
    best = max((share for share, _ in covered), default=0.0)
    return [number for share, number in covered if share >= MIN_COVERAGE and share == best]


_THIRD_PERSON = re.compile(r"\b(?:the user|el usuario|la usuaria)\b", _I)


def mentions(statement: str, text: str) -> bool:
    """Check whether a text says what a statement says: most of its concepts, in any words."""
    return bool(mentioning([statement], [text]))


def mentioning(
    statements: Sequence[str], texts: Sequence[str], *, least: float | None = None
) -> list[int]:
    """Indices of the texts that say what one of the statements says: a share of its concepts of at
    least `least` (MIN_MENTIONED). Texts of any length are read completely, in about two
    milliseconds for 1000 characters."""
    share = MIN_MENTIONED if least is None else least
    wanted = [concepts_of(_THIRD_PERSON.sub(" ", one)) - general() for one in statements]
    wanted = [one for one in wanted if one]
    found: list[int] = []
    for number, text in enumerate(texts):
        said = concepts_of(text)
        if any(len(one & said) >= share * len(one) for one in wanted):
            found.append(number)
    return found


def repeating(statements: Sequence[str], messages: Sequence[str]) -> list[int]:
    """Indices of the messages of a person that say what one of the statements says, correct it
    (`it's Anna, not Ana`), or say what it has replaced, which would be believed again."""
    told = [Statement(text=one, is_change=True) for one in statements]
    found = set(mentioning(statements, messages, least=MIN_REPEATED))
    for number, message in enumerate(messages):
        if number not in found and len(message) <= MAX_MESSAGE_CHARS:
            earlier = read_message(message).statements
            if any(replaces(new, old.text) for new in told for old in earlier):
                found.add(number)
    return sorted(found)


def replaced_by(statement: str, other: str) -> bool:
    """Check whether `other` is a former value of the fact that a statement tells."""
    return replaces(Statement(text=statement, is_change=True), other)


def are_same(statement: str, other: str) -> bool:
    """Check whether two statements say the same, for instance a told and a learned form of it."""
    return mentions(statement, other) and mentions(other, statement)


def are_about_different_beings(statements: Sequence[str]) -> bool:
    """Check whether statements are about several people or animals, for instance two brothers."""
    return len({_being(one) for one in statements}) > 1


def _being(statement: str) -> object:
    named = _NAMED.search(statement)
    return named["name"].lower() if named else features(statement).beings
