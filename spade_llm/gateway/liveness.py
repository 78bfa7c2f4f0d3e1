"""Liveness of agents: cached availability, requests that fail when an agent is down.

The XMPP server queues messages to an agent that has died. A long request would therefore wait for
its whole deadline (minutes), without a word to the HTTP client.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar

from spade_llm.core.errors import Interrupted, PeerUnavailable, RequestError, RequestFailed
from spade_llm.gateway.shutdown import SHUTTING_DOWN
from spade_llm.messaging.agent_status import AgentStatus, ask_status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping

    from spade_llm.gateway.metrics import Metrics
    from spade_llm.gateway.network import AgentAddresses
    from spade_llm.messaging import AclMessage, RequestSender
    from spade_llm.messaging.requester import OutgoingRequest

T = TypeVar("T")

LOOK_EVERY_S = 2.0
"""A request that is answered within this is not looked after."""
AWAY_S = 5.0
"""Deadline of a liveness check in seconds: an agent that does not respond by then is unavailable. A
restarted agent responds sooner."""

FRESH_S = 2.0
STATUS_TIMEOUT_S = 2.0

StatusByJid = dict[str, AgentStatus | None]
"""Status of each agent, keyed by bare JID; None if it did not respond."""


class FairYield:
    """Lets one through in a turn of the loop. Of many answers that come at once each is read and
    written in a few milliseconds: what is short, such as /health or a part of another answer, has
    its turn in between."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def passed(self) -> None:
        async with self._lock:
            await asyncio.sleep(0)


class LivenessRequester:
    """Close it (`aclose`) after the last request."""

    def __init__(self, requester: RequestSender) -> None:
        self._requester = requester
        self._turnstile = FairYield()
        self._looks: dict[str, asyncio.Task[bool]] = {}
        """Running liveness checks, keyed by peer: one at a time, shared by all requests that wait
        for it."""
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

    async def ask(self, question: OutgoingRequest, *, timeout_s: float) -> AclMessage:
        """Send a request as `Requester.ask` does. Also raises PeerUnavailable if the agent goes
        down meanwhile, and RequestFailed (`interrupted`) after `end`."""
        asking = self._requester.ask(question, timeout_s=timeout_s)
        answer = await self._while_there(question, asking)
        await self._turnstile.passed()
        return answer

    async def stream(
        self, question: OutgoingRequest, *, timeout_s: float
    ) -> AsyncGenerator[AclMessage]:
        """Stream responses as `Requester.stream` does; raises the same errors as `ask`."""
        answers = self._requester.stream(question, timeout_s=timeout_s)
        try:
            while (answer := await self._while_there(question, _next_answer(answers))) is not None:
                if answer.is_terminal:
                    await self._turnstile.passed()
                yield answer
        finally:
            await answers.aclose()

    async def _while_there(
        self, question: OutgoingRequest, work: Coroutine[object, object, T]
    ) -> T:
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
                raise RequestFailed(SHUTTING_DOWN, peer=question.peer, wire_code=Interrupted.code)
            return working.result()
        finally:
            self._open.discard(working)
            working.cancel()
            await asyncio.wait([working])

    async def _look(self, question: OutgoingRequest, working: asyncio.Future[T]) -> None:
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


class AgentAvailability:
    def __init__(
        self,
        requester: RequestSender,
        addresses: AgentAddresses,
        metrics: Metrics,
        *,
        is_connected: Callable[[], bool],
    ) -> None:
        self._requester = requester
        self._addresses = addresses
        self._metrics = metrics
        self._is_connected = is_connected
        self._seen: StatusByJid = {}
        self._at = -FRESH_S
        self._looking = asyncio.Lock()

    async def look(self) -> Mapping[str, AgentStatus | None]:
        """Status of all agents behind the gateway, at most FRESH_S old, within STATUS_TIMEOUT_S.
        Without an XMPP connection, all are unavailable."""
        if not self._is_connected():
            return dict.fromkeys(self._addresses.all)
        async with self._looking:
            if time.monotonic() - self._at >= FRESH_S:
                await self._look()
        return self._seen

    async def _look(self) -> None:
        jids = tuple(dict.fromkeys(self._addresses.all))
        self._seen = dict(zip(jids, await asyncio.gather(*map(self._ask, jids)), strict=True))
        self._at = time.monotonic()
        for jid, status in self._seen.items():
            self._metrics.agents.labels(jid.partition("@")[0]).set(status is not None)

    async def _ask(self, jid: str) -> AgentStatus | None:
        try:
            return await ask_status(self._requester, jid, timeout_s=STATUS_TIMEOUT_S)
        except RequestError:
            return None


async def _next_answer(answers: AsyncGenerator[AclMessage]) -> AclMessage | None:
    return await anext(answers, None)
