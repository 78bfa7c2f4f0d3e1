"""Maximal marginal relevance (Carbonell, Goldstein 1998): near the query, unlike each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def most_telling(
    query: Sequence[float], found: Sequence[Sequence[float]], *, k: int, balance: float
) -> list[int]:
    """Up to k places in `found`, in the order of choice. `balance`: 1 nearest, 0 most different."""
    if not len(found):
        return []
    vectors = _unit(np.asarray(found, dtype=np.float64))
    nearness = vectors @ _unit(np.asarray([query], dtype=np.float64))[0]
    sameness = np.full(len(vectors), -np.inf)
    chosen = [int(np.argmax(nearness))]
    while len(chosen) < min(k, len(vectors)):
        sameness = np.maximum(sameness, vectors @ vectors[chosen[-1]])
        worth = balance * nearness - (1 - balance) * sameness
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
    return chosen


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths))
