"""Tool approval: the question to a person, its answer, and questions that are pending."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from enum import StrEnum

from spade_llm.core.redaction import MASK, is_invisible, is_secret_name, redact

MAX_SHOWN_CHARS = 300
"""Maximum length of a shown argument, in characters; the number of omitted characters is shown."""
MAX_SHOWN_ARGUMENTS = 20
MAX_ANSWER_CHARS = 40
"""A longer message is no yes or no."""


class ApprovalVerdict(StrEnum):
    """Outcome of a question for approval. Only YES lets a tool run."""

    YES = "yes"
    NO = "no"
    EXPIRED = "expired"
    OTHER = "other"
    """The person said something else instead."""
    NOBODY = "nobody"
    """The sender cannot be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalQuestion:
    """May this tool run with these arguments? Secrets are masked, long values cut."""

    id: str
    """Id of this call in this turn; every other call has another id."""
    tool: str
    arguments: tuple[str, ...]
    """Arguments as shown, one line each: `to = "ada@example.org"`."""
    expires_s: float
    """Expiry of the question, in seconds from the moment it is asked."""


AskApproval = Callable[[ApprovalQuestion], Awaitable[ApprovalVerdict]]
"""Callback that asks the sender for approval, and waits for the answer or the expiry."""


APPROVAL_EXPIRY_S = 300.0
"""Default maximum wait for an approval, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """Person or program that a turn belongs to, with a callback for approvals."""

    jid: str = ""
    """Bare, as stamped."""
    turn_id: str = ""
    turn_key: str = ""
    """Same as in ChatTurnInput; empty: the calls of the turn have no keys."""
    ask: AskApproval | None = None
    """Callback that asks for approval; None: the sender cannot be asked."""
    expiry_s: float = APPROVAL_EXPIRY_S
    release_slot: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Context manager that releases the turn's slot to other requests while a tool waits."""


NO_APPROVER = Approver()


def shown_arguments(arguments: Mapping[str, object]) -> tuple[str, ...]:
    """Lines for the arguments, safe for display: no value can look like another line."""
    items = list(arguments.items())
    lines = []
    for key, value in items[:MAX_SHOWN_ARGUMENTS]:
        name = key if re.fullmatch(r"\w{1,64}", key) else _shown_value(key)
        # A path that only looks like a key is shown: a person cannot approve a hidden value.
        shown = MASK if is_secret_name(key) else redact(value, redacts_possible_secrets=False)
        lines.append(f"{name} = {_shown_value(shown)}")
    more = len(items) - MAX_SHOWN_ARGUMENTS
    return (*lines, f"… and {more} more arguments") if more > 0 else tuple(lines)


def _shown_value(value: object) -> str:
    # Invisible characters, odd spaces and what turns the direction of writing, as numbers.
    text = "".join(
        char if char.isprintable() and not is_invisible(char) else f"\\u{ord(char):04x}"
        for char in json.dumps(value, ensure_ascii=False, default=str)
    )
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    return f"{text[:MAX_SHOWN_CHARS]}… ({len(text) - MAX_SHOWN_CHARS} more characters)"


def approval_question_text(question: ApprovalQuestion, language: str = "en") -> str:
    """The message that a person gets."""
    ask, yes_or_no = _QUESTION_TEXTS[language]
    lines = "\n".join(f"  {line}" for line in question.arguments)
    call = f"{question.tool}\n{lines}" if lines else question.tool
    return f"{ask}\n{call}\n{yes_or_no.format(_duration_text(question.expires_s, language))}"


def settled_text(question: ApprovalQuestion, verdict: ApprovalVerdict, language: str = "en") -> str:
    """Confirmation of the person's yes or no."""
    yes, no = _SETTLED_TEXTS[language]
    return (yes if verdict is ApprovalVerdict.YES else no).format(question.tool)


