"""SqliteLearningStore: what is still to be learned from conversations, of all owners."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from spade_llm.memory import limits
from spade_llm.memory.sqlite import acquaintances, adding, clearing, finding, patterns
from spade_llm.memory.sqlite.conditions import VISIBLE
from spade_llm.memory.sqlite.finding import OWNED
from spade_llm.memory.sqlite.rows import (
    ENTRY_COLUMNS,
    MESSAGE_COLUMNS,
    entry_from_row,
    entry_key,
    entry_row,
    message_from_row,
    to_microseconds,
)
from spade_llm.memory.store import MemoryType, Origin, Stretch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spade_llm.memory.sqlite.database import Database
    from spade_llm.memory.sqlite.transaction import Row, Transaction, Value
    from spade_llm.memory.store import (
        Acquaintance,
        Episode,
        MemoryDraft,
        MemoryEntry,
        ObservedMessage,
    )

UNTOUCHED = """
    SELECT jid, message.owner, conversation, name, cleared_at_seq
    FROM message JOIN conversation ON conversation.number = conversation
        JOIN owner ON owner.number = message.owner
    WHERE episode IS NULL
    GROUP BY message.owner, conversation
    ORDER BY min(seq) > cleared_at_seq, max(seq) LIMIT :limit
"""

STRETCH = f"""
    SELECT {MESSAGE_COLUMNS}, subject FROM message
    WHERE owner = :owner AND conversation = :conversation AND episode IS NULL
        AND seq BETWEEN :first AND :last
    ORDER BY seq LIMIT :limit
"""

OF_EPISODE = f"""
    SELECT {MESSAGE_COLUMNS} FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND episode =
        (SELECT seq FROM entry WHERE {OWNED} AND id = :id AND {VISIBLE})
    ORDER BY seq
"""

PLACE = """
    SELECT conversation, seq FROM message JOIN conversation ON number = conversation
    WHERE message.owner = (SELECT number FROM owner WHERE jid = :owner)
        AND name = :conversation AND id = :id
"""

MARK = """
    UPDATE message SET episode = :episode
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND conversation = :conversation
        AND episode IS NULL AND seq BETWEEN :first AND :last
"""

UNREAD = f"""
    SELECT {ENTRY_COLUMNS} FROM entry JOIN owner ON owner.number = entry.owner
    WHERE origin = 3 AND learned_at IS NULL AND {VISIBLE}
    ORDER BY entry.seq LIMIT :limit
"""

READ = f"UPDATE entry SET learned_at = :now WHERE {OWNED} AND id = :id"

CLOSE = f"""
    UPDATE entry SET invalid_at = :at, updated_at = max(updated_at, :now)
    WHERE {OWNED} AND id = :id AND (invalid_at IS NULL OR invalid_at > :at)
    RETURNING seq
"""

MAX_STRETCH = 400
"""Messages."""

LAST = 2**63 - 1
"""Larger than any message's number."""


