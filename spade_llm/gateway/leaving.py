"""Clients that leave: what was begun for them ends at whoever works on it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from spade_llm.gateway.errors import HttpError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from starlette.types import Receive

T = TypeVar("T")

CLIENT_LEFT = 499
"""The status in the log of an answer that nobody waits for any more, as nginx has it."""


async def while_there(receive: Receive, work: Coroutine[object, object, T]) -> T:
    """What `work` gives; it is cancelled when the client leaves. The body has been read.

    Raises:
        HttpError: CLIENT_LEFT.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise HttpError(CLIENT_LEFT, "The client has left")
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