_QUESTION_TEXTS = {
    "en": (
        "May I run this tool?",
        "Answer yes or no within {}. Anything else counts as no.",
    ),
    "es": (
        "¿Puedo ejecutar esta herramienta?",
        "Responde sí o no en {}. Cualquier otra cosa cuenta como no.",
    ),
}
_SETTLED_TEXTS = {
    "en": ("Yes: {} runs now.", "No: {} will not run."),
    "es": ("Sí: {} se ejecuta ahora.", "No: {} no se ejecutará."),
}
_UNITS = {"en": ("minutes", "seconds"), "es": ("minutos", "segundos")}


def _duration_text(seconds: float, language: str) -> str:
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


def read_answer(text: str) -> ApprovalVerdict | None:
    """YES or NO if the whole message says so, in English or Spanish; None for anything else."""
    if len(text) > MAX_ANSWER_CHARS:
        return None
    # NFKD takes accents off their letters: "sí" becomes "si".
    folded = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(char for char in folded if not unicodedata.combining(char))
    said = " ".join(re.sub(r"[.,;:!¡?¿'\"*_`\ufe0f-]", " ", letters).split())
    if said in _YES:
        return ApprovalVerdict.YES
    return ApprovalVerdict.NO if said in _NO else None


READING_S = 1.0
"""A question that follows upon an answer cannot have been read sooner: a yes that comes earlier
was on its way, and meant something else. A no counts at once."""


@dataclass(slots=True, eq=False)
class _PendingApproval:
    question: ApprovalQuestion
    yes_counts_from: float
    """Time from which a yes is accepted, on the event loop's clock."""
    verdict: asyncio.Future[ApprovalVerdict] = field(default_factory=asyncio.Future)


_Key = tuple[str, str]
"""Place and peer."""


class PendingApprovals:
    """Pending approval questions, in RAM: after a restart, each is asked again."""

    def __init__(self) -> None:
        self._open: dict[_Key, _PendingApproval] = {}
        self._just_answered: set[_Key] = set()
        """Keys answered within the last READING_S seconds."""

    async def ask(
        self,
        question: ApprovalQuestion,
        *,
        place: str,
        peer: str,
        show: Callable[[], Awaitable[None]],
    ) -> ApprovalVerdict:
        """Show it and wait for `settle`, not longer than the question counts."""
        key = place, peer
        yes_counts_from = _now() + READING_S * (key in self._just_answered)
        waiting = self._open[key] = _PendingApproval(question, yes_counts_from)
        try:
            with suppress(TimeoutError):
                # Sending counts, too: a question on a dead connection expires as well.
                async with asyncio.timeout(question.expires_s):
                    await show()
                    return await waiting.verdict
            return ApprovalVerdict.EXPIRED
        finally:
            # Another question may stand at this key by now.
            if self._open.get(key) is waiting:
                del self._open[key]

    def at(self, place: str, *, peer: str) -> ApprovalQuestion | None:
        """Question that this peer is asked in this place, if it is not answered yet."""
        waiting = self._open.get((place, peer))
        return None if waiting is None or waiting.verdict.done() else waiting.question

    def of_peer(self, peer: str) -> list[tuple[str, ApprovalQuestion]]:
        """Pending questions of this peer with their places, oldest first."""
        return [
            (place, waiting.question)
            for (place, asked), waiting in self._open.items()
            if asked == peer and not waiting.verdict.done()
        ]

    def is_too_early(self, place: str, *, peer: str) -> bool:
        """True if a yes arrives too early to be meant for the current question."""
        waiting = self._open.get((place, peer))
        return waiting is not None and _now() < waiting.yes_counts_from

    def settle(self, place: str, verdict: ApprovalVerdict, *, peer: str) -> ApprovalQuestion | None:
        """Answer it: the first answer counts. None: this peer is asked nothing there."""
        key, question = (place, peer), self.at(place, peer=peer)
        if question is not None:
            self._open[key].verdict.set_result(verdict)
            self._just_answered.add(key)
            asyncio.get_running_loop().call_later(READING_S, self._just_answered.discard, key)
        return question


def _now() -> float:
    return asyncio.get_running_loop().time()
