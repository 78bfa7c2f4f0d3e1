"""Who may be learned about across conversations: each person's word to one owner, in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.sqlite import audit, patterns
from spade_llm.memory.sqlite.adding import owner_number
from spade_llm.memory.sqlite.rows import from_microseconds
from spade_llm.memory.store import Consent

if TYPE_CHECKING:
    from spade_llm.memory.sqlite.transaction import Transaction, Value

GIVE = """
    INSERT INTO consent (owner, subject, since) VALUES (:owner, :subject, :now)
    ON CONFLICT DO NOTHING
"""

WITHDRAW = """
    DELETE FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :jid) AND subject = :subject
"""

SINCE = """
    SELECT since FROM consent
    WHERE owner = (SELECT number FROM owner WHERE jid = :jid) AND subject = :subject
"""


def state(transaction: Transaction, jid: str, subject: str) -> Consent:
    found = transaction.first(SINCE, {"jid": jid, "subject": subject})
    return Consent() if found is None else Consent(since=from_microseconds(found[0]))


def give(transaction: Transaction, jid: str, subject: str, *, now: int) -> Consent:
    """What is there already stays."""
    owner = owner_number(transaction, jid)
    if transaction.count(GIVE, {"owner": owner, "subject": subject, "now": now}):
        audit.note_count(transaction, jid, "consent_given", 1, now=now)
    return state(transaction, jid, subject)


def withdraw(transaction: Transaction, jid: str, subject: str, *, now: int) -> Consent:
    """With it goes all that it allowed, and what is known of patterns that were refused."""
    which: dict[str, Value] = {"jid": jid, "subject": subject}
    if transaction.count(WITHDRAW, which):
        audit.note_count(transaction, jid, "consent_withdrawn", 1, now=now)
    patterns.remove_all(transaction, jid, subject, now=now)
    return Consent()
