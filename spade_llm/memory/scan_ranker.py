"""A Ranker that reads all rows of an owner for every search. Knows no vectors.

It stands in until the index in RAM does: right, and slow.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Protocol

from spade_llm.memory.conditions import VISIBLE, all_of, true_when, wanted, within
from spade_llm.memory.finding import OWNED
from spade_llm.memory.index.hit import IndexHit
from spade_llm.memory.index.terms import content_hash
from spade_llm.memory.ranker import Ranked
from spade_llm.memory.rows import entry_key, to_microseconds
from spade_llm.memory.store import Outcome
from spade_llm.memory.words import any_beginning, any_word

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set
    from datetime import datetime

    from spade_llm.memory.index.scope import Scope
    from spade_llm.memory.store import MemoryFilter, MemoryQuery
    from spade_llm.memory.transaction import Row, Transaction

ROWS = f"""
    SELECT seq, content, context, tags, updated_at FROM entry
    WHERE {OWNED} AND {VISIBLE} AND {{condition}}
"""
TABLE = """
    CREATE VIRTUAL TABLE entry USING fts5 (
        content, context, tags, updated_at UNINDEXED,
        tokenize='porter unicode61 remove_diacritics 2'
    )
"""
FILL = "INSERT INTO entry (rowid, content, context, tags, updated_at) VALUES (?, ?, ?, ?, ?)"
MATCH = """
    SELECT rowid, content, -bm25(entry, 1.0, 0.5, 0.5) AS relevance FROM entry
    WHERE entry MATCH ? ORDER BY relevance DESC, updated_at DESC, rowid DESC
"""


class Reading(Protocol):
    @property
    def now(self) -> Callable[[], datetime]: ...

    async def read(self, operation: Callable[[Transaction], list[Row]]) -> list[Row]: ...


class ScanRanker:
    """Keywords only."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def changed(self, owner: str, keys: Set[int]) -> None:
        """It remembers nothing."""

    async def search(
        self, owner: str, query: MemoryQuery, *, scopes: Sequence[Scope] | None = None
    ) -> Ranked:
        which = query.which
        condition = all_of([wanted(which), true_when(which.as_of), within(scopes)])
        values = {
            **condition.parameters,
            "owner": owner,
            "now": to_microseconds(self._reading.now()),
        }
        sql = ROWS.format(condition=condition.sql)
        found = _hits(await self._reading.read(lambda file: file.all(sql, values)), query.text)
        hits = tuple(hit for hit in found if hit.score >= query.min_score)[: query.limit]
        return Ranked(outcome=Outcome.OK if hits else Outcome.EMPTY, hits=hits)

    async def similar(
        self,
        owner: str,
        key: int,
        *,
        limit: int,
        min_score: float,
        which: MemoryFilter,
        scopes: Sequence[Scope] | None = None,
    ) -> Ranked:
        return Ranked(outcome=Outcome.DEGRADED)


def _hits(rows: Sequence[Row], query: str) -> list[IndexHit]:
    memory = sqlite3.connect(":memory:")
    try:
        memory.execute(TABLE)
        memory.executemany(FILL, rows)
        for match in (any_word(query), any_beginning(query)):
            found = memory.execute(MATCH, (match,)).fetchall() if match else []
            if found:
                return _scored(found)
    finally:
        memory.close()
    return []


def _scored(found: Sequence[Row]) -> list[IndexHit]:
    best: dict[int, Row] = {}
    for row in found:
        best.setdefault(content_hash(row[1]), row)
    return [
        IndexHit(key=entry_key(seq), score=relevance / found[0][2])
        for seq, _, relevance in best.values()
    ]
