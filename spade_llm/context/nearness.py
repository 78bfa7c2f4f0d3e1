"""Which blocks of a history speak of what a question asks: by words, and by vectors if there are.

Pure. The cost grows with the rarest words' places, not with the history.
"""

from __future__ import annotations

from collections import defaultdict
from math import log
from typing import TYPE_CHECKING

from spade_llm.context.terms import terms_of

if TYPE_CHECKING:
    from spade_llm.context.notes import Notes

MAX_TERMS = 12
"""Of a question the rarest words."""
FEW_BLOCKS = 8
"""A word of no more blocks than these tells by itself what is asked for."""
MAX_NEAR = 48
MIN_COSINE = 0.25
"""Below, two texts of MiniLM have nothing to do with each other."""
VECTOR_SHARE = 0.5


def nearest(notes: Notes, question: str, *, threshold: float) -> list[int]:
    """Blocks, the nearest first, of equal ones the newer.

    Those that are at least `threshold` times as near as the nearest, and of each rare word of the
    question the nearest that has it: a question may ask for several things.
    """
    asked = _rarest(notes, terms_of(question))
    scores = _scores(notes, asked, _cosines(notes, question))
    if not scores:
        return []
    best = max(scores.values())
    near = {block for block, score in scores.items() if score >= threshold * best}
    for term in asked:
        if notes.counts[term] <= FEW_BLOCKS:
            near.add(max(notes.places[term], key=lambda block: (scores[block], block)))
    return sorted(near, key=lambda block: (-scores[block], -block))[:MAX_NEAR]


def has_vectors(notes: Notes, question: str) -> bool:
    """Whether nearness is by vectors, too, and of every block."""
    asked = notes.question_vector
    is_asked = asked is not None and asked[0] == question
    return is_asked and notes.with_vector >= len(notes.blocks)


def _rarest(notes: Notes, terms: frozenset[int]) -> list[int]:
    known = [term for term in terms if notes.counts.get(term)]
    return sorted(known, key=lambda term: (notes.counts[term], term))[:MAX_TERMS]


def _scores(notes: Notes, asked: list[int], cosines: dict[int, float]) -> dict[int, float]:
    """Which part of the question's weight a block has: rare words weigh more."""
    weights = {term: log(1 + len(notes.blocks) / notes.counts[term]) for term in asked}
    total = sum(weights.values()) or 1.0
    scores: defaultdict[int, float] = defaultdict(float)
    for term, weight in weights.items():
        for block in notes.places[term]:
            scores[block] += weight / total
    if not cosines:
        return scores
    return {
        block: (1 - VECTOR_SHARE) * scores.get(block, 0.0) + VECTOR_SHARE * cosines.get(block, 0.0)
        for block in {*scores, *cosines}
    }


def _cosines(notes: Notes, question: str) -> dict[int, float]:
    """Of the blocks whose vectors are nearest."""
    if notes.vectors is None or notes.question_vector is None:
        return {}
    text, vector = notes.question_vector
    if text != question:
        return {}
    import numpy as np

    near = notes.vectors.near_cosines(vector)
    rows = np.argsort(-near, kind="stable")[:MAX_NEAR]
    exact = notes.vectors.cosines(rows, vector)
    return {
        int(row): float(cosine)
        for row, cosine in zip(rows, exact, strict=True)
        if cosine >= MIN_COSINE
    }
