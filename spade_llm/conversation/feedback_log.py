"""Which answer was made from which memories, and what its reader thinks of it. On disk; knows no
emoji and no wire.

A verdict is 1, -1, or 0 where there is none (any more).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from spade_llm.small_database import SmallDatabase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_ANSWERS = 20_000
"""Of all people; beyond, the oldest can be reacted to no more."""
MAX_SUFFIXES = 4
"""An answer's id is its question's and a few parts behind dots: pieces, corrections."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    peer TEXT NOT NULL,
    question TEXT NOT NULL,
    conversation TEXT NOT NULL,
    memories TEXT NOT NULL,
    verdict INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 0,
    shifts TEXT NOT NULL DEFAULT '{}',
    UNIQUE (peer, question)
);
CREATE INDEX IF NOT EXISTS answers_unsettled ON answers(number) WHERE verdict <> settled;
"""
_COLUMNS = "number, memories, verdict, settled, shifts"
# An answer that was reacted to keeps what it was made from: a shift must be taken back there.
_NOTE = """
INSERT INTO answers(peer, question, conversation, memories) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (peer, question) DO UPDATE SET memories = ?4 WHERE verdict = 0 AND settled = 0
"""
_FIND = f"""
SELECT {_COLUMNS} FROM answers WHERE peer = ? AND question IN (SELECT value FROM json_each(?))
ORDER BY length(question) DESC LIMIT 1
"""
_LAST = f"""
SELECT {_COLUMNS} FROM answers WHERE peer = ? AND conversation = ? ORDER BY number DESC LIMIT 1
"""
_JUDGE = "UPDATE answers SET verdict = ? WHERE number = ?"
_UNSETTLED = f"SELECT {_COLUMNS} FROM answers WHERE verdict <> settled ORDER BY number LIMIT ?"
_SETTLE = "UPDATE answers SET settled = ?, shifts = ? WHERE number = ?"
_BOUND = "DELETE FROM answers WHERE number <= (SELECT max(number) FROM answers) - ?"
_FORGET_CONVERSATION = "DELETE FROM answers WHERE conversation = ?"
_FORGET = "DELETE FROM answers WHERE peer = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedAnswer:
    number: int
    memories: Sequence[str]
    """Ids of those that it used."""
    verdict: int = 0
    settled: int = 0
    """The verdict that these memories bear already."""
    shifts: Mapping[str, float] = field(default_factory=dict)
    """By how much, by id."""


class FeedbackLog:
    """Every method raises StorageFailed."""

    def __init__(self, path: Path | None) -> None:
        """`path=None` keeps it in RAM only."""
        self._db = SmallDatabase(path, schema=_SCHEMA, what="the log of feedback")

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._db.close()

    async def note(
        self, *, peer: str, question: str, conversation: str, memories: Sequence[str]
    ) -> None:
        """`question`: the id of the message that was answered."""
        self._db.run(_NOTE, peer, question, conversation, json.dumps(list(memories)))
        await self._db.hold_bound(_BOUND, MAX_ANSWERS)

    def find(self, *, peer: str, message_id: str) -> NotedAnswer | None:
        """Of an answer that this bare JID got, by the id of it or of a part of it."""
        return self._one(_FIND, peer, json.dumps(_questions(message_id)))

    def last(self, *, peer: str, conversation: str) -> NotedAnswer | None:
        return self._one(_LAST, peer, conversation)

    def judge(self, answer: NotedAnswer, verdict: int) -> None:
        self._db.run(_JUDGE, verdict, answer.number)

    def unsettled(self, limit: int = 100) -> list[NotedAnswer]:
        """Whose memories do not bear their verdict yet, oldest first."""
        return list(map(_answer, self._db.run(_UNSETTLED, limit)))

    def settle(self, answer: NotedAnswer, shifts: Mapping[str, float]) -> None:
        """Its memories bear its verdict now."""
        self._db.run(_SETTLE, answer.verdict, json.dumps(dict(shifts)), answer.number)

    async def forget_conversation(self, conversation: str) -> None:
        self._db.run(_FORGET_CONVERSATION, conversation)

    async def forget(self, peer: str) -> None:
        self._db.run(_FORGET, peer)

    def _one(self, sql: str, *values: object) -> NotedAnswer | None:
        return next(map(_answer, self._db.run(sql, *values)), None)


def _questions(message_id: str) -> list[str]:
    """What the question's id may be."""
    found = [message_id]
    for _ in range(MAX_SUFFIXES):
        found.append(found[-1].rpartition(".")[0])
    return [one for one in found if one]


def _answer(row: Sequence[object]) -> NotedAnswer:
    number, memories, verdict, settled, shifts = row
    return NotedAnswer(
        number=int(str(number)),
        memories=tuple(json.loads(str(memories))),
        verdict=int(str(verdict)),
        settled=int(str(settled)),
        shifts=json.loads(str(shifts)),
    )
