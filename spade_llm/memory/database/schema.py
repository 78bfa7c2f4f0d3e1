"""Tables and indexes of the memory file."""

from __future__ import annotations

from spade_llm.core.database import StoreTables

APPLICATION_ID = 0x53504D45
"""Mark of a memory file in its header (`SPME`)."""

SCHEMA_VERSION = 8

OLDEST_SQLITE = (3, 37)
"""Minimum version of SQLite, for STRICT tables."""

OWNER = """
    CREATE TABLE owner (
        number INTEGER PRIMARY KEY,
        jid TEXT NOT NULL UNIQUE
    ) STRICT
"""

# AUTOINCREMENT, here and in `message`: a number that was forgotten never means another row, so
# that a vector computed meanwhile, or a mark in `conversation`, meets nothing of somebody else's.
# salience: what a surprise was computed from (learning/novelty.py), NULL if the writer gave it.
# NULL: tags and metadata that are empty, importance that is computed from use, terms that are not
# encoded yet; valid_at: since it was stored.
ENTRY = """
    CREATE TABLE entry (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL REFERENCES owner (number),
        id BLOB NOT NULL UNIQUE,
        type INTEGER NOT NULL,
        category INTEGER,
        tier INTEGER NOT NULL,
        content_type INTEGER NOT NULL,
        origin INTEGER NOT NULL,
        content TEXT NOT NULL,
        content_hash INTEGER NOT NULL,
        terms BLOB,
        context TEXT,
        confidence REAL NOT NULL,
        subject TEXT,
        session TEXT,
        tags TEXT,
        metadata TEXT,
        sources BLOB,
        importance REAL,
        importance_reason TEXT,
        surprise REAL,
        salience REAL,
        stability REAL,
        difficulty REAL,
        reviewed_at INTEGER,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        access_count INTEGER NOT NULL DEFAULT 0,
        last_accessed_at INTEGER,
        valid_at INTEGER,
        invalid_at INTEGER,
        expires_at INTEGER,
        deleted_at INTEGER,
        learned_at INTEGER
    ) STRICT
"""

# 2: a learned fact. A told fact that says the same takes its place.
LEARNED_INDEX = "CREATE INDEX entry_learned ON entry (subject, owner, seq) WHERE origin = 2"

ENTRY_INDEXES = (
    # All that a list is usually narrowed by: it counts and skips without reading the entries.
    """
    CREATE INDEX entry_by_age ON entry (owner, created_at, category, tier, deleted_at, expires_at,
        valid_at, invalid_at)
    """,
    # Not unique: an entry that is hidden, or told without merging, may say the same.
    "CREATE INDEX entry_by_content ON entry (owner, content_hash)",
    "CREATE INDEX entry_by_subject ON entry (subject, owner, created_at) WHERE subject IS NOT NULL",
    "CREATE INDEX entry_by_session ON entry (session, owner) WHERE session IS NOT NULL",
    "CREATE INDEX entry_to_expire ON entry (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX entry_to_purge ON entry (deleted_at) WHERE deleted_at IS NOT NULL",
    # 3: an episode.
    "CREATE INDEX entry_to_learn ON entry (seq) WHERE origin = 3 AND learned_at IS NULL",
    "CREATE INDEX entry_without_terms ON entry (seq) WHERE terms IS NULL",
    LEARNED_INDEX,
)

# A keyed write that strengthened an entry of another id: the same key again finds it here.
ENTRY_KEY = """
    CREATE TABLE entry_key (
        key_id BLOB PRIMARY KEY,
        entry INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID
"""

# closed_at_seq: the history starts behind this message; 0 if it was never closed. cleared_at_seq:
# up to it nothing is shown any more; cleared_at: since when some of that is still there.
CONVERSATION = """
    CREATE TABLE conversation (
        number INTEGER PRIMARY KEY,
        owner INTEGER NOT NULL REFERENCES owner (number),
        name TEXT NOT NULL,
        closed_at_seq INTEGER NOT NULL DEFAULT 0,
        cleared_at_seq INTEGER NOT NULL DEFAULT 0,
        cleared_at INTEGER,
        UNIQUE (owner, name)
    ) STRICT
"""

CONVERSATION_INDEX = """
    CREATE INDEX conversation_to_purge ON conversation (cleared_at) WHERE cleared_at IS NOT NULL
"""

