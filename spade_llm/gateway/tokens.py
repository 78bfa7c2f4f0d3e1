"""API tokens (bearer) with expiry, and the principals they stand for.

A token has 256 random bits and is shown once; only its SHA-256 is stored. The lookup by hash leaks
nothing about a token by its timing.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from spade_llm.core.errors import InvalidArguments, StorageFailed

if TYPE_CHECKING:
    from spade_llm.core.database import Database

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
    """Authenticated caller. `jid` owns sessions, memories and documents, and every request to an
    agent names it."""

    jid: str
    """Bare JID; a user's own XMPP account, so that both ways share one memory."""
    is_admin: bool = False
    """True if the caller may see all requests and delete all data."""
    token: str = ""
    """Name of the token; empty for a local request without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """Metadata of a token; times in seconds since 1970, UTC."""

    name: str
    principal: str
    """A bare JID."""
    is_admin: bool
    created: float
    used: float | None
    """Time of the last use, with a resolution of 5 minutes; None: never."""
    expires: float | None
    """Expiry time; None means that it does not expire."""


class TokenStore:
    """Store of API tokens, on an open gateway database, which the command line may use, too."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._db = database
        self._clock = clock

    async def create(
        self, name: str, principal: str, *, is_admin: bool = False, expires: float | None = None
    ) -> str:
        """Create a token and return it. It is not shown again; only its hash is stored.

        Raises:
            InvalidArguments: the name is taken or invalid, or the principal is not a bare JID.
            StorageFailed: the disk refuses.
        """
        if not _NAME.fullmatch(name):
            raise InvalidArguments(
                f"name: {name!r} is invalid: use 1 to 64 letters, digits, '.', '_' or '-'"
            )
        if not _BARE_JID.fullmatch(principal):
            raise InvalidArguments(
                f"principal: {principal!r} is not a bare JID such as ada@example.org"
            )
        if len(await self.all()) >= MAX_TOKENS:
            raise InvalidArguments(f"limit reached ({MAX_TOKENS} tokens); revoke one first")
        # 256 random bits cannot be guessed, so a fast hash without salt is enough.
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        # RFC 7622 §3.3: local parts are compared in lower case.
        values = (_hash(token), name, principal.lower(), int(is_admin), self._clock(), expires)
        if not await self._db.execute(_ADD, *values):
            raise InvalidArguments(
                f"name: there is a token {name!r} already: revoke it, or choose another name"
            )
        return token

    async def all(self) -> list[ApiToken]:
        return [_read(row) for row in await self._db.execute(_LIST)]

    async def revoke(self, name: str) -> bool:
        """Revoke a token, from the next request on; False if the name is unknown."""
        return bool(await self._db.execute(_REMOVE, name))

    async def principal(self, token: str) -> Principal | None:
        """Principal of a token; None if it is unknown or expired. Raises StorageFailed."""
        digest = _hash(token)
        rows = await self._db.execute(_FIND, digest)
        if not rows:
            return None
        found, now = _read(rows[0]), self._clock()
        if found.expires is not None and found.expires <= now:
            return None
        if found.used is None or now - found.used >= USED_EVERY_S:
            # A full disk does not refuse the request.
            with suppress(StorageFailed):
                await self._db.execute(_USED, now, digest)
        return Principal(jid=found.principal, is_admin=found.is_admin, token=found.name)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _read(row: tuple[object, ...]) -> ApiToken:
    # The database gives what `_ADD` put into these columns.
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
