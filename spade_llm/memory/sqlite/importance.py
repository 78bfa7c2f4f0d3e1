"""How important a memory is when nobody has set it: from its use. Knows no store."""

from __future__ import annotations

HALF_LIFE_DAYS = 30.0
"""A memory that was not used for so long is half as recent."""

HABIT = 5.0
"""Uses after which half of what use can give is reached."""


def importance_of_use(access_count: int, idle_days: float) -> float:
    """0…1 in thousandths, the mean of how recently and how often it was used; 0.5 if it is new.

    `idle_days` counts from the last use, or from the beginning if there was none.
    """
    recency: float = 2.0 ** (-max(idle_days, 0.0) / HALF_LIFE_DAYS)
    use = access_count / (access_count + HABIT)
    return round((recency + use) / 2, 3)
