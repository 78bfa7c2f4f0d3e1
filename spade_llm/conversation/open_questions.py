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


@dataclass(slots=True, eq=False)
class _Open:
    question: Question
    peer: str
    verdict: asyncio.Future[Verdict] = field(default_factory=asyncio.Future)


class OpenQuestions:
    """Nothing here outlives its process: what is asked again has to be answered again."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    async def ask(
        self, question: Question, *, place: str, peer: str, show: Callable[[], Awaitable[None]]
    ) -> Verdict:
        """Show it and wait for `settle`, not longer than the question counts."""
        waiting = self._open[place] = _Open(question, peer)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(question.expires_s):
                    await show()
                    return await waiting.verdict
            return Verdict.EXPIRED
        finally:
            del self._open[place]

    def at(self, place: str, *, peer: str) -> Question | None:
        """What this peer is asked there, if it is not answered yet."""
        waiting = self._open.get(place)
        if waiting is None or waiting.peer != peer or waiting.verdict.done():
            return None
        return waiting.question

    def settle(self, place: str, verdict: Verdict, *, peer: str) -> Question | None:
        """Answer it: the first answer counts. None: this peer is asked nothing there."""
        question = self.at(place, peer=peer)
        if question is not None:
            self._open[place].verdict.set_result(verdict)
        return question
