"""Which session a conversation is that its client tells again with every request. Knows no HTTP.

A chat program sends the whole conversation and no name of it. It is known by what came before its
last question: the digest of that was noted when its last answer was given. What a client claims to
have been said is looked up by this and used for nothing else.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.small_database import SmallDatabase

MAX_KNOWN = 5000
"""Answers of one principal that a conversation can go on from: the latest."""

Line = tuple[str, str]
"""Role and text of a message."""

_FIND = "SELECT session FROM conversations WHERE principal = ? AND digest = ?"
_NOTE = """INSERT INTO conversations(principal, digest, session, at) VALUES (?,?,?,?)
    ON CONFLICT DO UPDATE SET session = excluded.session, at = excluded.at"""
_BOUND = """DELETE FROM conversations WHERE principal = ?1 AND digest IN (
    SELECT digest FROM conversations WHERE principal = ?1 ORDER BY at DESC LIMIT -1 OFFSET ?2)"""


class Conversations:
    """On an open gateway database. Raises StorageFailed where the disk refuses."""

    def __init__(self, database: SmallDatabase, *, clock: Callable[[], float] = time.time) -> None:
        self._db = database
        self._clock = clock

    def session(self, principal: str, model: str, before: Sequence[Line]) -> str | None:
        """`before`: the last question. None: it is new, or not known any more."""
        rows = self._db.run(_FIND, principal, _digest(model, before))
        return str(rows[0][0]) if rows else None

    def note(self, principal: str, model: str, said: Sequence[Line], session: str) -> None:
        """`said`: up to the answer that has just been given."""
        self._db.run(_NOTE, principal, _digest(model, said), session, self._clock())
        self._db.run(_BOUND, principal, MAX_KNOWN)


def _digest(model: str, said: Sequence[Line]) -> bytes:
    """White space around a text is not what makes it another: clients trim."""
    lines = [model, *((role, text.strip()) for role, text in said)]
    return hashlib.sha256(json.dumps(lines).encode()).digest()
