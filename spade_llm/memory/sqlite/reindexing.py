"""What of the file is derived from the text, made anew: terms, and the wish for every vector.

Knows no embedder.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.text.terms import VERSION, encode_terms

if TYPE_CHECKING:
    from spade_llm.memory.sqlite.embedding import Storage
    from spade_llm.memory.sqlite.transaction import Row, Transaction

HAS_OLD_TERMS = f"(terms IS NULL OR substr(terms, 4, 1) <> x'{VERSION:02X}')"
"""Not encoded yet, or in an older way (their fourth byte)."""

PAGE_ROWS = 500

OLD_ENTRY_TERMS = f"""
    SELECT seq, content, context, tags FROM entry
    WHERE seq > :after AND {HAS_OLD_TERMS} ORDER BY seq LIMIT {PAGE_ROWS}
"""
OLD_MESSAGE_TERMS = f"""
    SELECT seq, content, speaker, NULL FROM message
    WHERE seq > :after AND {HAS_OLD_TERMS} ORDER BY seq LIMIT {PAGE_ROWS}
"""
SET_ENTRY_TERMS = "UPDATE entry SET terms = :terms WHERE seq = :seq"
SET_MESSAGE_TERMS = "UPDATE message SET terms = :terms WHERE seq = :seq"

WANT_ALL_VECTORS = (
    "DELETE FROM vector",
    "DELETE FROM model",
    "INSERT OR IGNORE INTO vector_wanted SELECT seq * 2 FROM entry",
    "INSERT OR IGNORE INTO vector_wanted SELECT seq * 2 + 1 FROM message",
)


async def renew_terms(storage: Storage) -> None:
    """Page by page, so that other writes come in between."""
    for find, change in (
        (OLD_ENTRY_TERMS, SET_ENTRY_TERMS),
        (OLD_MESSAGE_TERMS, SET_MESSAGE_TERMS),
    ):
        after: int | None = 0
        while after is not None:
            after = await storage.write(partial(_renew, find=find, change=change, after=after))


def want_all_vectors(transaction: Transaction) -> None:
    for statement in WANT_ALL_VECTORS:
        transaction.count(statement)


def _renew(transaction: Transaction, *, find: str, change: str, after: int) -> int | None:
    """The last row of the page; None at the end."""
    found = transaction.all(find, {"after": after})
    transaction.each(change, [{"seq": row[0], "terms": _terms(row)} for row in found])
    return int(found[-1][0]) if found else None


def _terms(row: Row) -> bytes:
    _, content, context, tags = row
    return encode_terms(content, context, json.loads(tags) if tags else ())
