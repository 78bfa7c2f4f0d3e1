"""Migrations of the memory file, numbered, in one transaction."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.core.errors import ConfigurationError
from spade_llm.memory.database.schema import (
    APPLICATION_ID,
    CONSENT,
    CONSENT_INDEXES,
    CONVERSATION_INDEX,
    LEARNED_INDEX,
    OLDEST_SQLITE,
    REFLECTION,
    REFLECTION_INDEXES,
    REFLECTION_RUN,
    SCHEMA,
    SCHEMA_VERSION,
)
from spade_llm.memory.validation import normalize_subject
from spade_llm.search.terms import content_hash, encode_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Step = str | Callable[[sqlite3.Connection], None]

SELECT_DIET_FACTS = "SELECT owner, subject, content, sources FROM entry WHERE origin = 2"

SELECT_TIME = "SELECT coalesce(valid_at, created_at) FROM entry WHERE owner = ? AND id = ?"

SELECT_CLOSED = """
    SELECT seq, content, coalesce(valid_at, created_at) FROM entry
    WHERE owner = ? AND subject IS ? AND invalid_at = ? AND deleted_at IS NULL
"""

SELECT_EPISODE_TEXT = """
    SELECT content FROM entry WHERE owner = ? AND subject IS ? AND origin = 2
        AND instr(sources, ?)
"""

SELECT_STILL_TRUE = """
    SELECT content, coalesce(valid_at, created_at) FROM entry
    WHERE owner = ? AND subject IS ? AND invalid_at IS NULL AND deleted_at IS NULL
"""

# Older values were novelties. Those with few digits are taken for a writer's own, except those of
# episodes and learned facts, which the store computed.
SELECT_NOVELTIES = """
    SELECT seq, owner, subject, origin, content, surprise FROM entry
    WHERE surprise IS NOT NULL AND (origin IN (2, 3) OR surprise <> round(surprise, 3))
    ORDER BY seq DESC LIMIT :limit
