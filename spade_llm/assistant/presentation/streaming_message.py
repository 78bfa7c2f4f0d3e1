"""Streaming message (edits, XEP-0308) and typing indicator (XEP-0085) while an answer grows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from spade_llm.assistant.turn.approval import ApprovalQuestion, ApprovalVerdict, AskApproval

ShowText = Callable[[str], Awaitable[bool]]
"""Takes all that the answer is so far; returns whether anything of it is shown now."""


class StreamingMessage:
    """Message that is edited at intervals while text is added, from `first_s` after entry on."""

    def __init__(
        self,
        show: ShowText,
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
        self._editing = asyncio.Lock()
        self.is_shown = False

    @property
    def text(self) -> str:
        """Text added so far."""
        return "".join(self._pieces)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._grow())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is None:
            return
        try:
            # An edit is not left in its middle: its ids may be stored, and it must leave then.
            async with self._editing:
                self._task.cancel()
        finally:
            self._task.cancel()
            # Ended before the answer leaves: a late edit would replace it.
            await asyncio.wait([self._task])

    async def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._has_more.set()

    def before(self, ask: AskApproval) -> AskApproval:
        """Wrap `ask`, so that the text so far is shown before the question."""

        async def asked(question: ApprovalQuestion) -> ApprovalVerdict:
            if self.is_shown and self._has_more.is_set():
                await self._edit()
            return await ask(question)

        return asked

    async def _grow(self) -> None:
        await asyncio.sleep(self._first_s)
        await self._has_more.wait()
        if not await self._may_show():
            return
        while True:
            await self._has_more.wait()
            await self._edit()
            await asyncio.sleep(self._every_s)

    async def _edit(self) -> None:
        async with self._editing:
            self._has_more.clear()
            self.is_shown = await self._show(self.text)


DELAY_S = 1.0
"""Delay of the typing indicator, in seconds: a fast answer needs none."""
REPEAT_S = 20.0
"""Clients take back after a while what is not said again."""
COMPOSING = "composing"
PAUSED = "paused"


class TypingIndicator:
    """Typing indicator (XEP-0085): shown after a delay and repeated, and restarted after each
    answered question. If no answer follows, it is withdrawn."""

    def __init__(
        self,
        show: Callable[[str], None],
        *,
        after_s: float = DELAY_S,
        again_s: float = REPEAT_S,
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
        """Withdraw the indicator, since no answer will follow."""
        self._end()
        if self._is_shown:
            self._is_shown = False
            self._show(PAUSED)

    def pausing(self, ask: AskApproval) -> AskApproval:
        """Wrap `ask`, so that the indicator is off until the question is answered."""

        async def paused(question: ApprovalQuestion) -> ApprovalVerdict:
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
