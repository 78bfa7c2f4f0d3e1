"""A requester that waits only for agents that are there. Knows no HTTP.

A message to an agent that has died is kept for it by the server, and a long request would wait for
its whole deadline: minutes, of which whoever asks over HTTP is told nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from spade_llm.errors import Interrupted, PeerUnavailable, RequestError, RequestFailed
from spade_llm.gateway.stopping import STOPPING
from spade_llm.services.status import ask_status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

    from spade_llm.acl import AclMessage
    from spade_llm.runtime import Asks
    from spade_llm.runtime.requester import Question

T = TypeVar("T")

LOOK_EVERY_S = 2.0
"""A request that is answered within this is not looked after."""
AWAY_S = 5.0
"""Who does not say so long that it is there is away; one that is started again says so before."""


class Turnstile:
    """Lets one through in a turn of the loop. Of many answers that come at once each is read and
    written in a few milliseconds: what is short, such as /health or a part of another answer, has
    its turn in between."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def passed(self) -> None:
        async with self._lock:
            await asyncio.sleep(0)


class Watched:
    """Close it (`aclose`) after the last request."""

    def __init__(self, requester: Asks) -> None:
        self._requester = requester
        self._turnstile = Turnstile()
        self._looks: dict[str, asyncio.Task[bool]] = {}
        """By peer: one at a time, for all that wait for it."""
        self._open: set[asyncio.Future[Any]] = set()
        """Questions that wait for their answer; as many as there are requests in flight."""
        self._has_ended = False

    def end(self) -> None:
        """Fail all open questions, and those that come: the gateway stops."""
        self._has_ended = True
        for working in self._open:
            working.cancel()

    async def aclose(self) -> None:
        for look in self._looks.values():
            look.cancel()
        await asyncio.gather(*self._looks.values(), return_exceptions=True)

    async def ask(self, question: Question, *, timeout_s: float) -> AclMessage:
        """As Requester.ask; raises PeerUnavailable also for who is away meanwhile, and
        RequestFailed (`interrupted`) after `end`."""
        asking = self._requester.ask(question, timeout_s=timeout_s)
        answer = await self._while_there(question, asking)
        await self._turnstile.passed()
        return answer

    async def stream(self, question: Question, *, timeout_s: float) -> AsyncGenerator[AclMessage]:
        """As Requester.stream; raises as `ask`."""
        answers = self._requester.stream(question, timeout_s=timeout_s)
        try:
            while (answer := await self._while_there(question, _next(answers))) is not None:
                if answer.is_terminal:
                    await self._turnstile.passed()
                yield answer
        finally:
            await answers.aclose()

    async def _while_there(self, question: Question, work: Coroutine[object, object, T]) -> T:
        working = asyncio.ensure_future(work)
        self._open.add(working)
        if self._has_ended:
            working.cancel()
        try:
            await asyncio.wait([working], timeout=LOOK_EVERY_S)
            while not working.done():
                await self._look(question, working)
                await asyncio.wait([working], timeout=LOOK_EVERY_S)
            if self._has_ended and working.cancelled():
                raise RequestFailed(STOPPING, peer=question.peer, wire_code=Interrupted.code)
            return working.result()
        finally:
            self._open.discard(working)
            working.cancel()
            await asyncio.wait([working])

    async def _look(self, question: Question, working: asyncio.Future[T]) -> None:
        """Return at once when the work is done. Raises PeerUnavailable."""
        look = self._looks.get(question.peer) or self._begin(question.peer)
        both: set[asyncio.Future[Any]] = {look, working}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not working.done() and not look.result():
            raise PeerUnavailable(
                f"it said nothing for {AWAY_S:.0f} s",
                peer=question.peer,
                conversation_id=question.conversation_id,
            )

    def _begin(self, peer: str) -> asyncio.Task[bool]:
        look = self._looks[peer] = asyncio.create_task(self._is_there(peer))
        look.add_done_callback(lambda _: self._looks.pop(peer))
        return look

    async def _is_there(self, peer: str) -> bool:
        try:
            await ask_status(self._requester, peer, timeout_s=AWAY_S)
        except RequestError:
            return False
        return True


async def _next(answers: AsyncGenerator[AclMessage]) -> AclMessage | None:
    return await anext(answers, None)
