"""What a person is asked before a tool runs, and what counts as a yes. Pure: waits for nobody."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spade_llm.tools.hidden import is_hidden
from spade_llm.tools.masking import MASK, masked, names_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SHOWN_CHARS = 300
"""Of one argument; the question says how much more there is."""
MAX_SHOWN_ARGUMENTS = 20
MAX_ANSWER_CHARS = 40
"""A longer message is no yes or no."""


class Verdict(StrEnum):
    """How a question for approval ended. Only YES lets a tool run."""

    YES = "yes"
    NO = "no"
    EXPIRED = "expired"
    OTHER = "other"
    """The person said something else instead."""
    NOBODY = "nobody"
    """Whoever asked cannot be asked back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """May this tool run with these arguments? Secrets are masked, long values cut."""

    id: str
    """Of this very call in this very turn: another call has another."""
    tool: str
    arguments: tuple[str, ...]
    """As shown, one line each: `to = "ada@example.org"`."""
    expires_s: float
    """For so long a yes counts, from the moment it is asked."""


Ask = Callable[[Question], Awaitable[Verdict]]
"""Asks whoever is talked to, and waits: not longer than the question counts."""


def shown_arguments(arguments: Mapping[str, object]) -> tuple[str, ...]:
    """As a person reads them; nothing in them can look like another line."""
    items = list(arguments.items())
    lines = [
        f"{_name(key)} = {_value(_masked(key, value))}"
        for key, value in items[:MAX_SHOWN_ARGUMENTS]
    ]
    more = len(items) - MAX_SHOWN_ARGUMENTS
    return (*lines, f"… and {more} more arguments") if more > 0 else tuple(lines)


def _masked(key: str, value: object) -> object:
    """A path that looks like a key is shown: nobody can say yes to what they do not see."""
    return MASK if names_secret(key) else masked(value, is_guessing=False)


def _name(key: str) -> str:
    return key if re.fullmatch(r"\w{1,64}", key) else _value(key)


def _value(value: object) -> str:
    text = "".join(_visible(json.dumps(value, ensure_ascii=False, default=str)))
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    return f"{text[:MAX_SHOWN_CHARS]}… ({len(text) - MAX_SHOWN_CHARS} more characters)"


def _visible(text: str) -> Iterator[str]:
    """Invisible characters, odd spaces and what turns the direction of writing, as numbers."""
    for char in text:
        is_shown = char.isprintable() and not is_hidden(char)
        yield char if is_shown else f"\\u{ord(char):04x}"


def question_text(question: Question, language: str = "en") -> str:
    """The message that a person gets."""
    ask, yes_or_no = _ASKED[language]
    lines = "\n".join(f"  {line}" for line in question.arguments)
    call = f"{question.tool}\n{lines}" if lines else question.tool
    return f"{ask}\n{call}\n{yes_or_no.format(_span(question.expires_s, language))}"


def settled_text(question: Question, verdict: Verdict, language: str = "en") -> str:
    """What the person's yes or no is answered with."""
    yes, no = _SETTLED[language]
    return (yes if verdict is Verdict.YES else no).format(question.tool)


_ASKED = {
    "en": (
        "May I run this tool?",
        "Answer yes or no within {}. Anything else counts as no.",
    ),
    "es": (
        "¿Puedo ejecutar esta herramienta?",
        "Responde sí o no en {}. Cualquier otra cosa cuenta como no.",
    ),
}
_SETTLED = {
    "en": ("Yes: {} runs now.", "No: {} will not run."),
    "es": ("Sí: {} se ejecuta ahora.", "No: {} no se ejecutará."),
}
_UNITS = {"en": ("minutes", "seconds"), "es": ("minutos", "segundos")}


def _span(seconds: float, language: str) -> str:
    minutes_word, seconds_word = _UNITS[language]
    whole = max(int(seconds), 1)
    return f"{whole // 60} {minutes_word}" if whole >= 120 else f"{whole} {seconds_word}"


_YES = frozenset(
    (
        *("yes", "y", "yep", "yeah", "yup", "sure", "ok", "okay", "allow", "approve", "approved"),
        *("confirm", "confirmed", "do it", "go ahead", "please do", "of course", "yes please"),
        *("yes do it", "yes go ahead", "yes run it", "run it", "👍", "✅"),
        *("si", "s", "sip", "vale", "claro", "adelante", "apruebo", "aprobado", "confirmo"),
        *("confirmado", "hazlo", "si por favor", "claro que si", "de acuerdo", "por supuesto"),
        *("si hazlo", "si adelante", "si claro", "ejecutala"),
    )
)
_NO = frozenset(
    (
        *("no", "n", "nope", "nah", "never", "stop", "cancel", "deny", "denied", "decline"),
        *("don t", "dont", "do not", "no thanks", "no thank you", "please don t", "no don t"),
        *("not now", "👎", "❌"),
        *("nunca", "para", "cancela", "cancelar", "rechazo", "rechazado", "no gracias"),
        *("no lo hagas", "no por favor", "ahora no", "mejor no"),
    )
)


def read_answer(text: str) -> Verdict | None:
    """YES or NO if the whole message says so, in English or Spanish; None for anything else."""
    if len(text) > MAX_ANSWER_CHARS:
        return None
    said = _plain(text)
    if said in _YES:
        return Verdict.YES
    return Verdict.NO if said in _NO else None


def _plain(text: str) -> str:
    """Lower case, without accents, punctuation and double spaces."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    letters = (char for char in folded if not unicodedata.combining(char))
    return " ".join(re.sub(r"[.,;:!¡?¿'\"*_`\ufe0f-]", " ", "".join(letters)).split())
