"""The listings of a server, and who waits for the next one. Knows no session."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spade_llm.tools.mcp.definition import Definition

PAUSE_S = 1.0
"""Between two listings that nobody waits for: a server may announce changes without end."""


class Lost(Exception):
    """The session is over; the text says why, in words for peers."""


class Listings:
    def __init__(self, on_listed: Callable[[Sequence[Definition]], None]) -> None:
        self._on_listed = on_listed
        self._asking: list[asyncio.Future[Sequence[Definition]]] = []
        """Of callers, so bounded by the calls that may run at once."""
        self._answering: list[asyncio.Future[Sequence[Definition]]] = []
        self._asked = asyncio.Event()
        self._wanted = asyncio.Event()
        self._is_over = False

    def refresh(self) -> None:
        """List again, soon."""
        self._wanted.set()

    async def next(self) -> Sequence[Definition]:
        """The tools as they are now: asked for after this call began, together with all who came
        in the meantime.

        Raises:
            Lost
        """
        if self._is_over:
            raise Lost
        future: asyncio.Future[Sequence[Definition]] = asyncio.get_running_loop().create_future()
        self._asking.append(future)
        self._asked.set()
        self._wanted.set()
        return await future

    async def keep(
        self, ask: Callable[[], Awaitable[Sequence[Definition]]], *, silence_s: float
    ) -> NoReturn:
        """Ask as often as somebody wants to know, and after each silence."""
        while True:
            await _within(silence_s, self._wanted)
            self._take()
            self.add(await ask())
            await _within(PAUSE_S, self._asked)

    def add(self, listing: Sequence[Definition]) -> None:
        self._on_listed(listing)
        for future in self._answering:
            if not future.done():
                future.set_result(listing)
        self._answering = []

    def close(self) -> None:
        self._is_over = True
        for future in (*self._asking, *self._answering):
            if not future.done():
                future.set_exception(Lost())
        self._asking, self._answering = [], []

    def _take(self) -> None:
        self._wanted.clear()
        self._asked.clear()
        self._answering, self._asking = self._asking, []


async def _within(seconds: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
