"""Answers that come in pieces, cut anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.guardrails import PartGuard


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""What is tested is no speed."""


def pieces_of(text: str, data: st.DataObject) -> list[str]:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=len(text)).map(sorted))
    bounds = [0, *cuts, len(text)]
    return [text[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]


def fed(guard: PartGuard, pieces: Sequence[str]) -> str:
    """All that goes out."""
    return "".join(map(guard.feed, pieces))
