"""SQLiteLearningStore: conversations and episodes of all owners yet to be learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.memory import validation
from spade_llm.memory.database import consent, conversations, entries, queries, reflection
from spade_llm.memory.database.queries import OWNED_ENTRY, SAID_BEFORE, VISIBLE
from spade_llm.memory.database.rows import (
    ENTRY_COLUMNS,
    FOUND_MESSAGE_COLUMNS,
    MESSAGE_COLUMNS,
    entry_from_row,
    entry_key,
    entry_row,
    message_from_row,
    to_microseconds,
)
from spade_llm.memory.learning.learning_contract import LearningWork, MessageRange
from spade_llm.search.memory_query import MemoryType, Origin

if TYPE_CHECKING:
    from spade_llm.memory.contract import MemoryDraft, MemoryEntry, ObservedMessage
    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction
    from spade_llm.memory.learning.learning_contract import (
        ConsentingPerson,
        EpisodeDraft,
        ReflectionChanges,
        ReflectionMaterial,
    )

# Conversations with cleared messages come first (false sorts before true): their messages are
# deleted only after they have been learned from.
SELECT_UNLEARNED = """
    SELECT jid, unlearned.owner, unlearned.conversation, name, cleared_at_seq
    FROM (SELECT owner, conversation, min(seq) AS first, max(seq) AS last FROM message
            WHERE episode IS NULL GROUP BY owner, conversation) AS unlearned
        JOIN conversation ON conversation.number = unlearned.conversation
        JOIN owner ON owner.number = unlearned.owner
    ORDER BY first > cleared_at_seq, last LIMIT :limit
"""

SELECT_RANGE = f"""
    SELECT {FOUND_MESSAGE_COLUMNS}, subject FROM message
    WHERE owner = :owner AND conversation = :conversation AND episode IS NULL
        AND seq BETWEEN :first AND :last
    ORDER BY seq LIMIT :limit
"""

SELECT_EPISODE_MESSAGES = f"""
    SELECT {MESSAGE_COLUMNS} FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND episode =
        (SELECT seq FROM entry WHERE {OWNED_ENTRY} AND id = :id AND {VISIBLE})
    ORDER BY seq
"""

# CROSS JOIN: the conversation first. Otherwise SQLite reads all messages of the owner.
SELECT_POSITION = """
    SELECT conversation, seq FROM conversation CROSS JOIN message ON conversation = number
    WHERE conversation.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND name = :conversation AND id = :id
"""

MARK_EPISODE = """
    UPDATE message SET episode = :episode
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND conversation = :conversation
        AND episode IS NULL AND seq BETWEEN :first AND :last
"""

SELECT_UNREAD = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE origin = 3 AND learned_at IS NULL AND {VISIBLE}
    ORDER BY entry.seq LIMIT :limit
"""

# The time: what was read may be outdated (removal.py, exclude_from_learning).
MARK_READ = f"""
    UPDATE entry SET learned_at = :now
    WHERE {OWNED_ENTRY} AND id = :id AND updated_at = :updated_at
"""

CLOSE_FACT = f"""
    UPDATE entry SET invalid_at = :at, updated_at = max(updated_at, :now)
    WHERE {OWNED_ENTRY} AND id = :id AND {SAID_BEFORE}
        AND (invalid_at IS NULL OR invalid_at > :at)
    RETURNING seq
"""

MAX_RANGE = 400
"""Maximum number of messages in one range."""

MAX_SEQ = 2**63 - 1
"""Largest integer of the databases."""