"""

UPDATE_SURPRISE = "UPDATE entry SET salience = ?, surprise = ? WHERE seq = ?"

MAX_RANKED = 2000
"""Maximum number of entries whose surprise is computed anew, the latest: about two seconds."""

UPDATE_END = "UPDATE entry SET invalid_at = ? WHERE seq = ?"

ID_BYTES = 16

_DIET = re.compile(
    r"(?P<who>.{1,60}?) (?:is (?:vegetarian|vegan|pescatarian|coeliac|celiac|lactose intolerant"
    r"|diabetic)|es (?:vegetarian[oa]|vegan[oa]|cel[ií]ac[oa]|intolerante a la lactosa"
    r"|diab[eé]tic[oa]))\.?",
    re.IGNORECASE,
)
"""Pattern of diet facts as the rules of schema 4 wrote them."""
_CLOSABLE = re.compile(r"(?P<who>.{1,60}?) (?:is|es) .+", re.IGNORECASE | re.DOTALL)
"""Pattern of facts that these rules mistook for another diet."""
_USER_NAMES = ("user", "the user", "usuario", "el usuario", "la usuaria")

TO_NEWEST: Sequence[str] = (
    "DROP TABLE entry_text",
    "DROP INDEX entry_by_age",
    "DROP INDEX entry_by_category",
    "DROP INDEX entry_key_by_entry",
    "DROP INDEX message_in_order",
    "DROP TRIGGER entry_text_added",
    "DROP TRIGGER entry_text_removed",
    "DROP TRIGGER entry_text_changed",
    "ALTER TABLE entry RENAME TO entry_1",
    "ALTER TABLE entry_key RENAME TO entry_key_1",
    "ALTER TABLE message RENAME TO message_1",
    "ALTER TABLE conversation RENAME TO conversation_1",
    *SCHEMA,
    """
    INSERT INTO owner (jid) SELECT owner FROM entry_1 UNION SELECT owner FROM message_1
    UNION SELECT owner FROM conversation_1
    """,
    """
    INSERT INTO entry (seq, owner, id, type, category, tier, content_type, origin, content,
        content_hash, terms, context, confidence, subject, session, tags, metadata, importance,
        surprise, stability, difficulty, created_at, updated_at, access_count, last_accessed_at,
        valid_at, invalid_at, expires_at, deleted_at)
    SELECT seq, number, id,
        CASE type WHEN 'semantic' THEN 1 WHEN 'episodic' THEN 2 WHEN 'profile' THEN 3 ELSE 4 END,
        CASE category WHEN 'fact' THEN 1 WHEN 'pattern' THEN 2 WHEN 'preference' THEN 3
            WHEN 'capability' THEN 4 END,
        CASE tier WHEN 'short_term' THEN 1 WHEN 'working' THEN 3 ELSE 2 END,
        1, 1, content, content_hash(content), encode_terms(content, context, tags), context,
        confidence, known_as(subject), session, nullif(tags, '[]'), nullif(metadata, '{}'),
        importance, surprise, stability, difficulty, created_at, updated_at, access_count,
        last_accessed_at, valid_at, invalid_at, expires_at, deleted_at
    FROM entry_1 JOIN owner ON jid = owner
    """,
    """
    INSERT INTO entry_key (key_id, entry)
    SELECT key_id, seq FROM entry_key_1 JOIN entry_1 ON entry_1.id = entry_id
    """,
    """
    INSERT INTO conversation (owner, name, closed_at_seq)
    SELECT number, conversation, coalesce(closed_at_seq, 0)
    FROM (SELECT owner, conversation FROM message_1 UNION SELECT owner, name FROM conversation_1)
        AS said JOIN owner ON jid = said.owner
        LEFT JOIN conversation_1
            ON conversation_1.owner = said.owner AND conversation_1.name = conversation
    """,
    """
    INSERT INTO message (seq, owner, conversation, id, subject, role, content, content_hash, terms,
        at)
    SELECT seq, owner.number, conversation.number, message_1.id, known_as(subject),
        CASE role WHEN 'user' THEN 1 ELSE 2 END, content, content_hash(content),
        encode_terms(content, NULL, NULL), at
    FROM message_1 JOIN owner ON jid = message_1.owner
        JOIN conversation ON conversation.owner = owner.number
            AND name = message_1.conversation
    ORDER BY seq
    """,
    "DROP TABLE entry_key_1",
    "DROP TABLE entry_1",
    "DROP TABLE message_1",
    "DROP TABLE conversation_1",
)
"""Migration from version 1 (FTS5, owners as text) to terms and owner numbers."""

TO_3: Sequence[str] = (CONSENT, *CONSENT_INDEXES)
"""Tables for the consent to learn across conversations."""

TO_4: Sequence[str] = (
    "ALTER TABLE conversation ADD COLUMN cleared_at_seq INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE conversation ADD COLUMN cleared_at INTEGER",
    CONVERSATION_INDEX,
)
"""Columns for cleared messages, which are hidden until the learner has read them."""

VERSION_AFTER: Mapping[int, int] = {
    **{0: SCHEMA_VERSION, 1: SCHEMA_VERSION},
    **{version: version + 1 for version in range(2, SCHEMA_VERSION)},
}
"""Version of the file after each migration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DietEpisode:
    """Episode with a statement about a diet."""

    owner: int
    subject: str | None
    names: Sequence[str]
    episode: bytes
    at: int


def reopen_facts(connection: sqlite3.Connection) -> None:
    # A list: entries are changed below, while the query over them would still be running.
    for closing in list(_diet_episodes(connection)):
        _reopen_fact(connection, closing)


TO_5: Sequence[Step] = (reopen_facts,)

TO_6: Sequence[str] = (LEARNED_INDEX,)

TO_7: Sequence[str] = (REFLECTION, REFLECTION_RUN, *REFLECTION_INDEXES)
"""Tables for what a reflection has changed."""


def rank_surprises(connection: sqlite3.Connection) -> None:
    # Here, so that only a start that migrates compiles the rules.
    from spade_llm.memory.learning.episodes import EPISODE_DATES
    from spade_llm.memory.learning.novelty import MAX_HISTORY, salience, surprise

    histories: dict[tuple[int, str | None, bool], list[float]] = {}
    rows = connection.execute(SELECT_NOVELTIES, {"limit": MAX_RANKED}).fetchall()
    for seq, owner, subject, origin, content, novelty in reversed(rows):
        history = histories.setdefault((owner, subject, origin == 3), [])
        text = EPISODE_DATES.sub("", content, count=1)
        salient = salience(novelty, text, known=min(len(history), MAX_HISTORY))
        ranked = surprise(salient, history[-MAX_HISTORY:])
        connection.execute(UPDATE_SURPRISE, (salient, ranked, seq))
        history.append(salient)


TO_8: Sequence[Step] = ("ALTER TABLE entry ADD COLUMN salience REAL", rank_surprises)

