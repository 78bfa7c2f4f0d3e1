"""Chunks that were found, as the passages that are answered: neighbours joined, within a budget.

Pure; knows no store and no ranking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from spade_llm.rag.retriever import ScoredChunk
from spade_llm.text.tokens import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spade_llm.rag.retriever import Chunk

MAX_JOINED = 4
"""Chunks in one passage: more of them are several, one behind the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A chunk that may be answered."""

    id: int
    document: int
    position: int
    score: float


@dataclass(frozen=True, slots=True)
class Group:
    """Chunks of one document in a row, in its order."""

    members: tuple[Found, ...]

    @property
    def best(self) -> Found:
        return max(self.members, key=lambda found: found.score)

    def is_next_to(self, other: Group) -> bool:
        mine, its = self.members, other.members
        return mine[0].document == its[0].document and (
            mine[-1].position + 1 == its[0].position or its[-1].position + 1 == mine[0].position
        )


def grouped(found: Iterable[Found], k: int, *, merge: bool) -> list[Group]:
    """The k best groups, best first. `found`: best first, each once."""
    groups: list[Group] = []
    for one in found:
        group = Group((one,))
        for other in [other for other in groups if merge and group.is_next_to(other)]:
            if len(group.members) + len(other.members) <= MAX_JOINED:
                groups.remove(other)
                group = _united(group, other)
        if len(groups) == k:
            break
        groups.append(group)
    return sorted(groups, key=_order)


def scored_passages(
    groups: Sequence[Group], chunks: Mapping[int, Chunk], *, max_tokens: int | None
) -> tuple[ScoredChunk, ...]:
    """In order; what does not fit is left out, or is its best chunk alone if that fits."""
    left = max_tokens
    answered: list[ScoredChunk] = []
    for group in groups:
        passage = _fitting(group, chunks, left)
        if passage is not None:
            answered.append(ScoredChunk(chunk=passage, score=group.best.score))
            left = None if left is None else left - estimated_tokens(passage.text)
    return tuple(answered)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """One passage of chunks in a row: what they have in common is in it once."""
    first, last = chunks[0], chunks[-1]
    text = first.text
    for before, chunk in pairwise(chunks):
        text += _white(chunk.start - before.end) + chunk.text[max(0, before.end - chunk.start) :]
    return replace(first, text=text, count=len(chunks), end=last.end)


def _order(group: Group) -> tuple[float, int, int]:
    return (-group.best.score, group.members[0].document, group.members[0].position)


def _united(one: Group, other: Group) -> Group:
    return Group(tuple(sorted((*one.members, *other.members), key=lambda found: found.position)))


def _fitting(group: Group, chunks: Mapping[int, Chunk], left: int | None) -> Chunk | None:
    for members in (group.members, (group.best,)):
        passage = joined([chunks[found.id] for found in members])
        if left is None or estimated_tokens(passage.text) <= left:
            return passage
    return None


def _white(chars: int) -> str:
    """What lay between two chunks and is in neither: as much white space, so that offsets hold."""
    return " " if chars == 1 else "\n" * max(0, chars)
