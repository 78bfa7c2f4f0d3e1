"""PartGuard: of an answer that comes in parts, what may go out already. Knows no guardrail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_HELD_CHARS = 20_000
"""Where more would have to be held back, nothing more goes out before the whole is judged."""


class PartGuard(Protocol):
    """For one answer. All that `feed` has given is always the beginning of what the guardrail
    makes of the whole answer, however the answer goes on and wherever it was cut."""

    def feed(self, text: str) -> str:
        """The next piece of the answer → the next piece that no continuation can change."""
        ...


class Unguarded:
    """Lets everything go at once."""

    def feed(self, text: str) -> str:
        return text


class Pipeline:
    """One after another: what goes out of the last."""

    def __init__(self, stages: Sequence[PartGuard]) -> None:
        self._stages = stages

    def feed(self, text: str) -> str:
        for stage in self._stages:
            text = stage.feed(text)
        return text
