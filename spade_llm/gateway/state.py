"""Which principals and sessions a gateway knows, and how sessions are set. Knows no HTTP.

What was said in a session is the assistant's to keep; here is that there is one, when it was last
used, and the beginning of its first question.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from spade_llm.core.limits import LruDict
from spade_llm.gateway.configuration import (
    NOTHING_SAID,
    Configuration,
    Effective,
    effective,
    merged,
)
from spade_llm.gateway.database import hold_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.small_database import SmallDatabase

MAX_SESSIONS = 5000
"""Of one principal: of sessions and of their configurations; those that were not used for longest
are forgotten here (and stay with the assistant)."""
MAX_TITLE_CHARS = 80
SEEN_EVERY_S = 3600.0
MAX_SEEN = 10_000
"""Principals whose last look is known in RAM."""
_GLOBAL = ""
"""Stands for all sessions of a principal; no session has this name."""

_SEE = "INSERT INTO principals(jid, seen) VALUES (?,?) ON CONFLICT(jid) DO UPDATE SET seen = ?2"
_PRINCIPALS = "SELECT jid FROM principals ORDER BY jid"
_USE = """INSERT INTO sessions(principal, session, title, created, updated) VALUES (?,?,?,?4,?4)
    ON CONFLICT DO UPDATE SET updated = ?4, title = iif(title = '', excluded.title, title)
    RETURNING created = updated"""
_SESSIONS = """SELECT session, title, created, updated FROM sessions WHERE principal = ?
    ORDER BY updated DESC, session LIMIT ?"""
_DROP_SESSION = "DELETE FROM sessions WHERE principal = ? AND session = ? RETURNING session"
_FIND = """SELECT content, created, updated FROM configurations
    WHERE principal = ? AND session = ?"""
_SET = """INSERT INTO configurations(principal, session, content, created, updated)
    VALUES (?,?,?,?4,?4) ON CONFLICT DO UPDATE SET content = ?3, updated = ?4
    RETURNING created = updated"""
_UNSET = "DELETE FROM configurations WHERE principal = ? AND session = ? RETURNING session"
_BOUND = """DELETE FROM {0} WHERE principal = ?1 AND session <> '' AND session IN (
    SELECT session FROM {0} WHERE principal = ?1 ORDER BY updated DESC LIMIT -1 OFFSET ?2)"""
_BOUND_SESSIONS, _BOUND_CONFIGURATIONS = map(_BOUND.format, ("sessions", "configurations"))
_COUNT = "SELECT count(*) FROM sessions"
_FORGET = tuple(f"DELETE FROM {table}" for table in ("sessions", "configurations", "conversations"))
_FORGET_PRINCIPALS = "DELETE FROM principals"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    session_id: str
    title: str
    """Beginning of its first question; empty: nothing was asked yet."""
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A session's configuration as it was said."""

    content: Configuration
    created: datetime
    updated: datetime


class State:
    """On an open gateway database. Every method raises StorageFailed where the disk refuses."""

    def __init__(self, database: SmallDatabase, *, clock: Callable[[], float] = time.time) -> None:
        self._db = database
        self._clock = clock
        self._seen: LruDict[str, float] = LruDict(MAX_SEEN)

    def see(self, principal: str) -> None:
        """It has asked something."""
        now = self._clock()
        if now - self._seen.get(principal, 0.0) >= SEEN_EVERY_S:
            self._db.run(_SEE, principal, now)
            self._seen[principal] = now

    def principals(self) -> list[str]:
        """All who ever asked something through this gateway: bare JIDs that tokens name."""
        return [str(row[0]) for row in self._db.run(_PRINCIPALS)]

    async def use_session(self, principal: str, session: str, *, question: str = "") -> None:
        """It is the principal's latest now; its first question is its title."""
        title = " ".join(question[: 4 * MAX_TITLE_CHARS].split())[:MAX_TITLE_CHARS]
        rows = self._db.run(_USE, principal, session, title, self._clock())
        await self._hold(_BOUND_SESSIONS, principal, is_new=rows[0] == (1,))

    def sessions(self, principal: str, *, limit: int = MAX_SESSIONS) -> list[SessionRow]:
        """The latest first."""
        return [_session(row) for row in self._db.run(_SESSIONS, principal, limit)]

    def drop_session(self, principal: str, session: str) -> bool:
        """Forget that there is one; its configuration stays. False: there was none."""
        return bool(self._db.run(_DROP_SESSION, principal, session))

    def kept(self, principal: str, session: str = _GLOBAL) -> Kept | None:
        """What was said for a session, or (without one) for all of the principal's."""
        rows = self._db.run(_FIND, principal, session)
        if not rows:
            return None
        # SQLite gives what `_SET` put into these columns.
        content, created, updated = cast("tuple[str, float, float]", rows[0])
        read = Configuration.model_validate_json(content)
        return Kept(content=read, created=_time(created), updated=_time(updated))

    def said(self, principal: str, session: str = _GLOBAL) -> Configuration:
        kept = self.kept(principal, session)
        return kept.content if kept else NOTHING_SAID

    async def configure(
        self, principal: str, change: Configuration, session: str = _GLOBAL
    ) -> None:
        """Into what was said before, field by field."""
        content = merged(self.said(principal, session), change)
        text = content.model_dump_json(exclude_none=True)
        rows = self._db.run(_SET, principal, session, text, self._clock())
        await self._hold(_BOUND_CONFIGURATIONS, principal, is_new=rows[0] == (1,))

    def unset(self, principal: str, session: str = _GLOBAL) -> bool:
        """False: nothing was said for it."""
        return bool(self._db.run(_UNSET, principal, session))

    def effective(
        self, principal: str, session: str = _GLOBAL, *, request: Configuration = NOTHING_SAID
    ) -> Effective:
        """What holds: the request's own fields, else the session's, the global's, the defaults."""
        return effective(request, self.said(principal, session), self.said(principal))

    def forget_all(self, *, with_principals: bool) -> int:
        """Of everybody: sessions and how they are set; tokens stay. How many sessions there
        were."""
        (count,) = self._db.run(_COUNT)[0]
        for statement in _FORGET:
            self._db.run(statement)
        if with_principals:
            self._db.run(_FORGET_PRINCIPALS)
            self._seen.clear()
        return int(str(count))

    async def _hold(self, bound: str, principal: str, *, is_new: bool) -> None:
        if is_new:
            self._db.run(bound, principal, MAX_SESSIONS)
        await hold_bounds(self._db, self._clock())


def _session(row: tuple[object, ...]) -> SessionRow:
    session, title, created, updated = cast("tuple[str, str, float, float]", row)
    return SessionRow(
        session_id=session, title=title, created=_time(created), updated=_time(updated)
    )


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