MIGRATIONS: Mapping[int, Sequence[Step]] = {
    **{0: SCHEMA, 1: TO_NEWEST},
    **{2: TO_3, 3: TO_4, 4: TO_5, 5: TO_6, 6: TO_7, 7: TO_8},
}
"""Migration steps by the version of the file. An empty file (0) and version 1 go directly to the
newest version: their tables are created anew."""


def migrate(connection: sqlite3.Connection, *, path: str) -> None:
    """Bring the file to SCHEMA_VERSION, in one transaction.

    Raises:
        ConfigurationError: SQLite is too old, the file is newer, or it is not a memory.
        sqlite3.Error: the file cannot be read or written.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        needed = ".".join(map(str, OLDEST_SQLITE))
        raise ConfigurationError(
            f"SQLite {sqlite3.sqlite_version} is too old for the memory: use {needed} or newer"
        )
    # Without a lock: a file that is up to date can be opened while another process writes.
    if _checked_version(connection, path=path) == SCHEMA_VERSION:
        return
    # For the INSERT … SELECT statements of TO_NEWEST.
    connection.create_function("content_hash", 1, content_hash, deterministic=True)
    connection.create_function("known_as", 1, normalize_subject, deterministic=True)
    connection.create_function(
        "encode_terms",
        3,
        lambda content, context, tags: encode_terms(content, context, json.loads(tags or "[]")),
        deterministic=True,
    )
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again under the lock: another process may have migrated the file meanwhile.
        _apply_migration(connection, _checked_version(connection, path=path))
        connection.execute("COMMIT")
    finally:
        connection.rollback()


def _diet_episodes(connection: sqlite3.Connection) -> Iterator[_DietEpisode]:
    for owner, subject, content, sources in connection.execute(SELECT_DIET_FACTS):
        diet = _DIET.fullmatch(content)
        if diet is None or not sources:
            continue
        names = (diet["who"].casefold(), *_USER_NAMES)
        for start in range(0, len(sources), ID_BYTES):
            episode = sources[start : start + ID_BYTES]
            for (at,) in connection.execute(SELECT_TIME, (owner, episode)):
                yield _DietEpisode(
                    owner=owner, subject=subject, names=names, episode=episode, at=at
                )


def _reopen_fact(connection: sqlite3.Connection, closing: _DietEpisode) -> None:
    # Here, so that only a start that migrates compiles the rules.
    from spade_llm.memory.learning.rule_extractor import parse_exclusive_fact

    whose = (closing.owner, closing.subject)
    told = connection.execute(SELECT_EPISODE_TEXT, (*whose, closing.episode)).fetchall()
    told_slots = [parse_exclusive_fact(content, closing.names) for (content,) in told]
    for seq, content, since in connection.execute(SELECT_CLOSED, (*whose, closing.at)).fetchall():
        found = _CLOSABLE.fullmatch(content)
        if found is None or found["who"].casefold() not in closing.names:
            continue
        slot = parse_exclusive_fact(content, closing.names)
        if any(slot and other and other.contradicts(slot) for other in told_slots):
            continue
        true_now = connection.execute(SELECT_STILL_TRUE, whose).fetchall()
        if content not in (text for text, _ in true_now):
            later = [
                (parse_exclusive_fact(text, closing.names), begin)
                for text, begin in true_now
                if begin > since
            ]
            # The end is where the first later fact contradicts it; None: it is still true.
            end = min(
                (at for other, at in later if slot and other and other.contradicts(slot)),
                default=None,
            )
            connection.execute(UPDATE_END, (end, seq))


def _apply_migration(connection: sqlite3.Connection, version: int) -> None:
    while version < SCHEMA_VERSION:
        for step in MIGRATIONS[version]:
            if isinstance(step, str):
                connection.execute(step)
            else:
                step(connection)
        version = VERSION_AFTER[version]
    # A pragma takes no bound parameters. Both belong to the transaction, as the tables do.
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _checked_version(connection: sqlite3.Connection, *, path: str) -> int:
    version = _read_number(connection, "PRAGMA user_version")
    tables = _read_number(connection, "SELECT count(*) FROM sqlite_schema")
    # A file without tables is new, and has no application_id yet.
    if tables and _read_number(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise ConfigurationError(
            f"{path!r} is a database of another program: give the memory a file of its own"
        )
    if version > SCHEMA_VERSION:
        raise ConfigurationError(
            f"{path!r} has schema {version}, newer than {SCHEMA_VERSION}, the newest this"
            " version can read: update spade-llm-agents"
        )
    return version


def _read_number(connection: sqlite3.Connection, sql: str) -> int:
    return int(connection.execute(sql).fetchone()[0])
