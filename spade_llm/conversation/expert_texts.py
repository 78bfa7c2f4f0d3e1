"""What an expert reads: the question, which one is meant, and that it is too late. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.providers.offline_words import language_of
from spade_llm.tools.hidden import is_hidden

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_QUESTION_CHARS = 4000
"""Of a question, and of its background; what is cut is said."""
MAX_LINE_CHARS = 200
"""Of a question in a list."""


def question_text(question: str, background: str, *, asker: str, seconds: float) -> str:
    """Quoted line by line: no words of it can be taken for ours."""
    words = _WORDS[language_of(question)]
    lines = [words["for"].format(asker) if asker else words["plain"], _quoted(question)]
    if background:
        lines += [words["background"], _quoted(background)]
    return "\n".join([*lines, words["answer"].format(_span(seconds, words))])


def which_text(questions: Sequence[str]) -> str:
    """Which of these does an answer answer?"""
    words = _WORDS[language_of(*questions)]
    lines = (f"{number}: {_line(one)}" for number, one in enumerate(questions, start=1))
    return "\n".join([words["which"], *lines])


def closed_text(question: str) -> str:
    """An answer has come that nobody waits for."""
    words = _WORDS[language_of(question)]
    return f"{words['closed']}\n> {_line(question)}"


def withdrawn_text(question: str) -> str:
    """Whoever asked waits no more."""
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
    return "".join(char for char in text if not is_hidden(char))


def _span(seconds: float, words: dict[str, str]) -> str:
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
