"""Invitation codes and the guests admitted by them (SQLite; codes are stored hashed)."""

from __future__ import annotations

import asyncio
import math
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from spade_llm.core.database import DatabasePlace, Execute, Row, StoreTables
from spade_llm.core.errors import ConfigurationError, StorageFailed

"""The name that stands for the star is the agent's."""
ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Nothing that looks like something else."""
CODE_CHARS = 16
"""Length of a code: 78 bits, too many to find a code for a hash by trial."""
MAX_GUESTS = 100_000
"""Maximum number of guests; the list is held in RAM, since each stanza asks it."""
REFRESH_S = 5.0
"""Interval at which the list of guests is read again: maximum delay to notice a change by another
process."""
TRUSTED_S = 60.0
"""Time for which the list of guests holds while it cannot be read again; then it admits nobody."""
MAX_INVITATIONS = 10_000
NAMED_BY = 8
"""Characters of its hash that an invitation is called by."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS invitations (
    hash TEXT PRIMARY KEY,
    note TEXT NOT NULL,
    uses_left INTEGER NOT NULL,
    expires_at REAL NOT NULL,
    stay_s REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS guests (
    jid TEXT PRIMARY KEY,
    invitation TEXT NOT NULL,
    since REAL NOT NULL,
    until REAL
) WITHOUT ROWID;
"""
INVITATION_TABLES = StoreTables(name="admission", what="the file of invitations", schema=_SCHEMA)
_MAKE = "INSERT INTO invitations VALUES (?,?,?,?,?)"
_USE = """UPDATE invitations SET uses_left = uses_left - 1
    WHERE hash = ? AND uses_left > 0 AND expires_at > ? RETURNING stay_s"""
_LET_IN = """INSERT INTO guests VALUES (?,?,?,?) ON CONFLICT (jid) DO UPDATE SET
    invitation = excluded.invitation, since = excluded.since, until = excluded.until"""
_IS_GUEST = "SELECT 1 FROM guests WHERE jid = ? AND (until IS NULL OR until > ?)"
_GUESTS = "SELECT jid, invitation, since, until FROM guests WHERE until IS NULL OR until > ?"
# Tells whether guests came or went, without reading them all.
_STATE = "SELECT count(*), max(since) FROM guests"
_OPEN = """SELECT hash, note, uses_left, expires_at FROM invitations
    WHERE uses_left > 0 AND expires_at > ? ORDER BY expires_at"""
_SHUT_OUT = "DELETE FROM guests WHERE jid = ? RETURNING 1"
_WITHDRAW = "DELETE FROM invitations WHERE substr(hash, 1, ?) = ? RETURNING 1"
_TIDY = "DELETE FROM invitations WHERE uses_left <= 0 OR expires_at <= ?"
_TIDY_GUESTS = "DELETE FROM guests WHERE until <= ?"
_COUNT = "SELECT count(*) FROM invitations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """Open invitation."""

    name: str
    note: str
    uses_left: int
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """Guest admitted by an invitation."""

    jid: str
    invitation: str
    """The name of the one that let them in."""
    since: float
    until: float | None
    """Expiry (Unix time); None: no expiry."""


class Invitations:
    """Store of invitations and guests; `spade-llm invite` may write to it meanwhile."""

    def __init__(self, place: DatabasePlace, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._db = INVITATION_TABLES.at(place)
        self._guests: dict[str, float | None] = {}
        """Expiry by bare JID."""
        self._state: Row | None = None
        self._read_s = -math.inf
        self._reading = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Raises ConfigurationError: the database cannot be used."""
        await self._db.open()
        try:
            await self.refresh()
        except StorageFailed as error:
            await self._db.close()
            raise ConfigurationError(f"the list of guests cannot be read: {error}") from error
        self._refreshing = asyncio.create_task(self._refresh_periodically())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.wait({self._refreshing})
        await self._db.close()

    async def make(
        self, *, uses: int, lasts_s: float, stay_s: float | None = None, note: str = ""
    ) -> str | None:
        """Create an invitation and return its code, which is not stored; None if too many are open.

        `stay_s`: duration of the guest's admission in seconds; None: no expiry. Raises
        StorageFailed.
        """
        now = self._clock()
        await self._db.execute(_TIDY, now)
        await self._db.execute(_TIDY_GUESTS, now)
        ((count,),) = await self._db.execute(_COUNT)
        if int(str(count)) >= MAX_INVITATIONS:
            return None
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARS))
        await self._db.execute(_MAKE, _hash(code), note, uses, now + lasts_s, stay_s)
        return "-".join(code[at : at + 4] for at in range(0, CODE_CHARS, 4))

    async def redeem(self, code: str, jid: str) -> bool:
        """Let this bare JID in; False if the code is not valid (any more), or MAX_GUESTS are in. A
        guest that is already in uses up no invitation. Raises StorageFailed."""
        async with self._db.transaction() as execute:
            is_admitted = bool(await execute(_IS_GUEST, jid, self._clock()))
            if not is_admitted and len(self._guests) < MAX_GUESTS:
                is_admitted = await self._use(execute, _hash(code), jid)
        await self.refresh(is_changed=True)
        return is_admitted

    async def _use(self, execute: Execute, hashed: str, jid: str) -> bool:
        now = self._clock()
        used = await execute(_USE, hashed, now)
        for (stay_s,) in used:
            until = None if stay_s is None else now + float(str(stay_s))
            await execute(_LET_IN, jid, hashed[:NAMED_BY], now, until)
        return bool(used)

    async def refresh(self, *, is_changed: bool = False) -> None:
        """Read the list of guests again, if it has changed. Raises StorageFailed."""
        async with self._reading:
            (state,) = await self._db.execute(_STATE)
            if is_changed or state != self._state:
                guests = await self.guests()
                self._guests = {guest.jid: guest.until for guest in guests}
                self._state = state
            self._read_s = time.monotonic()

    async def _refresh_periodically(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_S)
            with suppress(StorageFailed):  # Logged by the database; `is_guest` reports it.
                await self.refresh()

    def is_guest(self, jid: str) -> bool:
        """True if this bare JID is a guest, as of at most REFRESH_S ago.

        Raises:
            StorageFailed: the list could not be read for TRUSTED_S.
        """
        if time.monotonic() - self._read_s > TRUSTED_S:
            raise StorageFailed("the list of guests could not be read for some time")
        until = self._guests.get(jid, 0.0)
        return until is None or until > self._clock()

    async def guests(self) -> list[Guest]:
        """Return the current guests. Raises StorageFailed."""
        return [
            Guest(
                jid=str(jid),
                invitation=str(invitation),
                since=float(str(since)),
                until=None if until is None else float(str(until)),
            )
            for jid, invitation, since, until in await self._db.execute(_GUESTS, self._clock())
        ]

    async def open_ones(self) -> list[Invitation]:
        """Return the open invitations, next to expire first. Raises StorageFailed."""
        return [
            Invitation(
                name=str(hashed)[:NAMED_BY],
                note=str(note),
                uses_left=int(str(left)),
                expires_at=float(str(expires_at)),
            )
            for hashed, note, left, expires_at in await self._db.execute(_OPEN, self._clock())
        ]

    async def revoke(self, name: str) -> bool:
        """Shut out the guest of this JID, or withdraw the invitation of this name. Raises
        StorageFailed."""
        if "@" in name:
            is_known = bool(await self._db.execute(_SHUT_OUT, name))
            await self.refresh(is_changed=True)
            return is_known
        # A shorter prefix could withdraw several invitations.
        return len(name) >= NAMED_BY and bool(await self._db.execute(_WITHDRAW, len(name), name))


def is_code(text: str) -> bool:
    """True if the text has the form of an invitation code, in any case and grouping."""
    return re.fullmatch(f"(?:[{ALPHABET}][- ]?){{{CODE_CHARS}}}", text.strip().upper()) is not None


def _hash(code: str) -> str:
    """Hash of a code in any case and grouping."""
    plain = "".join(letter for letter in code.upper() if letter in ALPHABET)
    # Without salt or iterations: 78 random bits cannot be tried out, unlike a password.
    return sha256(plain.encode()).hexdigest()
