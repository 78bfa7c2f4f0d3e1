"""Store of principals, sessions, their configuration, and known conversations.

The assistant stores the messages; the gateway stores that a session exists, when it was last used,
and the beginning of its first question.

An OpenAI client sends the whole conversation without an id. The gateway finds the session by the
digest of the messages before the last question, which it recorded with the last answer. The
client's history is used for this lookup only.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from spade_llm.core.database import NO_LIMIT, Database
from spade_llm.core.limits import LruDict
from spade_llm.gateway.gateway_database import enforce_bounds
from spade_llm.gateway.schemas.configuration import (
    EMPTY_LAYER,
    ConfigurationLayer,
    EffectiveConfiguration,
    effective_configuration,
    merge_layers,
)

MAX_SESSIONS = 5000
"""Maximum number of sessions, and of their configurations, for each principal. The least recently
used are evicted here (the assistant still has them)."""
MAX_TITLE_CHARS = 80
SEEN_EVERY_S = 3600.0
MAX_SEEN = 10_000
"""Maximum number of principals with a cached time of their last request (LRU)."""
_GLOBAL = ""
"""Stands for all sessions of a principal; no session has this name."""

_SEE = "INSERT INTO principals(jid, seen) VALUES (?1,?2) ON CONFLICT (jid) DO UPDATE SET seen = ?2"
_PRINCIPALS = "SELECT jid FROM principals ORDER BY jid"
_USE = """INSERT INTO sessions(principal, session, title, created, updated) VALUES (?1,?2,?3,?4,?4)
    ON CONFLICT (principal, session) DO UPDATE SET updated = ?4,
    title = CASE WHEN sessions.title = '' THEN excluded.title ELSE sessions.title END
    RETURNING created = updated"""
_SESSIONS = """SELECT session, title, created, updated FROM sessions WHERE principal = ?
    ORDER BY updated DESC, session LIMIT ?"""
_DROP_SESSION = "DELETE FROM sessions WHERE principal = ? AND session = ? RETURNING session"
_FIND_CONFIGURATION = """SELECT content, created, updated FROM configurations
    WHERE principal = ? AND session = ?"""
_SET = """INSERT INTO configurations(principal, session, content, created, updated)
    VALUES (?1,?2,?3,?4,?4) ON CONFLICT (principal, session) DO UPDATE SET
    content = ?3, updated = ?4 RETURNING created = updated"""
_UNSET = "DELETE FROM configurations WHERE principal = ? AND session = ? RETURNING session"
# The global configuration is not a
# session.
_BOUND_ROWS = """DELETE FROM {0} WHERE principal = ?1 AND session <> '' AND session IN (
    SELECT session FROM {0} WHERE principal = ?1 ORDER BY updated DESC LIMIT {1} OFFSET ?2)"""
_BOUND_SESSIONS, _BOUND_CONFIGURATIONS = (
    _BOUND_ROWS.format(table, NO_LIMIT) for table in ("sessions", "configurations")
)
_COUNT = "SELECT count(*) FROM sessions"
_FORGET = tuple(f"DELETE FROM {table}" for table in ("sessions", "configurations", "conversations"))
_FORGET_PRINCIPALS = "DELETE FROM principals"

MAX_CONVERSATIONS = 5000
"""Maximum number of recorded answers per principal from which a conversation can continue."""

ConversationLine = tuple[str, str]
"""Role and text of a message."""

_FIND_CONVERSATION = "SELECT session FROM conversations WHERE principal = ? AND digest = ?"
_NOTE_CONVERSATION = """INSERT INTO conversations(principal, digest, session, at) VALUES (?,?,?,?)
    ON CONFLICT (principal, digest) DO UPDATE SET session = excluded.session, at = excluded.at"""
_BOUND_CONVERSATIONS = f"""DELETE FROM conversations WHERE principal = ?1 AND digest IN (
    SELECT digest FROM conversations WHERE principal = ?1
    ORDER BY at DESC LIMIT {NO_LIMIT} OFFSET ?2)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    session_id: str
    title: str
    """Beginning of its first question; empty: nothing was asked yet."""
    created: datetime
    updated: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConfiguration:
    """Configuration layer of a session as it is stored."""

    content: ConfigurationLayer
    created: datetime
    updated: datetime


