"""Migration of facts that a learned diet closed although both are true.

Up to schema 4 `Ana is vegan` closed every fact of the form `Ana is …`. A fact closed so has the
time of the episode that told the diet as its `invalid_at`, and the diet has that episode among its
sources. What another fact of that episode contradicts stays closed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from spade_llm.memory.learning.slots import Filled

LEARNED = "SELECT owner, subject, content, sources FROM entry WHERE origin = 2"

TIME_OF = "SELECT coalesce(valid_at, created_at) FROM entry WHERE owner = ? AND id = ?"

CLOSED_AT = """
    SELECT seq, content, coalesce(valid_at, created_at) FROM entry
    WHERE owner = ? AND subject IS ? AND invalid_at = ? AND deleted_at IS NULL
"""

TOLD_BY = """
    SELECT content FROM entry WHERE owner = ? AND subject IS ? AND origin = 2
        AND instr(sources, ?)
"""

STILL_TRUE = """
    SELECT content, coalesce(valid_at, created_at) FROM entry
    WHERE owner = ? AND subject IS ? AND invalid_at IS NULL AND deleted_at IS NULL
"""

SET_END = "UPDATE entry SET invalid_at = ? WHERE seq = ?"

ID_BYTES = 16

_DIET = re.compile(
    r"(?P<who>.{1,60}?) (?:is (?:vegetarian|vegan|pescatarian|coeliac|celiac|lactose intolerant"
    r"|diabetic)|es (?:vegetarian[oa]|vegan[oa]|cel[ií]ac[oa]|intolerante a la lactosa"
    r"|diab[eé]tic[oa]))\.?",
    re.IGNORECASE,
)
"""What the rules of schema 4 wrote for a diet."""
_CLOSABLE = re.compile(r"(?P<who>.{1,60}?) (?:is|es) .+", re.IGNORECASE | re.DOTALL)
"""What they took for another diet."""
_USER = ("user", "the user", "usuario", "el usuario", "la usuaria")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closing:
    """An episode that told a diet."""

    owner: int
    subject: str | None
    names: Sequence[str]
    episode: bytes
    at: int


def reopen_facts(connection: sqlite3.Connection) -> None:
    for closing in list(_closings(connection)):
        _reopen(connection, closing)


def _closings(connection: sqlite3.Connection) -> Iterator[_Closing]:
    for owner, subject, content, sources in connection.execute(LEARNED):
        diet = _DIET.fullmatch(content)
        if diet is None or not sources:
            continue
        names = (diet["who"].casefold(), *_USER)
        for start in range(0, len(sources), ID_BYTES):
            episode = sources[start : start + ID_BYTES]
            for (at,) in connection.execute(TIME_OF, (owner, episode)):
                yield _Closing(owner=owner, subject=subject, names=names, episode=episode, at=at)


def _reopen(connection: sqlite3.Connection, closing: _Closing) -> None:
    # Here, so that only a start that migrates compiles the rules.
    from spade_llm.memory.learning.slots import read_fact

    whose = (closing.owner, closing.subject)
    told = connection.execute(TOLD_BY, (*whose, closing.episode)).fetchall()
    told_slots = [read_fact(content, closing.names) for (content,) in told]
    for seq, content, since in connection.execute(CLOSED_AT, (*whose, closing.at)).fetchall():
        found = _CLOSABLE.fullmatch(content)
        if found is None or found["who"].casefold() not in closing.names:
            continue
        slot = read_fact(content, closing.names)
        if any(slot and other and other.contradicts(slot) for other in told_slots):
            continue
        true_now = connection.execute(STILL_TRUE, whose).fetchall()
        if content not in (text for text, _ in true_now):
            later = [
                (read_fact(text, closing.names), begin) for text, begin in true_now if begin > since
            ]
            connection.execute(SET_END, (_end(slot, later), seq))


def _end(slot: Filled | None, later: Sequence[tuple[Filled | None, int]]) -> int | None:
    """Since when a later fact contradicts it; None: it is still true."""
    return min(
        (at for other, at in later if slot and other and other.contradicts(slot)), default=None
    )
