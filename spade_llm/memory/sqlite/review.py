"""How well a memory is kept after it was of use: FSRS, in days. Knows no store."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from fsrs import Card, Rating, Scheduler, State

from spade_llm.memory.sqlite.rows import from_microseconds

if TYPE_CHECKING:
    from datetime import datetime

SCHEDULER = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
"""A memory is not learned in steps of minutes, and the same past gives the same future."""


def reviewed(
    stability: float | None, difficulty: float | None, reviewed_at: int | None, *, at: datetime
) -> tuple[float, float]:
    """Its stability (days) and difficulty (1…10) after a review now; None: the first one.

    A clock that was set back counts as no time passed.
    """
    before = None if reviewed_at is None else min(from_microseconds(reviewed_at), at)
    card = Card(
        card_id=0,
        state=State.Learning if before is None else State.Review,
        stability=stability,
        difficulty=difficulty,
        last_review=before,
    )
    after, _ = SCHEDULER.review_card(card, Rating.Good, at.astimezone(UTC))
    return float(after.stability or 0.0), float(after.difficulty or 0.0)
