"""Store of the embedded server: accounts, offline messages and rosters (SQLite).

The table `credentials` is pyjabber's own (0.4.5), in its own form; the rest is ours.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spade_llm.core.errors import ConfigurationError

DATABASE_NAME = "pyjabber.db"
PASSWORD_ITERATIONS = 100_000
BUSY_TIMEOUT_S = 5.0
OFFLINE_LIMIT = 1000
"""Messages kept for one account that is away; the sender of the next one is told."""
ROSTER_LIMIT = 1000

SCHEMA = """
CREATE TABLE IF NOT EXISTS credentials (
    id INTEGER NOT NULL PRIMARY KEY, jid VARCHAR NOT NULL, hash_pwd VARCHAR NOT NULL
);
CREATE TABLE IF NOT EXISTS stored_messages (
    id INTEGER PRIMARY KEY, user TEXT NOT NULL, stanza TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS stored_messages_user ON stored_messages (user, id);
CREATE TABLE IF NOT EXISTS contacts (
    owner TEXT NOT NULL, contact TEXT NOT NULL, name TEXT NOT NULL, groups TEXT NOT NULL,
    is_to INTEGER NOT NULL, is_from INTEGER NOT NULL, is_asked INTEGER NOT NULL,
    PRIMARY KEY (owner, contact)
);
CREATE TABLE IF NOT EXISTS requests (
    user TEXT NOT NULL, contact TEXT NOT NULL, PRIMARY KEY (user, contact)
);
"""
SELECT_ACCOUNT = "SELECT 1 FROM credentials WHERE jid = ?"
DELETE_ACCOUNT = "DELETE FROM credentials WHERE jid = ?"
INSERT_ACCOUNT = "INSERT INTO credentials (jid, hash_pwd) VALUES (?, ?)"
COUNT_STORED = "SELECT count(*) FROM stored_messages WHERE user = ?"
INSERT_STORED = "INSERT INTO stored_messages (user, stanza) VALUES (?, ?)"
SELECT_STORED = "SELECT id, stanza FROM stored_messages WHERE user = ? ORDER BY id"
DELETE_STORED = "DELETE FROM stored_messages WHERE user = ? AND id <= ?"
COUNT_CONTACTS = "SELECT count(*) FROM contacts WHERE owner = ?"
SELECT_CONTACTS = """
SELECT contact, name, groups, is_to, is_from, is_asked FROM contacts WHERE owner = ?
"""
SELECT_CONTACT = SELECT_CONTACTS + " AND contact = ?"
UPSERT_CONTACT = "INSERT OR REPLACE INTO contacts VALUES (?, ?, ?, ?, ?, ?, ?)"
DELETE_CONTACT = "DELETE FROM contacts WHERE owner = ? AND contact = ?"
INSERT_REQUEST = "INSERT OR IGNORE INTO requests VALUES (?, ?)"
DELETE_REQUEST = "DELETE FROM requests WHERE user = ? AND contact = ?"
SELECT_REQUESTS = "SELECT contact FROM requests WHERE user = ? ORDER BY rowid"

GROUP_SEPARATOR = "\x1f"
"""Cannot be in XML, hence in no group's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterContact:
    """Contact in a roster. Accounts are named without their domain: there is only one."""

    user: str
    name: str = ""
    groups: tuple[str, ...] = ()
    is_to: bool = False
    """The owner sees the contact's presence."""
    is_from: bool = False
    """The contact sees the owner's presence."""
    is_asked: bool = False
    """The owner has asked and the contact has not answered yet."""

    @property
    def subscription(self) -> str:
        return {(True, True): "both", (True, False): "to", (False, True): "from"}.get(
            (self.is_to, self.is_from), "none"
        )


def set_password(
    directory: Path, user: str, password: str, *, iterations: int = PASSWORD_ITERATIONS
) -> None:
    """Make the account, or give it this password; a running server sees it at the next login.

    Args:
        iterations: iterations of PBKDF2, which a login costs the server as well.

    Raises:
        ConfigurationError: the database cannot be written.
    """
    # pyjabber's form: `sha256$iterations$salt$hash`, salt and hash in hexadecimal.
    salt = secrets.token_bytes(16)
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    hashed = f"sha256${iterations}${salt.hex()}${digest.hex()}"
    try:
        with contextlib.closing(_open_database(directory)) as database, database:
            # pyjabber's table has no unique `jid`, so there is nothing to upsert on.
            database.execute(DELETE_ACCOUNT, (user,))
            database.execute(INSERT_ACCOUNT, (user, hashed))
    except sqlite3.Error as error:
        raise ConfigurationError(
            f"the account {user!r} could not be stored in {str(directory / DATABASE_NAME)!r} "
            f"({error}); is the disk full, or the directory not ours?"
        ) from error


def has_account(directory: Path, user: str) -> bool:
    with contextlib.closing(_open_database(directory)) as database:
        return database.execute(SELECT_ACCOUNT, (user,)).fetchone() is not None


class EmbeddedStore:
    """The child's view of the database. Calls are short and synchronous."""

    def __init__(self, directory: Path) -> None:
        self._database = _open_database(directory)

    def close(self) -> None:
        self._database.close()

    def has_account(self, user: str) -> bool:
        return self._database.execute(SELECT_ACCOUNT, (user,)).fetchone() is not None

    def keep_message(self, user: str, stanza: str) -> bool:
        """Keep a message until the user comes; False if OFFLINE_LIMIT are waiting already."""
        with self._database:
            (count,) = self._database.execute(COUNT_STORED, (user,)).fetchone()
            if count < OFFLINE_LIMIT:
                self._database.execute(INSERT_STORED, (user, stanza))
            return bool(count < OFFLINE_LIMIT)

    def take_messages(self, user: str) -> Iterator[str]:
        """Yield what was kept, oldest first, and forget it."""
        rows = self._database.execute(SELECT_STORED, (user,)).fetchall()
        for _, stanza in rows:
            yield stanza
        # Afterwards: a kill in between repeats messages instead of losing them.
        if rows:
            with self._database:
                self._database.execute(DELETE_STORED, (user, rows[-1][0]))

    def contacts(self, owner: str) -> list[RosterContact]:
        return [_contact(row) for row in self._database.execute(SELECT_CONTACTS, (owner,))]

    def contact(self, owner: str, user: str) -> RosterContact | None:
        row = self._database.execute(SELECT_CONTACT, (owner, user)).fetchone()
        return _contact(row) if row else None

    def has_room_for_contact(self, owner: str) -> bool:
        (count,) = self._database.execute(COUNT_CONTACTS, (owner,)).fetchone()
        return bool(count < ROSTER_LIMIT)

    def set_contact(self, owner: str, contact: RosterContact) -> None:
        row = (
            *(owner, contact.user, contact.name, GROUP_SEPARATOR.join(contact.groups)),
            *(contact.is_to, contact.is_from, contact.is_asked),
        )
        with self._database:
            self._database.execute(UPSERT_CONTACT, row)

    def remove_contact(self, owner: str, user: str) -> None:
        with self._database:
            self._database.execute(DELETE_CONTACT, (owner, user))

    def keep_request(self, user: str, contact: str) -> None:
        with self._database:
            self._database.execute(INSERT_REQUEST, (user, contact))

    def forget_request(self, user: str, contact: str) -> bool:
        """True if this contact's subscription request was waiting."""
        with self._database:
            return self._database.execute(DELETE_REQUEST, (user, contact)).rowcount > 0

    def requests(self, user: str) -> list[str]:
        return [row[0] for row in self._database.execute(SELECT_REQUESTS, (user,))]


def _contact(row: tuple[str, str, str, int, int, int]) -> RosterContact:
    user, name, groups, is_to, is_from, is_asked = row
    return RosterContact(
        user=user,
        name=name,
        groups=tuple(filter(None, groups.split(GROUP_SEPARATOR))),
        is_to=bool(is_to),
        is_from=bool(is_from),
        is_asked=bool(is_asked),
    )


def _open_database(directory: Path) -> sqlite3.Connection:
    path = directory / DATABASE_NAME
    database = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    # It holds messages and password hashes.
    path.chmod(0o600)
    # The parent writes accounts while the child has the file open: neither blocks the other's
    # reads.
    database.execute("PRAGMA journal_mode=WAL")
    database.executescript(SCHEMA)
    return database
