"""How a model's tokens are counted, found out once: its table may take half a second to load.

Knows no table (context/token_tables.py).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spade_llm.context import counter_for
from spade_llm.context.counted import Counted

if TYPE_CHECKING:
    from collections.abc import Callable


class Counting:
    """Of one assistant, whose model may change its name while another stands in for it."""

    def __init__(self) -> None:
        self._first: asyncio.Future[Callable[[str], int]] | None = None

    async def count_for(self, model: str) -> Callable[[str], int]:
        """Exact where the table is at hand; else an estimate on the large side."""
        if self._first is None:
            self._first = asyncio.ensure_future(asyncio.to_thread(_count_for, model))
        return await asyncio.shield(self._first)


def _count_for(model: str) -> Callable[[str], int]:
    """Most lines of a turn stood in the one before."""
    return Counted(counter_for(model)).text