class SqliteLearningStore:
    """A LearningStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def stretches(self, *, limit: int = 16) -> Sequence[Stretch]:
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        return await self._database.read(partial(_stretches, limit=limit))

    async def keep_episodes(self, stretch: Stretch, episodes: Sequence[Episode]) -> Sequence[str]:
        whole = [replace(one, draft=_episode_draft(one.draft, stretch)) for one in episodes]
        for one in whole:
            limits.check_draft(one.draft)
        return await self._database.write(
            partial(_keep_episodes, stretch=stretch, episodes=whole, database=self._database)
        )

    async def messages_of(self, episode: MemoryEntry) -> Sequence[ObservedMessage]:
        which: dict[str, Value] = {
            "owner": episode.owner,
            "id": UUID(episode.id).bytes,
            "now": to_microseconds(self._database.now()),
        }
        rows = await self._database.read(lambda file: file.all(OF_EPISODE, which))
        return [message_from_row(row) for row in rows]

    async def given(self, owner: str, ids: Sequence[str]) -> Mapping[str, str]:
        keys = self._database.given.keys(owner, ids)
        if not keys:
            return {}
        now = to_microseconds(self._database.now())
        found = await self._database.read(partial(finding.by_keys, owner=owner, keys=keys, now=now))
        return {entry.id: entry.content for entry in found.values()}

    async def unread_episodes(self, *, limit: int = 16) -> Sequence[MemoryEntry]:
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        now = to_microseconds(self._database.now())
        rows = await self._database.read(
            lambda file: file.all(UNREAD, {"limit": limit, "now": now})
        )
        return [entry_from_row(row, now=now) for row in rows]

    async def keep_learned(
        self, episode: MemoryEntry, drafts: Sequence[MemoryDraft], *, invalid: Sequence[str] = ()
    ) -> Sequence[str]:
        whole = [_learned_draft(draft, episode) for draft in drafts]
        for draft in whole:
            limits.check_draft(draft)
        operation = partial(
            _keep_learned,
            episode=episode,
            drafts=whole,
            invalid=limits.parsed_ids(invalid),
            database=self._database,
        )
        return await self._database.write(operation)

    async def acquaintances(self, *, limit: int = 4) -> Sequence[Acquaintance]:
        limits.check_number("limit", limit, 1, limits.MAX_ROWS)
        now = to_microseconds(self._database.now())
        return await self._database.read(partial(acquaintances.due, limit=limit, now=now))

    async def keep_patterns(
        self, known: Acquaintance, drafts: Mapping[str, MemoryDraft]
    ) -> Sequence[str]:
        for draft in drafts.values():
            limits.check_draft(draft)
        now = to_microseconds(self._database.now())
        return await self._database.write(
            partial(acquaintances.keep, known=known, drafts=drafts, now=now)
        )


def _episode_draft(draft: MemoryDraft, stretch: Stretch) -> MemoryDraft:
    return replace(
        draft,
        origin=Origin.EPISODE,
        type=draft.type or MemoryType.EPISODIC,
        session=draft.session or stretch.conversation,
        subject=draft.subject or stretch.subject,
    )


def _learned_draft(draft: MemoryDraft, episode: MemoryEntry) -> MemoryDraft:
    return replace(
        draft,
        origin=Origin.EXTRACTED,
        sources=draft.sources or (episode.id,),
        subject=draft.subject or episode.subject,
        valid_at=draft.valid_at or episode.valid_at,
    )


def _stretches(transaction: Transaction, *, limit: int) -> Sequence[Stretch]:
    return [
        _stretch(transaction, owner, name, number, conversation, cleared)
        for owner, number, conversation, name, cleared in transaction.all(
            UNTOUCHED, {"limit": limit}
        )
    ]


def _stretch(
    transaction: Transaction, owner: str, name: str, number: int, conversation: int, cleared: int
) -> Stretch:
    """What was cleared first, by itself: nothing follows upon it."""
    which: dict[str, Value] = {
        "owner": number,
        "conversation": conversation,
        "limit": MAX_STRETCH,
    }
    hidden = transaction.all(STRETCH, {**which, "first": 0, "last": cleared})
    rows = hidden or transaction.all(STRETCH, {**which, "first": cleared + 1, "last": LAST})
    subjects = [row[-1] for row in rows if row[-1] is not None]
    return Stretch(
        owner=owner,
        conversation=name,
        subject=subjects[-1] if subjects else None,
        messages=tuple(message_from_row(row[:-1]) for row in rows),
        is_over=0 < len(hidden) < MAX_STRETCH,
    )


def _keep_episodes(
    transaction: Transaction, *, stretch: Stretch, episodes: Sequence[Episode], database: Database
) -> Sequence[str]:
    kept = [_kept(transaction, stretch, one, database) for one in episodes]
    return [id for id in kept if id is not None]


def _kept(
    transaction: Transaction, stretch: Stretch, episode: Episode, database: Database
) -> str | None:
    """The entry's id; None if its messages have been forgotten meanwhile."""
    first = _place(transaction, stretch, episode.first_message)
    last = _place(transaction, stretch, episode.last_message)
    if first is None or last is None:
        return None
    key = f"episode\0{stretch.conversation}\0{episode.first_message}"
    row = _add(transaction, episode.draft, stretch.owner, key, database, merge=False)
    marks = {"owner": stretch.owner, "conversation": first[0], "first": first[1], "last": last[1]}
    transaction.count(MARK, {**marks, "episode": row[0]})
    transaction.count(MARK, {**marks, "episode": 0, "first": 0})
    return _id(row)


def _place(transaction: Transaction, stretch: Stretch, id: str) -> Row | None:
    """Its conversation's number and its own."""
    which: dict[str, Value] = {
        "owner": stretch.owner,
        "conversation": stretch.conversation,
        "id": id,
    }
    return transaction.first(PLACE, which)


def _keep_learned(
    transaction: Transaction,
    *,
    episode: MemoryEntry,
    drafts: Sequence[MemoryDraft],
    invalid: Sequence[bytes],
    database: Database,
) -> Sequence[str]:
    now = to_microseconds(database.now())
    read: dict[str, Value] = {"owner": episode.owner, "id": UUID(episode.id).bytes, "now": now}
    if not transaction.count(READ, read):
        return []
    at = to_microseconds(episode.valid_at or episode.created_at)
    for id in invalid:
        which: dict[str, Value] = {"owner": episode.owner, "id": id, "at": at, "now": now}
        closed = transaction.all(CLOSE, which)
        transaction.touch(episode.owner, [entry_key(seq) for (seq,) in closed])
    patterns.note_change(transaction, episode.owner, episode.subject)
    clearing.purge(transaction, now=now, is_learned_from=True, conversation=episode.session)
    rows = [
        _add(transaction, draft, episode.owner, f"{episode.id}\0{index}", database, merge=True)
        for index, draft in enumerate(drafts)
    ]
    return [_id(row) for row in rows]


def _add(
    transaction: Transaction,
    draft: MemoryDraft,
    owner: str,
    key: str,
    database: Database,
    *,
    merge: bool,
) -> Row:
    now = to_microseconds(database.now())
    row = entry_row(
        draft, owner=owner, key=key, now=now, short_term_ttl_s=database.short_term_ttl_s
    )
    return adding.add(transaction, owner, row, merge=merge)


def _id(row: Row) -> str:
    return str(UUID(bytes=row[1]))
