"""Database of the gateway (gateway.db): schema, expiry and bounds of its tables."""

from __future__ import annotations

from spade_llm.core.database import Database, StoreTables

SCHEMA_VERSION = 1
KEEP_ANSWERS_S = 24 * 3600.0
MAX_ANSWERS = 10_000
MAX_ANSWERS_BYTES = 64 * 1024 * 1024
"""Maximum total size of the stored answer bodies in bytes; the oldest are deleted first."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS principals (
    jid TEXT PRIMARY KEY,
    seen REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    principal TEXT NOT NULL,
    session TEXT NOT NULL,
    title TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    PRIMARY KEY (principal, session)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_updated ON sessions(principal, updated);
CREATE TABLE IF NOT EXISTS configurations (
    principal TEXT NOT NULL,
    session TEXT NOT NULL,
    content TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    PRIMARY KEY (principal, session)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS configurations_updated ON configurations(principal, updated);
CREATE TABLE IF NOT EXISTS tokens (
    hash BLOB PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    is_admin INTEGER NOT NULL,
    created REAL NOT NULL,
    used REAL,
    expires REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    status INTEGER NOT NULL,
    type TEXT NOT NULL,
    body BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (principal, key)
);
CREATE INDEX IF NOT EXISTS answers_at ON answers(at);
CREATE TABLE IF NOT EXISTS running (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    token TEXT NOT NULL,
    until REAL NOT NULL,
    PRIMARY KEY (principal, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conversations (
    principal TEXT NOT NULL,
    digest BLOB NOT NULL,
    session TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (principal, digest)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS conversations_at ON conversations(principal, at);
"""

GATEWAY_TABLES = StoreTables(
    name="gateway",
    what="the gateway's state",
    schema=_SCHEMA,
    version=SCHEMA_VERSION,
    is_named_by_agent=False,
)
# By age alone: a fair share per principal took 0.2 s of window functions.
_BOUND_ANSWERS = """DELETE FROM answers WHERE at <= ? OR rowid IN (SELECT rowid FROM (
    SELECT rowid, row_number() OVER latest AS n, sum(length(body)) OVER latest AS bytes
    FROM answers WINDOW latest AS (ORDER BY at DESC, rowid DESC)) AS ranked
    WHERE n > ? OR bytes > ?)"""


async def enforce_bounds(database: Database, now: float) -> None:
    """Delete expired and excess stored answers. Call it after an insert into any table. Raises
    StorageFailed."""
    bounds = (now - KEEP_ANSWERS_S, MAX_ANSWERS, MAX_ANSWERS_BYTES)
    await database.prune_periodically(_BOUND_ANSWERS, *bounds)
