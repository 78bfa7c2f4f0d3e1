"""Removal of entries and messages: soft delete, erasure of all traces, purge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.core.database import NO_LIMIT
from spade_llm.memory.contract import RemovedCounts
from spade_llm.memory.database import consent, reflection
from spade_llm.memory.database.consent import reject_patterns, remove_patterns_of_episodes
from spade_llm.memory.database.conversations import DELETE_EMPTY_CONVERSATIONS, DELETE_MESSAGE
from spade_llm.memory.database.entries import DELETE_ENTRY, record_action, record_count
from spade_llm.memory.database.queries import (
    OWNED_ENTRY,
    VISIBLE,
    SqlCondition,
    column_condition,
    filter_conditions,
    join_conditions,
    message_scope_condition,
    scope_condition,
)
from spade_llm.memory.database.rows import (
    MESSAGE_COLUMNS,
    ORIGIN_CODES,
    TYPE_CODES,
    encode_metadata,
    entry_key,
    message_from_row,
    message_key,
    text_columns,
)
from spade_llm.memory.learning.episodes import episode_content
from spade_llm.memory.validation import room_subject_range
from spade_llm.search.memory_query import GrantScope, MemoryFilter, Origin

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlRow, SqlValue, Transaction


HIDE_ENTRIES = f"""
    UPDATE entry SET deleted_at = :now WHERE seq IN (
        SELECT seq FROM entry WHERE {OWNED_ENTRY} AND {VISIBLE} AND {{condition}} LIMIT :limit)
    RETURNING seq, id
"""

SELECT_ENTRIES = f"SELECT seq, id, origin, type FROM entry WHERE {OWNED_ENTRY} AND {{condition}}"

IN_EPISODE = "episode = :episode AND episode > 0"

SAME_CONTENT = f"""
    (content_hash, content) =
        (SELECT content_hash, content FROM entry WHERE {OWNED_ENTRY} AND seq = :seq)
"""

FEWEST_CHARS = 8
"""Minimum length of a text that is looked for in messages; shorter ones match by accident."""

CONTAINING_CONTENT = f"""
    subject = (SELECT subject FROM entry WHERE {OWNED_ENTRY} AND seq = :seq)
    AND instr(lower(content), (
        SELECT lower(rtrim(content, ' .!')) FROM entry
        WHERE {OWNED_ENTRY} AND seq = :seq AND length(rtrim(content, ' .!')) >= {FEWEST_CHARS})) > 0
"""
"""Condition for entries about the same person that contain the memory's text."""

SELECT_MESSAGES = """
    SELECT seq, seq > (SELECT cleared_at_seq FROM conversation WHERE number = conversation)
    FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND {condition}
"""

SELECT_ROOM_SUBJECTS = """
    SELECT subject FROM entry WHERE subject >= :first AND subject < :end
        AND +owner = (SELECT number FROM owner WHERE jid = :owner)
    UNION SELECT subject FROM message WHERE subject >= :first AND subject < :end
        AND +owner = (SELECT number FROM owner WHERE jid = :owner)
"""
"""A person's subjects in rooms, by the index of subjects: an owner has many, a person few."""

ABOUT_SUBJECT = "subject = :subject"

IN_CONVERSATION = """
    conversation = (SELECT number FROM conversation
        WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND name = :session)
"""

WITH_MESSAGE_IDS = f"{IN_CONVERSATION} AND id IN (SELECT value FROM json_each(:ids))"

RELEASE_MESSAGES = f"UPDATE message SET episode = 0 WHERE {IN_EPISODE}"

SELECT_EPISODES_WITH = f"""
    SELECT DISTINCT entry.seq FROM message JOIN entry ON entry.seq = message.episode
    WHERE {OWNED_ENTRY} AND message.seq IN (SELECT value FROM json_each(:seqs))
"""

# Cleared messages, too: what is not purged yet is still part of the episode.
SELECT_REMAINING = f"""
    SELECT {MESSAGE_COLUMNS} FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND {IN_EPISODE} ORDER BY seq
"""

SELECT_EPISODE = f"""
    SELECT id, context, tags, metadata FROM entry WHERE {OWNED_ENTRY} AND seq = :seq
"""

