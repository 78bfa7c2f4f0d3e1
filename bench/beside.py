"""A figure of ours beside several of others: a row for each of them. Knows no benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.row import Goal, Row, Spread

if TYPE_CHECKING:
    from collections.abc import Mapping


def beside(
    name: str,
    ours_ms: float,
    others_ms: Mapping[str, float],
    *,
    spread: Spread | None = None,
    goal: Goal | None = None,
    note: str = "",
) -> list[Row]:
    """The first one has the goal; one row also if there is nothing to compare with."""
    others: list[tuple[str, float | None]] = [*others_ms.items()] or [("", None)]
    return [
        Row(
            name=f"{name}, beside {other}" if number else name,
            unit="ms",
            ours=ours_ms,
            spread=spread,
            baseline=other_ms,
            baseline_name=other,
            goal=None if number else goal,
            note=note,
        )
        for number, (other, other_ms) in enumerate(others)
    ]
