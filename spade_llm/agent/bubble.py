"""Bubble: an answer that grows in one message of a person's client (XEP-0308). Knows no stanza."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from spade_llm.conversation.approval import Ask, Question, Verdict

Show = Callable[[str], bool]
"""Takes all that the answer is so far; returns whether anything of it is shown now."""


class Bubble:
    """Shows what is added to it now and then, from a while after it was entered."""

    def __init__(
        self,
        show: Show,
        *,
        may_show: Callable[[], Awaitable[bool]],
        first_s: float,
        every_s: float,
    ) -> None:
        """`may_show` is asked once, when there is something to show."""
        self._show = show
        self._may_show = may_show
        self._first_s = first_s
        self._every_s = every_s
        self._pieces: list[str] = []
        self._has_more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.is_shown = False

    @property
    def text(self) -> str:
        """All that was added to it."""
        return "".join(self._pieces)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._grow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._has_more.set()

    def before(self, ask: Ask) -> Ask:
        """The same way to ask, behind what was said so far: never below it."""

        async def asked(question: Question) -> Verdict:
            if self.is_shown and self._has_more.is_set():
                self._edit()
            return await ask(question)

        return asked

    async def _grow(self) -> None:
        await asyncio.sleep(self._first_s)
        await self._has_more.wait()
        if not await self._may_show():
            return
        while True:
            await self._has_more.wait()
            self._edit()
            await asyncio.sleep(self._every_s)

    def _edit(self) -> None:
        self._has_more.clear()
        self.is_shown = self._show(self.text)
