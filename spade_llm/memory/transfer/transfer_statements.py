"""How an export reads the memory's tables, and how an import fills them. SQL only."""

from __future__ import annotations

SELECT = {
    "entry": """
        SELECT id, jid AS owner, content, type, category, tier, content_type, origin, context,
            confidence, subject, session, tags, metadata, sources, importance, importance_reason,
            surprise, stability, difficulty, reviewed_at, created_at, updated_at, access_count,
            last_accessed_at, valid_at, invalid_at, expires_at, deleted_at, learned_at
        FROM entry JOIN owner ON owner.number = entry.owner ORDER BY seq
    """,
    "key": """
        SELECT key_id AS key, id AS entry
        FROM entry_key JOIN entry ON entry.seq = entry_key.entry ORDER BY key_id
    """,
    "message": """
        SELECT jid AS owner, conversation.name AS conversation, message.id, message.subject, role,
            speaker, message.content, at, recalled, entry.id AS episode,
            message.episode IS NOT NULL AND entry.id IS NULL AS is_left_out
        FROM message
            JOIN owner ON owner.number = message.owner
            JOIN conversation ON conversation.number = message.conversation
            LEFT JOIN entry ON entry.seq = message.episode
        WHERE message.seq > cleared_at_seq
        ORDER BY message.seq
    """,
    "conversation": """
        SELECT jid AS owner, name, (
            SELECT id FROM message WHERE conversation = conversation.number
            AND message.owner = conversation.owner AND seq <= closed_at_seq
            AND seq > cleared_at_seq
            ORDER BY seq DESC LIMIT 1
        ) AS closed_after
        FROM conversation JOIN owner ON owner.number = conversation.owner
        ORDER BY jid, name
    """,
    "link": """
        SELECT jid AS owner, one.id AS source, other.id AS target, relation, link.created_at
        FROM link
            JOIN owner ON owner.number = link.owner
            JOIN entry AS one ON one.seq = link.source
            JOIN entry AS other ON other.seq = link.target
        ORDER BY link.source, link.target, relation
    """,
    "grant": """
        SELECT id, jid AS owner, grantee AS "to", access, tag, session, created_at
        FROM access_grant JOIN owner ON owner.number = access_grant.owner ORDER BY seq
    """,
    "decay": """
        SELECT jid AS owner, is_enabled, older_than_s, below_importance, tiers, last_run_at,
            last_deleted
        FROM decay JOIN owner ON owner.number = decay.owner ORDER BY jid
    """,
    "consent": """
        SELECT jid AS owner, subject, since, refused
        FROM consent JOIN owner ON owner.number = consent.owner ORDER BY jid, subject
    """,
    "audit": """
        SELECT jid AS owner, at, action, count, ids
        FROM audit JOIN owner ON owner.number = audit.owner ORDER BY seq
    """,
}

COUNT = """
    SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM entry_key)
        + (SELECT count(*) FROM message JOIN conversation ON number = conversation
            WHERE seq > cleared_at_seq) + (SELECT count(*) FROM conversation)
        + (SELECT count(*) FROM link) + (SELECT count(*) FROM access_grant)
        + (SELECT count(*) FROM decay) + (SELECT count(*) FROM audit)
        + (SELECT count(*) FROM consent)
"""

ADD_OWNER = "INSERT OR IGNORE INTO owner (jid) VALUES (:owner)"

ADD_CONVERSATION = """
    INSERT OR IGNORE INTO conversation (owner, name)
    SELECT number, :conversation FROM owner WHERE jid = :owner
"""