# The time tells a learner that is reading the episode that what it read is outdated.
REWRITE_EPISODE = f"""
    UPDATE entry SET content = :content, content_hash = :content_hash, terms = :terms,
        metadata = :metadata, updated_at = max(updated_at + 1, :now)
    WHERE {OWNED_ENTRY} AND seq = :seq
"""

SELECT_PATTERNS = f"""
    SELECT subject, id FROM entry WHERE {OWNED_ENTRY} AND origin IN (5, 6)
        AND seq IN (SELECT value FROM json_each(:seqs))
"""

SELECT_DUE = """
    SELECT jid, seq, id FROM entry JOIN owner ON owner.number = entry.owner
    WHERE deleted_at <= :deleted_before OR expires_at <= :now
    LIMIT :limit
"""

ALL_MESSAGES = message_scope_condition(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryToDelete:
    """An entry that is to be removed."""

    seq: int
    id: bytes
    origin: Origin
    type: int


def hide_entries(
    transaction: Transaction,
    owner: str,
    which: MemoryFilter,
    ids: Sequence[bytes] | None,
    *,
    scopes: Sequence[GrantScope] | None,
    now: int,
    limit: int | None = None,
) -> Sequence[bytes]:
    """Delete entries softly and return their ids; `limit` applies only without ids."""
    common = join_conditions([filter_conditions(which), scope_condition(scopes)])
    conditions = [common]
    if ids is not None:
        conditions = [join_conditions([common, column_condition("id", id)]) for id in ids]
    most = NO_LIMIT if limit is None else limit
    rows: list[SqlRow] = []
    for one in conditions:
        values = {**one.parameters, "owner": owner, "now": now, "limit": most}
        rows += transaction.all(HIDE_ENTRIES.format(condition=one.sql), values)
    transaction.mark_changed(owner, [entry_key(seq) for seq, _ in rows])
    hidden = [id for _, id in rows]
    if hidden:
        exclude_from_learning(transaction, owner, [seq for seq, _ in rows], now=now)
        _reject_patterns(transaction, owner, [seq for seq, _ in rows])
        remove_patterns_of_episodes(transaction, owner, set(hidden), now=now)
        record_action(transaction, owner, "delete", hidden, now=now)
    return hidden


def forget_entries(
    transaction: Transaction,
    owner: str,
    ids: Sequence[bytes],
    *,
    subject: str | None,
    scopes: Sequence[GrantScope] | None,
    now: int,
) -> int:
    """Erase entries, hidden and expired ones too; return their number.

    With `scopes`, only entries and messages in one of them are erased.
    """
    about = [] if subject is None else [column_condition("subject", subject)]
    # What was hidden because it says the same goes along.
    ids = [*ids, *reflection.merged_into(transaction, owner, ids)]
    conditions = [
        join_conditions([column_condition("id", id), scope_condition(scopes), *about])
        for id in dict.fromkeys(ids)
    ]
    rows_to_delete = [
        one for condition in conditions for one in _entries_to_delete(transaction, owner, condition)
    ]
    # While the rows are there: ids and subjects of patterns are read from them.
    seqs = [one.seq for one in rows_to_delete]
    _reject_patterns(transaction, owner, seqs)
    episodes = exclude_from_learning(transaction, owner, seqs, now=now)
    count = _erase_entries(
        transaction, owner, rows_to_delete, message_scope_condition(scopes), now=now
    )
    _rewrite_episodes(transaction, owner, [one for one in episodes if one not in seqs], now=now)
    return count


def forget_subject(
    transaction: Transaction, owner: str, subject: str, *, now: int
) -> RemovedCounts:
    """Erase memories and messages about a person, also in rooms; return their counts."""
    first, end = room_subject_range(subject)
    which: dict[str, SqlValue] = {"owner": owner, "first": first, "end": end}
    in_rooms = [seat for (seat,) in transaction.all(SELECT_ROOM_SUBJECTS, which)]
    removed = []
    for known_as in (subject, *in_rooms):
        about = column_condition("subject", known_as)
        removed.append(_forget_where(transaction, owner, about, ABOUT_SUBJECT, now=now))
        consent.withdraw_consent(transaction, owner, known_as, now=now)
    return RemovedCounts(
        messages=sum(one.messages for one in removed),
        by_type=sum((Counter(one.by_type) for one in removed), Counter()),
    )


def forget_session(
    transaction: Transaction, owner: str, session: str, *, now: int
) -> RemovedCounts:
    of_session = column_condition("session", session)
    return _forget_where(transaction, owner, of_session, IN_CONVERSATION, now=now)


def retract_messages(
    transaction: Transaction, owner: str, session: str, ids: Sequence[str], *, now: int
) -> int:
    """Erase messages of one conversation, also from the episodes that quote them; return their
    number."""
    which = {"session": session, "ids": json.dumps(list(ids))}
    count = _erase_messages(transaction, owner, WITH_MESSAGE_IDS, which, rows_to_delete=(), now=now)
    transaction.count(DELETE_EMPTY_CONVERSATIONS, {"owner": owner})
    return count


def purge_entries(transaction: Transaction, *, deleted_before: int, now: int, limit: int) -> int:
    """Remove entries that are expired or were hidden long enough ago; return their number."""
    rows = transaction.all(
        SELECT_DUE, {"deleted_before": deleted_before, "now": now, "limit": limit}
    )
    for owner, seq, _ in rows:
        # Its messages stay; 0 keeps them from being cut into an episode again.
        transaction.count(RELEASE_MESSAGES, {"episode": seq})
        transaction.count(DELETE_ENTRY, {"owner": owner, "seq": seq})
        transaction.mark_changed(owner, [entry_key(seq)])
    for owner in {row[0] for row in rows}:
        ids = [id for o, _, id in rows if o == owner]
        remove_patterns_of_episodes(transaction, owner, set(ids), now=now)
        record_action(transaction, owner, "purge", ids, now=now)
    transaction.is_erasing = transaction.is_erasing or bool(rows)
    return len(rows)


def _forget_where(
    transaction: Transaction, owner: str, condition: SqlCondition, messages_sql: str, *, now: int
) -> RemovedCounts:
    """Erase entries that meet the condition, and messages; `messages_sql` has its parameters."""
    rows_to_delete = _entries_to_delete(transaction, owner, condition)
    # Before the entries: erasing an episode removes its messages, too, and they would not be
    # counted.
    messages = _erase_messages(
        transaction,
        owner,
        messages_sql,
        condition.parameters,
        rows_to_delete=rows_to_delete,
        now=now,
    )
    transaction.count(DELETE_EMPTY_CONVERSATIONS, {"owner": owner})
    _erase_entries(transaction, owner, rows_to_delete, ALL_MESSAGES, now=now)
    by_type = Counter(TYPE_CODES.value(one.type) for one in rows_to_delete)
    return RemovedCounts(messages=messages, by_type=by_type)


def _entries_to_delete(
    transaction: Transaction, owner: str, condition: SqlCondition
) -> Sequence[EntryToDelete]:
    values = {**condition.parameters, "owner": owner}
    return [
        EntryToDelete(seq=seq, id=id, origin=ORIGIN_CODES.value(origin), type=type)
        for seq, id, origin, type in transaction.all(
            SELECT_ENTRIES.format(condition=condition.sql), values
        )
    ]


def _erase_entries(
    transaction: Transaction,
    owner: str,
    rows_to_delete: Sequence[EntryToDelete],
    messages: SqlCondition,
    *,
    now: int,
) -> int:
    """Erase entries with their links and vectors, and messages that repeat their text.

    Of `messages` those are erased that have the same text, that are the person's and contain it, or
    that an episode was cut from.
    """
    for one in rows_to_delete:
        which = {**messages.parameters, "owner": owner, "seq": one.seq, "episode": one.seq}
        if one.origin is Origin.EPISODE:
            condition = f"{IN_EPISODE} AND {messages.sql}"
            _erase_messages(
                transaction, owner, condition, which, rows_to_delete=rows_to_delete, now=now
            )
            transaction.count(RELEASE_MESSAGES, which)
        # Before the row goes: both conditions read its content.
        for saying in (SAME_CONTENT, CONTAINING_CONTENT):
            condition = f"{saying} AND {messages.sql}"
            _erase_messages(
                transaction, owner, condition, which, rows_to_delete=rows_to_delete, now=now
            )
        reflection.show_merged(transaction, owner, one.seq)
        transaction.count(DELETE_ENTRY, which)
    if rows_to_delete:
        remove_patterns_of_episodes(transaction, owner, {one.id for one in rows_to_delete}, now=now)
        transaction.count(DELETE_EMPTY_CONVERSATIONS, {"owner": owner})
        transaction.mark_changed(owner, [entry_key(one.seq) for one in rows_to_delete])
        record_action(transaction, owner, "forget", [one.id for one in rows_to_delete], now=now)
        transaction.is_erasing = True
    return len(rows_to_delete)


def _erase_messages(
    transaction: Transaction,
    owner: str,
    condition: str,
    values: Mapping[str, SqlValue],
    *,
    rows_to_delete: Sequence[EntryToDelete],
    now: int,
) -> int:
    """Erase messages; return their number, without those that were cleared before.

    Episodes with these messages quote them and are written anew from the other ones, unless they
    are in `rows_to_delete`.
    """
    found = transaction.all(SELECT_MESSAGES.format(condition=condition), {**values, "owner": owner})
    seqs = [seq for seq, _ in found]
    if seqs:
        which = {"owner": owner, "seqs": json.dumps(seqs)}
        erased = {one.seq for one in rows_to_delete}
        episodes = [
            seq for (seq,) in transaction.all(SELECT_EPISODES_WITH, which) if seq not in erased
        ]
        transaction.each(DELETE_MESSAGE, [{"owner": owner, "seq": seq} for seq in seqs])
        transaction.mark_changed(owner, [message_key(seq) for seq in seqs])
        record_count(transaction, owner, "forget_messages", len(seqs), now=now)
        _rewrite_episodes(transaction, owner, episodes, now=now)
        transaction.is_erasing = True
    return sum(is_shown for _, is_shown in found)


def _rewrite_episodes(
    transaction: Transaction, owner: str, episodes: Sequence[int], *, now: int
) -> None:
    """Write the texts of episodes anew from the messages that remain, and remove the patterns that
    were learned from them. An episode of which no message of a person remains is erased."""
    changed: list[bytes] = []
    erased: list[bytes] = []
    for seq in episodes:
        which: dict[str, SqlValue] = {"owner": owner, "seq": seq, "episode": seq, "now": now}
        if (entry := transaction.first(SELECT_EPISODE, which)) is None:
            continue
        id, context, tags, metadata = entry
        messages = [message_from_row(row) for row in transaction.all(SELECT_REMAINING, which)]
        if any(one.role == "user" for one in messages):
            texts = text_columns(episode_content(messages), context, json.loads(tags or "[]"))
            numbers = {**json.loads(metadata or "{}"), "messages": len(messages)}
            values = {**texts, **which, "metadata": encode_metadata(numbers)}
            transaction.count(REWRITE_EPISODE, values)
            changed.append(id)
        else:
            transaction.count(RELEASE_MESSAGES, which)
            transaction.count(DELETE_ENTRY, which)
            erased.append(id)
        transaction.mark_changed(owner, [entry_key(seq)])
    for action, ids in (("update", changed), ("forget", erased)):
        if ids:
            remove_patterns_of_episodes(transaction, owner, set(ids), now=now)
            record_action(transaction, owner, action, ids, now=now)
    transaction.is_erasing = transaction.is_erasing or bool(episodes)


def _reject_patterns(transaction: Transaction, owner: str, seqs: Sequence[int]) -> None:
    """Reject the patterns among these entries: they are not learned again."""
    which: dict[str, SqlValue] = {"owner": owner, "seqs": json.dumps(seqs)}
    for subject, id in transaction.all(SELECT_PATTERNS, which):
        reject_patterns(transaction, owner, subject, [id])


MAX_MESSAGES = 200
"""Maximum number of messages of a person that are compared, the latest ones of those that wait to
be learned from, and of those in episodes that wait to be read."""
FEW_MESSAGES, FEW_EPISODES = 2000, 200
"""Lengths of these two queues up to which they are read as a whole. After an import, hundreds of
thousands of messages may wait."""
MAX_TEXTS = 50
"""Maximum number of texts that are compared with them at once."""

IS_LONG = """
    SELECT EXISTS (SELECT 1 FROM message INDEXED BY message_to_learn
            WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND episode IS NULL
            LIMIT 1 OFFSET :messages)
        OR EXISTS (SELECT 1 FROM entry INDEXED BY entry_to_learn
            WHERE origin = 3 AND learned_at IS NULL LIMIT 1 OFFSET :episodes)
"""

# role 1: a person; origin 3: an episode. From the person's latest message backwards: where many
# wait, the latest ones do.
SELECT_LATEST = f"""
    SELECT seq, content FROM message INDEXED BY message_by_subject
    WHERE subject = :subject AND owner = (SELECT number FROM owner WHERE jid = :owner)
        AND role = 1 AND (episode IS NULL OR EXISTS (
            SELECT 1 FROM entry WHERE entry.seq = episode AND origin = 3 AND learned_at IS NULL))
    ORDER BY seq DESC LIMIT {MAX_MESSAGES}
"""

# role 1: a person. The plus: by the queue, which is short, and not by all messages of the person.
SELECT_UNCUT = f"""
    SELECT seq, content FROM message
    WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND episode IS NULL
        AND role = 1 AND +subject = :subject
    ORDER BY seq DESC LIMIT {MAX_MESSAGES}
"""

# origin 3: an episode. From the few episodes that are not read yet; `> 0`: what
# the index of episodes holds.
SELECT_UNREAD = f"""
    SELECT message.seq, message.content FROM entry INDEXED BY entry_to_learn CROSS JOIN message
        ON message.episode = entry.seq AND message.episode > 0
    WHERE entry.origin = 3 AND learned_at IS NULL AND {OWNED_ENTRY} AND +entry.subject = :subject
        AND role = 1
    ORDER BY message.seq DESC LIMIT {MAX_MESSAGES}
"""

SELECT_FACTS = """
    SELECT subject, content FROM entry
    WHERE seq IN (SELECT value FROM json_each(:seqs)) AND subject IS NOT NULL AND origin IN (1, 2)
    ORDER BY seq DESC
"""

# The episode's time tells a learner that is reading it that what it read is outdated.
TOUCH_EPISODES = f"""
    UPDATE entry SET updated_at = max(updated_at + 1, :now) WHERE {OWNED_ENTRY} AND seq IN (
        SELECT episode FROM message WHERE seq IN (SELECT value FROM json_each(:seqs)))
    RETURNING seq
"""

# The plus: by the numbers, and not by all messages of the owner.
EXCLUDE_MESSAGES = """
    UPDATE message SET episode = 0
    WHERE +owner = (SELECT number FROM owner WHERE jid = :owner)
        AND seq IN (SELECT value FROM json_each(:seqs))
"""


def exclude_from_learning(
    transaction: Transaction, owner: str, seqs: Sequence[int], *, now: int
) -> list[int]:
    """Exclude messages that say, in any words, what these told or learned entries say, and return
    the episodes that still quote them. Call it while the entries still have the text that is to
    disappear."""
    facts = transaction.all(SELECT_FACTS, {"seqs": json.dumps(list(seqs))})
    texts: dict[str, list[str]] = {}
    for subject, content in facts:
        texts.setdefault(subject, []).append(content)
    return [
        seq
        for subject, said in texts.items()
        for seq in _exclude(transaction, owner, subject, said[:MAX_TEXTS], now=now)
    ]


def _exclude(
    transaction: Transaction, owner: str, subject: str, texts: Sequence[str], *, now: int
) -> list[int]:
    which = {"owner": owner, "subject": subject}
    lengths: dict[str, SqlValue] = {
        "owner": owner,
        "messages": FEW_MESSAGES,
        "episodes": FEW_EPISODES,
    }
    ((is_long,),) = transaction.all(IS_LONG, lengths)
    queues = (SELECT_LATEST,) if is_long else (SELECT_UNCUT, SELECT_UNREAD)
    # In the order in which they were said: one may change what another one told.
    waiting = sorted(row for queue in queues for row in transaction.all(queue, which))
    if not waiting:
        return []
    # Here, so that a start does not load the rules.
    from spade_llm.understanding.forgetting import repeating

    repeated = repeating(texts, [content for _, content in waiting])
    seqs = json.dumps([waiting[at][0] for at in repeated])
    found: dict[str, SqlValue] = {"owner": owner, "seqs": seqs, "now": now}
    episodes = [seq for (seq,) in transaction.all(TOUCH_EPISODES, found)]
    transaction.count(EXCLUDE_MESSAGES, found)
    return episodes
