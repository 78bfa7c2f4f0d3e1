"""How well a memory is kept, and how new it is, 0…1. Knows no query.

Retrievability is FSRS 6's: a memory of stability S days is recalled with 0.9 after S days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spade_llm.memory.index.row_table import RowTable

DAY_S = 86_400.0
DECAY = 0.1542
FACTOR = 0.9 ** (-1 / DECAY) - 1
FIRST_STABILITY = 2.3
"""Days, of what was never reviewed: FSRS's after a first `good`."""
FLOOR = 0.7
"""A bare multiplier costs 17 points of recall@5."""
HALF_LIFE_DAYS = 30.0


def retrievability(table: RowTable, rows: NDArray[np.intp], now: float) -> NDArray[np.float32]:
    """FLOOR…1."""
    stability = table.stability.rows[rows]
    since = np.maximum(table.reviewed_at.rows[rows], table.created_at.rows[rows])
    days = (np.maximum(0.0, now - since) / DAY_S).astype(np.float32)
    stability = np.where(stability > 0, stability, np.float32(FIRST_STABILITY))
    kept = (1 + np.float32(FACTOR) * days / stability) ** np.float32(-DECAY)
    return np.asarray(FLOOR + (1 - FLOOR) * kept, np.float32)


def recency(table: RowTable, rows: NDArray[np.intp], now: float) -> NDArray[np.float32]:
    """1 now, a half after a month."""
    days = np.maximum(0.0, now - table.created_at.rows[rows]) / DAY_S
    return np.exp2(-days / HALF_LIFE_DAYS).astype(np.float32)
