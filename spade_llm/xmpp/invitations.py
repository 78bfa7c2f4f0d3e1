"""Invitation codes and the guests admitted by them (SQLite; codes are stored hashed)."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from spade_llm.core.limits import LruDict
from spade_llm.core.sqlite_file import SqliteFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = "admission-*.db"
"""The name that stands for the star is the agent's."""
ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Nothing that looks like something else."""
CODE_CHARS = 16
"""Length of a code: 78 bits, too many to find a code for a hash by trial."""
MAX_KNOWN = 10_000
"""JIDs that are remembered to be guests, or not."""
BELIEVED_S = 5.0
"""TTL in seconds of a cached guest status: maximum delay to notice a revocation by another process.
"""
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
_MAKE = "INSERT INTO invitations VALUES (?,?,?,?,?)"
_USE = """UPDATE invitations SET uses_left = uses_left - 1
    WHERE hash = ? AND uses_left > 0 AND expires_at > ? RETURNING stay_s"""
_LET_IN = "INSERT OR REPLACE INTO guests VALUES (?,?,?,?)"
_IS_GUEST = "SELECT 1 FROM guests WHERE jid = ? AND (until IS NULL OR until > ?)"
_GUESTS = "SELECT jid, invitation, since, until FROM guests WHERE until IS NULL OR until > ?"
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
    """Store of invitations and guests; `spade-llm invite` may write to the file meanwhile."""

    def __init__(self, path: Path | None, *, clock: Callable[[], float] = time.time) -> None:
        """`path=None` keeps them in RAM only."""
        self._clock = clock
        self._db = SqliteFile(path, schema=_SCHEMA, what="the file of invitations")
        self._known: LruDict[str, tuple[float, bool]] = LruDict(MAX_KNOWN)

    def __enter__(self) -> Self:
        """Raises ConfigurationError: the file cannot be used."""
        self._db.open()
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def make(
        self, *, uses: int, lasts_s: float, stay_s: float | None = None, note: str = ""
    ) -> str | None:
        """Create an invitation and return its code, which is not stored; None if too many are open.

        `stay_s`: duration of the guest's admission in seconds; None: no expiry. Raises
        StorageFailed.
        """
        now = self._clock()
        self._db.run(_TIDY, now)
        self._db.run(_TIDY_GUESTS, now)
        if self._db.run(_COUNT)[0][0] == MAX_INVITATIONS:
            return None
        code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARS))
        self._db.run(_MAKE, _hash(code), note, uses, now + lasts_s, stay_s)
        return "-".join(code[at : at + 4] for at in range(0, CODE_CHARS, 4))

    def redeem(self, code: str, jid: str) -> bool:
        """Let this bare JID in; False if the code is not valid (any more). A guest that is already
        in uses up no invitation. Raises StorageFailed."""
        if self.is_guest(jid):
            return True
        # The write lock at once: `spade-llm invite` may write to the same file meanwhile.
        self._db.run("BEGIN IMMEDIATE")
        try:
            is_admitted = self._use(_hash(code), jid)
        finally:
            self._db.run("COMMIT")
        # `is_guest` has just remembered a no.
        self._known.pop(jid, None)
        return is_admitted

    def _use(self, hashed: str, jid: str) -> bool:
        now = self._clock()
        used = self._db.run(_USE, hashed, now)
        for (stay_s,) in used:
            until = None if stay_s is None else now + float(str(stay_s))
            self._db.run(_LET_IN, jid, hashed[:NAMED_BY], now, until)
        return bool(used)

    def is_guest(self, jid: str) -> bool:
        """True if this bare JID is a guest (cached for BELIEVED_S). Raises StorageFailed."""
        now = self._clock()
        known = self._known.get(jid)
        # A negative age is no age: the wall clock was set back.
        if known is None or not 0 <= now - known[0] < BELIEVED_S:
            known = (now, bool(self._db.run(_IS_GUEST, jid, now)))
            self._known[jid] = known
        return known[1]

    def guests(self) -> list[Guest]:
        """Return the current guests. Raises StorageFailed."""
        return [
            Guest(
                jid=str(jid),
                invitation=str(invitation),
                since=float(str(since)),
                until=None if until is None else float(str(until)),
            )
            for jid, invitation, since, until in self._db.run(_GUESTS, self._clock())
        ]

    def open_ones(self) -> list[Invitation]:
        """Return the open invitations, next to expire first. Raises StorageFailed."""
        return [
            Invitation(
                name=str(hashed)[:NAMED_BY],
                note=str(note),
                uses_left=int(str(left)),
                expires_at=float(str(expires_at)),
            )
            for hashed, note, left, expires_at in self._db.run(_OPEN, self._clock())
        ]

    def revoke(self, name: str) -> bool:
        """Shut out the guest of this JID, or withdraw the invitation of this name. Raises
        StorageFailed."""
        self._known.pop(name, None)
        if "@" in name:
            return bool(self._db.run(_SHUT_OUT, name))
        # A shorter prefix could withdraw several invitations.
        return len(name) >= NAMED_BY and bool(self._db.run(_WITHDRAW, len(name), name))


def is_code(text: str) -> bool:
    """True if the text has the form of an invitation code, in any case and grouping."""
    return re.fullmatch(f"(?:[{ALPHABET}][- ]?){{{CODE_CHARS}}}", text.strip().upper()) is not None


def _hash(code: str) -> str:
    """Hash of a code in any case and grouping."""
    plain = "".join(letter for letter in code.upper() if letter in ALPHABET)
    # Without salt or iterations: 78 random bits cannot be tried out, unlike a password.
    return sha256(plain.encode()).hexdigest()
