"""Long waits for an agent: whether it is still there. Knows no HTTP beyond the error.

Not every server returns what is for an account that nobody is logged in to, and a turn may take
minutes: who is silent for a while is asked how it is.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from spade_llm.errors import PeerUnavailable, RequestError, RequestTimeout
from spade_llm.services.status import ask_status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine
    from contextvars import Context

    from spade_llm.runtime import Asks

T = TypeVar("T")

SILENCE_S = 10.0
"""After which we ask, and again after as long."""
ANSWER_S = 5.0
"""How long it may take to say that it is there, however much it has to do."""


async def while_alive(
    requester: Asks,
    jid: str,
    work: Coroutine[object, object, T],
    *,
    context: Context | None = None,
) -> T:
    """What `work` gives, which waits for the agent. It is cancelled when the agent is away.

    Raises:
        PeerUnavailable, RequestTimeout: it is away.
    """
    working = asyncio.create_task(work, context=context)
    try:
        while not (await asyncio.wait((working,), timeout=SILENCE_S))[0]:
            if (gone := await _gone(requester, jid)) is not None and not working.done():
                raise gone
        return working.result()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def parts_while_alive(
    requester: Asks, jid: str, parts: AsyncGenerator[T]
) -> AsyncGenerator[T]:
    """The parts, which come from the agent. Raises as `while_alive`."""
    context = copy_context()  # Each is fetched in a task of its own, as if it were one task.
    async with aclosing(parts):
        while (
            part := await while_alive(requester, jid, _next(parts), context=context)
        ) is not None:
            yield part


async def _next(parts: AsyncGenerator[T]) -> T | None:
    return await anext(parts, None)


async def _gone(requester: Asks, jid: str) -> RequestError | None:
    """Also a refusal is a sign of life."""
    try:
        await ask_status(requester, jid, timeout_s=ANSWER_S)
    except (PeerUnavailable, RequestTimeout) as error:
        return error
    except RequestError:
        return None
    return None