INSERT = {
    "entry": """
        INSERT INTO entry (owner, id, type, category, tier, content_type, origin, content,
            content_hash, terms, context, confidence, subject, session, tags, metadata, sources,
            importance, importance_reason, surprise, stability, difficulty, reviewed_at, created_at,
            updated_at, access_count, last_accessed_at, valid_at, invalid_at, expires_at,
            deleted_at, learned_at)
        SELECT number, :id, :type, :category, :tier, :content_type, :origin, :content,
            :content_hash, :terms, :context, :confidence, :subject, :session, :tags, :metadata,
            :sources, :importance, :importance_reason, :surprise, :stability, :difficulty,
            :reviewed_at, :created_at, :updated_at, :access_count, :last_accessed_at, :valid_at,
            :invalid_at, :expires_at, :deleted_at, :learned_at
        FROM owner WHERE jid = :owner
        ON CONFLICT (id) DO NOTHING
    """,
    "key": """
        INSERT INTO entry_key (key_id, entry) SELECT :key, seq FROM entry WHERE id = :entry
        ON CONFLICT DO NOTHING
    """,
    "message": """
        INSERT INTO message (owner, conversation, id, subject, role, speaker, content, content_hash,
            terms, at, recalled, episode)
        SELECT owner, number, :id, :subject, :role, :speaker, :content, :content_hash, :terms, :at,
            :recalled, coalesce((SELECT seq FROM entry WHERE id = :episode),
                CASE WHEN :is_left_out THEN 0 END)
        FROM conversation
        WHERE name = :conversation AND owner = (SELECT number FROM owner WHERE jid = :owner)
        ON CONFLICT (conversation, id) DO NOTHING
    """,
    "conversation": """
        INSERT INTO conversation (owner, name, closed_at_seq)
        SELECT number, :name, 0 FROM owner WHERE jid = :owner
        ON CONFLICT (owner, name) DO UPDATE SET closed_at_seq = (
            SELECT seq FROM message WHERE message.conversation = conversation.number
            AND message.id = :closed_after
        ) WHERE closed_at_seq < (
            SELECT seq FROM message WHERE message.conversation = conversation.number
            AND message.id = :closed_after
        )
    """,
    "link": """
        INSERT INTO link (source, target, relation, owner, created_at)
        SELECT one.seq, other.seq, :relation, one.owner, :created_at
        FROM entry AS one JOIN entry AS other ON other.owner = one.owner
            JOIN owner ON owner.number = one.owner
        WHERE one.id = :source AND other.id = :target AND jid = :owner
        ON CONFLICT DO NOTHING
    """,
    "grant": """
        INSERT INTO access_grant (id, owner, grantee, access, tag, session, created_at)
        SELECT :id, number, :to, :access, :tag, :session, :created_at
        FROM owner WHERE jid = :owner
        ON CONFLICT (id) DO NOTHING
    """,
    "decay": """
        INSERT INTO decay (owner, is_enabled, older_than_s, below_importance, tiers, last_run_at,
            last_deleted)
        SELECT number, :is_enabled, :older_than_s, :below_importance, :tiers, :last_run_at,
            :last_deleted
        FROM owner WHERE jid = :owner
        ON CONFLICT (owner) DO NOTHING
    """,
    "consent": """
        INSERT INTO consent (owner, subject, since, refused)
        SELECT number, :subject, :since, :refused FROM owner WHERE jid = :owner
        ON CONFLICT DO NOTHING
    """,
    "audit": """
        INSERT INTO audit (owner, at, action, count, ids)
        SELECT number, :at, :action, :count, :ids FROM owner WHERE jid = :owner
        AND NOT EXISTS (SELECT 1 FROM audit WHERE owner = number AND at = :at AND ids = :ids)
    """,
}
"""What is there already stays as it is."""

STATS_OF_OWNERS = """
    SELECT jid,
        (SELECT count(*) FROM entry WHERE owner = number),
        (SELECT count(*) FROM entry WHERE owner = number AND deleted_at IS NOT NULL),
        (SELECT count(*) FROM message WHERE owner = number),
        (SELECT count(*) FROM conversation WHERE owner = owner.number)
    FROM owner ORDER BY jid
"""

STATS_OF_FILE = """
    SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM vector_wanted),
        (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)
"""
