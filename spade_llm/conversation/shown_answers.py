"""Which messages of ours show the answer to which message of a person: ids only, on disk.

Whoever corrects what was shown finds it here, also after a kill −9. Knows no wire and no text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from spade_llm.small_database import SmallDatabase

if TYPE_CHECKING:
    from pathlib import Path

MAX_ROWS = 10_000
"""Answers, of all people: beyond, the oldest is forgotten and nothing can replace it."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS shown (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    peer TEXT NOT NULL,
    place TEXT NOT NULL,
    asked TEXT NOT NULL,
    request TEXT NOT NULL,
    turn TEXT NOT NULL,
    ids TEXT NOT NULL,
    UNIQUE (place, asked)
);
CREATE INDEX IF NOT EXISTS shown_peer ON shown(peer);
CREATE INDEX IF NOT EXISTS shown_request ON shown(place, request);
"""
_PUT = "INSERT OR REPLACE INTO shown(peer, place, asked, request, turn, ids) VALUES (?,?,?,?,?,?)"
_IDS = "UPDATE shown SET ids = ? WHERE place = ? AND asked = ?"
_OF_REQUEST = """SELECT peer, place, asked, request, turn, ids FROM shown
    WHERE place = ? AND request = ? ORDER BY number DESC LIMIT 1"""
_OF_PLACE = """SELECT peer, place, asked, request, turn, ids FROM shown
    WHERE place = ? ORDER BY number DESC LIMIT 1"""
_FORGET = "DELETE FROM shown WHERE peer = ?"
_FORGET_PLACE = "DELETE FROM shown WHERE place = ?"
_BOUND = "DELETE FROM shown WHERE number <= (SELECT max(number) FROM shown) - ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    peer: str
    """Bare JID of who asked."""
    place: str
    """The conversation."""
    asked: str
    """Id of the message that was asked, as it was before its asker corrected it."""
    request: str
    """Id of its latest version."""
    turn: str
    """Of that version: the id under which the exchange is kept."""
    ids: tuple[str, ...] = ()
    """Of our messages that show the answer, in order; empty: nothing was shown yet."""


class ShownAnswers:
    """Every method raises StorageFailed if the disk refuses."""

    def __init__(self, path: Path | None) -> None:
        """`path=None` keeps it in RAM only."""
        self._db = SmallDatabase(path, schema=_SCHEMA, what="the list of shown answers")

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        self._db.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._db.close()

    async def put(self, answer: ShownAnswer) -> None:
        """It is the last of its place now."""
        ids = json.dumps(answer.ids)
        known_by = (answer.peer, answer.place, answer.asked, answer.request, answer.turn)
        self._db.run(_PUT, *known_by, ids)
        await self._db.hold_bound(_BOUND, MAX_ROWS)

    def show(self, answer: ShownAnswer, ids: tuple[str, ...]) -> None:
        self._db.run(_IDS, json.dumps(ids), answer.place, answer.asked)

    def of_request(self, place: str, request: str) -> ShownAnswer | None:
        return _answer(self._db.run(_OF_REQUEST, place, request))

    def last(self, place: str) -> ShownAnswer | None:
        return _answer(self._db.run(_OF_PLACE, place))

    async def forget_place(self, place: str) -> None:
        self._db.run(_FORGET_PLACE, place)

    def forget(self, peer: str) -> None:
        self._db.run(_FORGET, peer)


def _answer(rows: list[tuple[object, ...]]) -> ShownAnswer | None:
    for peer, place, asked, request, turn, ids in rows:
        return ShownAnswer(
            peer=str(peer),
            place=str(place),
            asked=str(asked),
            request=str(request),
            turn=str(turn),
            ids=tuple(json.loads(str(ids))),
        )
    return None
