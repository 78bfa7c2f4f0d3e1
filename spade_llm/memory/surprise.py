"""Surprise of a memory: how novel and important it is, ranked within the person's own history.

Novelty, 1 − the highest cosine to what was known, has a scale of its own for each person and each
kind of text, so that a fixed threshold finds everything or nothing. Pure functions; docs/design/
learning.md has the reasons and figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.understanding.importance import importance

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY_MOMENT_SCORE = 0.7
"""Minimum surprise of a key moment (specs/2)."""
KEY_MOMENT_RANK = 0.85
"""Rank within the history that gives this surprise: about one memory of seven, at most."""
MIN_SALIENCE = 0.45
"""Minimum salience of a key moment, whatever its rank: the best of a routine is routine."""
IMPORTANCE_WEIGHT = 0.35
"""What a salience gains by an event of a life; novelty itself is 0 to 1."""
PRIOR_NOVELTY = 0.3
PRIOR_COUNT = 2
"""Novelty counts as PRIOR_NOVELTY while nothing is known, since at first everything is new. What is
known, and the prior, weigh the same once it is so many memories."""
PRIOR_SALIENCES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)
"""Saliences that every history begins with: those of a month of mostly routine conversations
(bench/surprise.py), in tenths. They count less the more is known."""
MAX_HISTORY = 200
"""Maximum number of earlier memories of the same kind and person that are compared, the latest."""


def salience(novelty: float, text: str, *, known: int) -> float:
    """Novelty and importance of a text together, about 0 to 1.35. `known`: number of earlier
    memories of this kind and person."""
    weighted = min(max(novelty, 0.0), 1.0) * known + PRIOR_NOVELTY * PRIOR_COUNT
    return weighted / (known + PRIOR_COUNT) + IMPORTANCE_WEIGHT * importance(text)


def surprise(salient: float, history: Sequence[float]) -> float:
    """Surprise of a memory, 0 to 1, by the rank of its salience in the person's history of
    saliences (the latest MAX_HISTORY, in any order)."""
    known = history[:MAX_HISTORY]
    prior_weight = PRIOR_COUNT / (PRIOR_COUNT + len(known))
    below = _count_below(salient, known) + prior_weight * _count_below(salient, PRIOR_SALIENCES)
    rank = below / (len(known) + prior_weight * len(PRIOR_SALIENCES))
    if rank < KEY_MOMENT_RANK:
        by_rank = KEY_MOMENT_SCORE * rank / KEY_MOMENT_RANK
    else:
        above = (rank - KEY_MOMENT_RANK) / (1 - KEY_MOMENT_RANK)
        by_rank = KEY_MOMENT_SCORE + (1 - KEY_MOMENT_SCORE) * above
    return max(0.0, min(by_rank, KEY_MOMENT_SCORE * salient / MIN_SALIENCE, 1.0))


def _count_below(salient: float, saliences: Sequence[float]) -> float:
    """Number of smaller values; equal ones count half."""
    return sum((one < salient) + 0.5 * (one == salient) for one in saliences)
