"""Shows a person that an answer is being made (XEP-0085), and not while they are waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from spade_llm.conversation.approval import Ask, Question, Verdict

AFTER_S = 1.0
"""Only if the answer takes a while: what comes at once needs no announcement."""
AGAIN_S = 20.0
"""Clients take back after a while what is not said again."""
COMPOSING = "composing"
PAUSED = "paused"


class TypingState:
    """A while after it was entered and from then on again and again; once more after each question
    that was answered. Who was shown it and gets no answer is told that it has ended."""

    def __init__(
        self,
        show: Callable[[str], None],
        *,
        after_s: float = AFTER_S,
        again_s: float = AGAIN_S,
    ) -> None:
        """`show` takes the state."""
        self._show = show
        self._after_s = after_s
        self._again_s = again_s
        self._next: asyncio.TimerHandle | None = None
        self._is_shown = False

    async def __aenter__(self) -> Self:
        self._begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._end()
        if kind is not None:
            self.pause()

    def pause(self) -> None:
        """No answer will follow to whoever it was shown to."""
        self._end()
        if self._is_shown:
            self._is_shown = False
            self._show(PAUSED)

    def pausing(self, ask: Ask) -> Ask:
        """The same way to ask, with nothing shown until there is an answer."""

        async def paused(question: Question) -> Verdict:
            self._end()
            # The question itself takes back what was shown.
            self._is_shown = False
            verdict = await ask(question)
            self._begin()
            return verdict

        return paused

    def _begin(self) -> None:
        self._show_after(self._after_s)

    def _end(self) -> None:
        if self._next is not None:
            self._next.cancel()

    def _show_after(self, pause_s: float) -> None:
        self._next = asyncio.get_running_loop().call_later(pause_s, self._show_composing)

    def _show_composing(self) -> None:
        self._show_after(self._again_s)
        self._is_shown = True
        self._show(COMPOSING)