# episode: the entry that was cut from it, NULL before that, 0 if no episode holds it (any more).
# recalled: 16 bytes for each memory it was written with. owner is the conversation's, repeated:
# every query names it.
MESSAGE = """
    CREATE TABLE message (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL REFERENCES owner (number),
        conversation INTEGER NOT NULL REFERENCES conversation (number),
        id TEXT NOT NULL,
        subject TEXT,
        role INTEGER NOT NULL,
        speaker TEXT,
        content TEXT NOT NULL,
        content_hash INTEGER NOT NULL,
        terms BLOB,
        at INTEGER NOT NULL,
        recalled BLOB,
        episode INTEGER,
        UNIQUE (conversation, id)
    ) STRICT
"""

MESSAGE_INDEXES = (
    "CREATE INDEX message_in_order ON message (owner, conversation, seq)",
    "CREATE INDEX message_by_content ON message (owner, content_hash)",
    "CREATE INDEX message_by_subject ON message (subject, owner) WHERE subject IS NOT NULL",
    "CREATE INDEX message_by_episode ON message (episode) WHERE episode > 0",
    "CREATE INDEX message_to_learn ON message (owner, conversation, seq) WHERE episode IS NULL",
    "CREATE INDEX message_without_terms ON message (seq) WHERE terms IS NULL",
)

MODEL = """
    CREATE TABLE model (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        dimension INTEGER NOT NULL
    ) STRICT
"""

# row: the key of an entry or a message.
VECTOR = """
    CREATE TABLE vector (
        row INTEGER PRIMARY KEY,
        model INTEGER NOT NULL REFERENCES model (number),
        data BLOB NOT NULL
    ) STRICT
"""

# Rows whose vector is still to be computed: kept by the triggers, so that a crash loses none.
VECTOR_WANTED = "CREATE TABLE vector_wanted (row INTEGER PRIMARY KEY) STRICT"

# The key of a row is seq * 2 for an entry and seq * 2 + 1 for a message.
VECTOR_TRIGGERS = (
    """
    CREATE TRIGGER entry_added AFTER INSERT ON entry BEGIN
        INSERT OR IGNORE INTO vector_wanted VALUES (new.seq * 2);
    END
    """,
    """
    CREATE TRIGGER entry_changed AFTER UPDATE OF content ON entry WHEN old.content <> new.content
    BEGIN
        DELETE FROM vector WHERE row = old.seq * 2;
        INSERT OR IGNORE INTO vector_wanted VALUES (old.seq * 2);
    END
    """,
    """
    CREATE TRIGGER entry_removed AFTER DELETE ON entry BEGIN
        DELETE FROM vector WHERE row = old.seq * 2;
        DELETE FROM vector_wanted WHERE row = old.seq * 2;
    END
    """,
    """
    CREATE TRIGGER message_added AFTER INSERT ON message BEGIN
        INSERT OR IGNORE INTO vector_wanted VALUES (new.seq * 2 + 1);
    END
    """,
    """
    CREATE TRIGGER message_removed AFTER DELETE ON message BEGIN
        DELETE FROM vector WHERE row = old.seq * 2 + 1;
        DELETE FROM vector_wanted WHERE row = old.seq * 2 + 1;
    END
    """,
    """
    CREATE TRIGGER vector_added AFTER INSERT ON vector BEGIN
        DELETE FROM vector_wanted WHERE row = new.row;
    END
    """,
)

LINK = """
    CREATE TABLE link (
        source INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
        target INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
        relation TEXT NOT NULL,
        owner INTEGER NOT NULL REFERENCES owner (number),
        created_at INTEGER NOT NULL,
        PRIMARY KEY (source, target, relation)
    ) STRICT, WITHOUT ROWID
"""

LINK_INDEX = "CREATE INDEX link_by_target ON link (target)"

# grantee: a bare JID or a domain. tag and session NULL: all entries.
ACCESS_GRANT = """
    CREATE TABLE access_grant (
        seq INTEGER PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        owner INTEGER NOT NULL REFERENCES owner (number),
        grantee TEXT NOT NULL,
        access INTEGER NOT NULL,
        tag TEXT,
        session TEXT,
        created_at INTEGER NOT NULL
    ) STRICT
"""

