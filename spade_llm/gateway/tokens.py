"""API tokens (bearer) with expiry, and the principals they stand for.

A token is 256 random bits, shown once; what is kept is its SHA-256. It is found by that: how long
the search takes says nothing of a token, and there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from spade_llm.core.errors import InvalidArguments, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.core.sqlite_file import SqliteFile

TOKEN_PREFIX = "slm_"
"""Prefix by which people and secret scanners recognize a token."""
USED_EVERY_S = 300.0
"""Resolution of `used` in seconds: a write for each request would be too many."""
MAX_TOKENS = 1000
_NAME = re.compile(r"[\w.-]{1,64}")
_BARE_JID = re.compile(r"[^@/\s]+@[^@/\s]+")

_ADD = """INSERT INTO tokens(hash, name, principal, is_admin, created, expires)
    VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING RETURNING name"""
_COLUMNS = "name, principal, is_admin, created, used, expires"
_FIND = f"SELECT {_COLUMNS} FROM tokens WHERE hash = ?"
_LIST = f"SELECT {_COLUMNS} FROM tokens ORDER BY name"
_REMOVE = "DELETE FROM tokens WHERE name = ? RETURNING name"
_USED = "UPDATE tokens SET used = ? WHERE hash = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Sessions, memories and documents belong to `jid`; agents are told it in every request."""

    jid: str
    """Bare. A person's own account, where they use XMPP too: it is one memory."""
    is_admin: bool = False
    """May see all agents' work, and delete everything."""
    token: str = ""
    """Name of the token that said so; empty: it came over loopback without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """Metadata of a token; times in seconds since 1970, UTC."""

    name: str
    principal: str
    """A bare JID."""
    is_admin: bool
    created: float
    used: float | None
    """Last time, as of 5 minutes; None: never."""
    expires: float | None
    """Expiry time; None means that it does not expire."""


class TokenStore:
    """Store of API tokens, on an open gateway database; the command line may use the file at the
    same time."""

    def __init__(self, database: SqliteFile, *, clock: Callable[[], float] = time.time) -> None:
        self._db = database
        self._clock = clock

    def create(
        self, name: str, principal: str, *, is_admin: bool = False, expires: float | None = None
    ) -> str:
        """Create a token and return it. It is not shown again; only its hash is stored.

        Raises:
            InvalidArguments: the name is taken or invalid, or the principal is not a bare JID.
            StorageFailed: the disk refuses.
        """
        if not _NAME.fullmatch(name):
            raise InvalidArguments(
                f"name: {name!r} is none: use up to 64 letters, digits, '.', '_' or '-'"
            )
        if not _BARE_JID.fullmatch(principal):
            raise InvalidArguments(f"principal: {principal!r} is no bare JID, as ada@example.org")
        if len(self.all()) >= MAX_TOKENS:
            raise InvalidArguments(f"there are {MAX_TOKENS} tokens, the most: revoke one first")
        # 32 bytes are 256 bits: nobody finds one by trying, so a fast hash without salt is enough.
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        # RFC 7622 §3.3: local parts are compared in lower case.
        values = (_hash(token), name, principal.lower(), int(is_admin), self._clock(), expires)
        if not self._db.run(_ADD, *values):
            raise InvalidArguments(f"name: there is a token {name!r}: revoke it, or take another")
        return token

    def all(self) -> list[ApiToken]:
        return [_read(row) for row in self._db.run(_LIST)]

    def revoke(self, name: str) -> bool:
        """Revoke a token, from the next request on; False if there is none of this name."""
        return bool(self._db.run(_REMOVE, name))

    def principal(self, token: str) -> Principal | None:
        """Principal of a token; None if it is unknown or expired. Raises StorageFailed."""
        digest = _hash(token)
        rows = self._db.run(_FIND, digest)
        if not rows:
            return None
        found, now = _read(rows[0]), self._clock()
        if found.expires is not None and found.expires <= now:
            return None
        if found.used is None or now - found.used >= USED_EVERY_S:
            self._note_used(digest, now)
        return Principal(jid=found.principal, is_admin=found.is_admin, token=found.name)

    def _note_used(self, digest: bytes, now: float) -> None:
        """Update the time of last use; a full disk does not refuse the request."""
        with suppress(StorageFailed):
            self._db.run(_USED, now, digest)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _read(row: tuple[object, ...]) -> ApiToken:
    # SQLite gives what `_ADD` put into these columns.
    name, principal, is_admin, created, used, expires = cast(
        "tuple[str, str, int, float, float | None, float | None]", row
    )
    return ApiToken(
        name=name,
        principal=principal,
        is_admin=bool(is_admin),
        created=created,
        used=used,
        expires=expires,
    )