class GatewaySessions:
    """Store of principals, sessions and their configurations, on an open gateway database. Every
    method raises StorageFailed if the disk refuses."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._db = database
        self._clock = clock
        self._seen: LruDict[str, float] = LruDict(MAX_SEEN)

    async def record_request(self, principal: str) -> None:
        now = self._clock()
        # A write for each request, in the event loop, would be too many.
        if now - self._seen.get(principal, 0.0) >= SEEN_EVERY_S:
            await self._db.execute(_SEE, principal, now)
            self._seen[principal] = now

    async def principals(self) -> list[str]:
        """Bare JIDs of all principals that have used this gateway."""
        return [str(row[0]) for row in await self._db.execute(_PRINCIPALS)]

    async def use_session(self, principal: str, session: str, *, question: str = "") -> None:
        """Make it the principal's latest session; its first question becomes its title."""
        # Only the beginning is split into words: a question may be very long.
        title = " ".join(question[: 4 * MAX_TITLE_CHARS].split())[:MAX_TITLE_CHARS]
        rows = await self._db.execute(_USE, principal, session, title, self._clock())
        await self._enforce_bounds(_BOUND_SESSIONS, principal, is_new=rows[0] == (1,))

    async def sessions(self, principal: str, *, limit: int = MAX_SESSIONS) -> list[SessionRow]:
        """Sessions of a principal, latest first."""
        rows = cast(
            "list[tuple[str, str, float, float]]",
            await self._db.execute(_SESSIONS, principal, limit),
        )
        return [
            SessionRow(
                session_id=session,
                title=title,
                created=_utc_time(created),
                updated=_utc_time(updated),
            )
            for session, title, created, updated in rows
        ]

    async def delete_session(self, principal: str, session: str) -> bool:
        """Delete a session, but not its configuration; False if there was none."""
        return bool(await self._db.execute(_DROP_SESSION, principal, session))

    async def stored_configuration(
        self, principal: str, session: str = _GLOBAL
    ) -> StoredConfiguration | None:
        """Stored configuration of a session, or (without `session`) the principal's global one."""
        rows = await self._db.execute(_FIND_CONFIGURATION, principal, session)
        if not rows:
            return None
        # The database gives what `_SET` put into these columns.
        content, created, updated = cast("tuple[str, float, float]", rows[0])
        layer = ConfigurationLayer.model_validate_json(content)
        return StoredConfiguration(
            content=layer, created=_utc_time(created), updated=_utc_time(updated)
        )

    async def configuration_layer(
        self, principal: str, session: str = _GLOBAL
    ) -> ConfigurationLayer:
        stored = await self.stored_configuration(principal, session)
        return stored.content if stored else EMPTY_LAYER

    async def configure(
        self, principal: str, change: ConfigurationLayer, session: str = _GLOBAL
    ) -> None:
        """Merge a change into the stored configuration, field by field."""
        content = merge_layers(await self.configuration_layer(principal, session), change)
        text = content.model_dump_json(exclude_none=True)
        rows = await self._db.execute(_SET, principal, session, text, self._clock())
        await self._enforce_bounds(_BOUND_CONFIGURATIONS, principal, is_new=rows[0] == (1,))

    async def delete_configuration(self, principal: str, session: str = _GLOBAL) -> bool:
        """Delete the configuration of a session; False if there was none."""
        return bool(await self._db.execute(_UNSET, principal, session))

    async def effective(
        self, principal: str, session: str = _GLOBAL, *, request: ConfigurationLayer = EMPTY_LAYER
    ) -> EffectiveConfiguration:
        """Merged configuration: request fields, then session, then global, then the defaults."""
        return effective_configuration(
            request,
            await self.configuration_layer(principal, session),
            await self.configuration_layer(principal),
        )

    async def delete_all(self, *, with_principals: bool) -> int:
        """Delete the sessions and configurations of all principals, and return the number of
        sessions; tokens stay."""
        async with self._db.transaction() as execute:
            ((count,),) = await execute(_COUNT)
            for statement in (*_FORGET, *([_FORGET_PRINCIPALS] if with_principals else ())):
                await execute(statement)
        if with_principals:
            self._seen.clear()
        return int(str(count))

    async def _enforce_bounds(self, bound: str, principal: str, *, is_new: bool) -> None:
        if is_new:
            await self._db.execute(bound, principal, MAX_SESSIONS)
        await enforce_bounds(self._db, self._clock())


class ConversationIndex:
    """Index of conversations by the digest of their messages, on an open gateway database. Raises
    StorageFailed if the disk refuses."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._db = database
        self._clock = clock

    async def session(
        self, principal: str, model: str, history: Sequence[ConversationLine]
    ) -> str | None:
        """Session of a conversation; None if it is new, or no longer in the index.

        `history`: the messages before the last question.
        """
        rows = await self._db.execute(_FIND_CONVERSATION, principal, _digest(model, history))
        return str(rows[0][0]) if rows else None

    async def record(
        self, principal: str, model: str, lines: Sequence[ConversationLine], session: str
    ) -> None:
        """Record a conversation. `lines`: all messages, up to the latest answer."""
        await self._db.execute(
            _NOTE_CONVERSATION, principal, _digest(model, lines), session, self._clock()
        )
        await self._db.execute(_BOUND_CONVERSATIONS, principal, MAX_CONVERSATIONS)


def _utc_time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _digest(model: str, lines: Sequence[ConversationLine]) -> bytes:
    # Clients trim texts, so white space around them does not count.
    # JSON separates the parts without ambiguity; joined texts could be equal for other messages.
    hashed_lines = [model, *((role, text.strip()) for role, text in lines)]
    return hashlib.sha256(json.dumps(hashed_lines).encode()).digest()
