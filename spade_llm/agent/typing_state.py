"""Shows a person that an answer is being made (XEP-0085), and not while they are waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.conversation.approval import Ask, Question, Verdict

AFTER_S = 0.4
"""Only if the answer takes a while: a stanza right before another costs 40 ms on servers that leave
Nagle's algorithm on."""


class TypingState:
    """Once, a while after it was entered, and again after each question that was answered."""

    def __init__(self, show: Callable[[], None], *, after_s: float = AFTER_S) -> None:
        self._show = show
        self._after_s = after_s
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end()

    def pausing(self, ask: Ask) -> Ask:
        """The same way to ask, with nothing shown until there is an answer."""

        async def paused(question: Question) -> Verdict:
            self._end()
            verdict = await ask(question)
            self._begin()
            return verdict

        return paused

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._show_later())

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _show_later(self) -> None:
        await asyncio.sleep(self._after_s)
        self._show()
