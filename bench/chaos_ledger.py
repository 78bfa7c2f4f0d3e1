"""What became of every message of a chaos run, and which of it breaks a promise. Sends nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.chaos_model import names_in

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(slots=True, kw_only=True)
class Said:
    """One message, or one request."""

    text: str
    began: float
    """By the clock of the event loop."""
    answers: set[str] = field(default_factory=set)
    """Ids: the same id again counts as the same answer."""
    errors: list[str] = field(default_factory=list)
    ended: float | None = None

    @property
    def took_s(self) -> float:
        return (self.ended or self.began) - self.began


@dataclass(slots=True)
class Ledger:
    """Grows with the run: some ten thousand messages at most."""

    said: list[Said] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Contents of memories that were acknowledged."""
    leaks: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    """What came to somebody and answers nothing that they said."""

    def note_words(self, whose: str, text: str, where: str) -> None:
        """Somebody was shown this."""
        others = names_in(text) - {whose}
        if others:
            self.leaks.append(f"{where}: {whose} saw words of {', '.join(sorted(others))}")

    def complaints(self) -> list[str]:
        """Empty: every promise was kept."""
        unanswered = [one.text for one in self.said if not one.answers and not one.errors]
        double = [
            f"{one.text} ({len(one.answers)} answers, errors: {one.errors})"
            for one in self.said
            if len(one.answers) > 1 or (one.answers and one.errors)
        ]
        return [
            *(f"no answer and no error: {text}" for text in unanswered),
            *(f"more than one answer: {text}" for text in double),
            *(f"answers nothing: {text}" for text in self.strays),
            *self.leaks,
        ]


STORED = """
    SELECT owner.jid, coalesce(entry.subject, ''), entry.content
    FROM entry JOIN owner ON owner.number = entry.owner
    WHERE entry.deleted_at IS NULL AND entry.content LIKE '% is kept'
"""


def stored_in(database: Path) -> list[tuple[str, str, str]]:
    """Owner, subject and content of every memory that a chaos run stored."""
    with closing(sqlite3.connect(database)) as file:
        return list(file.execute(STORED))


def complaints_about(stored: list[tuple[str, str, str]], kept: list[str]) -> list[str]:
    """What was acknowledged is there, once, and belongs to who said it."""
    times = Counter(content for _, _, content in stored)
    lost = [f"acknowledged and lost: {content}" for content in kept if not times[content]]
    double = [f"stored {n} times: {content}" for content, n in times.items() if n > 1]
    wrong = [
        f"{content!r} belongs to {owner} about {subject or 'nobody'}"
        for owner, subject, content in stored
        if not names_in(content) <= {_local(owner), _local(subject)}
    ]
    return [*lost, *double, *wrong]


def _local(jid: str) -> str:
    return jid.partition("@")[0]