ACCESS_GRANT_INDEXES = (
    "CREATE INDEX access_grant_by_grantee ON access_grant (grantee, owner)",
    "CREATE INDEX access_grant_by_owner ON access_grant (owner)",
)

# What was done that cannot be seen in the entries; never any text. ids: 16 bytes each.
AUDIT = """
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        owner INTEGER NOT NULL REFERENCES owner (number),
        action TEXT NOT NULL,
        count INTEGER NOT NULL,
        ids BLOB NOT NULL
    ) STRICT
"""

DECAY = """
    CREATE TABLE decay (
        owner INTEGER PRIMARY KEY REFERENCES owner (number),
        is_enabled INTEGER NOT NULL,
        older_than_s REAL NOT NULL,
        below_importance REAL NOT NULL,
        tiers TEXT NOT NULL,
        last_run_at INTEGER,
        last_deleted INTEGER NOT NULL DEFAULT 0
    ) STRICT
"""

# changed counts what is new about a person, learned says up to which count it was looked at.
# refused: 16 bytes for each pattern that they removed.
CONSENT = """
    CREATE TABLE consent (
        owner INTEGER NOT NULL REFERENCES owner (number),
        subject TEXT NOT NULL,
        since INTEGER NOT NULL,
        changed INTEGER NOT NULL DEFAULT 1,
        learned INTEGER NOT NULL DEFAULT 0,
        refused BLOB,
        PRIMARY KEY (owner, subject)
    ) STRICT, WITHOUT ROWID
"""

CONSENT_INDEXES = (
    "CREATE INDEX consent_to_learn ON consent (owner, subject) WHERE changed > learned",
    # 5: a pattern.
    "CREATE INDEX entry_pattern ON entry (owner) WHERE origin = 5",
)

# What a reflection has done to an entry. kind 1: it was closed because of `kept`; before and after:
# its invalid_at. kind 2: it repeats `kept` and was hidden; after: its deleted_at.
REFLECTION = """
    CREATE TABLE reflection (
        seq INTEGER PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        owner INTEGER NOT NULL REFERENCES owner (number),
        subject TEXT NOT NULL,
        kind INTEGER NOT NULL,
        entry INTEGER NOT NULL REFERENCES entry (seq) ON DELETE CASCADE,
        kept INTEGER REFERENCES entry (seq) ON DELETE SET NULL,
        before INTEGER,
        after INTEGER NOT NULL,
        at INTEGER NOT NULL
    ) STRICT
"""

# changed: the consent's count that the latest attempt has read.
REFLECTION_RUN = """
    CREATE TABLE reflection_run (
        owner INTEGER NOT NULL REFERENCES owner (number),
        subject TEXT NOT NULL,
        changed INTEGER NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (owner, subject)
    ) STRICT, WITHOUT ROWID
"""

REFLECTION_INDEXES = (
    "CREATE INDEX reflection_by_person ON reflection (owner, subject)",
    "CREATE INDEX reflection_by_entry ON reflection (entry)",
    "CREATE INDEX reflection_by_kept ON reflection (kept)",
    # 6: a summary by reflection.
    "CREATE INDEX entry_summary ON entry (owner) WHERE origin = 6",
    "CREATE INDEX entry_closed ON entry (subject, owner) WHERE invalid_at IS NOT NULL",
)

SCHEMA = (
    OWNER,
    ENTRY,
    *ENTRY_INDEXES,
    ENTRY_KEY,
    "CREATE INDEX entry_key_by_entry ON entry_key (entry)",
    CONVERSATION,
    CONVERSATION_INDEX,
    MESSAGE,
    *MESSAGE_INDEXES,
    MODEL,
    VECTOR,
    VECTOR_WANTED,
    *VECTOR_TRIGGERS,
    LINK,
    LINK_INDEX,
    ACCESS_GRANT,
    *ACCESS_GRANT_INDEXES,
    AUDIT,
    DECAY,
    CONSENT,
    *CONSENT_INDEXES,
    REFLECTION,
    REFLECTION_RUN,
    *REFLECTION_INDEXES,
)
"""All statements, for an empty file."""

MEMORY_TABLES = StoreTables(
    name="memory",
    what="the memory",
    schema=";".join(SCHEMA),
    is_named_by_agent=False,
    is_created_elsewhere=True,
)
"""All tables, for copies: DatabaseMemoryBackend creates and migrates them."""
