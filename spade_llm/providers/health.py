"""Model health: the last failure of a model, for its operator."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spade_llm.core.errors import ContextTooLong
from spade_llm.core.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.core.errors import ModelError

NOTIFY_EVERY_S = 10.0
"""Minimum interval in seconds between two notifications of listeners about the same fault."""


class ModelFault(BaseModel):
    model_config = ConfigDict(frozen=True)

    text: str
    """A sentence that names the server and never the key."""
    since: datetime
    latest: datetime
    calls: int
    """Failed ones since then."""

    def __str__(self) -> str:
        times = pluralize(self.calls, "call")
        return f"{self.text} ({times} since {self.since.astimezone():%Y-%m-%d %H:%M:%S})"


class ModelHealth:
    def __init__(self) -> None:
        self.fault: ModelFault | None = None
        """Current fault; None if the last call succeeded, or there was none yet."""
        self.on_change: list[Callable[[ModelFault | None], None]] = []
        self._notified_at = datetime.min.replace(tzinfo=UTC)

    def fail(self, error: ModelError) -> None:
        if isinstance(error, ContextTooLong):
            return  # The model answered; the conversation is too long for it.
        now, before = datetime.now(UTC), self.fault
        is_same = before is not None and before.text == str(error)
        self.fault = ModelFault(
            text=str(error),
            since=before.since if before else now,
            latest=now,
            calls=(before.calls if before else 0) + 1,
        )
        if not is_same or (now - self._notified_at).total_seconds() >= NOTIFY_EVERY_S:
            self._notify(now)

    def succeed(self) -> None:
        if self.fault is not None:
            self.fault = None
            self._notify(datetime.now(UTC))

    def _notify(self, now: datetime) -> None:
        self._notified_at = now
        for listener in self.on_change:
            listener(self.fault)
