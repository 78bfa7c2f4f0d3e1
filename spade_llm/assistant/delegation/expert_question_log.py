"""Expert question log (SQLite), and the texts that an expert reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from spade_llm.core.database import DatabasePlace, StoreTables
from spade_llm.core.redaction import is_invisible
from spade_llm.search.language import language_of

# A question every few minutes: its checkpoints are in nobody's way.
_SCHEMA = """PRAGMA wal_autocheckpoint=1000; CREATE TABLE IF NOT EXISTS asked (
    id TEXT PRIMARY KEY, expert TEXT NOT NULL, question TEXT NOT NULL,
    expires_at REAL NOT NULL, is_sent INTEGER NOT NULL DEFAULT 0, answer TEXT) WITHOUT ROWID;"""
EXPERT_TABLES = StoreTables(
    name="experts", what="the record of questions to experts", schema=_SCHEMA
)
_ALL = "SELECT id, expert, question, expires_at, is_sent, answer FROM asked"
_ADD = """INSERT INTO asked(id, expert, question, expires_at) VALUES (?,?,?,?)
    ON CONFLICT (id) DO UPDATE SET expert = excluded.expert, question = excluded.question,
    expires_at = excluded.expires_at, is_sent = 0, answer = NULL"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedExpertQuestion:
    """Log row of a question to an expert; equal ids are the same question."""

    id: str
    expert: str
    """Bare JID."""
    question: str
    expires_at: float
    """Seconds since the epoch."""
    is_sent: bool = False
    answer: str | None = None


class ExpertQuestionLog:
    """Log of open and answered questions to experts. Each coroutine raises StorageFailed; a failure
    of the others is logged."""

    def __init__(self, place: DatabasePlace) -> None:
        self._db = EXPERT_TABLES.at(place)

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        await self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._db.close()

    async def load(self, *, since: float) -> Sequence[LoggedExpertQuestion]:
        """Load the questions that expire after `since`; older ones are removed."""
        await self._db.execute("DELETE FROM asked WHERE expires_at < ?", since)
        rows = await self._db.execute(_ALL)
        return list(map(_logged_question, rows))

    async def add(self, asked: LoggedExpertQuestion) -> None:
        await self._db.execute(_ADD, asked.id, asked.expert, asked.question, asked.expires_at)

    async def sent(self, id: str) -> None:
        await self._db.execute("UPDATE asked SET is_sent = 1 WHERE id = ?", id)

    def answer(self, id: str, text: str) -> None:
        self._db.submit("UPDATE asked SET answer = ? WHERE id = ?", text, id)

    def remove(self, id: str) -> None:
        self._db.submit("DELETE FROM asked WHERE id = ?", id)


def _logged_question(row: tuple[object, ...]) -> LoggedExpertQuestion:
    id, expert, question, expires_at, is_sent, answer = row
    return LoggedExpertQuestion(
        id=str(id),
        expert=str(expert),
        question=str(question),
        expires_at=float(str(expires_at)),
        is_sent=bool(is_sent),
        answer=None if answer is None else str(answer),
    )


MAX_QUESTION_CHARS = 4000
"""Maximum length of a question, and of its background, in characters; truncation is marked."""
MAX_LINE_CHARS = 200
"""Maximum length of a question in a list, in characters."""


def expert_question_text(question: str, background: str, *, asker: str, seconds: float) -> str:
    """Quoted line by line: no words of it can be taken for ours."""
    words = _WORDS[language_of(question)]
    lines = [words["for"].format(asker) if asker else words["plain"], _quoted(question)]
    if background:
        lines += [words["background"], _quoted(background)]
    return "\n".join([*lines, words["answer"].format(_duration_text(seconds, words))])


def disambiguation_text(questions: Sequence[str]) -> str:
    """Text that asks the expert which question an answer belongs to."""
    words = _WORDS[language_of(*questions)]
    lines = (f"{number}: {_line(one)}" for number, one in enumerate(questions, start=1))
    return "\n".join([words["which"], *lines])


def closed_text(question: str) -> str:
    """Text for an expert's answer to a question that is closed."""
    words = _WORDS[language_of(question)]
    return f"{words['closed']}\n> {_line(question)}"


def withdrawn_text(question: str) -> str:
    """Text that tells the expert that a question is withdrawn."""
    words = _WORDS[language_of(question)]
    return f"{words['withdrawn']}\n> {_line(question)}"


def _quoted(text: str) -> str:
    more = len(text) - MAX_QUESTION_CHARS
    cut = f"{text[:MAX_QUESTION_CHARS]}… (+{more})" if more > 0 else text
    return "\n".join(f"> {_visible(line)}" for line in cut.splitlines() or [""])


def _line(text: str) -> str:
    one = _visible(" ".join(text.split()))
    return one if len(one) <= MAX_LINE_CHARS else f"{one[:MAX_LINE_CHARS]}…"


def _visible(text: str) -> str:
    # Marks that turn the direction of writing could disguise the quotation.
    return "".join(char for char in text if not is_invisible(char))


def _duration_text(seconds: float, words: dict[str, str]) -> str:
    if seconds >= 7200:
        return f"{int(seconds // 3600)} {words['hours']}"
    if seconds >= 120:
        return f"{int(seconds // 60)} {words['minutes']}"
    return f"{max(int(seconds), 1)} {words['seconds']}"


_WORDS = {
    "en": {
        "plain": "A question for you:",
        "for": "A question for you, on behalf of {}:",
        "background": "What it is about:",
        "answer": "Please answer this message within {}.",
        "which": "Which question is that the answer to? Please send its number:",
        "closed": "Thank you, but this question is not open any more:",
        "withdrawn": "This question is withdrawn; it needs no answer any more:",
        "hours": "hours",
        "minutes": "minutes",
        "seconds": "seconds",
    },
    "es": {
        "plain": "Una pregunta para ti:",
        "for": "Una pregunta para ti, de parte de {}:",
        "background": "De qué se trata:",
        "answer": "Por favor, responde a este mensaje en {}.",
        "which": "¿A qué pregunta responde eso? Envía su número, por favor:",
        "closed": "Gracias, pero esta pregunta ya no está abierta:",
        "withdrawn": "Esta pregunta se retira; ya no necesita respuesta:",
        "hours": "horas",
        "minutes": "minutos",
        "seconds": "segundos",
    },
}
