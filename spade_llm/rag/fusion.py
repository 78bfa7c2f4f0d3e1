"""How near a passage is to a question, as one figure: cosine and shared words joined. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Figure = TypeVar("Figure", float, "NDArray[np.float32]")

WORD_WEIGHT = 0.6
"""What shared words can add where meaning is known too: a passage that has every word of the
query and nothing of its meaning gets this score; half of the words add a quarter of it."""
RANK_WEIGHT = 0.05
"""What BM25 decides where only words are known: the order among passages with the same words."""


def word_weight(*, found_in: int, of: int) -> float:
    """Inverse document frequency, smoothed so that it is sensible in a library of one passage."""
    return math.log(1 + (of + 10) / (found_in + 1))


def by_meaning_and_words(cosine: float, share: float) -> float:
    """Cosine is the base; `share`, the weighted share of the query's words, closes part of the
    gap to 1: who asks in a passage's own words means that passage, who shares some may not."""
    base = min(max(cosine, 0.0), 1.0)
    return base + (1 - base) * WORD_WEIGHT * share**2


def by_words(share: Figure, rank: Figure) -> Figure:
    """Both 0…1, of one passage or a row of them; never more than the share of words deserves."""
    return share * (1 - RANK_WEIGHT * (1 - rank))