class SQLiteLearningStore:
    """A LearningStore."""

    def __init__(self, database: DatabaseMemoryBackend) -> None:
        self._database = database

    async def due(self, *, ranges: int = 16, episodes: int = 16, people: int = 4) -> LearningWork:
        for name, limit in (("ranges", ranges), ("episodes", episodes), ("people", people)):
            validation.check_number(name, limit, 1, validation.MAX_ROWS)
        now = self._now()
        return await self._database.read(
            lambda tx: LearningWork(
                ranges=[
                    _message_range(tx, *row) for row in tx.all(SELECT_UNLEARNED, {"limit": ranges})
                ],
                episodes=[
                    entry_from_row(row, now=now)
                    for row in tx.all(SELECT_UNREAD, {"limit": episodes, "now": now})
                ],
                people=consent.consenting_persons(tx, limit=people, now=now),
            )
        )

    async def save_episodes(
        self, message_range: MessageRange, episodes: Sequence[EpisodeDraft]
    ) -> Sequence[str]:
        whole = []
        for one in episodes:
            draft = replace(
                one.draft,
                origin=Origin.EPISODE,
                type=one.draft.type or MemoryType.EPISODIC,
                session=one.draft.session or message_range.conversation,
                subject=one.draft.subject or message_range.subject,
            )
            validation.check_draft(draft)
            whole.append(replace(one, draft=draft))
        saved = await self._database.write(
            lambda tx: [self._save_episode(tx, message_range, one) for one in whole]
        )
        return [id for id in saved if id is not None]

    async def messages_of(self, episode: MemoryEntry) -> Sequence[ObservedMessage]:
        which: dict[str, SqlValue] = {
            "owner": episode.owner,
            "id": UUID(episode.id).bytes,
            "now": self._now(),
        }
        rows = await self._database.read(lambda tx: tx.all(SELECT_EPISODE_MESSAGES, which))
        return [message_from_row(row) for row in rows]

    async def recently_returned_messages(self, owner: str, ids: Sequence[str]) -> Mapping[str, str]:
        keys = self._database.message_aliases.keys(owner, ids)
        if not keys:
            return {}
        now = self._now()
        found = await self._database.read(
            lambda tx: queries.entries_by_key(tx, owner, keys, now=now)
        )
        return {entry.id: entry.content for entry in found.values()}

    async def save_facts(
        self,
        episode: MemoryEntry,
        drafts: Sequence[MemoryDraft],
        *,
        invalid: Mapping[str, datetime] | None = None,
        confirmed: Sequence[str] = (),
    ) -> Sequence[str]:
        whole = [
            replace(
                draft,
                origin=Origin.EXTRACTED,
                sources=draft.sources or (episode.id,),
                subject=draft.subject or episode.subject,
                valid_at=draft.valid_at or episode.valid_at,
            )
            for draft in drafts
        ]
        for draft in whole:
            validation.check_draft(draft)
        closed = {
            validation.parse_id(id): to_microseconds(at) for id, at in (invalid or {}).items()
        }
        same = validation.parse_ids(confirmed)
        return await self._database.write(
            lambda tx: self._save_facts(tx, episode, whole, closed, same)
        )

    async def save_patterns(
        self, person: ConsentingPerson, drafts: Mapping[str, MemoryDraft]
    ) -> Sequence[str]:
        for draft in drafts.values():
            validation.check_draft(draft)
        now = self._now()
        return await self._database.write(
            lambda tx: consent.save_patterns(tx, person, drafts, now=now)
        )

    async def next_reflection(self, *, runs_per_day: int) -> ReflectionMaterial | None:
        now = self._now()
        return await self._database.write(
            lambda tx: reflection.next_material(tx, runs_per_day=runs_per_day, now=now)
        )

    async def save_reflection(
        self, material: ReflectionMaterial, changes: ReflectionChanges
    ) -> int:
        for draft in changes.summaries.values():
            validation.check_draft(draft)
        now = self._now()
        return await self._database.write(
            lambda tx: consent.save_reflection(tx, material, changes, now=now)
        )

    def _now(self) -> int:
        return to_microseconds(self._database.now())

    def _save_episode(
        self, tx: Transaction, message_range: MessageRange, episode: EpisodeDraft
    ) -> str | None:
        """Return the entry's id; None if its messages have been forgotten meanwhile."""
        owner, conversation = message_range.owner, message_range.conversation
        which: dict[str, SqlValue] = {"owner": owner, "conversation": conversation}
        first = tx.first(SELECT_POSITION, {**which, "id": episode.first_message})
        last = tx.first(SELECT_POSITION, {**which, "id": episode.last_message})
        if first is None or last is None:
            return None
        # The key follows from the first message: a second attempt finds what the first one stored.
        key = f"episode\0{conversation}\0{episode.first_message}"
        row = self._add_draft(tx, episode.draft, owner, key, merge=False)
        marks = {"owner": owner, "conversation": first[0], "first": first[1], "last": last[1]}
        tx.count(MARK_EPISODE, {**marks, "episode": row[0]})
        # Earlier messages of the range that no episode holds are marked as done.
        tx.count(MARK_EPISODE, {**marks, "episode": 0, "first": 0})
        return _entry_id(row)

    def _save_facts(
        self,
        tx: Transaction,
        episode: MemoryEntry,
        drafts: Sequence[MemoryDraft],
        invalid: Mapping[bytes, int],
        confirmed: Sequence[bytes],
    ) -> Sequence[str]:
        owner, now, id = episode.owner, self._now(), UUID(episode.id).bytes
        # Nothing is kept of an episode that was forgotten meanwhile.
        read: dict[str, SqlValue] = {
            "owner": owner,
            "id": id,
            "now": now,
            "updated_at": to_microseconds(episode.updated_at),
        }
        if not tx.count(MARK_READ, read):
            return []
        for same in confirmed:
            entries.add_source(tx, owner, same, id)
        for ended, at in invalid.items():
            closed = tx.all(CLOSE_FACT, {"owner": owner, "id": ended, "at": at, "now": now})
            tx.mark_changed(owner, [entry_key(seq) for (seq,) in closed])
        if invalid:
            consent.remove_patterns_of_episodes(tx, owner, set(invalid), now=now)
        consent.mark_person_changed(tx, owner, episode.subject)
        conversations.purge_cleared(tx, now=now, is_learned_from=True, conversation=episode.session)
        return [
            _entry_id(self._add_draft(tx, draft, owner, f"{episode.id}\0{index}", merge=True))
            for index, draft in enumerate(drafts)
        ]

    def _add_draft(
        self, tx: Transaction, draft: MemoryDraft, owner: str, key: str, *, merge: bool
    ) -> SqlRow:
        ttl_s = self._database.short_term_ttl_s
        row = entry_row(draft, owner=owner, key=key, now=self._now(), short_term_ttl_s=ttl_s)
        return entries.add_entry(tx, owner, row, merge=merge)


def _message_range(
    transaction: Transaction, owner: str, number: int, conversation: int, name: str, cleared: int
) -> MessageRange:
    """Range of messages to learn from. Cleared messages come first, in a range of their own;
    nothing can follow them."""
    which: dict[str, SqlValue] = {
        "owner": number,
        "conversation": conversation,
        "limit": MAX_RANGE,
    }
    hidden = transaction.all(SELECT_RANGE, {**which, "first": 0, "last": cleared})
    rows = hidden or transaction.all(SELECT_RANGE, {**which, "first": cleared + 1, "last": MAX_SEQ})
    subjects = [row[-1] for row in rows if row[-1] is not None]
    return MessageRange(
        owner=owner,
        conversation=name,
        subject=subjects[-1] if subjects else None,
        messages=tuple(message_from_row(row[:-1]) for row in rows),
        # A full range may go on behind its last message.
        is_closed=0 < len(hidden) < MAX_RANGE,
    )


def _entry_id(row: SqlRow) -> str:
    return str(UUID(bytes=row[1]))
