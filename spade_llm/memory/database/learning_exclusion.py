"""Exclusion from learning: messages that say what was forgotten or corrected are not learned from.

They stay in their conversation. Without the exclusion, the learner, which reads a conversation when
it has ended, would store again what a person removed during it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spade_llm.memory.database.queries import OWNED_ENTRY

if TYPE_CHECKING:
    from spade_llm.memory.database.connection import SqlValue, Transaction

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
"""

# The plus: by the numbers, and not by all messages of the owner.
EXCLUDE_MESSAGES = """
    UPDATE message SET episode = 0
    WHERE +owner = (SELECT number FROM owner WHERE jid = :owner)
        AND seq IN (SELECT value FROM json_each(:seqs))
"""


def exclude_from_learning(
    transaction: Transaction, owner: str, seqs: Sequence[int], *, now: int
) -> None:
    """Exclude messages that say, in any words, what these told or learned entries say. Call it
    while the entries still have the text that is to disappear."""
    facts = transaction.all(SELECT_FACTS, {"seqs": json.dumps(list(seqs))})
    for subject in dict.fromkeys(subject for subject, _ in facts):
        texts = [content for of, content in facts if of == subject]
        _exclude(transaction, owner, subject, texts[:MAX_TEXTS], now=now)


def _exclude(
    transaction: Transaction, owner: str, subject: str, texts: Sequence[str], *, now: int
) -> None:
    which = {"owner": owner, "subject": subject}
    lengths: dict[str, SqlValue] = {
        "owner": owner,
        "messages": FEW_MESSAGES,
        "episodes": FEW_EPISODES,
    }
    ((is_long,),) = transaction.all(IS_LONG, lengths)
    queues = (SELECT_LATEST,) if is_long else (SELECT_UNCUT, SELECT_UNREAD)
    waiting = [row for queue in queues for row in transaction.all(queue, which)]
    if not waiting:
        return
    # Here, so that a start does not load the rules.
    from spade_llm.understanding.forgetting import repeating

    repeated = repeating(texts, [content for _, content in waiting])
    seqs = json.dumps([waiting[at][0] for at in repeated])
    found: dict[str, SqlValue] = {"owner": owner, "seqs": seqs, "now": now}
    transaction.count(TOUCH_EPISODES, found)
    transaction.count(EXCLUDE_MESSAGES, found)
