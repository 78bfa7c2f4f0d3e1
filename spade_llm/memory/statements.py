"""Every SQL statement of the memory. Each one names the owner before anything is ranked."""

from __future__ import annotations

ENTRY_COLUMNS = (
    "id, owner, content, category, context, confidence, subject, session, tier, tags, metadata,"
    " created_at, updated_at, access_count, last_accessed_at"
)

# The id that was written before leads to the entry as it is; the same content strengthens the entry
# that has it. The clauses are tried in this order.
ADD = f"""
    INSERT INTO entry (id, owner, subject, session, type, category, tier, content, content_hash,
        merge_key, context, tags, metadata, confidence, created_at, updated_at)
    SELECT coalesce((SELECT entry_id FROM entry_key WHERE key_id = :id), :id), :owner, :subject,
        :session, :type, :category, :tier, :content, :content_hash, :merge_key, :context, :tags,
        :metadata, :confidence, :now, :now
    WHERE true
    ON CONFLICT (id) DO UPDATE SET seq = seq
    ON CONFLICT (merge_key) DO UPDATE SET
        confidence = 1 - (1 - confidence) * (1 - excluded.confidence),
        context = coalesce(excluded.context, context),
        access_count = access_count + 1,
        last_accessed_at = excluded.updated_at,
        updated_at = excluded.updated_at
    RETURNING {ENTRY_COLUMNS}
"""

REMEMBER_KEY = """
    INSERT INTO entry_key (key_id, entry_id) VALUES (:id, :entry_id) ON CONFLICT DO NOTHING
"""

# The inner query orders numbers only: whole rows are read for the hits that are wanted.
SEARCH = f"""
    SELECT relevance, content_hash, {ENTRY_COLUMNS} FROM (
        SELECT entry.seq AS hit, -bm25(entry_text, 1.0, 0.5, 0.5) AS relevance,
            updated_at AS changed
        FROM entry_text JOIN entry ON entry.seq = entry_text.rowid
        WHERE entry_text MATCH :match AND owner = :owner
            AND (:subject IS NULL OR subject = :subject)
        ORDER BY relevance DESC, changed DESC, hit DESC
        LIMIT :limit OFFSET :offset
    ) JOIN entry ON entry.seq = hit
    ORDER BY relevance DESC, changed DESC, hit DESC
"""

RECALLED = """
    UPDATE entry SET access_count = access_count + 1, last_accessed_at = :now
    WHERE owner = :owner AND id = :id
"""

LIST = f"""
    SELECT {ENTRY_COLUMNS} FROM entry
    WHERE owner = :owner AND (:category IS NULL OR category = :category)
        AND (:subject IS NULL OR subject = :subject)
    ORDER BY created_at DESC, seq DESC
    LIMIT :limit OFFSET :offset
"""

COUNT = """
    SELECT count(*) FROM entry
    WHERE owner = :owner AND (:category IS NULL OR category = :category)
        AND (:subject IS NULL OR subject = :subject)
"""

FORGET = """
    DELETE FROM entry
    WHERE owner = :owner AND id = :id AND (:subject IS NULL OR subject = :subject)
"""

FORGET_SUBJECT = "DELETE FROM entry WHERE owner = :owner AND subject = :subject"

FORGET_MESSAGES = "DELETE FROM message WHERE owner = :owner AND subject = :subject"

FORGET_MARKS = """
    DELETE FROM conversation WHERE owner = :owner AND NOT EXISTS (
        SELECT 1 FROM message
        WHERE message.owner = conversation.owner AND message.conversation = conversation.name
    )
"""

# Deleted words stay in the full-text index until its parts are merged (0.1 s at 100 000 entries).
MERGE_TEXT = "INSERT INTO entry_text (entry_text) VALUES ('optimize')"

OBSERVE = """
    INSERT INTO message (owner, conversation, id, subject, role, content, at)
    VALUES (:owner, :conversation, :id, :subject, :role, :content, :at)
    ON CONFLICT (owner, conversation, id) DO NOTHING
"""

HISTORY = """
    SELECT id, role, content, at FROM message
    WHERE owner = :owner AND conversation = :conversation AND seq > coalesce(
        (SELECT closed_at_seq FROM conversation WHERE owner = :owner AND name = :conversation), 0)
    ORDER BY seq DESC LIMIT :limit
"""

CLOSE_CONVERSATION = """
    INSERT INTO conversation (owner, name, closed_at_seq)
    SELECT :owner, :conversation, coalesce(max(seq), 0) FROM message
    WHERE owner = :owner AND conversation = :conversation
    ON CONFLICT (owner, name) DO UPDATE SET closed_at_seq = excluded.closed_at_seq
"""
