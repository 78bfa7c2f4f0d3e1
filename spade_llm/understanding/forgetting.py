"""Requests to forget, in words: what is meant, and which statements it matches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.understanding.clauses import lead_in_end
from spade_llm.understanding.features import features
from spade_llm.understanding.vocabulary import concepts_of, general

if TYPE_CHECKING:
    from collections.abc import Sequence

_I = re.IGNORECASE

MIN_COVERAGE = 0.6
"""Minimum share of the request's concepts that a statement has."""

_REQUEST = re.compile(
    r"^(?:please |actually,? |can you |could you |would you |you (?:can|should|may|could) "
    r"|i(?:['’]d| would)? "
    r"(?:want|like|prefer|need|rather) (?:you to |that you |you )?|let['’]?s |por favor,? "
    r"|puedes |podr[ií]as "
    r"|(?:quiero|prefiero|necesito|me gustar[ií]a) que |mejor |ya )*"
    r"(?:forget|delete|erase|remove|drop|wipe|get rid of|clear|do(?:n['’]t| not) (?:remember"
    r"|store|keep|save|know)"
    r"|stop remembering|don['’]t want you to (?:know|remember|keep|store)|scratch|strike|unlearn"
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
    r"|^ *(?:about|what(?:ever)? (?:i|you)\b.*\babout|lo (?:de|que te (?:dije|cont[eé]"
    r"|he (?:dicho|contado)) (?:de|sobre))|the (?:thing|stuff)s? (?:i (?:said|told you) )?about)\b",
    _I,
)
_INTRODUCTION = re.compile(
    r"^ *(?:(?:all|everything|anything|whatever|todo|what|the (?:fact|part|thing|stuff|bit)s?"
    r"|lo|eso|that|this|i|you|me|know|knew|said|told|mentioned"
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
    r"(?:,| because| since| as i| porque| ya que)(?: .*)?$|(?: please| por favor"
    r"| from your memory| de tu memoria| for me)$",
    _I,
)
_NAMED = re.compile(r"\b(?i:my|our|mi|nuestr[oa]) (?P<name>\w+ [A-ZÁÉÍÓÚÑ]\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """What a message asks to forget."""

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
    text = " ".join(text.split()).strip(" .!")
    bare = text[lead_in_end(text) :]
    if _NEVER_SAID.match(bare):
        return ForgetRequest(topic="", is_all=True)
    found = _REQUEST.match(bare)
    if found is None or text.endswith("?") and not re.match(r"can|could|puedes", text, _I):
        return None
    rest = found["rest"].strip(" .!?,")
    if re.match(r"(?:it|eso da igual|about it)?$", rest, _I):
        return None
    rest = _REASON.sub("", rest)
    if _LAST.match(rest):
        return ForgetRequest(topic="", is_all=True)
    is_all = bool(_ALL_ABOUT.match(rest))
    is_everything = bool(re.match(r"(?:all|everything|anything|todo)\b", rest, _I))
    topic = re.sub(r"^(?: *(?:that|que|about|the|lo de(?: que)?|de que)\b)+ *", "", rest, flags=_I)
    if is_all:
        topic = _INTRODUCTION.sub("", rest)
    return ForgetRequest(topic=topic.strip() or rest, is_all=is_all, is_everything=is_everything)


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
    """Check whether a message says what a statement says: all its concepts, or its own words."""
    wanted = concepts_of(_THIRD_PERSON.sub(" ", statement)) - general()
    return bool(wanted) and len(wanted & concepts_of(text)) >= 0.8 * len(wanted)


def are_same(statement: str, other: str) -> bool:
    """Check whether two statements say the same, for instance a told and a learned form of it."""
    return mentions(statement, other) and mentions(other, statement)


def are_about_different_beings(statements: Sequence[str]) -> bool:
    """Check whether statements are about several people or animals, for instance two brothers."""
    return len({_being(one) for one in statements}) > 1


def _being(statement: str) -> object:
    named = _NAMED.search(statement)
    return named["name"].lower() if named else features(statement).beings
