"""The questions for approval that wait for an answer now. Knows no wire.

At most one per place: a person's conversation, or the id of a program's question.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spade_llm.conversation.approval import Question, Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


READING_S = 1.0
"""A question that follows upon an answer cannot have been read sooner: a yes that comes earlier
was on its way, and meant something else. A no counts at once."""


@dataclass(slots=True, eq=False)
class _Open:
    question: Question
    yes_counts_from: float
    """By the loop's clock."""
    verdict: asyncio.Future[Verdict] = field(default_factory=asyncio.Future)


_Key = tuple[str, str]
"""Place and peer."""


class OpenQuestions:
    """Nothing here outlives its process: what is asked again has to be answered again."""

    def __init__(self) -> None:
        self._open: dict[_Key, _Open] = {}
        self._just_answered: set[_Key] = set()
        """For READING_S."""

    async def ask(
        self, question: Question, *, place: str, peer: str, show: Callable[[], Awaitable[None]]
    ) -> Verdict:
        """Show it and wait for `settle`, not longer than the question counts."""
        key = place, peer
        waiting = self._open[key] = _Open(question, self._yes_counts_from(key))
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(question.expires_s):
                    await show()
                    return await waiting.verdict
            return Verdict.EXPIRED
        finally:
            if self._open.get(key) is waiting:
                del self._open[key]

    def at(self, place: str, *, peer: str) -> Question | None:
        """What this peer is asked there, if it is not answered yet."""
        waiting = self._open.get((place, peer))
        return None if waiting is None or waiting.verdict.done() else waiting.question

    def of_peer(self, peer: str) -> list[tuple[str, Question]]:
        """All that this peer is asked now, and where; oldest first."""
        return [
            (place, waiting.question)
            for (place, asked), waiting in self._open.items()
            if asked == peer and not waiting.verdict.done()
        ]

    def is_too_early(self, place: str, *, peer: str) -> bool:
        """Whether a yes cannot be meant for what this peer is asked there now."""
        waiting = self._open.get((place, peer))
        return waiting is not None and _now() < waiting.yes_counts_from

    def settle(self, place: str, verdict: Verdict, *, peer: str) -> Question | None:
        """Answer it: the first answer counts. None: this peer is asked nothing there."""
        key, question = (place, peer), self.at(place, peer=peer)
        if question is not None:
            self._open[key].verdict.set_result(verdict)
            self._just_answered.add(key)
            asyncio.get_running_loop().call_later(READING_S, self._just_answered.discard, key)
        return question

    def _yes_counts_from(self, key: _Key) -> float:
        return _now() + READING_S * (key in self._just_answered)


def _now() -> float:
    return asyncio.get_running_loop().time()
