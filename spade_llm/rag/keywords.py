"""Which chunks have the words of a query, and how much those words say. Knows no meaning."""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spade_llm.rag.fusion import word_weight

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

    from spade_llm.rag.database import Database
    from spade_llm.rag.registry import Namespace

MAX_LISTED = 2000
"""A word found in this many chunks is common: where it is, is looked up for candidates only."""
MAX_RANKED_WORDS = 3
"""BM25 over common words costs time and orders little; it sees the rarest only."""

_LISTED = """
    SELECT {number}, (SELECT json_group_array(rowid) FROM
        (SELECT rowid FROM chunk_words WHERE chunk_words MATCH ? LIMIT {limit}))
"""
# The unary plus keeps SQLite from asking the index once per candidate: ten times slower.
_AMONG = """
    SELECT {number}, rowid FROM chunk_words
    WHERE chunk_words MATCH ? AND +rowid IN (SELECT value FROM json_each(?))
"""
_RANKED = """
    SELECT rowid, -bm25(chunk_words, 0.0, 1.0, 1.0) FROM chunk_words WHERE chunk_words MATCH ?
    ORDER BY bm25(chunk_words, 0.0, 1.0, 1.0), rowid LIMIT ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordHits:
    """One word of the query: how much it says, and the chunks that have it."""

    word: str
    weight: float
    chunk_ids: Set[int]
    is_common: bool = False
    """True: `chunk_ids` is only the beginning of a long list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordHits:
    """All words of a query."""

    words: tuple[WordHits, ...]
    ranks: Mapping[int, float]
    """BM25, 0…1, of the best."""

    def share(self, chunk_id: int) -> float:
        """How much of what the query says is in this chunk, 0…1."""
        total = sum(hits.weight for hits in self.words)
        found = sum(hits.weight for hits in self.words if chunk_id in hits.chunk_ids)
        return found / total if total else 0.0

    def best(self, limit: int) -> Sequence[int]:
        """The chunks with the largest share, and those of the highest rank."""
        shares: defaultdict[int, float] = defaultdict(float)
        for hits in self.words:
            for chunk_id in hits.chunk_ids:
                shares[chunk_id] += hits.weight
        largest = heapq.nlargest(limit, shares, key=lambda chunk_id: (shares[chunk_id], -chunk_id))
        return list(dict.fromkeys([*largest, *self.ranks]))


class KeywordSearch:
    """The keyword leg, on the FTS5 index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(
        self, namespaces: Sequence[Namespace], words: Sequence[str], *, limit: int
    ) -> KeywordHits:
        """Where these words are, within these namespaces."""
        listed = await self._listed(namespaces, words)
        rarest = sorted(
            (hits for hits in listed if hits.chunk_ids), key=lambda hits: (-hits.weight, hits.word)
        )[:MAX_RANKED_WORDS]
        ranks = await self._ranked(namespaces, [hits.word for hits in rarest], limit)
        return KeywordHits(words=tuple(listed), ranks=ranks)

    async def completed(self, hits: KeywordHits, candidates: Iterable[int]) -> KeywordHits:
        """The same, certain about the common words in these candidates too."""
        common = [word for word in hits.words if word.is_common]
        if not common:
            return hits
        found = await self._among(common, json.dumps(list(candidates)))
        words = tuple(_with(word, found.get(word.word)) for word in hits.words)
        return KeywordHits(words=words, ranks=hits.ranks)

    async def _listed(
        self, namespaces: Sequence[Namespace], words: Sequence[str]
    ) -> list[WordHits]:
        if not words:
            return []
        selects = (_LISTED.format(number=i, limit=MAX_LISTED) for i in range(len(words)))
        matches = [_match(namespaces, [word]) for word in words]
        rows = await self._database.read(" UNION ALL ".join(selects), matches)
        total = sum(namespace.chunks for namespace in namespaces)
        return [_word_hits(words[row[0]], json.loads(row[1]), total) for row in rows]

    async def _ranked(
        self, namespaces: Sequence[Namespace], words: Sequence[str], limit: int
    ) -> dict[int, float]:
        if not words:
            return {}
        rows = await self._database.read(_RANKED, (_match(namespaces, words), limit))
        top = max((row[1] for row in rows), default=0.0)
        return {row[0]: row[1] / top if top > 0 else 0.0 for row in rows}

    async def _among(self, common: Sequence[WordHits], candidates: str) -> dict[str, set[int]]:
        selects = (_AMONG.format(number=i) for i in range(len(common)))
        values = [value for hits in common for value in (_phrase(hits.word), candidates)]
        found: dict[str, set[int]] = {hits.word: set() for hits in common}
        for number, chunk_id in await self._database.read(" UNION ALL ".join(selects), values):
            found[common[number].word].add(chunk_id)
        return found


def _word_hits(word: str, chunk_ids: list[int], total: int) -> WordHits:
    return WordHits(
        word=word,
        weight=word_weight(found_in=len(chunk_ids), of=max(total, len(chunk_ids))),
        chunk_ids=frozenset(chunk_ids),
        is_common=len(chunk_ids) >= MAX_LISTED,
    )


def _with(hits: WordHits, found: set[int] | None) -> WordHits:
    if found is None:
        return hits
    return WordHits(word=hits.word, weight=hits.weight, chunk_ids=found, is_common=False)


def _match(namespaces: Sequence[Namespace], words: Sequence[str]) -> str:
    scopes = " OR ".join(f'"{namespace.scope}"' for namespace in namespaces)
    return f"scope : ({scopes}) AND {_phrase(*words)}"


def _phrase(*words: str) -> str:
    """Words are letters and digits only (see rag/words.py), so that quoting them is safe."""
    return "{heading text} : (" + " OR ".join(f'"{word}"' for word in words) + ")"
